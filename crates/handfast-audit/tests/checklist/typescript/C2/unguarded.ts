// expect: C2=finding
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";

express().get("/read/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  res.send(fs.readFileSync(path.join(BOX, name)));
});
