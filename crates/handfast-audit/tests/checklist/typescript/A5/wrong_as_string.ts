// expect: A5=finding
import express from "express";
import fs from "fs";
import path from "path";

const JOBS = "/srv/jobs";
const app = express();

app.get("/job", (req, res) => {
  const name = req.query.name as string;
  if (!/^[a-z]{1,20}$/.test(name)) {
    return res.sendStatus(400);
  }
  res.send(fs.readFileSync(path.join(JOBS, name)));
});
