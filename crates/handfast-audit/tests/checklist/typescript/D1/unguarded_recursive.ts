// expect: D1=finding
import express from "express";
import fs from "fs";
import path from "path";

const JOBS = "/srv/jobs";

express().post("/job", (req, res) => {
  fs.mkdirSync(path.join(JOBS, req.body.name), { recursive: true });
  res.sendStatus(201);
});
