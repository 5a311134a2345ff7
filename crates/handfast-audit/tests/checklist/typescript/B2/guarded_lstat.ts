// expect: B2=yes
import express from "express";
import fs from "fs";
import path from "path";

class Store {
  private readonly root: string;

  constructor(root: string) {
    const info = fs.lstatSync(root);
    if (info.isSymbolicLink() || !info.isDirectory()) {
      throw new Error("the store must be a real directory");
    }
    this.root = fs.realpathSync(root);
  }

  read(name: string) {
    return fs.readFileSync(path.join(this.root, name));
  }
}

const store = new Store("/srv/store");
express().get("/get", (req, res) => res.send(store.read(String(req.query.f))));
