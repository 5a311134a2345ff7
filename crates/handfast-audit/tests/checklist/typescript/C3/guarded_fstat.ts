// expect: C3=yes D2=yes
import express from "express";
import fs, { constants } from "fs";
import path from "path";

const BOX = "/srv/box";

express().get("/read/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  const fd = fs.openSync(
    path.join(BOX, name),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  try {
    if (!fs.fstatSync(fd).isFile()) {
      return res.sendStatus(400);
    }
    res.send(fs.readFileSync(fd));
  } finally {
    fs.closeSync(fd);
  }
});
