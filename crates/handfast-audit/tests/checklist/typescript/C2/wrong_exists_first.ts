// expect: C2=finding
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";

express().post("/write/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const target = path.join(BOX, name);
  if (fs.existsSync(target)) {
    if (fs.lstatSync(target).isSymbolicLink()) {
      return res.sendStatus(400);
    }
  }
  fs.writeFileSync(target, req.body);
  res.sendStatus(204);
});
