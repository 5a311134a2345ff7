// expect: C4=yes
import express from "express";
import fs from "fs";
import path from "path";

class InvalidPath extends Error {}

const BOX = "/srv/box";

function check(name: string): string {
  if (!/^[a-z]{1,30}$/.test(name)) {
    throw new InvalidPath("name");
  }
  const target = path.join(BOX, name);
  let info: fs.Stats;
  try {
    info = fs.lstatSync(target);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") {
      return target;
    }
    throw new InvalidPath("cannot be looked at");
  }
  if (!info.isFile()) {
    throw new InvalidPath("kind");
  }
  return target;
}

express().post("/write/:name", (req, res) => {
  fs.writeFileSync(check(req.params.name), req.body);
  res.sendStatus(204);
});
