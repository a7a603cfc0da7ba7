#!/bin/sh
# 729-view.t - pins heddle view: the page of JSON results, of a store and of the
# quantities of experiments; that it needs nothing else, holds what is on it as
# JSON that ends nothing, and is the same for the same results; its filter and its
# size, and that it says what was left out; bad input.  In a browser, if there is
# one, at the width of a telephone and of a screen: no error of its script, no
# wider than the window, every part has its tables and charts, what differs comes
# in order, and all of it goes by keyboard and has a name.
#
# SPDX-License-Identifier: MIT
. t/lib/expect.sh
. t/lib/browser.sh

cat >"$dir/x.lua" <<L
local H = require "heddle"
local jobs = {}
for i, e in ipairs { 16, 512, 2048 } do
    jobs[i] = { machine = "maxwell", seed = 1, interval = 100,
        label = "</script><b>entries " .. e, budget = 3000,
        settings = { ["l2tlb.entries"] = e, ["core.count"] = 4 },
        apps = { H.app("GUP", { size = "S" }), H.app("BFS2", { size = "T" }) } }
end
local list = require("heddle.store").run(jobs, { jobs = 1, dir = "$dir/store",
    quiet = true })
H.report.json(list, "$dir/list.json")
H.report.json(list[1], "$dir/one.json")
local db <close> = require("heddle.sqlite").open "$dir/results.sqlite"
db:exec [[create table quantity (experiment text, quantity text, unit text,
    paper real, heddle real, ratio real, verdict text, scale text,
    direction text)]]
db:exec("insert into quantity values (?, ?, ?, ?, ?, ?, ?, ?, ?)", "mask/fig01",
    "loss & gain", "%", 40.0, 44.0, 1.1, "match", "quick", "open")
L
expect 0 "results" "$H" run "$dir/x.lua"

# ---- the file ----------------------------------------------------------------------
expect 0 "a page of a list" "$H" view "$dir/list.json"
has out "3 runs.  Written: $dir/list.html" "lies beside it"
expect 0 "again" "$H" view "$dir/list.json" -o "$dir/again.html"
same list.html again.html "is the same"
expect 0 "on standard output" "$H" view -o - "$dir/list.json"
same out list.html "too"
hasnot list.html "</script><b>" "a text of a result ends no script"
! grep -oE '(src|href)="[^#][^"]*"|https?:[^"]*|@import|url\(' "$dir/list.html" |
    grep -v '^http://www.w3.org/2000/svg$'
told $? "nothing is loaded from elsewhere"
expect 0 "all three kinds" "$H" view "$dir/store" "$dir/one.json" \
    "$dir/results.sqlite" -o "$dir/all.html" title="A <title>"
has out "4 runs, 1 quantities of experiments" "are counted"
has all.html "<title>A &lt;title&gt;</title>" "with a title"
cat >"$dir/data.lua" <<'L'
local json = require "heddle.json"
local arg = require("heddle").args { page = "", code = "" }
local f <close> = assert(io.open(arg.page))
local data = json.decode(f:read "a":match
    '<script type="application/json" id="data">(.-)</script>')
local value = assert(load("local d = ... return " .. arg.code))(data)
print(type(value) == "table" and json.encode(value) or value)
L
data() { # data PAGE CODE WANT NAME: what a Lua expression of its data gives
    "$H" run "$dir/data.lua" page="$dir/$1" code="$2" >"$dir/value" 2>&1
    [ "$(cat "$dir/value")" = "$3" ]
    told $? "$4" "$dir/value"
}
data all.html '#d.runs .. " " .. #d.quantities' "4 1" "are in its JSON"
data all.html 'd.runs[1].label' "</script><b>entries 16" "as they were"
data all.html 'd.base["l2tlb.entries"] and #d.runs[4].inputs' 2 "with settings"
hist='(function() local n = 0
    for i, h in ipairs(d.hists) do if h[1] == "core.load_latency" then
        for _, x in pairs(d.details["0"].hists[tostring(i - 1)]) do
            local sum = 0
            for _, v in ipairs(x[10]) do sum = sum + v end
            n = n + (sum == x[1] and 1 or 100)
        end
    end end return n end)()'
data list.html "$hist" 2 "a histogram's bins add up to its number"
series='(function() local s, n = d.details["0"].series, 0
    for _, by in ipairs(s.instructions) do
        for _, v in ipairs(by) do n = n + v end
    end
    return n == d.runs[1].apps[1][3] + d.runs[1].apps[2][3]
        and #s.edges <= 241 and #s.edges == #s.instructions[1] + 1 end)()'
data list.html "$series" true "intervals add up to the run"

# ---- of several builds -------------------------------------------------------------
cat >"$dir/other.lua" <<L
local build = require "heddle.build"
build.fingerprint = function() return "another build" end
local H = require "heddle"
require("heddle.store").run({ { machine = "maxwell", seed = 1, budget = 3000,
    label = "of another build", settings = { ["l2tlb.entries"] = 512,
        ["core.count"] = 4, ["xbar.latency"] = 99 },
    apps = { H.app("GUP", { size = "S" }), H.app("BFS2", { size = "T" }) } } },
    { jobs = 1, dir = "$dir/mixed", quiet = true })
L
"$H" run "$dir/other.lua"
expect 0 "a store of one build" "$H" view "$dir/mixed" -o "$dir/mixed.html"
hasnot mixed.html "builds of heddle" "says nothing of builds"
cp "$dir/store"/*.run "$dir/mixed"
expect 0 "a store of two" "$H" view "$dir/mixed" -o "$dir/mixed.html"
has mixed.html "$dir/mixed: runs of 2 builds of heddle are mixed here (3, 1); settings differ between them: on maxwell, xbar.latency 8 and 99\"" \
    "says so, and what moved: not what a series varies"
cat >"$dir/quantities.lua" <<L
local db <close> = require("heddle.sqlite").open "$dir/results.sqlite"
db:exec "alter table quantity add column build text"
db:exec "update quantity set build = 'a'"
db:exec("insert into quantity (experiment, quantity, scale, build) "
    .. "values ('mask/fig02', 'q', 'quick', 'b')")
L
"$H" run "$dir/quantities.lua"
expect 0 "quantities of two" "$H" view "$dir/results.sqlite" -o "$dir/q.html"
has q.html "results.sqlite: the quantities were measured with 2 builds of heddle" \
    "too"

# ---- less of it --------------------------------------------------------------------
expect 0 "a filter" "$H" view "$dir/store" -o "$dir/less.html" \
    filter="gup L2TLB.entries=512"
data less.html '#d.runs .. d.runs[1].label' "1</script><b>entries 512" "picks runs"
has less.html "2 runs are left out by the filter gup l2tlb.entries=512" \
    "and the page says so"
expect 65 "a filter that nothing passes" "$H" view "$dir/store" filter=nowhere \
    -o "$dir/none.html"
has err "filter=nowhere: no run has these words" "is told"
[ ! -e "$dir/none.html" ]
told $? "and leaves no page"
cat >"$dir/many.lua" <<L
local H = require "heddle"
local one, list = H.report.read("$dir/one.json")[1], {}
one.kernels, one.label = {}, ("long "):rep(2000)
for _, c in ipairs(one.counters) do
    c.instances = {}
end
for i = 1, 70 do
    list[i] = one
end
H.report.json(list, "$dir/many.json")
L
"$H" run "$dir/many.lua"
expect 0 "many runs on a small page" "$H" view "$dir/many.json" size=1 \
    -o "$dir/small.html"
size=$(wc -c <"$dir/small.html")
[ "$size" -lt 1200000 ] && [ "$size" -gt 700000 ]
told $? "keep it small ($size bytes)"
data small.html '#d.runs < 70 and #d.runs > 20 and d.left[1]:match "of 70 runs"' \
    "of 70 runs" "it says how many there are"
data small.html 'd.left[2]:match "have no histograms"' "have no histograms" \
    "and how many have no details"

# ---- bad input -----------------------------------------------------------------------
bad() { # bad STATUS TEXT NAME ARGUMENT...
    status=$1 text=$2 name=$3
    shift 3
    expect "$status" "$name" "$H" view "$@"
    has err "$text" "is told"
}
bad 64 "a file of results is expected" "nothing to view"
bad 64 "there are -o, --follow" "an unknown option" -x "$dir/one.json"
bad 64 "it takes filter, size, title, port" "an unknown word" a=1 "$dir/one.json"
bad 64 "size: a number of 1 to 1024 is expected, not 'x'" "no size" size=x \
    "$dir/one.json"
bad 64 "-o: a file is expected" "-o alone" "$dir/one.json" -o
bad 64 "is what it is made from" "the page in place of its results" \
    "$dir/one.json" -o "$dir/one.json"
bad 66 "nowhere.json" "no such file" "$dir/nowhere.json"
bad 73 "nowhere" "a page in no folder" "$dir/one.json" -o "$dir/nowhere/p.html"
mkdir "$dir/empty"
bad 65 "a folder without results; a store" "a folder that is no store" "$dir/empty"
echo rubbish >"$dir/bad"
bad 65 "bad: json: line 1: expected" "no JSON" "$dir/bad"
echo '{"schema": "heddle-results", "schema_version": 1, "apps": 3}' >"$dir/bad"
bad 65 "bad: parts of a result of heddle are missing" "half a result" "$dir/bad"
echo '{"schema": "heddle-results", "schema_version": 2}' >"$dir/bad"
bad 65 "schema version 2, and 1 is expected" "another version" "$dir/bad"
echo '[1]' >"$dir/bad"
bad 65 "bad: not a result that H.report.json wrote" "another JSON" "$dir/bad"
printf 'SQLite format 3\0rubbish' >"$dir/bad"
bad 65 "bad: a results.sqlite of experiments is expected" "a broken database" \
    "$dir/bad"
cp -r "$dir/store" "$dir/spoiled"
for f in "$dir/spoiled"/*.run; do
    printf x >>"$f"
    break
done
expect 0 "a store with a damaged file" "$H" view "$dir/spoiled"
has spoiled.html "1 file is left out: damaged" "is left out, and told"

# ---- in a browser --------------------------------------------------------------------
if ! find_browser; then
    skip "the page in a browser"
    plan
    exit 0
fi
probe "$dir/all.html" "$dir/probe.html" <<'J'
"use strict";
(() => {
const root = document.documentElement, all = (q, e = document) =>
  [...e.querySelectorAll(q)];
const say = (name, v) => { root.dataset[name] = v; };
const rows = id => all(`#${id} tbody tr`).length;
function width(name) {
  say("width" + name, root.scrollWidth <= innerWidth
    && document.body.scrollWidth <= innerWidth);
}
say("window", innerWidth);
setTimeout(() => {
  width("First");
  say("runs", rows("runs"));
  say("picked", all("#list input:checked").length);
  say("parts", all("#time rect.part").length > 4);
  say("stages", all("#latency g.stage").length > 8);
  say("lines", all("#series path.series").length);
  say("bins", all("#hists rect.bin").length > 10);
  say("papers", document.querySelector("#papers tbody tr").textContent);
  say("setting", document.querySelector("#differs tbody tr").textContent);
  const table = all("#differs table").at(-1);
  const values = all("tbody tr", table).map(r => all("td", r).slice(0, 2).map(c =>
    Number(c.textContent.replace(/,/g, ""))));
  const change = values.map(([a, b]) => Math.abs(a - b) / Math.max(a, b));
  say("counters", change.length);
  say("ordered", change.every((c, i) => !i || c <= change[i - 1] + 1e-9));
  say("separators", all("#list td.r").some(c => /^\d+,\d{3}$/.test(c.textContent)));
  say("nameless", all("input, select, button, summary, svg, [tabindex='0']")
    .filter(e => !(e.getAttribute("aria-label") || (e.labels && e.labels.length
      && e.labels[0].textContent.trim()) || (!e.matches("input, select")
      && e.textContent.trim()))).length);
  say("jumps", all("[tabindex]").filter(e => e.tabIndex > 0).length);
  say("ink", getComputedStyle(document.body).backgroundColor);
  // By hand: another run, another application, the list by cycles, a filter.
  const box = all("#list input")[2];
  box.focus();
  say("outline", getComputedStyle(box).outlineStyle);
  box.click();
  say("focus", document.activeElement.getAttribute("aria-label"));
  say("three", all("#differs .legend .key").map(e => e.textContent).join(""));
  say("address", location.hash);
  const app = all("#runs select").at(-1);
  app.value = "1";
  app.dispatchEvent(new Event("change"));
  say("app", all("#runs select").at(-1).value + rows("differs"));
  all("#list thead button").find(b => b.textContent === "Cycles").click();
  say("sort", document.querySelector("#list th[aria-sort]").textContent);
  for (const d of all("details")) d.open = true;
  const chart = document.querySelector("#series figure");
  chart.focus();
  for (const key of ["End", "ArrowLeft"])
    chart.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  say("cursor", document.querySelector("#series output").textContent);
  const choose = (i, v) => {
    const e = all("#plot select")[i];
    e.value = v;
    e.dispatchEvent(new Event("change"));
  };
  say("plotAs", all("#plot select").map(e => e.value).join(" "));
  say("plotPoints", all("#plot circle.point").length);
  say("plotTexts", all("#plot svg text").map(e => e.textContent).join("|"));
  choose(2, "label");
  choose(3, "bars");
  say("plotBars", all("#plot rect.bar").length + " " + all("#plot svg text.value").length);
  choose(0, "l2tlb_miss_rate");
  choose(3, "map");
  say("plotCells", all("#plot rect.cell").length + " "
    + all("#plot svg text").map(e => e.textContent).slice(-3).join("|"));
  say("plotFocus", document.activeElement.value);
  say("plotAddress", location.hash);
  URL.createObjectURL = blob => {
    blob.text().then(t => {
      const saved = new DOMParser().parseFromString(t, "image/svg+xml");
      say("saved", saved.documentElement.tagName + " " + !/var\(|class=/.test(t) + " "
        + saved.querySelectorAll("rect").length);
    });
    return "javascript:void 0";
  };
  document.getElementById("save").click();
  history.replaceState(null, "", "#runs=0,1,2");
  choose(3, "lines");
  say("hints", all(".more:not([hidden])").length > 0);
  const words = document.getElementById("filter");
  words.value = "entries=2048";
  words.dispatchEvent(new Event("input"));
  setTimeout(() => {
    say("found", rows("list") + document.getElementById("count").textContent);
    say("tables", all("details table").length);
    width("Last");
    say("end", "reached");
  }, 500);
}, 500);
})();
J
shows() { # shows NAME WANT TEXT: data-NAME of the page is WANT, a pattern
    grep -qE "<html[^>]* data-$1=\"$2\"" "$dir/dom"
    told $? "$3 (data-$1 $2)" "$dir/html"
}
for width in $narrow 1280; do
    browse "$width" "file://$dir/probe.html"
    grep -o '<html[^>]*>' "$dir/dom" >"$dir/html"
    shows ready yes "at $width pixels: the page is made"
    shows end reached "to its end"
    hasnot html "data-error" "without an error of its script"
    shows window "$width" "the window is so wide"
    shows width-first true "the page is no wider"
    shows width-last true "nor is it when all is folded open"
    shows runs 4 "its runs are listed"
    shows picked 2 "two are picked"
    shows separators true "large numbers have separators"
    shows parts true "warp time is drawn"
    shows stages true "so are stages"
    shows lines 2 "intervals of both"
    shows bins true "and histograms"
    shows papers "loss &amp; gainmask/fig01, quick40441?.*matchopen" \
        "quantities are beside the papers'"
    shows setting "l2tlb.entries16512" "the setting that differs comes first"
    shows counters "[12][0-9]" "counters that differ follow"
    shows ordered true "the greatest relative change first"
    shows nameless 0 "everything to use has a name"
    shows jumps 0 "and is come to in its order"
    shows outline solid "where the focus is can be seen"
    shows focus "Compare .*" "a picked run keeps the focus"
    shows three "ABC" "and is compared"
    shows address "#runs=0%2C1%2C2|#runs=0,1,2" "the address keeps it"
    shows app "1[1-9][0-9]*" "an application alone is compared, too"
    shows sort "Cycles" "the list can be sorted"
    shows cursor "core cycles [0-9,]+ to [0-9,]+: A .*" "the keys walk a chart"
    shows plot-as "ipc l2tlb.entries none lines" "a metric against the setting that differs"
    shows plot-points 3 "as a line, a point a value"
    shows plot-texts ".*warp instructions a cycle.*l2tlb.entries.*" "its axes have titles"
    shows plot-bars "[34] [034]" "as bars, a series a label"
    shows plot-cells "[0-9]+ .*l2tlb.entries" "as a heat map, with both axes"
    shows plot-focus map "the choice keeps the focus"
    shows plot-address ".*metric=l2tlb_miss_rate.*by=label.*as=map.*" \
        "and is in the address"
    shows saved "svg true [0-9]+" "it is saved as SVG that needs no style"
    [ $width != $narrow ] ||
        shows hints true "what of a table is out of sight is told"
    shows found "11 of 4 runs.*" "the filter finds"
    shows tables "[4-9]" "charts have their numbers as tables"
    shows ink "rgb\(255, 255, 255\)" "it is light"
done
browse $narrow "file://$dir/probe.html" --blink-settings=preferredColorScheme=0
shows ink "rgb\(13, 17, 23\)" "or dark, as is preferred"
plan
