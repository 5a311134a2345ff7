// expect: B1=finding
import express from "express";
import path from "path";

const ROOT = path.resolve("data");
const app = express();

app.get("/get", (req, res) => {
  const target = path.resolve(ROOT, String(req.query.f));
  if (!target.startsWith(ROOT + path.sep)) {
    return res.sendStatus(403);
  }
  res.sendFile(target);
});
