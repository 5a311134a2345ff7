// expect: D5=finding
import fs from "fs";
import express from "express";
import path from "path";

const BOX = "/srv/box";

express().post("/lock/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const target = path.join(BOX, name);
  const fd = fs.openSync(target, "r+");
  fs.chmodSync(target, 0o600);
  fs.closeSync(fd);
  res.sendStatus(204);
});
