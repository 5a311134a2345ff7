// expect: E2=finding
import fs from "fs";
import path from "path";

export class Workspace {
  constructor(private readonly root: string) {}

  write(name: string, text: string) {
    fs.writeFileSync(path.join(this.root, name), text);
  }
}
