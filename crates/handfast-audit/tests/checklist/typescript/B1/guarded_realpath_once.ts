// expect: B1=yes B3=yes
import express from "express";
import fs from "fs";
import path from "path";

const ROOT = fs.realpathSync("/srv/data");
const app = express();

app.get("/get", (req, res) => {
  const target = fs.realpathSync(path.join(ROOT, String(req.query.f)));
  if (target !== ROOT && !target.startsWith(ROOT + path.sep)) {
    return res.sendStatus(403);
  }
  res.sendFile(target);
});
