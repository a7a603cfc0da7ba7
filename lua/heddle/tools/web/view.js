/*
 * view.js - the page to explore results with, made in the browser of the JSON in
 * #data (view.lua says what is in it).
 *
 * First what there is, then the runs, of which up to six are picked; everything
 * below is of the picked ones, A to F, and of all applications together or one of
 * them; but a metric against a setting is of all runs that the filter finds.  Whatever is picked is in the address (#filter=...&runs=0,2), so a page
 * can be linked to as it is.  Charts are SVG at the width that there is, drawn
 * again when that changes; each has its numbers as a table below, and a cursor for
 * the pointer or the arrow keys.  Texts of results reach the page as text, never
 * as HTML.
 *
 * SPDX-License-Identifier: MIT
 */
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const LETTERS = "ABCDEF", ROWS = 50, ALL = -1;
const state = { filter: "", picked: [], app: ALL, sort: "", down: false };
const drawn = { metric: "", x: "", by: "", as: "lines" }, plot = { ...drawn };
const PLOT = Object.keys(plot);

// ---- making elements ------------------------------------------------------------

function fill(e, props, kids) {
  for (const [k, v] of Object.entries(props || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v != null) e.setAttribute(k, v);
  }
  e.append(...kids.flat(9).filter(x => x != null && x !== false));
  return e;
}
const h = (tag, props, ...kids) =>
  fill(document.createElement(tag), props, kids);
const s = (tag, props, ...kids) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, kids);
const clear = (e, ...kids) => (e.replaceChildren(), fill(e, null, kids));

/** A table in a box that scrolls.  Columns: { text, right, as (a class), sort };
 * cells are texts or elements, the first of a row names it. */
function table(caption, columns, rows) {
  const cell = (v, i) => h(i ? "td" : "th", { scope: i ? null : "row",
    class: columns[i].right ? "r" : columns[i].as || (i ? null : "n") }, v);
  const box = h("div", { class: "scroll", tabindex: 0, role: "region",
    "aria-label": caption }, h("table", null,
    h("caption", { class: "hidden" }, caption),
    h("thead", null, h("tr", null, columns.map(c => h("th", { scope: "col",
      class: c.right ? "r" : null, "aria-sort": c.sort }, c.text)))),
    h("tbody", null, rows.map(r => h("tr", null, r.map(cell))))));
  return h("div", null, hint(box), box);
}

/** Says how many columns of a table are out of sight, while some are. */
function hint(box) {
  const out = h("p", { class: "more", hidden: true });
  const look = () => {
    const edge = box.getBoundingClientRect().right + 1;
    const n = [...box.querySelectorAll("thead th")].filter(c =>
      c.getBoundingClientRect().right > edge).length;
    out.hidden = n === 0;
    out.textContent = n === 1 ? "One more column to the right →"
      : `${n} more columns to the right →`;
  };
  box.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(box);
  return out;
}

/** What is long, folded away and made when it is opened. */
function folded(title, make) {
  const d = h("details", { ontoggle: () => {
    if (d.open && d.children.length === 1) d.append(make());
  } }, h("summary", null, title));
  return d;
}

function select(label, options, value, change) {
  return h("label", null, label, h("select", { onchange: e =>
    change(e.target.value) }, options.map(([v, text]) => h("option", { value: v,
    selected: String(v) === String(value) }, text))));
}

// ---- numbers -----------------------------------------------------------------------

const minus = text => text.replace("-", "−");
const whole = v => minus(v.toLocaleString("en-US", { maximumFractionDigits: 0 }));

/** All of an integer, four digits of anything else. */
function number(v) {
  if (v == null) return "–";
  if (typeof v !== "number") return String(v);
  if (Number.isInteger(v) || Math.abs(v) >= 1000) return whole(v);
  return Math.abs(v) < 1e-4 ? v.toExponential(2) : minus(v.toPrecision(4));
}
const percent = (v, digits = 1) =>
  v == null ? "–" : minus((100 * v).toFixed(digits)) + " %";
const valueOf = (unit, v) => unit === "" ? percent(v, 2) : number(v);

/** For an axis: short. */
function short(v) {
  for (const [n, unit] of [[1e12, " T"], [1e9, " G"], [1e6, " M"]])
    if (Math.abs(v) >= n) return Number((v / n).toPrecision(3)) + unit;
  return typeof v === "number" && !Number.isInteger(v) && Math.abs(v) < 1000
    ? String(Number(v.toPrecision(3))) : number(v);
}

/** How far two values are apart, 0 to 1, and that in words; one that cannot be
 * had is less than any. */
const apart = (a, b) => a === b ? 0 : a == null || b == null ? -1
  : Math.abs((b || 0) - (a || 0)) / Math.max(Math.abs(a || 0), Math.abs(b || 0));
function changed(a, b) {
  if (a === b || a == null || b == null) return "–";
  if (!a) return "new";
  const c = (b - a) / Math.abs(a);
  return c >= 9.995 ? "× " + number(b / a)
    : (c < 0 ? "−" : "+") + percent(Math.abs(c));
}
const change = (a, b) => h("span", { class: b > a ? "up" : "down" },
  changed(a, b));

// ---- runs -----------------------------------------------------------------------------

const runs = data.runs, place = (list, name, at) =>
  list.findIndex(x => x[at] === name);
const metricAt = name => place(data.metrics, name, 1);
const counterAt = name => place(data.counters, name, 0);
const varying = [...new Set(runs.flatMap(r => Object.keys(r.settings)))].sort();
const count = {};
runs.forEach(r => varying.forEach(k => {
  if (k in r.settings) count[k] = (count[k] || 0) + 1;
}));
const often = [...varying].sort((a, b) => count[b] - count[a]);

const setting = (r, name) => name in r.settings ? r.settings[name]
  : data.base[name];
const apps = r => r.apps.map(a => a[0]);
const metric = (r, name, app = ALL) =>
  ((r.metrics[metricAt(name)] || [])[app + 1]);
const detail = r => data.details[r.at] || {};
const countersOf = (r, app) => app === ALL ? r.counters
  : (detail(r).counters || [])[app] || [];

runs.forEach((r, i) => {
  r.at = i;
  r.name = r.title = r.label || apps(r).join(" + ")
    + (r.policies ? ", " + r.policies : "");
});
// Titles that several have say more, as far as that tells them apart.
for (const more of [r => apps(r).join(" + "), r => r.machine,
  r => "#" + (r.at + 1)]) {
  const same = new Map();
  runs.forEach(r => same.set(r.title, [...same.get(r.title) || [], r]));
  for (const list of same.values())
    if (new Set(list.map(more)).size > 1)
      list.forEach(r => { r.title += ", " + more(r); });
}
runs.forEach(r => {
  r.words = [r.title, apps(r).join(" "), r.machine, r.policies, r.source,
    (r.tags || []).join(" "), r.status,
    ...varying.map(k => k + "=" + setting(r, k))].join("\n").toLowerCase();
});

/** Runs that have all words of the filter; one that is a run's tag (the name of
 * an experiment) means just that. */
const tags = new Set(runs.flatMap(r => r.tags || []));
function found() {
  const words = state.filter.split(/\s+/);
  return runs.filter(r => words.every(w => tags.has(w)
    ? (r.tags || []).includes(w) : r.words.includes(w.toLowerCase())));
}
const picked = () => state.picked.map(i => runs[i]);
const colour = k => `--c:var(--r${k})`;
const key = k => h("span", { class: "key", style: colour(k) }, LETTERS[k]);

function legend() {
  return h("ul", { class: "legend" }, picked().map((r, k) =>
    h("li", null, key(k), " " + r.title)));
}

/** The first of a list and one to compare it with: of the same applications, if
 * there is one. */
function two([a, ...others]) {
  const with_ = others.find(b => apps(a).join() === apps(b).join()) || others[0];
  return [a, with_].filter(r => r);
}

/** What is picked, from the address and back. */
function readAddress() {
  const q = new URLSearchParams(location.hash.slice(1));
  state.filter = q.get("filter") || "";
  const list = (q.get("runs") || "").split(",").filter(x => runs[x])
    .map(Number);
  const all = found(), rich = all.filter(r => data.details[r.at]);
  for (const k of PLOT) plot[k] = q.get(k) || drawn[k];
  if (!SHAPES.some(([as]) => as === plot.as)) plot.as = "lines";
  state.picked = q.has("runs") ? [...new Set(list)].slice(0, LETTERS.length)
    : two(rich.length > 1 ? rich : all).map(r => r.at);
}
function writeAddress() {
  const q = new URLSearchParams();
  if (state.filter) q.set("filter", state.filter);
  for (const k of PLOT) if (plot[k] !== drawn[k]) q.set(k, plot[k]);
  q.set("runs", state.picked.join(","));
  try {
    history.replaceState(null, "", "#" + q);
  } catch (e) { /* a page that may not have an address of its own */ }
}

// ---- what there is --------------------------------------------------------------------

const distinct = list => [...new Set(list)];
const few = list => list.length > 4
  ? list.slice(0, 4).join(", ") + ` and ${whole(list.length - 4)} more`
  : list.join(", ");

function summary() {
  const machines = distinct(runs.map(r => r.machine || "?"));
  const programs = distinct(runs.flatMap(apps));
  const open = runs.filter(r => !["done", "stopped"].includes(r.status)).length;
  const fact = (name, value, more) => h("div", null, h("dt", null, name),
    h("dd", null, value, more && h("small", null, more)));
  return [
    h("dl", { class: "facts" },
      runs.length > 0 && [fact("Runs", whole(runs.length),
        open ? `${whole(open)} not to their end` : ""),
        fact("Applications", whole(programs.length), few(programs)),
        fact("Machines", whole(machines.length), few(machines)),
        fact("Settings that differ", whole(varying.length), few(often))],
      data.quantities.length > 0 && fact("Quantities of papers",
        whole(data.quantities.length))),
    data.left.map(text => h("p", { class: "note" }, text + ".")),
    h("p", { class: "soft" }, "heddle ", few(distinct(runs.map(r => r.version))
      .concat(runs.length ? [] : data.version)), "; from ",
      few(data.sources) || "a series"),
  ];
}

const SECTIONS = [
  ["runs", "Runs", runs.length, listRuns],
  ["plot", "A metric against a setting", runs.length > 1, plotSection],
  ["differs", "What differs", runs.length, compare],
  ["time", "Where warps’ time went", runs.length, warpTime],
  ["latency", "Latency by stage", runs.length, latency],
  ["series", "Over time", runs.length, overTime],
  ["hists", "Histograms", runs.length, histograms],
  ["papers", "Beside the papers", data.quantities.length, papers],
].filter(x => x[2]);

function draw(...ids) {
  for (const [id, , , make] of SECTIONS)
    if (!ids.length || ids.includes(id))
      clear(document.getElementById(id).lastElementChild, make());
}

// ---- the list of runs -------------------------------------------------------------------

const COLUMNS = [
  ["Run", r => r.name], ["Applications", r => apps(r).join(" + ")],
  ["Machine", r => r.machine], ["Cycles", r => r.cycles, number],
  ["IPC", r => metric(r, "ipc"), v => typeof v === "number"
    && v < 1000 ? v.toPrecision(4) : number(v)],
  ["L1 TLB misses", r => metric(r, "l1tlb_miss_rate"), percent],
  ["L2 TLB misses", r => metric(r, "l2tlb_miss_rate"), percent],
];
let shown = ROWS;

function sorted(list) {
  const of = (COLUMNS.find(c => c[0] === state.sort) || [])[1];
  if (!of) return list;
  const sign = state.down ? -1 : 1;
  return [...list].sort((a, b) => {
    const x = of(a), y = of(b);
    return sign * ((x == null) - (y == null) || (x > y) - (x < y)) || a.at - b.at;
  });
}

function pick(at, on) {
  state.picked = on ? [...state.picked, at] : state.picked.filter(i => i !== at);
  writeAddress();
  redrawRuns();
  clear(document.getElementById("of"), notes(), appChoice());
  draw(...SECTIONS.map(x => x[0]).filter(x => x !== "runs" && x !== "papers"));
}

function runsTable(list) {
  const full = state.picked.length >= LETTERS.length;
  const head = COLUMNS.map(([name, , right], i) => ({ right, as: i ? null : "m", sort: state.sort === name
    ? state.down ? "descending" : "ascending" : null,
    text: h("button", { "data-focus": "sort " + name, onclick: () => {
      state.down = state.sort === name ? !state.down : !!right;
      state.sort = name;
      redrawRuns();
    } }, name) }));
  const others = varying.length > 0;
  const rows = list.slice(0, shown).map(r => {
    const k = state.picked.indexOf(r.at);
    return [h("label", { class: "pick" }, h("input", { type: "checkbox",
      checked: k >= 0, disabled: full && k < 0, "data-focus": "run " + r.at,
      "aria-label": "Compare " + r.title,
      onchange: e => pick(r.at, e.target.checked) }), k >= 0 && key(k)),
      ...COLUMNS.map(([name, of, right]) => right ? right(of(r))
        : name === "Run" && r.label && r.policies ? [r.name, h("small", null,
          r.policies.replace(/ *[[(].*?[\])]/g, ""))] : of(r)),
      ...others ? [often.slice(0, 4).map(n => n + "=" + setting(r, n)).join(", ")]
        : []];
  });
  return table("Runs", [{ text: "Compare", as: "c" }, ...head,
    ...others ? [{ text: "Settings that differ", as: "s" }] : []], rows);
}

/** Makes the list again, with the focus where it was. */
function redrawRuns() {
  const at = document.activeElement && document.activeElement.dataset.focus;
  const list = found(), box = document.getElementById("list");
  clear(box, list.length ? runsTable(sorted(list))
    : none("No run has all these words."), list.length > shown && h("button", {
    onclick: () => { shown += ROWS; redrawRuns(); } },
  `Show ${whole(Math.min(ROWS, list.length - shown))} more`));
  document.getElementById("count").textContent =
    `${whole(list.length)} of ${whole(runs.length)} runs; `
    + `${state.picked.length} picked, ${LETTERS.length} at most`;
  if (at) {
    const e = [...box.querySelectorAll("[data-focus]")]
      .find(x => x.dataset.focus === at);
    if (e) e.focus();
  }
}

function listRuns() {
  let timer;
  const take = list => {
    state.picked = list.slice(0, LETTERS.length).map(r => r.at);
    writeAddress();
    draw();
  };
  setTimeout(redrawRuns);
  return [
    h("div", { class: "tools" },
      h("label", null, "Filter: label, application, machine, setting=value",
        h("input", { type: "search", id: "filter", value: state.filter,
          oninput: e => {
            clearTimeout(timer);
            timer = setTimeout(() => {
              state.filter = e.target.value;
              shown = ROWS;
              writeAddress();
              redrawRuns();
              if (runs.length > 1) draw("plot");
            }, 120);
          } })),
      h("button", { onclick: () => take(two(sorted(found()))) }, "Pick two"),
      h("button", { onclick: () => take(sorted(found())) },
        `Pick the first ${LETTERS.length}`),
      h("button", { onclick: () => take([]) }, "Pick none")),
    h("p", { class: "soft", id: "count", "aria-live": "polite" }),
    h("div", { id: "list" }),
    h("div", { id: "of" }, notes(), appChoice()),
  ];
}

/** Warnings on the picked runs. */
function notes() {
  const list = picked().flatMap((r, k) => [...["done", "stopped"].includes(r.status)
    ? [] : ["it is not at its end: " + r.status], ...r.notes].map(t => h("li",
    null, key(k), " " + t)));
  return list.length > 0 && folded(`Notes on the picked runs: ${list.length}`,
    () => h("ul", { class: "soft" }, list));
}

/** Whose numbers: all applications' together, or one's. */
function appChoice() {
  const most = picked().sort((a, b) => b.apps.length - a.apps.length)[0];
  if (!most || most.apps.length < 2) {
    state.app = ALL;
    return null;
  }
  if (state.app >= most.apps.length) state.app = ALL;
  return h("div", { class: "tools" }, select("Below: numbers of", [[ALL,
    "all applications together"], ...apps(most).map((a, i) => [i,
    `application ${i}, ${a}`])], state.app, v => {
    state.app = Number(v);
    draw(...SECTIONS.map(x => x[0]).filter(x => x !== "runs" && x !== "papers"));
  }));
}

// ---- what differs -----------------------------------------------------------------------

const none = text => h("p", { class: "soft" }, text);
const heads = () => picked().map((r, k) => ({ text: h("span", { title: r.title },
  key(k)), right: true }));

/** Names whose values differ; each with all of them. */
const unlike = (names, of) => names.map(name => [name, picked().map(r =>
  of(r, name))]).filter(([, v]) => v.some(x => x !== v[0]));

function wasRun() {
  const of = { machine: r => r.machine, seed: r => r.seed,
    policies: r => r.policies || "none", version: r => r.version,
    status: r => r.status };
  const most = Math.max(0, ...picked().map(r => r.inputs.length));
  for (let i = 0; i < most; i++)
    of["application " + i] = r => r.inputs[i] || "–";
  return unlike(Object.keys(of), (r, name) => of[name](r));
}

/** Rows of numbers that differ, the greatest change from A first. */
function byChange(list, of) {
  const rows = [];
  list.forEach((name, at) => {
    const v = picked().map(r => of(r, at));
    if (v.every(x => (x ?? null) === (v[0] ?? null))) return;
    let far = 1;
    v.forEach((x, k) => {
      if (k && apart(v[0], x) > apart(v[0], v[far])) far = k;
    });
    rows.push({ name, v, far, change: apart(v[0], v[far]),
      by: Math.abs((v[far] || 0) - (v[0] || 0)) });
  });
  return rows.sort((a, b) => b.change - a.change || b.by - a.by);
}

function changeTable(caption, rows, row) {
  const box = h("div"), words = h("input", { type: "search",
    "aria-label": "Filter " + caption });
  let most = 25;
  const show = () => {
    const w = words.value.toLowerCase();
    const list = rows.filter(x => x.name.join(" ").toLowerCase().includes(w));
    clear(box, list.length ? table(caption, [{ text: caption }, ...heads(),
      { text: picked().length > 2 ? "Most, from A" : "Change", right: true }],
    list.slice(0, most).map(x => [...row(x), [change(x.v[0], x.v[x.far]),
      picked().length > 2 && [" ", key(x.far)]]])) : none("None has these words."),
    list.length > most && h("button", { onclick: () => {
      most = Infinity;
      show();
    } }, `Show all ${whole(list.length)}`));
  };
  words.addEventListener("input", show);
  show();
  return [h("h3", null, `${caption}: ${whole(rows.length)} differ`),
    rows.length > 0 && h("div", { class: "tools" }, h("label", null,
      "Filter: name or meaning", words)), rows.length > 0 && box];
}

function compare() {
  if (picked().length < 2) return none("Two runs or more have to be picked.");
  const names = distinct([...Object.keys(data.base), ...varying]).sort();
  const plain = [{ text: "Setting" }, ...heads()];
  const settings = unlike(names, (r, n) => setting(r, n) ?? "–");
  const origin = wasRun(), app = state.app;
  const cells = v => v.map(x => typeof x === "string" && /^-?\d+$/.test(x)
    ? whole(Number(x)) : x);
  return [legend(),
    h("h3", null, `Settings: ${whole(settings.length)} differ`),
    settings.length > 0 && table("Settings", plain, settings.map(([n, v]) =>
      [n, ...cells(v)])),
    origin.length > 0 && [h("h3", null, "What was run"), table("What was run",
      [{ text: "" }, ...picked().map((r, k) => ({ text: key(k), as: "s" }))],
      origin.map(([n, v]) => [n, ...v]))],
    changeTable("Metrics", byChange(data.metrics, (r, at) =>
      (r.metrics[at] || [])[app + 1]), x => [[x.name[1], h("small", null,
      x.name[3] + (x.name[2] ? ", " + x.name[2] : ""))],
    ...x.v.map(v => valueOf(x.name[2], v))]),
    app !== ALL && picked().some(r => !detail(r).counters)
      && none("Some of these runs have no counters by application on this page."),
    changeTable("Counters", byChange(data.counters, (r, at) =>
      countersOf(r, app)[at]), x => [[x.name[0], h("small", null, x.name[2]
      + ", " + x.name[1])], ...x.v.map(number)])];
}

// ---- charts ------------------------------------------------------------------------------

const main = document.getElementById("main");
const room = () => Math.max(240, main.clientWidth);

/** Round numbers from 0 to `top`, about n of them. */
function ticks(top, n) {
  const raw = top / n, base = 10 ** Math.floor(Math.log10(raw || 1));
  const step = base * [1, 2, 5, 10].find(x => x * base >= raw * 0.999);
  const out = [];
  for (let v = 0; v <= top * 1.0001; v += step) out.push(v);
  return out;
}

const line = (x1, y1, x2, y2, of = "grid") => s("line", { x1, y1, x2, y2,
  class: of, "stroke-width": 1 });
const text = (x, y, t, anchor = "start", of = "") => s("text", { x, y,
  "text-anchor": anchor, class: of }, t);

function svg(width, height, label, ...kids) {
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": label }, kids);
}

/** A frame with axes: x to y of values, and the lines of it. */
function frame(o) {
  const width = room(), height = Math.min(320, 180 + width / 8);
  const left = 62, right = width - 12, base = height - 42, head = 24;
  const top = o.top > 0 ? o.top : 1, marks = ticks(top, 5);
  const y = v => base - v / Math.max(top, marks.at(-1)) * (base - head);
  const kids = [text(4, 12, o.ylabel, "start", "soft")];
  for (const v of marks)
    kids.push(line(left, y(v), right, y(v), v ? "grid" : "axis"),
      text(left - 6, y(v) + 4, (o.tick || short)(v), "end"));
  kids.push(text((left + right) / 2, height - 6, o.xlabel, "middle", "soft"));
  return { width, height, left, right, base, head, y, kids };
}

/** A chart whose places 0 to n - 1 can be walked over; at(i): where place i is,
 * say(i): what is there. */
function walked(f, label, n, at, say) {
  const out = h("output", { "aria-live": "polite" });
  const mark = line(0, f.head, 0, f.base, "mark");
  mark.style.visibility = "hidden";
  let i = -1;
  const go = to => {
    i = Math.max(0, Math.min(n - 1, to));
    mark.setAttribute("x1", at(i));
    mark.setAttribute("x2", at(i));
    mark.style.visibility = "visible";
    clear(out, say(i));
  };
  const picture = svg(f.width, f.height, label, f.kids, mark);
  picture.addEventListener("pointermove", e => {
    const x = e.clientX - picture.getBoundingClientRect().left;
    let best = 0;
    for (let k = 1; k < n; k++)
      if (Math.abs(at(k) - x) < Math.abs(at(best) - x)) best = k;
    go(best);
  });
  clear(out, "Point at the chart, or focus it and use the arrow keys.");
  return h("figure", { tabindex: 0, "aria-label": label, onkeydown: e => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: n - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    go(to);
  } }, picture, out);
}

// ---- warp time ----------------------------------------------------------------------------

let idle = false; // whether what holds no warp is shown, too
const TIME = [["issue", "issuing", "#2f9e44"],
  ["ready", "ready, another issued", "#8fd19e"],
  ["alu", "ALU", "#b8a12c"], ["lsu", "load/store unit", "#e0c95a"],
  ["tlb", "TLB", "#f08c2e"], ["walk", "page walk", "#d6402b"],
  ["fault", "pages from the host", "#8b3fa8"], ["data", "data", "#2b7bba"],
  ["barrier", "barrier", "#79b8e0"], ["meeting", "construct", "#c98bb9"],
  ["idle", "no warp", "#9aa5b1"]];

/** Horizontal bars of parts: rows of { name, parts: [[name, colour, value]] }. */
function stacked(label, rows, top, axis, tick) {
  const width = room(), step = 46, height = rows.length * step + 40;
  const x = v => v / top * (width - 16), kids = [], base = rows.length * step + 4;
  for (const v of ticks(top, width < 500 ? 4 : 8)) {
    kids.push(line(x(v), 4, x(v), base));
    kids.push(text(x(v), base + 15, tick(v), v ? x(v) > width - 40 ? "end"
      : "middle" : "start"));
  }
  rows.forEach((r, k) => {
    let from = 0;
    kids.push(text(0, k * step + 16, r.name));
    for (const [name, fill, v] of r.parts) {
      if (!(v > 0)) continue;
      kids.push(s("rect", { class: "part", x: x(from), y: k * step + 22,
        width: Math.max(0.5, x(from + v) - x(from)), height: 20, fill },
      s("title", null, `${r.name}, ${name}: ${tick(v)}`)));
      from += v;
    }
  });
  kids.push(text(width / 2, height - 4, axis, "middle", "soft"));
  return h("figure", null, svg(width, height, label, kids));
}

const colours = list => h("ul", { class: "legend" }, list.map(([, name, c]) =>
  h("li", null, h("i", { style: "--c:" + c }), name)));

function warpTime() {
  const of = r => {
    const all = TIME.filter(([id]) => idle || id !== "idle").map(([id, name, c]) =>
      [name, c, metric(r, "time_" + id, state.app) || 0]);
    const sum = all.reduce((t, p) => t + p[2], 0);
    return all.map(p => [p[0], p[1], sum > 0 ? p[2] / sum : 0]);
  };
  const rows = picked().map((r, k) => ({ name: `${LETTERS[k]}  ${r.title}`,
    key: () => key(k), parts: of(r) })).filter(r => r.parts.some(p => p[2] > 0));
  if (!rows.length) return none("No picked run has warp time.");
  const some = TIME.filter(([, name]) => rows.some(r =>
    r.parts.some(p => p[0] === name && p[2] > 0)));
  return [h("div", { class: "tools" }, h("label", { class: "check" }, h("input", {
    type: "checkbox", checked: idle, onchange: e => {
      idle = e.target.checked;
      draw("time");
      document.querySelector("#time input").focus();
    } }), "with slots that hold no warp")), colours(some),
    stacked("Shares of warp time", rows, 1, idle ? "share of the warp slots’ time"
      : "share of the warps’ time",
      v => percent(v, Math.abs(100 * v - Math.round(100 * v)) < 1e-9 ? 0 : 1)),
    folded("As a table", () => table("Warp time", [{ text: "Waiting for" },
      ...rows.map(r => ({ text: r.key(), right: true }))], some.map(([, name]) => [name, ...rows.map(r =>
      percent(r.parts.find(p => p[0] === name)[2], 2))])))];
}

// ---- latency by stage ---------------------------------------------------------------------

const STAGES = ["core.load_latency", "core.translation_latency", "mmu.latency",
  "walk.queue", "walk.latency", "l2cache.walk_latency", "l2cache.data_latency",
  "dram.walk_latency", "dram.data_latency", "fault.latency", "link.latency"];

/** Stages of a request whose times add up to all of it: a histogram that counts
 * requests, and counters of cycles. */
const SPLIT = [
  ["A translation at the L2 TLB", "mmu.latency", [
    ["mmu.input_cycles", "at the input", "#b8a12c"],
    ["mmu.lookup_cycles", "look-up", "#2f9e44"],
    ["mmu.full_cycles", "for an MSHR or room", "#8b3fa8"],
    ["mmu.queue_cycles", "for a walker", "#f08c2e"],
    ["mmu.walk_cycles", "for the walk", "#d6402b"]]],
  ["A far fault", "fault.latency", [
    ["fault.wait_cycles", "in the buffer", "#b8a12c"],
    ["fault.host_cycles", "the host", "#2f9e44"],
    ["fault.room_cycles", "for frames", "#8b3fa8"],
    ["fault.link_cycles", "the link", "#f08c2e"],
    ["fault.batch_cycles", "for the batch", "#d6402b"]]],
];

/** Histogram of a run: of an application, or of all; null: nothing. */
function hist(r, at, app) {
  const by = (detail(r).hists || {})[at];
  if (!by) return null;
  if (app !== ALL) return by[app] || null;
  const some = by.filter(x => x);
  if (some.length < 2) return some[0] || null;
  const first = Math.min(...some.map(x => x[8])), bins = [];
  for (const x of some)
    x[9].forEach((n, i) => {
      bins[x[8] - first + i] = (bins[x[8] - first + i] || 0) + n;
    });
  for (let i = 0; i < bins.length; i++) bins[i] = bins[i] || 0;
  const n = some.reduce((sum, x) => sum + x[0], 0);
  const max = Math.max(...some.map(x => x[3]));
  const at_ = p => { // the upper edge of the bin that has it
    let sum = 0, i = 0;
    while (i < bins.length - 1 && (sum += bins[i]) < p * n) i++;
    return Math.min(max, low(first + i + 1) - 1);
  };
  return [n, some.reduce((sum, x) => sum + x[0] * x[1], 0) / n,
    Math.min(...some.map(x => x[2])), max, at_(.5), at_(.9), at_(.95), at_(.99),
    first, bins];
}

/** The lowest value of a bin (view.lua). */
function low(bin) {
  if (bin < 8) return bin;
  const octave = 3 + (bin - 8 >> 2);
  return (4 + (bin - 8 & 3)) * 2 ** (octave - 2);
}

const histAt = name => place(data.hists, name, 0);

/** Half of the requests to nine of ten as a bar, 99 of 100 as its line. */
function spread(unit, list) {
  const width = room(), step = 18;
  const top = Math.max(...list.flatMap(x => x.of.map(d => d ? d[7] : 1)), 10);
  const left = 4, x = v => left + Math.log10(Math.max(1, v))
    / Math.log10(top * 1.05) * (width - left - 44);
  const kids = [];
  let y = 4;
  const places = list.map(l => {
    const at = y;
    y += 22 + step * l.of.length;
    return at;
  });
  for (let v = 1; v <= top * 1.05; v *= 10)
    kids.push(line(x(v), 4, x(v), y), text(x(v), y + 15, short(v),
      v === 1 ? "start" : "middle"));
  list.forEach((l, i) => {
    kids.push(s("text", { x: left, y: places[i] + 14 }, l.name, width > 700
      && s("tspan", { class: "soft", dx: 10 }, l.meaning)));
    l.of.forEach((d, k) => {
      const at = places[i] + 20 + k * step, fill = `var(--r${k})`;
      if (!d) return;
      kids.push(s("g", { class: "stage" }, s("title", null,
        `${LETTERS[k]}: mean ${number(d[1])}, half below ${number(d[4])}, `
        + `90 % below ${number(d[5])}, 99 % below ${number(d[7])} ${unit}`),
      s("rect", { x: x(d[4]), y: at, height: 12, fill, opacity: .75,
        width: Math.max(2, x(d[5]) - x(d[4])) }),
      s("line", { x1: x(d[5]), x2: x(d[7]), y1: at + 6, y2: at + 6,
        stroke: fill, "stroke-width": 2 }),
      s("circle", { cx: x(d[1]), cy: at + 6, r: 4, fill: "var(--bg)",
        stroke: "var(--ink)", "stroke-width": 1.5 }),
      text(Math.max(x(d[7]), x(d[5]), x(d[1])) + 8, at + 10, LETTERS[k])));
    });
  });
  kids.push(text(width / 2, y + 32, unit + ", logarithmic", "middle", "soft"));
  return h("figure", null, svg(width, y + 38, "Latency by stage, " + unit, kids));
}

function split([title, name, parts]) {
  const at = histAt(name), rows = [];
  picked().forEach((r, k) => {
    const d = hist(r, at, state.app), c = countersOf(r, state.app);
    if (d && d[0] > 0)
      rows.push({ name: `${LETTERS[k]}  ${r.title}`, parts: parts.map(
        ([counter, part, fill]) => [part, fill,
          (c[counterAt(counter)] || 0) / d[0]]) });
  });
  const sum = r => r.parts.reduce((t, p) => t + p[2], 0);
  const top = Math.max(0, ...rows.map(sum));
  return top > 0 && [h("h3", null, title + ", mean"), colours(parts),
    stacked(title, rows, top * 1.02, data.hists[at][1], short)];
}

function latency() {
  const list = STAGES.map(name => ({ name, at: histAt(name) }))
    .filter(x => x.at >= 0).map(x => ({ ...x, unit: data.hists[x.at][1],
      meaning: data.hists[x.at][2], of: picked().map(r =>
        hist(r, x.at, state.app)) })).filter(x => x.of.some(d => d && d[0] > 0));
  if (!list.length) return none("No picked run has these details on this page.");
  const rows = list.flatMap(l => l.of.map((d, k) => d && [[key(k), " " + l.name,
    h("small", null, l.meaning + ", " + l.unit)], ...[0, 1, 4, 5, 7, 3].map(i =>
    number(d[i]))]).filter(x => x));
  return [legend(), none("A bar is from the median to the 90th percentile, its "
    + "line to the 99th; the circle is the mean."),
  distinct(list.map(l => l.unit)).map(unit => spread(unit, list.filter(l =>
    l.unit === unit))),
  folded("As a table", () => table("Latency by stage", ["Stage", "Requests",
    "Mean", "50 %", "90 %", "99 %", "Most"].map((t, i) => ({ text: t,
    right: i > 0 })), rows)),
  SPLIT.map(x => histAt(x[1]) >= 0 && split(x))];
}

// ---- over time -----------------------------------------------------------------------------

let seriesOf = "instructions";

const series = (r, name) => {
  const x = detail(r).series;
  const by = x && (name === "instructions" ? x.instructions
    : x.counters[counterAt(name)]);
  if (!by) return null;
  return by[0].map((_, i) => state.app === ALL
    ? by.reduce((t, v) => t + v[i], 0) : by[state.app] ? by[state.app][i] : 0);
};

function overTime() {
  const some = picked().filter(r => detail(r).series);
  if (!some.length)
    return none("No picked run has intervals on this page; H.sim { interval = "
      + "10000 } measures them.");
  const names = distinct(some.flatMap(r => Object.keys(detail(r).series.counters)))
    .map(at => data.counters[at][0]).sort();
  if (seriesOf !== "instructions" && !names.includes(seriesOf))
    seriesOf = "instructions";
  const c = data.counters[counterAt(seriesOf)];
  const peak = seriesOf !== "instructions" && c[3] === 1;
  const lines = picked().map(r => {
    const v = series(r, seriesOf), e = v && detail(r).series.edges;
    return v && { edges: e, v: v.map((x, i) => peak ? x : x / (e[i + 1] - e[i])
      * (seriesOf === "instructions" ? 1 : 1000)) };
  });
  const unit = seriesOf === "instructions" ? "warp instructions a core cycle"
    : peak ? c[1] : c[1] + " in 1,000 core cycles";
  const on = lines.filter(l => l);
  const end = Math.max(1, ...on.map(l => l.edges.at(-1)));
  const f = frame({ top: Math.max(0, ...on.flatMap(l => l.v)), ylabel: unit,
    xlabel: "core cycles" });
  const x = v => f.left + v / end * (f.right - f.left);
  ticks(end, f.width < 500 ? 3 : 8).forEach(v => f.kids.push(text(x(v),
    f.base + 16, short(v), "middle")));
  lines.forEach((l, k) => {
    if (!l) return;
    const d = l.v.map((v, i) => `${i ? "L" : "M"}${x(l.edges[i]).toFixed(1)} `
      + `${f.y(v).toFixed(1)}H${x(l.edges[i + 1]).toFixed(1)}`).join("");
    f.kids.push(s("path", { class: "series", d, fill: "none", "stroke-width": 2,
      stroke: `var(--r${k})`, "stroke-dasharray": ["", "7 3", "2 3"][k % 3] }));
  });
  const longest = on.reduce((a, b) => b.v.length > a.v.length ? b : a);
  const middle = i => (longest.edges[i] + longest.edges[i + 1]) / 2;
  const at = (l, i) => l.v[l.edges.findIndex((e, j) => j < l.v.length
    && middle(i) >= e && middle(i) < l.edges[j + 1])];
  const span = i => `${whole(longest.edges[i])} to ${whole(longest.edges[i + 1])}`;
  const joined = distinct(picked().map(r => detail(r).series)
    .filter(d => d && d.step > 1).map(d => d.step));
  return [h("div", { class: "tools" }, select("Counter", [["instructions",
    "instructions (IPC)"], ...names.map(n => [n, n])], seriesOf, v => {
    seriesOf = v;
    draw("series");
    document.querySelector("#series select").focus();
  })), legend(), c && none(c[2]),
  walked(f, `${seriesOf} over time`, longest.v.length, i => x(middle(i)), i =>
    [`core cycles ${span(i)}: `, lines.map((l, k) => l && [key(k), " ",
      number(at(l, i)), "  "]), unit]),
  joined.length > 0 && none(`Intervals are joined on this page, ${joined
    .join(" or ")} in one.`),
  folded("As a table", () => table("Over time", [{ text: "Core cycles" },
    ...heads()], longest.v.map((_, i) => [span(i), ...lines.map(l =>
    l ? number(at(l, i)) : "–")])))];
}

// ---- histograms ----------------------------------------------------------------------------

let histOf = "core.load_latency";

function histograms() {
  const names = data.hists.map((x, at) => at).filter(at => picked().some(r =>
    hist(r, at, state.app))).map(at => data.hists[at][0]).sort();
  if (!names.length)
    return none("No picked run has histograms on this page.");
  if (!names.includes(histOf)) histOf = names[0];
  const at = histAt(histOf), [, unit, meaning] = data.hists[at];
  const all = picked().map(r => hist(r, at, state.app)), on = all.filter(x => x);
  const first = Math.min(...on.map(d => d[8]));
  const last = Math.max(...on.map(d => d[8] + d[9].length - 1));
  const share = (d, bin) => (d[9][bin - d[8]] || 0) / Math.max(1, d[0]);
  const n = last - first + 1;
  const f = frame({ top: Math.max(...on.flatMap(d => d[9].map(v =>
    v / Math.max(1, d[0])))), ylabel: "share in a bin", xlabel: unit
    + (last >= 8 ? ", bins of a quarter of an octave" : ""),
  tick: v => percent(v, v && v < .01 ? 1 : 0) });
  const step = (f.right - f.left) / n, x = i => f.left + i * step;
  const each = Math.max(1, Math.ceil(46 / step));
  for (let i = 0; i < n; i += each)
    f.kids.push(text(Math.min(x(i + .5), f.right - 12), f.base + 16,
      short(low(first + i)), "middle"));
  const wide = step * .86 / on.length;
  let place = 0;
  all.forEach((d, k) => {
    if (!d) return;
    for (let i = 0; i < n; i++) {
      const v = share(d, first + i);
      if (v > 0)
        f.kids.push(s("rect", { class: "bin", x: x(i) + step * .07 + place * wide,
          y: f.y(v), width: Math.max(.8, wide), height: f.base - f.y(v),
          fill: `var(--r${k})` }));
    }
    place++;
  });
  const span = i => low(first + i) === low(first + i + 1) - 1
    ? number(low(first + i))
    : `${number(low(first + i))} to ${number(low(first + i + 1) - 1)}`;
  const rows = all.map((d, k) => d && [[key(k), " " + picked()[k].title],
    ...[0, 1, 2, 4, 5, 6, 7, 3].map(i => number(d[i]))]).filter(x => x);
  return [h("div", { class: "tools" }, select("Histogram", names.map(v => [v, v]),
    histOf, v => {
      histOf = v;
      draw("hists");
      document.querySelector("#hists select").focus();
    })), none(`${meaning}, ${unit}`), legend(),
  walked(f, `Histogram of ${histOf}`, n, i => x(i + .5), i => [`${span(i)} ${unit}: `,
    all.map((d, k) => d && [key(k), " ", percent(share(d, first + i), 2), "  "])]),
  table("Percentiles of " + histOf, ["Run", "Number", "Mean", "Least", "50 %",
    "90 %", "95 %", "99 %", "Most"].map((t, i) => ({ text: t, right: i > 0 })),
  rows),
  folded("Bins as a table", () => table("Bins of " + histOf, [{ text: unit },
    ...heads()], Array.from({ length: n }, (_, i) => [span(i), ...all.map(d =>
    d ? whole(d[9][first + i - d[8]] || 0) : "–")])))];
}

// ---- quantities of experiments ---------------------------------------------------------------

let paperWords = "", paperRows = ROWS;

function papers() {
  const box = h("div"), words = h("input", { type: "search", value: paperWords });
  const show = () => {
    const list = data.quantities.filter(q => (q[0] + " " + q[1]).toLowerCase()
      .includes(paperWords.toLowerCase()));
    const count = word => whole(list.filter(q => q[6] === word).length);
    clear(box, none(`${count("match")} match, ${count("near")} near, ${
      count("off")} off.`), table("Quantities", ["Quantity", "Paper",
      "heddle", "Unit", "Ratio", "Verdict", "Direction"].map((t, i) => ({ text: t, right: i === 1
      || i === 2 || i === 4 })), list.slice(0, paperRows).map(q => [[q[1],
      h("small", null, `${q[0]}, ${q[7]}`)], number(q[3]), number(q[4]), q[2],
    q[5] == null ? "" : minus(q[5].toFixed(2)), h("span", { class: { match: "yes",
      off: "no" }[q[6]] || "" }, q[6] || ""), q[8] || ""])), list.length > paperRows
      && h("button", { onclick: () => { paperRows += ROWS; show(); } },
        `Show ${whole(Math.min(ROWS, list.length - paperRows))} more`));
  };
  words.addEventListener("input", () => { paperWords = words.value; show(); });
  show();
  return [h("div", { class: "tools" }, h("label", null,
    "Filter: experiment or quantity", words)), box];
}

// ---- a metric against a setting --------------------------------------------------------------

const ORIGIN = { applications: r => apps(r).join(" + "), machine: r => r.machine
  || "?", policies: r => r.policies || "none", label: r => r.label || "–" };
const SHAPES = [["lines", "lines"], ["bars", "bars"], ["map", "heat map"]];

/** What runs differ in: settings, the one of most values first, then the rest. */
function dimensions() {
  const n = d => distinct(runs.map(r => along(r, d))).length;
  const own = often.filter(d => n(d) > 1).sort((a, b) => n(b) - n(a));
  return [...own, ...Object.keys(ORIGIN).filter(d => n(d) > 1)];
}
const along = (r, d) => d === "" ? "" : ORIGIN[d] ? ORIGIN[d](r)
  : String(setting(r, d) ?? "–");

/** Values of a dimension in order: of numbers, or as texts. */
function steps(list, d) {
  const v = distinct(list.map(r => along(r, d)));
  const numeric = v.every(t => t !== "" && isFinite(t));
  return { v: numeric ? v.sort((a, b) => a - b) : v.sort(), numeric };
}

/** Means of the metric by place on the x axis and series; and how many runs each
 * is of. */
function gridOf(list, p, xs, series) {
  const sums = xs.map(() => series.map(() => [0, 0]));
  for (const r of list) {
    const v = metric(r, p.metric, state.app);
    const at = sums[xs.indexOf(along(r, p.x))][series.indexOf(along(r, p.by))];
    if (v != null) {
      at[0] += v;
      at[1]++;
    }
  }
  return sums.map(row => row.map(([sum, n]) => ({ v: n ? sum / n : null, n })));
}

/** A title in lines that fit; returns where the last one stands. */
function titleLines(kids, width, title) {
  const lines = [""];
  for (const word of title.split(" "))
    if (8.6 * (lines.at(-1) + word).length > width - 8) lines.push(word + " ");
    else lines[lines.length - 1] += word + " ";
  lines.forEach((t, i) => kids.push(s("text", { x: 4, y: 15 + 18 * i,
    class: "title" }, t.trim())));
  return 15 + 18 * (lines.length - 1);
}

/** The title and the names of series above a chart; returns how high they are. */
function seriesLegend(kids, names, width, title, colourOf) {
  const last = titleLines(kids, width, title);
  if (names.length === 1 && names[0] === "") return last + 11;
  let x = 4, y = last + 19;
  names.forEach((name, k) => {
    const wide = 18 + 7.2 * name.length + 14;
    if (x > 4 && x + wide > width) {
      x = 4;
      y += 18;
    }
    kids.push(s("rect", { x, y: y - 9, width: 11, height: 11, fill: colourOf(k) }),
      text(x + 16, y, name));
    x += wide;
  });
  return y + 12;
}

const shortest = v => Math.abs(v) >= 1000 ? short(v) : String(Number(v.toPrecision(3)));

/** The frame of a chart below its legend. */
function plotFrame(o) {
  const width = room(), kids = [];
  const top = seriesLegend(kids, o.names, width, o.title, o.colour);
  const f = frame({ top: o.top, ylabel: o.ylabel, xlabel: o.xlabel, tick: o.tick });
  f.moved = s("g", { transform: `translate(0 ${top})` }, f.kids);
  f.all = [...kids, f.moved];
  f.high = f.height + top;
  return f;
}

/** Texts below the axis, those that have room. */
function placesBelow(f, xs, x) {
  let free = -Infinity;
  xs.forEach((name, i) => {
    const half = 3.7 * name.length;
    if (x(i) - half < free || x(i) + half > f.right + 12) return;
    f.moved.append(text(x(i), f.base + 16, name, "middle"));
    free = x(i) + half + 6;
  });
}

const dash = k => ["", "7 3", "2 3", "9 3 2 3"][Math.floor(k / 6) % 4];
const plain = k => `var(--r${k % 6})`;

function plotLines(o) {
  const f = plotFrame({ ...o, colour: plain });
  const n = o.xs.v.map(Number), wide = f.right - f.left - 24;
  const log = o.xs.numeric && n[0] > 0 && n.at(-1) / n[0] >= 8;
  const of = v => log ? Math.log(v) : v, span = of(n.at(-1)) - of(n[0]);
  const x = i => f.left + 12 + (o.xs.numeric && span > 0 ? (of(n[i]) - of(n[0]))
    / span : o.xs.v.length > 1 ? i / (o.xs.v.length - 1) : .5) * wide;
  o.by.forEach((name, k) => {
    const at = o.xs.v.map((_, i) => [x(i), o.grid[i][k].v, i]).filter(p => p[1] != null);
    f.moved.append(s("path", { class: "series", fill: "none", stroke: plain(k),
      "stroke-width": 2, "stroke-dasharray": dash(k), d: at.map(([a, v], i) =>
        `${i ? "L" : "M"}${a.toFixed(1)} ${f.y(v).toFixed(1)}`).join("") }));
    for (const [a, v, i] of at)
      f.moved.append(s("circle", { class: "point", cx: a, cy: f.y(v), r: 3.5,
        fill: plain(k) }, s("title", null, `${o.say(i, k)}: ${o.number(v)}`)));
  });
  placesBelow(f, o.xs.v, x);
  return f;
}

function plotBars(o) {
  const f = plotFrame({ ...o, colour: plain }), n = o.xs.v.length;
  const slot = (f.right - f.left) / n, wide = Math.min(44, slot * .82 / o.by.length);
  const values = o.grid.flat().filter(c => c.v != null);
  const fits = values.every(c => 6.4 * shortest(c.v * o.scale).length <= wide);
  const x = i => f.left + (i + .5) * slot;
  o.xs.v.forEach((_, i) => o.by.forEach((name, k) => {
    const v = o.grid[i][k].v, at = x(i) + (k - o.by.length / 2) * wide;
    if (v == null) return;
    f.moved.append(s("rect", { class: "bar", x: at + wide * .05, width: wide * .9,
      y: Math.min(f.y(v), f.base), height: Math.abs(f.base - f.y(v)), fill: plain(k),
      opacity: k < 6 ? 1 : .6 }, s("title", null, `${o.say(i, k)}: ${o.number(v)}`)));
    if (fits)
      f.moved.append(s("text", { x: at + wide / 2, y: f.y(v) - 4, class: "value",
        "text-anchor": "middle" }, shortest(v * o.scale)));
  }));
  placesBelow(f, o.xs.v, x);
  return f;
}

/** A shade between the page's light blue and a dark one. */
const shade = t => `rgb(${[[222, 235, 247], [8, 48, 107]].reduce((a, b) =>
  a.map((v, i) => Math.round(v + (b[i] - v) * t)))})`;

function plotMap(o) {
  const width = room(), kids = [], head = titleLines(kids, width, o.title) - 15;
  const v = o.grid.flat().map(c => c.v).filter(c => c != null);
  const low = Math.min(...v), high = Math.max(...v);
  const left = Math.min(width * .4, 34 + 7.2 * Math.max(3, ...o.by.map(t => t.length)));
  const cell = (width - left - 4) / o.xs.v.length, tall = 30;
  const fits = v.every(c => 6.6 * shortest(c * o.scale).length <= cell - 4);
  const base = 58 + head + tall * o.by.length;
  for (let i = 0; i < 40; i++)
    kids.push(s("rect", { x: left + i * 3, y: 26 + head, width: 3.3, height: 11,
      fill: shade(i / 39) }));
  kids.push(text(left - 6, 36 + head, o.number(low), "end"), text(left + 126,
    36 + head, o.number(high) + (o.ylabel === "%" ? "" : " " + o.ylabel)));
  o.by.forEach((name, k) => {
    const y = base - tall * (k + 1);
    kids.push(text(left - 6, y + tall / 2 + 4, name, "end"));
    o.xs.v.forEach((_, i) => {
      const c = o.grid[i][k], t = high > low && c.v != null ? (c.v - low)
        / (high - low) : 0;
      kids.push(s("rect", { class: "cell", x: left + i * cell, y, width: cell - 1,
        height: tall - 1, fill: c.v == null ? "none" : shade(t) }, s("title", null,
        `${o.say(i, k)}: ${o.number(c.v)}`)));
      if (fits && c.v != null)
        kids.push(s("text", { x: left + (i + .5) * cell, y: y + tall / 2 + 4,
          class: t > .45 ? "on" : "off", "text-anchor": "middle" },
        shortest(c.v * o.scale)));
    });
  });
  const f = { left, right: width - 4, base, moved: s("g"), width,
    high: base + 44 };
  placesBelow(f, o.xs.v, i => left + (i + .5) * cell);
  f.moved.append(text((left + width) / 2, base + 36, o.xlabel, "middle", "soft"));
  if (o.bylabel)
    kids.push(s("text", { class: "soft", "text-anchor": "middle",
      transform: `translate(12 ${base - tall * o.by.length / 2}) rotate(-90)` },
    o.bylabel));
  f.all = [...kids, f.moved];
  return f;
}

/** The picture as a file of its own: what the page's style says is written out. */
function saveSvg(picture, name) { // by the browser, to where it puts downloads
  const copy = picture.cloneNode(true), from = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((e, i) => {
    const style = getComputedStyle(from[i]);
    for (const p of ["fill", "stroke", "opacity", "font-size", "font-weight"])
      if (!(p === "stroke" && style[p] === "none")) e.setAttribute(p, style[p]);
    e.removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "DejaVu Sans, Verdana, sans-serif");
  copy.prepend(s("rect", { width: "100%", height: "100%",
    fill: getComputedStyle(document.body).backgroundColor }));
  const url = URL.createObjectURL(new Blob([copy.outerHTML],
    { type: "image/svg+xml" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
  return copy.outerHTML;
}

function plotSection() {
  const all = dimensions(), list = found();
  const names = data.metrics.map(m => m[1]).filter(m => list.some(r =>
    metric(r, m, state.app) != null));
  if (!all.length || !names.length)
    return none("Runs differ in no setting, machine, application or policy here.");
  const x = all.includes(plot.x) ? plot.x : all[0];
  const by = plot.by === "none" ? "" : all.includes(plot.by) && plot.by !== x
    ? plot.by : all.find(d => d !== x && d !== "label") || "";
  const what = names.includes(plot.metric) ? plot.metric
    : names.includes("ipc") ? "ipc" : names[0];
  const xs = steps(list, x), series = steps(list, by).v;
  const grid = gridOf(list, { metric: what, x, by }, xs.v, series);
  const cells = grid.flat(), m = data.metrics[metricAt(what)];
  const rest = all.filter(d => d !== x && d !== by);
  const most = Math.max(...cells.map(c => c.n));
  const share = m[2] === "", o = { xs, by: series, names: series, grid,
    title: m[3] + ": " + [list.flatMap(apps), list.map(r => r.machine || "?")].map(
      t => few(distinct(t))).join(" on "), ylabel: share ? "%" : m[2], xlabel: x, bylabel: by,
    top: Math.max(0, ...cells.map(c => c.v || 0)), scale: share ? 100 : 1,
    tick: share ? v => shortest(100 * v) : short, number: v => valueOf(m[2], v),
    say: (i, k) => `${x} ${xs.v[i]}` + (by ? `, ${by} ${series[k]}` : "") };
  if (by) o.names = series.map(v => `${by} ${v}`);
  const f = { lines: plotLines, bars: plotBars, map: plotMap }[plot.as](o);
  const picture = svg(f.width, f.high, `${what} against ${x}`, f.all);
  const set = (name, of) => v => {
    plot[name] = v;
    writeAddress();
    draw("plot");
    document.querySelectorAll("#plot select")[of].focus();
  };
  const words = d => [d, d];
  return [h("div", { class: "tools" },
    select("Metric", names.map(words), what, set("metric", 0)),
    select("Against", all.map(words), x, set("x", 1)),
    select("Series", [["none", "none"], ...all.filter(d => d !== x).map(words)],
      by || "none", set("by", 2)),
    select("As", SHAPES, plot.as, set("as", 3)),
    h("button", { id: "save", onclick: () => saveSvg(picture,
      `${what}-${x}.svg`) }, "Save as SVG")),
  none(`Of the ${whole(list.length)} runs that the filter finds.` + (most > 1
    ? ` Points are means of up to ${most} runs, which differ in ${few(rest)
      || "nothing that is here"}.` : "")),
  h("figure", { tabindex: 0, "aria-label": o.title }, picture),
  folded("As a table", () => table(`${what} against ${x}`,
    [{ text: x }, ...series.map(v => ({ text: by ? `${by} ${v}` : m[1],
      right: true }))], xs.v.map((v, i) => [v, ...grid[i].map(c =>
      o.number(c.v))])))];
}

// ---- the page ----------------------------------------------------------------------------------

readAddress();
clear(main, summary(),
  SECTIONS.length > 1 && h("nav", { "aria-label": "Sections" }, h("ul", null,
    SECTIONS.map(([id, title]) => h("li", null, h("a", { href: "#" + id,
      onclick: e => { // the address keeps what is picked
        e.preventDefault();
        const to = document.getElementById(id);
        to.scrollIntoView();
        to.querySelector("h2").focus();
      } }, title))))),
  SECTIONS.map(([id, title]) => h("section", { id, "aria-labelledby": "h-" + id },
    h("h2", { id: "h-" + id, tabindex: -1 }, title), h("div"))));
draw();
document.documentElement.dataset.ready = "yes";

let wide = main.clientWidth;
addEventListener("resize", () => {
  if (main.clientWidth === wide) return;
  wide = main.clientWidth;
  draw("plot", "time", "latency", "series", "hists");
});
addEventListener("hashchange", () => { readAddress(); draw(); });
})();
