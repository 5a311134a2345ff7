// expect: C3=finding C2=yes
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";

express().get("/read/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const target = path.join(BOX, name);
  const info = fs.lstatSync(target);
  if (info.isSymbolicLink()) {
    return res.sendStatus(400);
  }
  res.send(fs.readFileSync(target));
});
