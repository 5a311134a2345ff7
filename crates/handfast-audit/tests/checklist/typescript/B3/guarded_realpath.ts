// expect: B3=yes A4=yes
import fs from "fs/promises";
import path from "path";
import Fastify from "fastify";

let root: string;
const server = Fastify();

async function inside(name: string): Promise<string> {
  const resolved = await fs.realpath(path.join(root, name));
  const relative = path.relative(root, resolved);
  if (relative === "" || relative.startsWith("..") || path.isAbsolute(relative)) {
    throw new Error("outside");
  }
  return resolved;
}

async function main() {
  root = await fs.realpath("/srv/site");
  server.get("/page", async (request) => {
    const { p } = request.query as { p: string };
    return fs.readFile(await inside(p));
  });
  await server.listen({ port: 3000 });
}

main();
