// expect: C4=finding
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
  try {
    if (fs.lstatSync(target).isSymbolicLink()) {
      throw new InvalidPath("link");
    }
  } catch {
    // nothing there yet
  }
  return target;
}

express().post("/write/:name", (req, res) => {
  fs.writeFileSync(check(req.params.name), req.body);
  res.sendStatus(204);
});
