// expect: D5=yes
import { constants, promises as fs } from "fs";
import express from "express";
import path from "path";

const BOX = "/srv/box";

express().post("/lock/:name", async (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const handle = await fs.open(path.join(BOX, name), constants.O_RDWR | constants.O_NOFOLLOW);
  const info = await handle.stat();
  if (!info.isFile()) {
    return res.sendStatus(400);
  }
  await handle.chmod(0o600);
  await handle.close();
  res.sendStatus(204);
});
