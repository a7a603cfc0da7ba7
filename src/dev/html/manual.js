/*
 * manual.js - the search of the manual, and the menu of a narrow window.
 *
 * The text of all pages, search-index.js, is loaded when the field gets the focus:
 * as a script, since a page that is a file may not fetch another.  What is sought is
 * split at blanks, and an entry is found that has every word.  Without scripts the
 * field is hidden and the menu is a link to the side bar.
 *
 * Keys: / or Ctrl-K goes to the field; arrows choose, Enter opens, Escape leaves.
 *
 * SPDX-License-Identifier: MIT
 */
"use strict";
(() => {
const MOST = 40, AROUND = 60;
const form = document.getElementById("page-search");
const input = form.querySelector("input"), found = form.querySelector("ul");
const count = form.querySelector(".count");
let entries = null, chosen = -1;

// ---- the index ------------------------------------------------------------------

function load() {
  if (load.done) return;
  load.done = true;
  const script = document.createElement("script");
  script.src = "search-index.js";
  script.onload = () => {
    const { pages, entries: list } = window.heddleManual;
    entries = list.map(([page, anchor, title, text, kind]) => ({
      href: pages[page][0] + "#" + anchor, page: pages[page][1], title, text, kind,
      low: title.toLowerCase(), all: (title + " " + text).toLowerCase() }));
    for (const [file, title, about] of pages)
      entries.push({ href: file, page: "", title, text: about, kind: "page",
        low: title.toLowerCase(), all: (title + " " + about).toLowerCase() });
    search();
  };
  script.onerror = () => { count.textContent = "search-index.js cannot be read"; };
  document.head.append(script);
}

/** How well an entry fits the words; 0: one is missing. */
function score(e, whole, words) {
  if (!words.every(w => e.all.includes(w))) return 0;
  const named = e.kind !== "" ? 2 : 1;
  if (e.low === whole) return 1000 * named;
  if (e.low.split(/[ .(]/).includes(whole)) return 300 * named;
  if (e.low.startsWith(whole)) return 200 * named;
  if (words.every(w => e.low.includes(w))) return 100 * named;
  let times = 0;
  for (let at = -1; (at = e.all.indexOf(words[0], at + 1)) >= 0 && times < 20;) ++times;
  return words.filter(w => e.low.includes(w)).length * 20 + times;
}

// ---- what was found ----------------------------------------------------------------

/** A text with the words in it marked. */
function marked(text, words) {
  const out = document.createElement("span"), low = text.toLowerCase();
  for (let at = 0; at < text.length;) {
    let next = text.length, length = 0;
    for (const w of words) {
      const i = low.indexOf(w, at);
      if (i >= 0 && i < next) { next = i; length = w.length; }
    }
    out.append(text.slice(at, next));
    if (length) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(next, next + length);
      out.append(mark);
    }
    at = next + length;
  }
  return out;
}

/** The part of a text around the first word in it. */
function part(text, words) {
  const low = text.toLowerCase();
  const first = Math.min(...words.map(w => low.indexOf(w)).filter(i => i >= 0),
    text.length);
  const from = first < text.length && first > AROUND
    ? text.lastIndexOf(" ", first - AROUND / 2) + 1 : 0;
  return (from > 0 ? "… " : "") + text.slice(from, from + 3 * AROUND)
    + (text.length > from + 3 * AROUND ? " …" : "");
}

function option(e, i, words) {
  const li = document.createElement("li"), a = document.createElement("a");
  li.id = "page-found-" + i;
  li.setAttribute("role", "option");
  a.href = e.href;
  a.tabIndex = -1;
  const title = document.createElement("b"), from = document.createElement("i");
  title.append(marked(e.title, words));
  from.textContent = [e.kind, e.page].filter(Boolean).join(", ");
  a.append(title, " ", from, document.createElement("br"),
    marked(part(e.text, words), words));
  li.append(a);
  return li;
}

function choose(i) {
  const all = found.children;
  if (chosen >= 0 && all[chosen]) all[chosen].removeAttribute("aria-selected");
  chosen = all.length ? (i + all.length) % all.length : -1;
  if (chosen < 0) { input.removeAttribute("aria-activedescendant"); return; }
  all[chosen].setAttribute("aria-selected", "true");
  all[chosen].scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", all[chosen].id);
}

function show(open) {
  found.hidden = !open;
  input.setAttribute("aria-expanded", String(open));
  if (!open) count.textContent = "";
}

function search() {
  const whole = input.value.trim().toLowerCase();
  const words = whole.split(/\s+/).filter(Boolean);
  if (!entries || !words.length) { found.replaceChildren(); show(false); return; }
  const fits = entries.map((e, i) => [score(e, whole, words), i])
    .filter(([s]) => s > 0).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  found.replaceChildren(...fits.slice(0, MOST).map(([, at], i) =>
    option(entries[at], i, words)));
  show(fits.length > 0);
  count.textContent = !fits.length ? "nothing found" : fits.length > MOST
    ? `${fits.length} found, the first ${MOST}:` : `${fits.length} found`;
  choose(0);
}

input.addEventListener("focus", () => { load(); search(); });
input.addEventListener("input", search);
input.addEventListener("keydown", e => {
  if (e.key === "ArrowDown") choose(chosen + 1);
  else if (e.key === "ArrowUp") choose(chosen - 1);
  else if (e.key === "Escape") { input.value = ""; search(); input.blur(); }
  else return;
  e.preventDefault();
});
form.addEventListener("submit", e => {
  e.preventDefault();
  const link = found.children[chosen] && found.children[chosen].querySelector("a");
  if (link) { show(false); input.blur(); link.click(); }
});
found.addEventListener("click", () => show(false));
form.addEventListener("focusout", e => {
  if (!form.contains(e.relatedTarget)) show(false);
});
found.addEventListener("mousedown", e => e.preventDefault()); // keeps the focus
document.addEventListener("keydown", e => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey
    || e.key === "k" && (e.ctrlKey || e.metaKey)) {
    e.preventDefault();
    input.focus();
    input.select();
  }
});
form.hidden = false;

// ---- the menu of a narrow window -------------------------------------------------------

const menu = document.querySelector("a.menu"), side = document.getElementById("page-side");
function fold(open) {
  side.classList.toggle("open", open);
  menu.setAttribute("aria-expanded", String(open));
}
document.documentElement.classList.add("scripted");
menu.setAttribute("role", "button");
menu.setAttribute("aria-controls", "page-side");
fold(false);
menu.addEventListener("click", e => {
  e.preventDefault();
  fold(!side.classList.contains("open"));
});
menu.addEventListener("keydown", e => {
  if (e.key === " ") { e.preventDefault(); menu.click(); }
});
side.addEventListener("click", e => { if (e.target.closest("a")) fold(false); });

// ---- the heading that is read, in the side bar ---------------------------------------------

const own = [...side.querySelectorAll(".own a")];
const heads = own.map(a => document.getElementById(a.getAttribute("href").slice(1)));
let waiting = false;
function follow() {
  waiting = false;
  let last = -1;
  heads.forEach((h, i) => { if (h && h.getBoundingClientRect().top < 120) last = i; });
  own.forEach((a, i) => {
    if (i === last) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  });
}
addEventListener("scroll", () => {
  if (!waiting) { waiting = true; requestAnimationFrame(follow); }
}, { passive: true });
follow();
})();
