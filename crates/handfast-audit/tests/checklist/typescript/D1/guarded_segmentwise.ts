// expect: D1=yes
import express from "express";
import fs from "fs";
import path from "path";

const JOBS = "/srv/jobs";

express().post("/job/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z0-9]{1,32}$/.test(name)) {
    return res.sendStatus(400);
  }
  const dir = path.join(JOBS, name);
  try {
    fs.mkdirSync(dir, 0o700);
  } catch (err) {
    const info = fs.lstatSync(dir);
    if (info.isSymbolicLink() || !info.isDirectory()) {
      return res.sendStatus(409);
    }
  }
  res.sendStatus(201);
});
