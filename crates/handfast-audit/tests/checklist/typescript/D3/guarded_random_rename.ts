// expect: D3=yes
import { randomUUID } from "crypto";
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";

express().put("/save/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const target = path.join(BOX, name);
  const tmp = path.join(BOX, `.${randomUUID()}`);
  fs.writeFileSync(tmp, req.body, { flag: "wx" });
  fs.renameSync(tmp, target);
  res.sendStatus(204);
});
