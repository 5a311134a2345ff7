// expect: A5=yes
import express from "express";
import path from "path";

const JOBS = "/srv/jobs";
const app = express();

app.get("/job", (req, res) => {
  const name = req.query.name;
  if (typeof name !== "string" || name === "") {
    return res.sendStatus(400);
  }
  if (!/^[a-z]{1,20}$/.test(name)) {
    return res.sendStatus(400);
  }
  res.sendFile(path.join(JOBS, name));
});
