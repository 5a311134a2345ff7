import { expect, it } from "vitest";
import { read } from "./reader";

it("refuses ..", () => {
  expect(() => read("../a")).toThrow();
});
