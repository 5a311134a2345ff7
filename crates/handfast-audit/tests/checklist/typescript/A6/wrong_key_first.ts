// expect: A6=finding A1=yes
import { createHash } from "crypto";
import express from "express";
import path from "path";

const PREVIEWS = "/srv/previews";
const seen = new Map<string, number>();
const app = express();

app.get("/preview/:name", (req, res) => {
  const name = req.params.name;
  const key = createHash("sha1").update(name).digest("hex");
  seen.set(key, Date.now());
  if (!/^[a-z0-9]{1,40}$/.test(name)) {
    return res.sendStatus(400);
  }
  res.sendFile(path.join(PREVIEWS, name));
});
