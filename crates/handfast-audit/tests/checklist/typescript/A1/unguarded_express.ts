// expect: A1=finding A2=finding A4=finding B3=finding
import express from "express";
import path from "node:path";

const REPORTS = "/srv/reports";
const app = express();

app.get("/report", (req, res) => {
  res.sendFile(path.join(REPORTS, req.query.id as string));
});
