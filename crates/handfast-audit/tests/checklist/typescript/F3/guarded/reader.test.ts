import { expect, it } from "vitest";
import fs from "fs";
import { read } from "./reader";

it("refuses a .. segment", () => {
  expect(() => read("../etc")).toThrow();
});

it("refuses a root that is a symlink (rootLink)", () => {
  fs.symlinkSync("/srv", "/srv/rootLink");
  expect(() => read("a")).toThrow();
});

it("refuses a symlink", () => {
  fs.symlinkSync("/etc/hostname", "link");
  expect(() => read("link")).toThrow();
});

it("refuses a dangling symlink", () => {
  fs.symlinkSync("nowhere", "dangling");
  expect(() => read("dangling")).toThrow();
});

it("refuses an intermediate file", () => {
  expect(() => read("a/b")).toThrow("ENOTDIR");
});
