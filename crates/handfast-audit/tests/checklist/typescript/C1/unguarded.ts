// expect: C1=finding C2=finding C3=finding
import express from "express";
import fs from "fs";
import path from "path";

const ROOT = fs.realpathSync("/srv/tree");

express().get("/read", (req, res) => {
  const relative = String(req.query.path);
  if (relative.split("/").includes("..")) {
    return res.sendStatus(400);
  }
  res.send(fs.readFileSync(path.join(ROOT, relative)));
});
