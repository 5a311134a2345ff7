// expect: B2=finding
import express from "express";
import fs from "fs";
import path from "path";

class Store {
  private readonly root: string;

  constructor(root: string) {
    this.root = fs.realpathSync(root);
  }

  read(name: string) {
    return fs.readFileSync(path.join(this.root, name));
  }
}

const store = new Store("/srv/store");
express().get("/get", (req, res) => res.send(store.read(String(req.query.f))));
