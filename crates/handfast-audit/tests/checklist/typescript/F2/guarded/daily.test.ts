import { expect, it, vi } from "vitest";
import fs from "fs";
import { append } from "./daily";

it("appends to the file of the day", () => {
  vi.useFakeTimers();
  vi.setSystemTime(new Date("2024-02-29"));
  append("acme", "x");
  expect(fs.existsSync("acme/2024-02-29")).toBe(true);
});
