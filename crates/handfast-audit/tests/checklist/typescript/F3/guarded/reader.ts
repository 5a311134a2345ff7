// expect: F3=yes A4=yes
import fs, { constants } from "fs";
import path from "path";

const CONFIGURED = process.env.READER_ROOT!;
const rootInfo = fs.lstatSync(CONFIGURED);
if (rootInfo.isSymbolicLink() || !rootInfo.isDirectory()) {
  throw new Error("root");
}
const ROOT = fs.realpathSync(CONFIGURED);

export function read(name: string): Buffer {
  if (typeof name !== "string" || !/^[a-z]{1,20}$/.test(name)) {
    throw new Error("name");
  }
  const target = path.join(ROOT, name);
  const fd = fs.openSync(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if (!fs.fstatSync(fd).isFile()) {
    throw new Error("kind");
  }
  return fs.readFileSync(fd);
}
