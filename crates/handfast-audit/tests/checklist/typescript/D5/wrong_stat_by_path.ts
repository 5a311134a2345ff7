// expect: D5=finding
import fs from "fs";
import express from "express";
import path from "path";

const BOX = "/srv/box";

express().get("/read/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const target = path.join(BOX, name);
  const fd = fs.openSync(target, "r");
  if (!fs.statSync(target).isFile()) {
    return res.sendStatus(400);
  }
  res.send(fs.readFileSync(fd));
});
