// expect: A1=finding
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import Koa from "koa";
import Router from "@koa/router";

const NOTES = "/srv/notes";
const router = new Router();

router.get("/notes/:id", async (ctx) => {
  const id = ctx.params.id;
  if (!/^[a-z]+$/m.test(id)) {
    ctx.throw(400);
  }
  ctx.body = await readFile(join(NOTES, id), "utf8");
});

new Koa().use(router.routes());
