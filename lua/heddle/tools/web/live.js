/*
 * live.js - how far the series of a store are, and where simulations are that say so
 * (live.lua): asks for /state every two seconds and shows it.  What has not changed is not drawn again, so that the
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

// ---- a simulation -----------------------------------------------------------------------

function s(tag, props, ...kids) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(props)) e.setAttribute(k, v);
  e.append(...kids);
  return e;
}
const text = (x, y, t, anchor) => s("text", { x, y, "text-anchor": anchor }, t);

/** IPC over the states so far, as wide as the page. */
function curve(points) {
  const width = Math.max(240, main.clientWidth - 34), height = 170, left = 52;
  const base = height - 36, top = Math.max(...points.map(p => p[1]), 1e-9);
  const from = points[0][0], span = Math.max(1, points.at(-1)[0] - from);
  const x = c => left + (c - from) / span * (width - left - 8);
  const y = v => base - v / top * (base - 26);
  const d = points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${
    y(p[1]).toFixed(1)}`).join("");
  return h("figure", null, s("svg", { width, height, role: "img", viewBox:
    `0 0 ${width} ${height}`, "aria-label": "IPC over the cycles" },
  text(0, 12, "warp instructions a cycle", "start"),
  ...[0, top].flatMap(v => [s("line", { class: v ? "grid" : "axis", x1: left,
    x2: width - 8, y1: y(v), y2: y(v) }), text(left - 6, y(v) + 4, v ? number(v)
    : "0", "end")]),
  s("path", { d, fill: "none", stroke: "var(--r0)", "stroke-width": 2 }),
  text(left, base + 16, whole(from), "start"),
  text(width - 8, base + 16, whole(from + span), "end"),
  text((left + width) / 2, base + 32, "core cycles", "middle")));
}

/** Shares as bars, beside their names. */
const bars = list => h("div", { class: "shares" }, list.map(x => [
  h("span", null, x.meaning), h("i", { style: `--w:${(100 * x.share).toFixed(1)}%`,
    role: "img", "aria-label": percent(x.share) }), h("b", null, percent(x.share))]));

function work(a) {
  const done = a.finished ? "has finished" : a.budget ? percent(a.instructions
    / a.budget) + " of its budget" : a.blocks ? `${percent(a.blocks_done
    / a.blocks)} of kernel ${a.kernel}` : `kernel ${a.kernel}`;
  return [a.name, whole(a.instructions), done];
}

function simulation(r, now) {
  const fact = (name, value) => h("div", null, h("dt", null, name),
    h("dd", null, value));
  const state = r.runs ? r.status === "running" ? `runs as process ${r.pid}`
    : `ended (${r.status}); process ${r.pid} runs` : r.gone
    || r.status !== "running" ? "has ended" : "was killed";
  return h("section", { class: "x", "data-sim": r.pid },
    h("h2", null, `${r.label || r.apps.map(a => a.name).join(" + ")} on ${
      r.machine}, ${state}`),
    h("dl", { class: "facts" },
      fact("Cycle", whole(r.cycle)),
      fact("IPC now", number(r.ipc)),
      fact("IPC so far", number(r.mean_ipc)),
      r.runs && r.speed != null && fact("Cycles a second", whole(r.speed)),
      fact("Time", clock((r.runs ? now : r.seen) - r.at))),
    h("h3", null, "Applications"),
    table("Applications", ["Application", "Warp instructions", "Done"], 1,
      r.apps.map(work)),
    r.stages.length > 0 && [h("h3", null, "What warps wait for, now"),
      bars(r.stages)],
    r.queues.length > 0 && [h("h3", null, "Queues, now"), table("Queues",
      ["Queue", "Now", "Most seen"], 1, r.queues.map(q => [q.name, whole(q.now),
        whole(q.most)]))],
    r.rates.length > 0 && [h("h3", null, "Rates, now"), table("Rates",
      ["What", "Now", "Unit"], 1, r.rates.map(x => [x.name, x.unit === "share"
        ? percent(x.value) : number(x.value), x.unit === "share" ? "" : x.unit]))],
    r.points.length > 1 && [h("h3", null, "IPC"), curve(r.points)]);
}

// ---- all of it -------------------------------------------------------------------------

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
    const d = JSON.parse(text), focus = document.activeElement
      && document.activeElement.id;
    main.replaceChildren(
      h("p", { id: "told", class: "soft", "aria-live": "polite" }, d.series.concat(d.sims)
        .some(x => x.runs) ? "This page follows by itself." : d.series.length
        ? "No series runs now." : "No series and no simulation runs in this store "
        + "now; this page shows one when it begins."),
      h("p", null, `${whole(d.kept)} results in the store. `, d.kept > 0
        && h("a", { href: "/view", id: "view" }, "Explore them")),
      ...d.sims.map(x => simulation(x, d.now)),
      ...d.series.map(x => show(x, d.now)));
    if (focus === "view") document.getElementById("view").focus();
    document.documentElement.dataset.ready = "yes";
  }
  setTimeout(turn, PERIOD);
}
turn();
})();
