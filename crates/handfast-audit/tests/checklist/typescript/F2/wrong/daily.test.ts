import { expect, it } from "vitest";
import fs from "fs";
import { append } from "./daily";

it("appends", () => {
  append("acme", "x");
  expect(fs.existsSync(`acme-${Date.now()}.log`)).toBe(true);
});
