import { expect, it } from "vitest";
import fs from "fs";
import { save } from "./store";

it("saves", () => {
  fs.mkdirSync("/tmp/store-test", { recursive: true });
  process.env.STORE_ROOT = "/tmp/store-test";
  save("a", "text");
  expect(fs.readFileSync("/tmp/store-test/a", "utf8")).toBe("text");
});
