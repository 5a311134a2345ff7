// expect: E3=finding
import express from "express";
import fs from "fs";
import path from "path";

const CLONES = "/srv/clones";

express().post("/sync/:repo", (req, res) => {
  const { repo } = req.params;
  const dir = path.join(CLONES, repo);
  if (req.query.fresh) {
    if (!/^[a-z]{1,30}$/.test(repo)) {
      return res.sendStatus(400);
    }
    fs.mkdirSync(dir);
  } else {
    fs.chmodSync(dir, 0o700);
  }
  res.sendStatus(204);
});
