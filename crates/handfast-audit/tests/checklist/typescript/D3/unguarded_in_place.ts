// expect: D3=finding
import express from "express";
import fs from "fs";
import path from "path";

const BOX = "/srv/box";

express().put("/save/:name", (req, res) => {
  const { name } = req.params;
  if (!/^[a-z]{1,30}$/.test(name)) {
    return res.sendStatus(400);
  }
  fs.writeFileSync(path.join(BOX, name), req.body);
  res.sendStatus(204);
});
