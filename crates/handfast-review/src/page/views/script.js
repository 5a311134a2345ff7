"use strict";
const $ = (q) => document.querySelector(q);
const view = document.body.dataset.view;
if (view === "entry") {
  const token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (token) {
    fetch("/enter", { method: "POST", body: token }).then(async (answer) => {
      const said = await answer.text();
      if (answer.ok) location.replace(said);
      else $("#said").textContent = said;
    });
  }
}
const items = [...document.querySelectorAll("[data-item]")];
const target = (item) => item.querySelector("[data-open]") ?? item;
let at = -1;
const go = (to) => {
  if (!items.length) return;
  at = Math.max(0, Math.min(items.length - 1, to));
  items.forEach((item, n) => item.classList.toggle("here", n === at));
  target(items[at]).focus({ preventScroll: true });
  items[at].scrollIntoView({ block: "nearest" });
};
document.addEventListener("focusin", (event) => {
  const item = event.target.closest("[data-item]");
  if (item) { at = items.indexOf(item); items.forEach((other) => other.classList.toggle("here", other === item)); }
});
const click = (q) => { const found = $(q); if (found) found.click(); };
const help = () => {
  const shown = $("#help").hidden;
  $("#help").hidden = !shown;
  $("#keys").setAttribute("aria-expanded", shown);
};
const actions = {
  j: () => go(at + 1),
  k: () => go(at - 1),
  x: () => { const box = items[at]?.querySelector("input[type=checkbox]"); if (box) box.click(); },
  o: () => { if (items[at]) target(items[at]).click(); },
  r: () => {
    const within = items[at]?.querySelector("details.reject") ?? [...document.querySelectorAll("details.reject")].pop();
    if (within) { within.open = true; within.querySelector("textarea").focus(); } else actions.o();
  },
  n: () => click("[data-next]"),
  p: () => click("[data-prev]"),
  c: () => click("#commit"),
  v: () => click("[data-view-other]"),
  b: () => { if ($("[data-back]")) click("[data-back]"); else click("header nav a[href*='/s/']"); },
  ".": () => location.reload(),
  "?": help,
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("textarea, input:not([type=checkbox])")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const action = actions[event.key];
  if (action) { event.preventDefault(); action(); }
});
if ($("#keys")) $("#keys").addEventListener("click", help);
if ($("#reload")) $("#reload").addEventListener("click", () => location.reload());
const stamp = $("#stamp");
if (stamp) {
  // Where an answer is a click, nothing moves by itself: the next question would be under the pointer.
  const busy = () => document.querySelector("form.answer, input[type=checkbox]:checked, details[open]") || document.activeElement?.matches("textarea, input");
  const heard = (event) => {
    if (event.data === stamp.dataset.stamp) $("#news").hidden = true;
    else if (busy()) $("#news").hidden = false;
    else location.reload();
  };
  let source = null;
  // A page that nobody sees keeps no connection: a browser has few for one server.
  const listen = () => {
    if (document.hidden) { source?.close(); source = null; return; }
    if (source) return;
    source = new EventSource(stamp.dataset.url);
    source.onmessage = heard;
    source.onopen = () => { $("#gone").hidden = true; };
    source.onerror = () => { $("#gone").hidden = false; };
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => { source?.close(); source = null; });
  addEventListener("pageshow", listen);
  listen();
}
