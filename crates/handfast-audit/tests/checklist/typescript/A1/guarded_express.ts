// expect: A1=yes A2=yes A4=yes
import express from "express";
import path from "node:path";

const REPORTS = "/srv/reports";
const app = express();

app.get("/report/:id", (req, res) => {
  const id = req.params.id;
  if (!/^[a-z0-9]{1,32}$/.test(id)) {
    res.sendStatus(404);
    return;
  }
  res.sendFile(path.join(REPORTS, `${id}.pdf`));
});
