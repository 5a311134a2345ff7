// expect: D4=finding
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";

express().delete("/box/:name", async (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const target = path.join(BOX, name);
  if (fs.lstatSync(target).isSymbolicLink()) {
    return res.sendStatus(400);
  }
  await audit(req.ip, name);
  fs.rmSync(target, { recursive: true });
  res.sendStatus(204);
});
