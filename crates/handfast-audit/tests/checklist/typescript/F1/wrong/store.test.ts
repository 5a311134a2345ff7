import { expect, it } from "vitest";
import fs from "fs";
import os from "os";
import path from "path";
import { save } from "./store";

it("saves", () => {
  const dir = path.join(os.tmpdir(), "store-test");
  fs.mkdirSync(dir, { recursive: true });
  process.env.STORE_ROOT = dir;
  save("a", "text");
  expect(fs.readFileSync(path.join(dir, "a"), "utf8")).toBe("text");
});
