// expect: A4=finding B3=finding
import fs from "fs";
import path from "path";
import type { IncomingMessage, ServerResponse } from "http";

export function serveStatic(root: string) {
  return function (incoming: IncomingMessage, res: ServerResponse) {
    const file = path.join(root, decodeURIComponent(incoming.url!));
    fs.createReadStream(file).pipe(res);
  };
}
