import { it } from "vitest";
import { append } from "./daily";

it("appends", () => {
  append("acme", "x");
});
