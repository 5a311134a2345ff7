import { beforeEach, expect, it } from "vitest";
import fs from "fs";
import os from "os";
import path from "path";
import { save } from "./store";

let dir: string;

beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), "store-"));
  process.env.STORE_ROOT = dir;
});

it("saves", () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "store-"));
  save("a", "text");
  expect(fs.readFileSync(path.join(dir, "a"), "utf8")).toBe("text");
});
