// expect: F2=yes
import fs from "fs";
import path from "path";

const ROOT = process.env.LOG_ROOT!;

export function append(tenant: string, line: string) {
  const day = new Date().toISOString().slice(0, 10);
  fs.appendFileSync(path.join(ROOT, tenant, day), line);
}
