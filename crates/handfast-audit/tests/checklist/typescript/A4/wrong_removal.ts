// expect: A4=finding
import express from "express";
import path from "path";

const IMAGES = "/srv/images";
const app = express();

app.get("/image", (req, res) => {
  const name = String(req.query.name).replace("../", "");
  res.sendFile(path.join(IMAGES, name));
});
