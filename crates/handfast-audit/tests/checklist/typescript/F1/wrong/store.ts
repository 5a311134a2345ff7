// expect: F1=finding
import fs from "fs";
import path from "path";

const ROOT = process.env.STORE_ROOT!;

export function save(name: string, text: string) {
  fs.writeFileSync(path.join(ROOT, name), text);
}
