// expect: B2=finding
import express from "express";
import fs from "fs";
import path from "path";

const ROOT = "/srv/store";
if (!fs.statSync(ROOT).isDirectory()) {
  throw new Error("no store");
}

express().get("/get", (req, res) => {
  res.send(fs.readFileSync(path.join(ROOT, String(req.query.f))));
});
