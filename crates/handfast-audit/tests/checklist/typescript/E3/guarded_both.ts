// expect: E3=yes
import express from "express";
import fs from "fs";
import path from "path";

const CLONES = "/srv/clones";

function gate(name: string): string {
  if (!/^[a-z]{1,30}$/.test(name)) {
    throw new Error("name");
  }
  return path.join(CLONES, name);
}

express().post("/sync/:repo", (req, res) => {
  const dir = gate(req.params.repo);
  if (req.query.fresh) {
    fs.mkdirSync(dir);
  } else {
    fs.chmodSync(dir, 0o700);
  }
  res.sendStatus(204);
});
