#!/bin/sh
# 779-pages.t - pins that pages fit where they are read: the page to explore, the page
# of experiments and the manual.  From their text: each says how wide a phone is, each
# table of results is in a box that scrolls, pictures are never wider than the page,
# and charts have titles of their axes.  In a browser, if there is one (make
# check-pages installs one), at the width of a telephone and of a screen: the document
# is no wider than the window, nothing reaches beyond it but in a box that scrolls, no
# text of a chart is outside of it, and each chart with an axis has its title.
#
# Of the manual also: a side bar with all pages, the own headings and the one that is
# read; the search finds names before texts, marks what it found, is used with the
# keyboard and opens the place; at a telephone's width the side bar is a menu, and what
# is found fits; a link to a point shows it.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
. t/lib/browser.sh

cat >"$dir/x.lua" <<L
local H = require "heddle"
local jobs = {}
for i, e in ipairs { 16, 512, 2048 } do
    jobs[i] = { machine = "maxwell", interval = 100, budget = 3000,
        settings = { ["l2tlb.entries"] = e, ["core.count"] = 4 },
        apps = { H.app("GUP", { size = "T" }) } }
end
require("heddle.store").run(jobs, { jobs = 1, dir = "$dir/store", quiet = true })
L
expect 0 "results" "$H" run "$dir/x.lua"
expect 0 "the page to explore" "$H" view "$dir/store" -o "$dir/view.html"
mkdir -p "$dir/s/one"
cat >"$dir/s/one/fig01.lua" <<'L'
local experiment = require "heddle.experiment"
local x = experiment.open { name = "one/fig01", title = "what is lost",
    source = "A paper of 2020, figure 1", arg = require("heddle").args(
    experiment.args {}) }
local groups, values, marks = {}, {}, {}
for g = 1, 20 do
    groups[g], values[g], marks[g] = "HISTO + GUP" .. g, 3.21 * g, 3.5 * g
end
for i = 1, 3 do
    x:quantity { ("a quantity with a name that is rather long, number %d"):format(i),
        unit = "%", paper = 40.6, heddle = 40 + i }
end
x:table("a wide table", { groups, values })
x:bars { title = "Loss", unit = "%", xlabel = "pairs", groups = groups,
    mark = "paper", series = { { name = "SharedTLB", values = values, marks = marks } } }
x:lines { title = "Curve", unit = "us", xlabel = "entries", series = { { name = "a",
    values = values } } }
x:close()
L
cat >"$dir/reproduce.lua" <<L
require("heddle.reproduce").run { scenarios = "$dir/s", scale = "quick", jobs = 1,
    seed = 1, out = "$dir/pages", cache = "$dir/cache", quiet = true }
L
expect 0 "the page of experiments" "$H" run "$dir/reproduce.lua"
cp "$dir/pages/reproduce.html" "$dir/reproduce.html"
if command -v mandoc >/dev/null; then
    expect 0 "the manual" src/dev/html/make "$dir/manual"
fi

# ---- from the text -------------------------------------------------------------------
cat >"$dir/text.lua" <<'L'
-- What is wrong with a page, a line each.
local f <close> = assert(io.open(arg[1]))
local text = f:read "a"
local kind = arg[2]
local style = text:match "<style>(.-)</style>" or ""
if kind == "manual" then
    local css <close> = assert(io.open((arg[1]:gsub("[^/]*$", "style.css"))))
    style = css:read "a"
end
local function wrong(...) print(string.format(...)) end
local function has(rule)
    if not style:find(rule, 1, true) then
        wrong("no rule %s", rule)
    end
end
if not text:find 'name="viewport" content="width=device%-width' then
    wrong "no viewport"
end
if kind == "manual" then
    for _, rule in ipairs { "overflow-wrap: anywhere", "img { max-width: 100%",
        "overflow-x: auto" } do
        has(rule)
    end
    return
end
for _, rule in ipairs { ".scroll{overflow-x:auto", "figure{margin:.8rem 0;overflow-x:auto",
    "overflow-wrap:anywhere", "max-width:56rem" } do
    has(rule)
end
local body = text:gsub("<script.->.-</script>", "")
local _, tables = body:gsub("<table", "")
local _, boxes = body:gsub('<div class="scroll" tabindex="0"><table', "")
if tables ~= boxes then
    wrong("%d tables, %d in a box that scrolls", tables, boxes)
end
for svg in body:gmatch "<svg.-</svg>" do
    if not svg:find "viewBox=" then
        wrong "a picture without viewBox"
    end
    local wide = tonumber(svg:match "viewBox='0 0 ([%d.]+)")
    for x, anchor in svg:gmatch "<text x='([%d.]+)'([^>]*)>" do
        if tonumber(x) > wide or not anchor:find "rotate" and tonumber(x) < 0 then
            wrong("a text at %s of %g", x, wide)
        end
    end
    if svg:find "class='axis'" and not svg:find "rotate%(%-90" then
        wrong("no title of the y axis: %s", svg:match ">([^<]*)</text>" or "")
    end
end
L
fits() { # fits PAGE KIND
    lua5.4 "$dir/text.lua" "$dir/$1" "$2" >"$dir/wrong" 2>&1 && [ ! -s "$dir/wrong" ]
    told $? "$1 fits, by its text" "$dir/wrong"
}
fits view.html view
fits reproduce.html page
for page in index.html heddle.1.html heddle_results.5.html heddle_policy.7.html \
    settings.html; do
    [ ! -d "$dir/manual" ] || fits "manual/$page" manual
done

# ---- in a browser --------------------------------------------------------------------
if ! find_browser; then
    skip "pages in a browser"
    plan
    exit 0
fi
cat >"$dir/look.js" <<'J'
"use strict";
setTimeout(() => {
  const root = document.documentElement, say = (name, v) => { root.dataset[name] = v; };
  const all = (q, e = document) => [...e.querySelectorAll(q)];
  for (const d of all("details")) d.open = true;
  setTimeout(() => {
    const scrolls = e => {
      for (let p = e; p && p !== document.body; p = p.parentElement)
        if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX))
          return true;
      return false;
    };
    const beyond = all("body *").filter(e => {
      const b = e.getBoundingClientRect();
      return b.width > 0 && b.height > 0 && b.right > innerWidth + 1 && !scrolls(e);
    });
    say("beyond", beyond.length + " " + beyond.slice(0, 3).map(e => e.tagName + " "
      + (e.textContent || "").trim().slice(0, 40)).join(", "));
    say("wide", root.scrollWidth <= innerWidth);
    const charts = all("svg").filter(s => all("text", s).length > 2);
    say("charts", charts.length);
    const outside = charts.flatMap(s => all("text", s).filter(t => {
      const a = t.getBoundingClientRect(), b = s.getBoundingClientRect();
      return a.right > b.right + 2 || a.left < b.left - 2 || a.top < b.top - 2
        || a.bottom > b.bottom + 2;
    }));
    say("outside", outside.length + " " + outside.slice(0, 3).map(t =>
      t.textContent).join(", "));
    // An axis has numbers; its title is a text with letters that is no number.
    const bare = charts.filter(s => s.querySelector(".axis, .grid")
      && !all("text", s).some(t => /[a-z]{2}/.test(t.textContent)
        && (t.classList.contains("soft") || /rotate/.test(t.getAttribute("transform")
        || "") || t.getAttribute("text-anchor") === "middle")));
    say("bare", bare.length);
    say("seen", "yes");
  }, 400);
}, 400);
J
shows() { # shows NAME WANT TEXT
    grep -qE "<html[^>]* data-$1=\"$2\"" "$dir/dom"
    told $? "$3 (data-$1 $2)" "$dir/html"
}
look() { # look PAGE LEAST: it, at both widths; the least number of charts
    sed '/^<\/body>$/,$d' "$dir/$1" >"$dir/${1%.html}-probe.html"
    {
        echo '<script>'
        cat "$dir/look.js"
        echo '</script></body></html>'
    } >>"$dir/${1%.html}-probe.html"
    for width in $narrow 1280; do
        browse "$width" "file://$dir/${1%.html}-probe.html"
        grep -o '<html[^>]*>' "$dir/dom" >"$dir/html"
        shows seen yes "$1 at $width pixels is read"
        shows wide true "it is no wider than the window"
        shows beyond "0 " "nothing reaches beyond it"
        shows outside "0 " "no text is outside of its chart"
        shows bare 0 "each chart with an axis has its title"
        shows charts "$2" "and there are charts"
    done
}
look view.html "[4-9]|[1-9][0-9]"
look reproduce.html "[2-9]"
for page in index.html heddle.1.html heddle_results.5.html heddle_policy.7.html \
    heddle_model.7.html heddle_tutorial.7.html settings.html machines.html gallery.html; do
    [ ! -d "$dir/manual" ] || look "manual/$page" "[0-9]+"
done

# ---- the manual's side bar and search ------------------------------------------------
[ -d "$dir/manual" ] || { plan; exit 0; }
cat >"$dir/use.js" <<'J'
"use strict";
setTimeout(() => {
  const root = document.documentElement, say = (name, v) => { root.dataset[name] = v; };
  const $ = q => document.querySelector(q), all = q => [...document.querySelectorAll(q)];
  const seen = e => e && e.getBoundingClientRect().width > 0;
  const side = $("#page-side"), menu = $("a.menu"), input = $("#page-search input");
  const key = (name, to = document.activeElement) => to.dispatchEvent(
    new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const type = text => { input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true })); };
  const found = () => all("#page-found [role=option]");
  const titles = () => found().slice(0, 3).map(e => e.querySelector("b").textContent
    + ":" + e.querySelector("i").textContent.split(",")[0]).join(" ");

  say("pages", all("#page-side > ul > li > a").length);
  say("here", $("#page-side [aria-current=page]").textContent);
  say("own", all("#page-side .own a").map(a => a.textContent).slice(0, 2).join("|"));
  say("side", seen(side));
  say("menu", seen(menu));
  if (seen(menu)) {
    menu.click();
    say("opened", seen(side) + " " + menu.getAttribute("aria-expanded"));
    menu.click();
    say("closed", seen(side) + " " + menu.getAttribute("aria-expanded"));
  }
  key("/", document.body);
  say("focus", document.activeElement === input);
  setTimeout(() => {
    type("tlb_fill"); say("point", titles());
    say("bar", $("#page-found").getBoundingClientRect().right <= innerWidth
      && root.scrollWidth <= innerWidth);
    type("L2TLB.Entries"); say("setting", titles());
    type("walk latency"); say("words", titles());
    say("marks", new Set(all("#page-found mark").map(e =>
      e.textContent.toLowerCase())).size);
    type("blind cave fish"); say("none", found().length + " "
      + $("#page-search .count").textContent);
    type("<img src=x onerror=alert(1)>"); say("safe", all("#page-found img").length);
    type("walks"); key("ArrowDown"); key("ArrowDown"); key("ArrowUp");
    say("chosen", found().findIndex(e => e.getAttribute("aria-selected") === "true")
      + " " + (input.getAttribute("aria-activedescendant") === found()[1].id));
    key("Escape"); say("left", $("#page-found").hidden
      && document.activeElement !== input);
    input.focus(); type("heddle_policy");
    say("page", titles());
    type("vm.paging");
    $("#page-search").requestSubmit();
    setTimeout(() => {
      const target = $(":target");
      say("went", location.pathname.replace(/.*[/]/, "") + location.hash);
      say("shown", target && target.getBoundingClientRect().top < innerHeight
        && target.getBoundingClientRect().top >= 0);
      scrollTo(0, document.getElementById("settings.vm").offsetTop - 20);
      setTimeout(() => {
        say("reads", all("#page-side .own [aria-current]").map(a => a.textContent)
          .join());
        say("done", "yes");
      }, 200);
    }, 400);
  }, 800);
}, 300);
J
probe "$dir/manual/settings.html" "$dir/manual/probe.html" <"$dir/use.js"
# The page probed is a copy: a result that is in settings.html opens there.
sed -i 's/"settings\.html"/"probe.html"/' "$dir/manual/search-index.js"
for width in $narrow 1280; do
    browse "$width" "file://$dir/manual/probe.html"
    grep -o '<html[^>]*>' "$dir/dom" >"$dir/html"
    shows done yes "the manual at $width pixels is used"
    shows pages 2[0-9] "all pages are in its side bar"
    shows here Settings "the one that is shown is marked"
    shows own "sim[|]clock" "with its headings"
    if [ "$width" = 1280 ]; then
        shows side true "which is there"
    else
        shows side false "which is folded"
        shows menu true "below a menu"
        shows opened "true true" "that opens it"
        shows closed "false false" "and folds it"
    fi
    shows focus true "/ goes to the search"
    shows point "tlb_fill:point .*" "which finds a point first"
    shows setting "l2tlb.entries:setting .*" "a setting, in any case"
    shows words "walk_latency:metric .*" "a name of several words"
    shows marks 2 "and marks these"
    shows bar true "what is found fits"
    shows none "0 nothing found" "or it says so"
    shows safe 0 "what is typed is text"
    shows chosen "1 true" "arrows choose"
    shows left true "Escape leaves"
    shows page "heddle_policy.7.:page.*" "a page by its name"
    shows went "probe.html#vm.paging" "Enter opens the place"
    shows shown true "which is seen"
    shows reads vm "the side bar marks the heading that is read"
    ! grep -q data-error "$dir/html"
    told $? "no script fails" "$dir/html"
done
{
    sed 's/<script src="manual.js" defer><.script>//; /^<\/body>$/,$d' \
        "$dir/manual/settings.html"
    cat <<'J'
<script>
setTimeout(() => {
  document.documentElement.dataset.plain = [...document.querySelectorAll(
    "#page-search, #page-side")].map(e => e.getBoundingClientRect().width > 0).join();
}, 300);
</script></body></html>
J
} >"$dir/manual/plain.html"
browse "$narrow" "file://$dir/manual/plain.html#page-side"
grep -o '<html[^>]*>' "$dir/dom" >"$dir/html"
shows plain false,true "without its script the menu is a link, and no field is shown"
plan
