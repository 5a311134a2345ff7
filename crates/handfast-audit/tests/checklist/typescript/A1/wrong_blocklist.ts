// expect: A1=finding A4=yes
import express from "express";
import * as fs from "fs";
import * as path from "path";

const DOCS = "/srv/docs";
const router = express.Router();

router.get("/doc", (req, res) => {
  const name = String(req.query.name);
  if (name.includes("..") || name.includes("\0")) {
    return res.status(400).end();
  }
  fs.createReadStream(path.join(DOCS, name)).pipe(res);
});

export default router;
