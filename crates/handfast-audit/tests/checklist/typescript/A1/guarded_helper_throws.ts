// expect: A1=yes A4=yes
import Fastify from "fastify";
import { createReadStream } from "fs";
import { join } from "path";

const MEDIA = "/srv/media";
const SLUG = /^[a-z0-9][a-z0-9-]{0,62}$/;

function requireSlug(value: unknown): string {
  if (typeof value !== "string" || value.length === 0) {
    throw new Error("slug missing");
  }
  if (!SLUG.test(value)) {
    throw new Error("slug malformed");
  }
  return value;
}

const server = Fastify();
server.get("/media/:slug", async (request, reply) => {
  const slug = requireSlug((request.params as { slug: string }).slug);
  return reply.send(createReadStream(join(MEDIA, slug)));
});
