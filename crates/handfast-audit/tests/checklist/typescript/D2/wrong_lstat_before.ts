// expect: D2=finding
import { promises as fs } from "fs";
import express from "express";
import path from "path";

const BOX = "/srv/box";

express().get("/read/:name", async (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const target = path.join(BOX, name);
  const info = await fs.lstat(target);
  if (info.isSymbolicLink()) {
    return res.sendStatus(403);
  }
  res.send(await fs.readFile(target));
});
