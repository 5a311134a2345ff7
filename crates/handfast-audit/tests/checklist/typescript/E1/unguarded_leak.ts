// expect: E1=finding
import { Mutex } from "async-mutex";
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";
const mutex = new Mutex();

express().put("/save/:name", async (req, res) => {
  const { name } = req.params;
  const release = await mutex.acquire();
  if (!/^[a-z]{1,30}$/.test(name)) {
    throw new Error("name");
  }
  fs.writeFileSync(path.join(BOX, name), req.body);
  release();
  res.sendStatus(204);
});
