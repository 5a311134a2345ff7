// expect: F2=finding
import fs from "fs";
import path from "path";

const ROOT = process.env.LOG_ROOT!;

export function append(tenant: string, line: string) {
  const name = `${tenant}-${Date.now()}.log`;
  fs.appendFileSync(path.join(ROOT, name), line);
}
