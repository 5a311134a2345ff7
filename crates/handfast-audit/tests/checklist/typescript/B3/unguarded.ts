// expect: B3=finding
import fs from "fs/promises";
import path from "path";
import Fastify from "fastify";

const ROOT = "/srv/site";
const server = Fastify();

server.get("/page", async (request) => {
  const { p } = request.query as { p: string };
  return fs.readFile(path.join(ROOT, p));
});
