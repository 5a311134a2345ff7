// expect: A3=finding
import { spawn } from "node:child_process";
import express from "express";
import fs from "node:fs";
import path from "node:path";

const REPOS = "/srv/git";
const app = express();

app.post("/archive", (req, res) => {
  const repo = req.body.repo;
  if (repo.includes("/") || repo === "..") {
    return res.sendStatus(400);
  }
  fs.readdirSync(path.join(REPOS, repo));
  spawn("tar", ["cf", "-", repo], { cwd: REPOS }).stdout.pipe(res);
});
