// expect: F3=finding
import fs from "fs";
import path from "path";

const ROOT = process.env.READER_ROOT!;

export function read(name: string): Buffer {
  if (!/^[a-z]{1,20}$/.test(name)) {
    throw new Error("name");
  }
  return fs.readFileSync(path.join(ROOT, name));
}
