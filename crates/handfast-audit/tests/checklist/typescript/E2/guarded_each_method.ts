// expect: E2=yes
import fs from "fs";
import path from "path";

export class Workspace {
  private readonly root: string;

  constructor(root: string) {
    this.root = fs.realpathSync(root);
  }

  private locate(name: string): string {
    if (!/^[a-z]{1,30}$/.test(name)) {
      throw new Error("name");
    }
    return path.join(this.root, name);
  }

  write(name: string, text: string) {
    fs.writeFileSync(this.locate(name), text);
  }

  remove(name: string) {
    fs.unlinkSync(this.locate(name));
  }
}
