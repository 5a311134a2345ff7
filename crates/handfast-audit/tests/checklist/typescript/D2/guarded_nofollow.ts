// expect: D2=yes
import { constants, promises as fs } from "fs";
import express from "express";
import path from "path";

const BOX = "/srv/box";
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW;

express().get("/read/:name", async (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const handle = await fs.open(path.join(BOX, name), FLAGS);
  try {
    res.send(await handle.readFile());
  } finally {
    await handle.close();
  }
});
