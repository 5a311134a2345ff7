// Runs the exported page's own script on load, without a browser: what does its check say?
//
//   load.mjs PAGE good|bad
//
// The document is a stub; hashes and signatures are WebCrypto's, as in a browser.
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";

const [page, wanted] = process.argv.slice(2);
const html = readFileSync(page, "utf8");
const data = html.split('id="data">')[1].split("</script>")[0];
const script = html.split("<script>")[1].split("</script>")[0];
const nothing = () => {};
const canvas = new Proxy({}, { get: () => nothing, set: () => true });
const nodes = {};
const node = (id) => nodes[id] ??= {
  dataset: {}, style: {}, value: "", textContent: "", children: [], scrollTop: 0, clientHeight: 500, clientWidth: 600,
  append: nothing, replaceChildren: nothing, addEventListener: nothing, getContext: () => canvas,
};
let made = 0;
const document = {
  title: "", body: {},
  getElementById: (id) => id === "data" ? { textContent: data } : node(id),
  createElement: () => node(`made-${made += 1}`),
};
runInNewContext(script, {
  document, TextEncoder, TextDecoder, Uint8Array, Date, Promise, crypto: globalThis.crypto, atob, setTimeout, clearTimeout,
  devicePixelRatio: 1, addEventListener: nothing, getComputedStyle: () => ({ getPropertyValue: () => "" }),
});
const deadline = Date.now() + 60_000;
for (;;) {
  const { dataset, textContent } = node("verdict");
  if (dataset.state === "good" || dataset.state === "bad") {
    console.log(`on load: ${dataset.state}: ${textContent}`);
    process.exit(dataset.state === wanted ? 0 : 1);
  }
  if (Date.now() > deadline) throw new Error("the page says nothing");
  await new Promise((done) => setTimeout(done, 20));
}
