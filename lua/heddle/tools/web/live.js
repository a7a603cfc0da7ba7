/*
 * live.js - how far the series of a store are (live.lua): asks for /state every
 * two seconds and shows it.  What has not changed is not drawn again, so that the
 * focus and what is folded open stay.
 *
 * SPDX-License-Identifier: MIT
 */
"use strict";
(() => {
const PERIOD = 2000;
const main = document.getElementById("main");

function h(tag, props, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {}))
    if (v != null && v !== false) e.setAttribute(k, v);
  e.append(...kids.flat(9).filter(x => x != null && x !== false));
  return e;
}

const whole = v => v.toLocaleString("en-US", { maximumFractionDigits: 0 });
const percent = v => v == null ? "–" : (100 * v).toFixed(1) + " %";
const number = v => v == null ? "–" : Number.isInteger(v) || v >= 1000
  ? whole(v) : v.toPrecision(4);
function clock(seconds) {
  const t = Math.max(0, Math.round(seconds)), two = v => String(v).padStart(2, "0");
  return t >= 3600
    ? `${Math.floor(t / 3600)}:${two(Math.floor(t / 60) % 60)}:${two(t % 60)}`
    : `${Math.floor(t / 60)}:${two(t % 60)}`;
}

/** Columns: texts; those from `right` on are numbers. */
function table(caption, columns, right, rows) {
  const side = i => i >= right ? "r" : null;
  return h("div", { class: "scroll", tabindex: 0, role: "region",
    "aria-label": caption }, h("table", null,
    h("caption", { class: "hidden" }, caption),
    h("thead", null, h("tr", null, columns.map((c, i) => h("th", { scope: "col",
      class: side(i) }, c)))),
    h("tbody", null, rows.map(r => h("tr", null, r.map((v, i) => h(i ? "td" : "th",
      { scope: i ? null : "row", class: side(i) }, v)))))));
}

const more = (n, list) => n > list.length
  && h("p", { class: "soft" }, `and ${whole(n - list.length)} more`);

function part(title, n, list, make) {
  return n > 0 && [h("h3", null, `${title}: ${whole(n)}`), make(list),
    more(n, list)];
}

function show(s, now) {
  const c = s.counts, ended = c.done + c.failed;
  const fact = (name, value) => h("div", null, h("dt", null, name),
    h("dd", null, value));
  const state = s.runs ? `runs as process ${s.pid}`
    : s.gone ? "has ended" : "was killed";
  return h("section", { class: "x" },
    h("h2", null, `Series of ${whole(s.total)}, ${state}`),
    h("progress", { max: s.total, value: ended, "aria-label": "Jobs that ended" }),
    h("dl", { class: "facts" },
      fact("Done", `${whole(ended)} of ${whole(s.total)}`),
      fact("Found in the store", whole(s.found)),
      s.runs && fact("Time", clock(s.spent)),
      s.runs && fact("Left, about", s.left == null ? "?" : clock(s.left))),
    part("Failed", c.failed, s.jobs.failed, list => h("ul", null, list.map(j =>
      h("li", { class: "no" }, `${j.title}: ${j.why}`)))),
    part("Without a result", c.lost, s.jobs.lost, list => h("ul", null,
      list.map(j => h("li", { class: "no" }, j.title)))),
    part("Running", c.running, s.jobs.running, list => table("Running",
      ["Job", "Time"], 1, list.map(j => [j.title, clock(now - j.at)]))),
    part("Results, the last first", c.done, s.jobs.done, list => table("Results",
      ["Job", "Applications", "Machine", "Cycles", "IPC", "L1 TLB misses",
        "L2 TLB misses"], 3, list.map(j => [j.title, j.apps || "–",
        j.machine || "–", number(j.cycles), number(j.ipc), percent(j.l1),
        percent(j.l2)]))),
    part("Waiting", c.waiting, s.jobs.waiting, list => h("ol", null,
      list.map(j => h("li", null, j.title)))));
}

let last = "";
async function turn() {
  let text;
  try {
    const answer = await fetch("/state");
    text = await answer.text();
    if (!answer.ok) throw new Error(text);
  } catch (e) {
    const told = document.getElementById("told");
    if (told) told.textContent = "heddle view does not answer any more: " + e.message;
    last = "";
    return setTimeout(turn, PERIOD);
  }
  if (text !== last) {
    last = text;
    const s = JSON.parse(text), focus = document.activeElement
      && document.activeElement.id;
    main.replaceChildren(
      h("p", { id: "told", class: "soft", "aria-live": "polite" }, s.series.length
        ? s.series.some(x => x.runs) ? "This page follows by itself."
          : "No series runs now." : "No series runs in this store now; this page "
        + "shows one when it begins."),
      h("p", null, `${whole(s.kept)} results in the store. `, s.kept > 0
        && h("a", { href: "/view", id: "view" }, "Explore them")),
      ...s.series.map(x => show(x, s.now)));
    if (focus === "view") document.getElementById("view").focus();
    document.documentElement.dataset.ready = "yes";
  }
  setTimeout(turn, PERIOD);
}
turn();
})();
