// expect: B1=finding
import express from "express";
import path from "path";

const ROOT = "/srv/data";
const app = express();

app.get("/get", (req, res) => {
  res.sendFile(path.join(ROOT, String(req.query.f)));
});
