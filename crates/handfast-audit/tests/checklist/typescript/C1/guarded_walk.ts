// expect: C1=yes C2=yes
import express from "express";
import fs from "fs";
import path from "path";

const ROOT = fs.realpathSync("/srv/tree");

function walk(relative: string): string {
  let here = ROOT;
  for (const part of relative.split("/")) {
    if (part === "" || part === "." || part === "..") {
      throw new Error("bad segment");
    }
    here = path.join(here, part);
    if (fs.lstatSync(here).isSymbolicLink()) {
      throw new Error("link");
    }
  }
  return here;
}

express().get("/read", (req, res) => {
  res.send(fs.readFileSync(walk(String(req.query.path))));
});
