// expect: E2=finding
import fs from "fs";
import path from "path";

export class TenantDir {
  private readonly dir: string;

  constructor(root: string, tenant: string) {
    if (tenant.includes("/") || tenant === "" || tenant === "." || tenant === "..") {
      throw new Error("tenant");
    }
    this.dir = path.join(root, tenant);
    if (fs.lstatSync(this.dir).isSymbolicLink()) {
      throw new Error("link");
    }
  }

  reset() {
    fs.rmdirSync(this.dir);
  }
}
