// expect: A5=finding
import express from "express";
import fs from "fs";
import path from "path";

const JOBS = "/srv/jobs";
const app = express();

app.post("/job", (req, res) => {
  const { name } = req.body;
  res.send(fs.readFileSync(path.join(JOBS, name)));
});
