// expect: A4=yes
import { NextRequest, NextResponse } from "next/server";
import { promises as fs } from "fs";
import path from "path";

const CONTENT = path.join(process.cwd(), "content");

export async function GET(request: NextRequest) {
  const slug = request.nextUrl.searchParams.get("slug") ?? "";
  const full = path.join(CONTENT, slug);
  const relative = path.relative(CONTENT, full);
  if (relative.startsWith("..") || path.isAbsolute(relative)) {
    return NextResponse.json({ error: "no" }, { status: 400 });
  }
  return new NextResponse(await fs.readFile(full));
}
