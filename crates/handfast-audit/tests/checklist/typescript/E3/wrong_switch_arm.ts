// expect: E3=finding
import express from "express";
import fs from "fs";
import path from "path";

const CLONES = "/srv/clones";

function assertName(name: string) {
  if (!/^[a-z]{1,30}$/.test(name)) {
    throw new Error("name");
  }
}

express().post("/sync/:repo", (req, res) => {
  const { repo } = req.params;
  const dir = path.join(CLONES, repo);
  switch (req.query.mode) {
    case "make":
      assertName(repo);
      fs.mkdirSync(dir);
      break;
    case "drop":
      fs.rmdirSync(dir);
      break;
  }
  res.sendStatus(204);
});
