// expect: D4=finding A4=finding
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";

express().delete("/box/:name", (req, res) => {
  fs.unlinkSync(path.join(BOX, req.params.name));
  res.sendStatus(204);
});
