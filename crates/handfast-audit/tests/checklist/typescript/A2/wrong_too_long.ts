// expect: A2=finding
import express from "express";
import path from "path";

const TILES = "/var/cache/tiles";
const MAX = 4096;
const app = express();

app.get("/tile", (req, res) => {
  const layer = req.query.layer;
  if (typeof layer !== "string" || layer.length > MAX || !/^\w+$/.test(layer)) {
    res.sendStatus(400);
    return;
  }
  res.sendFile(path.join(TILES, layer));
});
