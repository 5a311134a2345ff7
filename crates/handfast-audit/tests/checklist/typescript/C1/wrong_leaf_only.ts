// expect: C1=finding
import express from "express";
import fs from "fs";
import path from "path";

const ROOT = fs.realpathSync("/srv/tree");

express().get("/read", (req, res) => {
  const relative = String(req.query.path);
  if (relative.split("/").includes("..")) {
    return res.sendStatus(400);
  }
  const target = path.join(ROOT, relative);
  if (fs.lstatSync(target).isSymbolicLink()) {
    return res.sendStatus(400);
  }
  res.send(fs.readFileSync(target));
});
