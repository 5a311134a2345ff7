// expect: B3=finding
import express from "express";
import fs from "fs";
import path from "path";

const ROOT = fs.realpathSync("/srv/site");
const app = express();

app.get("/page", (req, res) => {
  const target = fs.realpathSync(path.join(ROOT, String(req.query.p)));
  if (target.startsWith(ROOT)) {
    res.sendFile(target);
  } else {
    res.sendStatus(404);
  }
});
