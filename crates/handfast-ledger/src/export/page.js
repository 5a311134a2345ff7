"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const ROW = 28;
  const make = (tag, cls, text) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const bytesOf = (b64) => Uint8Array.from(atob(b64), (c) => c.charCodeAt(0));
  const encoder = new TextEncoder();

  // Names are other people's: what does something to a reader instead of being seen is shown.
  const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb]/g;
  const safe = (text) => String(text).replace(/\\/g, "\\\\").replace(hidden, (c) => {
    if (c === "\n") return "\\n";
    if (c === "\r") return "\\r";
    if (c === "\t") return "\\t";
    return "\\u{" + c.codePointAt(0).toString(16) + "}";
  });
  const name = (part, key) => {
    if (!part) return "";
    if (part[key] !== undefined) return safe(part[key]);
    if (part[key + "_b64"] === undefined) return "";
    const bytes = bytesOf(part[key + "_b64"]);
    try { return safe(new TextDecoder("utf-8", { fatal: true }).decode(bytes)); }
    catch { return Array.from(bytes, (b) => b > 31 && b < 127 && b !== 92 ? String.fromCharCode(b) : "\\x" + b.toString(16).padStart(2, "0")).join(""); }
  };

  const events = data.events.map((leaf, at) => {
    let e = {};
    if (leaf === null) e = { type: "cannot be read" };
    try { e = typeof leaf === "string" ? JSON.parse(leaf) : {}; } catch { /* shown as it is */ }
    const refused = (e.decision && e.decision.allow === false) || (e.result && e.result.ok === false);
    const said = e.decision && e.decision.allow === false ? e.decision : e.result && !e.result.ok ? e.result : null;
    const o = e.obj;
    return {
      index: data.first + at, e, leaf, refused: !!refused,
      agent: safe((e.wl && e.wl.agent_id) || (e.wl && e.wl.pid ? "pid " + e.wl.pid : "the log")),
      lease: safe((e.lease && e.lease.id) || ""),
      lane: safe(((e.wl && e.wl.agent_id) || (e.wl && e.wl.pid ? "pid " + e.wl.pid : "the log")) + (e.lease && e.lease.id ? " \u00b7 " + e.lease.id : "")),
      path: name(e.req, "path"), to: name(e.dst, "path"),
      why: said ? safe((said.kind || "") + ": " + (said.why || "")) : "",
      handle: o ? o.dev + ":" + o.ino + (o.btime ? "@" + o.btime : "") : "",
      time: Date.parse(e.t_wall || "") || 0,
      isLog: !e.req,
    };
  });

  $("origin").textContent = safe(data.origin);
  document.title = "Handfast log " + safe(data.origin);
  const refusals = events.filter((v) => v.refused).length;
  $("facts").textContent = events.length.toLocaleString("en") + " events, " + refusals.toLocaleString("en") + " refused"
    + (data.first ? ", the first " + data.first + " pruned" : "");

  // --- filters -------------------------------------------------------------------------------
  let chosenAgent = null, chosenHandle = null, shown = events, selected = null;
  const fill = (select, values) => { for (const v of [...new Set(values)].filter(Boolean).sort()) { const o = make("option", "", v); o.value = v; select.append(o); } };
  fill($("verb"), events.map((v) => v.e.type));
  fill($("lease"), events.map((v) => v.lease));
  const filter = () => {
    const words = $("search").value.trim().toLowerCase();
    const verb = $("verb").value, lease = $("lease").value, denied = $("denied").checked;
    shown = events.filter((v) =>
      (!denied || v.refused) && (!verb || v.e.type === verb) && (!lease || v.lease === lease) &&
      (chosenAgent === null || v.agent === chosenAgent) && (chosenHandle === null || v.handle === chosenHandle) &&
      (!words || (v.path + " " + v.to + " " + v.why + " " + v.handle + " " + v.agent).toLowerCase().includes(words)));
    $("count").textContent = shown.length.toLocaleString("en") + " shown" + (chosenHandle ? ", one object" : "");
    $("spacer").style.height = shown.length * ROW + "px";
    $("list").scrollTop = 0;
    paint(true);
    lanes();
  };
  let timer = 0;
  const soon = () => { clearTimeout(timer); timer = setTimeout(filter, 60); };
  for (const id of ["search", "verb", "lease", "denied"]) $(id).addEventListener("input", soon);

  // --- the list: only what can be seen is made -------------------------------------------------
  let painted = -1;
  const paint = (force) => {
    const list = $("list");
    const from = Math.max(0, Math.floor(list.scrollTop / ROW) - 10);
    if (!force && from === painted) return;
    painted = from;
    const rows = $("rows");
    rows.style.transform = "translateY(" + from * ROW + "px)";
    const until = Math.min(shown.length, from + Math.ceil(list.clientHeight / ROW) + 20);
    rows.replaceChildren(...shown.slice(from, until).map((v) => {
      const row = make("div", "row" + (v.refused ? " denied" : "") + (v.isLog ? " log" : "") + (v === selected ? " on" : ""));
      row.append(make("span", "i", String(v.index)), make("span", "t", (v.e.t_wall || "").slice(11, 23)),
        make("span", "a", v.agent), make("span", "v", safe(v.e.type || "?") + (v.e.phase === "result" ? " \u2713".replace("\u2713", v.refused ? "\u2717" : "\u2713") : v.e.phase === "intent" ? " \u2026" : "")));
      const what = make("span", "p", v.path + (v.to ? " \u2192 " + v.to : ""));
      if (v.e.entries) what.append(make("span", "mark", v.e.entries.length + " entries"));
      if (v.e.fold) what.append(make("span", "mark", "\u00d7 " + v.e.fold.count));
      if (v.why) what.append(make("span", "why", "  " + v.why));
      row.append(what);
      row.addEventListener("click", () => choose(v));
      return row;
    }));
  };
  $("list").addEventListener("scroll", () => paint(false));
  addEventListener("resize", () => { paint(true); lanes(); });
  $("list").addEventListener("keydown", (k) => {
    if (k.key !== "ArrowDown" && k.key !== "ArrowUp") return;
    k.preventDefault();
    const at = shown.indexOf(selected) + (k.key === "ArrowDown" ? 1 : -1);
    if (shown[at]) { choose(shown[at]); reveal(at); }
  });
  const reveal = (at) => {
    const list = $("list"), top = at * ROW;
    if (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 2;
  };

  // --- one event -------------------------------------------------------------------------------
  const choose = (v) => {
    selected = v;
    paint(true);
    const box = $("detail"), facts = make("dl");
    const fact = (k, text) => { if (text) facts.append(make("dt", "", k), make("dd", "", text)); };
    fact("event", String(v.index)); fact("when", v.e.t_wall); fact("type", (v.e.type || "") + " (" + (v.e.phase || "") + ")");
    fact("agent", v.agent); fact("lease", v.lease); fact("path", v.path); fact("to", v.to);
    fact("refused", v.why); fact("object", v.handle);
    box.replaceChildren(facts);
    if (v.handle) {
      const link = make("a", "", chosenHandle === v.handle ? "show everything again" : "every event of this object, under any name");
      link.addEventListener("click", () => { chosenHandle = chosenHandle === v.handle ? null : v.handle; filter(); choose(v); });
      box.append(link);
    }
    if (v.e.op_id) {
      const link = make("a", "", "  this operation");
      link.addEventListener("click", () => { shown = events.filter((w) => w.e.op_id === v.e.op_id); $("spacer").style.height = shown.length * ROW + "px"; $("count").textContent = shown.length + " of one operation"; $("list").scrollTop = 0; paint(true); });
      box.append(make("br"), link);
    }
    box.append(make("pre", "", safe(JSON.stringify(v.e, null, 1)).replace(/\\n/g, "\n").replace(/\\\\/g, "\\")));
  };

  // --- agents and lanes ------------------------------------------------------------------------
  const byAgent = new Map();
  for (const v of events) {
    const a = byAgent.get(v.agent) || { n: 0, bad: 0 };
    a.n += 1; a.bad += v.refused ? 1 : 0;
    byAgent.set(v.agent, a);
  }
  const agents = [...byAgent.entries()].sort((a, b) => b[1].n - a[1].n);
  const listAgents = () => $("agents").replaceChildren(...agents.slice(0, 200).map(([who, a]) => {
    const li = make("li", who === chosenAgent ? "on" : "");
    li.append(make("span", "", who));
    if (a.bad) li.append(make("span", "bad", "\u26a0 " + a.bad));
    li.append(make("span", "n", String(a.n)));
    li.addEventListener("click", () => { chosenAgent = chosenAgent === who ? null : who; listAgents(); filter(); });
    return li;
  }));
  // A lane for every agent and lease, the busiest first.
  const byLane = new Map();
  for (const v of events) byLane.set(v.lane, (byLane.get(v.lane) || 0) + 1);
  const allLanes = [...byLane.entries()].sort((a, b) => b[1] - a[1]).slice(0, 10).sort((a, b) => (a[0] < b[0] ? -1 : 1));
  const times = events.map((v) => v.time).filter(Boolean);
  const start = times.reduce((a, b) => Math.min(a, b), Infinity), end = times.reduce((a, b) => Math.max(a, b), -Infinity);
  const lanes = () => {
    const canvas = $("lanes"), top = allLanes, high = 20;
    const wide = canvas.clientWidth || 600, ratio = devicePixelRatio || 1;
    canvas.style.height = top.length * high + 8 + "px";
    canvas.width = wide * ratio; canvas.height = (top.length * high + 8) * ratio;
    const g = canvas.getContext("2d"), look = getComputedStyle(document.body);
    const tone = (k) => look.getPropertyValue(k).trim();
    g.scale(ratio, ratio); g.font = "11px system-ui"; g.textBaseline = "middle";
    const place = new Map(top.map(([who], at) => [who, at]));
    const x = (t) => 140 + (end > start ? (t - start) / (end - start) : 0.5) * (wide - 156);
    top.forEach(([who], at) => {
      const y = at * high + high / 2 + 4;
      g.fillStyle = tone("--dim"); g.fillText(who.length > 22 ? who.slice(0, 21) + "\u2026" : who, 12, y);
      g.strokeStyle = tone("--line"); g.beginPath(); g.moveTo(140, y); g.lineTo(wide - 16, y); g.stroke();
    });
    for (const bad of [false, true]) {
      g.fillStyle = tone(bad ? "--bad" : "--accent"); g.globalAlpha = bad ? 0.9 : 0.45;
      for (const v of shown) {
        if (v.refused !== bad || !v.time || !place.has(v.lane)) continue;
        g.fillRect(x(v.time) - 1, place.get(v.lane) * high + (bad ? 6 : 8), 2, bad ? 16 : 12);
      }
    }
    g.globalAlpha = 1;
  };
  $("lanes").addEventListener("click", (m) => {
    const wanted = start + ((m.offsetX - 140) / ($("lanes").clientWidth - 156)) * (end - start);
    let best = 0;
    shown.forEach((v, at) => { if (Math.abs(v.time - wanted) < Math.abs(shown[best].time - wanted)) best = at; });
    if (shown[best]) { choose(shown[best]); reveal(best); }
  });

  // --- what changed ----------------------------------------------------------------------------
  const MARKS = { "remove-file": "removed", "remove-dir": "removed", "remove-tree": "removed", "remove-if": "removed", rename: "moved", chmod: "mode", chown: "owner", "set-times": "times", "create-dir": "made", "create-dir-all": "made", "write-new": "made", symlink: "link", "hard-link": "link" };
  const tree = { kids: new Map() };
  const put = (path, mark) => {
    let node = tree;
    for (const part of path.split("/")) {
      if (!node.kids.has(part)) node.kids.set(part, { kids: new Map(), marks: new Set(), full: path });
      node = node.kids.get(part);
    }
    node.marks.add(mark); node.full = path;
  };
  for (const v of events) {
    if (v.e.phase !== "result" || v.refused || !v.path) continue;
    const mark = MARKS[v.e.type] || "written";
    put(v.path, mark);
    if (v.to) put(v.to, v.e.type === "rename" ? "moved here" : "made");
  }
  const grow = (node, into) => {
    for (const [part, kid] of [...node.kids.entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
      const marks = make("span", "mark", [...kid.marks].join(", "));
      if (kid.kids.size) {
        const box = make("details"), head = make("summary", "", part + "/");
        head.append(marks); box.append(head);
        // Branches are made when they are opened: a tree may be large.
        box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) grow(kid, box); });
        into.append(box);
      } else {
        const line = make("div", "leaf", part);
        line.append(marks);
        line.addEventListener("click", () => { $("search").value = kid.full; filter(); });
        into.append(line);
      }
    }
  };
  grow(tree, $("tree"));
  if (!tree.kids.size) $("tree").append(make("p", "hint", "Nothing changed."));

  // --- verification ----------------------------------------------------------------------------
  const hash = async (...parts) => {
    const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const p of parts) { all.set(p, at); at += p.length; }
    return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  };
  const ZERO = Uint8Array.of(0), ONE = Uint8Array.of(1);
  const leafHash = (leaf) => hash(ZERO, typeof leaf === "string" ? encoder.encode(leaf) : bytesOf(leaf.b64));
  const rootOf = async (size, tell) => {
    let row = [];
    const wanted = size - data.first;
    for (let at = 0; at < wanted; at += 1000) {
      row.push(...await Promise.all(data.events.slice(at, Math.min(at + 1000, wanted)).map(leafHash)));
      tell(row.length);
    }
    if (!data.first) {
      // Pair by pair; the last one without a partner goes up as it is.
      while (row.length > 1) {
        const pairs = [];
        for (let i = 0; i + 1 < row.length; i += 2) pairs.push(hash(ONE, row[i], row[i + 1]));
        const next = await Promise.all(pairs);
        if (row.length % 2) next.push(row[row.length - 1]);
        row = next;
      }
      return row[0];
    }
    const peaks = data.peaks.map(bytesOf);
    let count = data.first;
    for (let h of row) {
      for (let n = count; n % 2 === 1; n = Math.floor(n / 2)) h = await hash(ONE, peaks.pop(), h);
      peaks.push(h); count += 1;
    }
    let root = peaks.pop();
    while (peaks.length) root = await hash(ONE, peaks.pop(), root);
    return root;
  };
  const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
  const parseKey = async (vkey) => {
    const [who, id, b64] = [vkey.split("+")[0], vkey.split("+")[1], vkey.split("+").slice(2).join("+")];
    const raw = bytesOf(b64);
    if (raw.length !== 33 || raw[0] !== 1) throw new Error("not an Ed25519 verifier key");
    const digest = await hash(encoder.encode(who + "\n"), raw);
    const hex = Array.from(digest.slice(0, 4), (b) => b.toString(16).padStart(2, "0")).join("");
    if (hex !== id) throw new Error("the key id is not the key's");
    return { who, id, raw: raw.slice(1) };
  };
  const say = (state, text) => { $("verdict").dataset.state = state; $("verdict").textContent = text; };
  const verify = async () => {
    if (data.damage) return say("bad", safe(data.damage));
    if (!data.checkpoint) return say("bad", "cannot tell: no checkpoint has been published");
    const cut = data.checkpoint.lastIndexOf("\n\n");
    const text = data.checkpoint.slice(0, cut + 1), [origin, sizeText, rootText] = text.split("\n");
    const size = Number(sizeText), given = $("key").value.trim();
    if (origin !== data.origin) return say("bad", "tampered: the checkpoint is of another log");
    if (!(size <= data.first + data.events.length) || size < data.first) return say("bad", "tampered: " + size + " events are signed, " + (data.first + data.events.length) + " are here");
    const keys = [];
    for (const k of given ? [given] : data.keys) keys.push(await parseKey(k));
    let signed = false;
    for (const line of data.checkpoint.slice(cut + 2).trim().split("\n")) {
      const m = /^\u2014 (\S+) (\S+)$/.exec(line);
      if (!m) return say("bad", "tampered: the checkpoint is damaged");
      const sig = bytesOf(m[2]);
      const id = Array.from(sig.slice(0, 4), (b) => b.toString(16).padStart(2, "0")).join("");
      const key = keys.find((k) => k.who === m[1] && k.id === id);
      if (!key) continue;
      const pub = await crypto.subtle.importKey("raw", key.raw, { name: "Ed25519" }, false, ["verify"]);
      if (!await crypto.subtle.verify({ name: "Ed25519" }, pub, sig.slice(4), encoder.encode(text))) return say("bad", "tampered: the signature does not fit the checkpoint");
      signed = true;
    }
    if (!signed) return say("bad", given ? "tampered: not signed by the given key" : "tampered: no key of the log signed the checkpoint");
    const root = await rootOf(size, (n) => say("busy", "hashing " + n + " of " + (size - data.first)));
    if (!same(root, bytesOf(rootText))) return say("bad", "tampered: the events do not lead to the signed root");
    const rest = data.first + data.events.length - size;
    say("good", "\u2713 " + size.toLocaleString("en") + " events verified" + (given ? " with your key" : ": consistent, not authenticated (the key is the page's own)") + (rest ? "; " + rest + " not signed yet" : "") + "; rollback not checked");
  };
  const check = () => {
    say("busy", "verifying \u2026");
    verify().catch((error) => say("bad", "cannot tell: " + error.message));
  };
  $("verify").addEventListener("click", check);

  listAgents();
  filter();
  const firstBad = events.find((v) => v.refused);
  if (firstBad) choose(firstBad);
  // Nobody has to ask whether the page holds: it says so, or that it does not.
  check();
})();
