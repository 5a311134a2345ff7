// expect: D1=finding
import express from "express";
import fse from "fs-extra";
import path from "path";

const JOBS = "/srv/jobs";

async function save(tenant: string, name: string, body: Buffer) {
  const target = path.join(JOBS, tenant, name);
  await fse.ensureDir(path.dirname(target));
  await fse.writeFile(target, body);
}

express().post("/job/:tenant", async (req, res) => {
  await save(req.params.tenant, req.body.name, req.body.data);
  res.sendStatus(201);
});
