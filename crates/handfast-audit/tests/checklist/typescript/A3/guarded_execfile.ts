// expect: A3=yes
import { execFileSync } from "child_process";
import express from "express";
import fs from "fs";
import path from "path";

const REPOS = "/srv/git";
const app = express();

app.post("/gc", (req, res) => {
  const repo = req.body.repo;
  if (typeof repo !== "string" || !/^[a-z][a-z0-9-]{0,40}$/.test(repo)) {
    return res.sendStatus(400);
  }
  fs.readdirSync(path.join(REPOS, repo));
  execFileSync("git", ["gc", "--", repo], { cwd: REPOS });
  res.sendStatus(204);
});
