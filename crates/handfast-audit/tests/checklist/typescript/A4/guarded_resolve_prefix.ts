// expect: A4=yes
import express from "express";
import path from "path";

const PUBLIC = path.resolve("/srv/public");
const app = express();

app.get("/files/*", (req, res) => {
  const target = path.resolve(PUBLIC, "." + path.sep + req.params[0]);
  if (!target.startsWith(PUBLIC + path.sep)) {
    res.status(403).end();
    return;
  }
  res.sendFile(target);
});
