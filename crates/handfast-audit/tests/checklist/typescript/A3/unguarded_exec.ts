// expect: A3=finding
import { exec } from "child_process";
import express from "express";
import fs from "fs";
import path from "path";

const REPOS = "/srv/git";
const app = express();

app.post("/gc", (req, res) => {
  const repo = req.body.repo;
  fs.readdirSync(path.join(REPOS, repo));
  exec(`git -C ${REPOS}/${repo} gc`, () => res.sendStatus(204));
});
