// expect: A4=finding
import express from "express";
import fs from "fs";
import path from "path";

const FILES = "/srv/files";
const app = express();

app.get("/raw", (req, res) => {
  const name = req.query.name as string;
  if (name.includes("..")) {
    return res.sendStatus(400);
  }
  const decoded = decodeURIComponent(name);
  fs.createReadStream(path.join(FILES, decoded)).pipe(res);
});
