// expect: A6=finding
import { createHash } from "crypto";
import express from "express";
import path from "path";

const PREVIEWS = "/srv/previews";
const app = express();

app.get("/preview/:name", (req, res) => {
  const name = req.params.name;
  res.setHeader("etag", createHash("sha1").update(name).digest("hex"));
  res.sendFile(path.join(PREVIEWS, name));
});
