// expect: A1=yes A2=yes
import express from "express";
import path from "path";

const TILES = "/var/cache/tiles";
const app = express();

app.get("/tile", (req, res) => {
  const layer = req.query.layer;
  if (typeof layer !== "string" || layer.length > 40 || !/^\w+$/.test(layer)) {
    res.sendStatus(400);
    return;
  }
  res.sendFile(path.join(TILES, layer));
});
