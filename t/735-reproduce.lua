-- 735-reproduce.lua - pins: all experiments of a folder run, those whose
-- results are known do not, one that fails is told and the others go on; scale,
-- seed, script and modules beside it decide what is known; Ctrl-C leaves a
-- page, and twice nothing that runs; the page is well-formed HTML with every
-- table, chart and count, escapes what it is given, and is the same for the
-- same JSON.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local experiment = require "heddle.experiment"
local json = require "heddle.json"
local page = require "heddle.page"
local process = require "heddle.process"
local reproduce = require "heddle.reproduce"

local DIR = os.tmpname()
os.remove(DIR)
local OUT = DIR .. "/out"

local function write(path, text)
    process.mkdir(path:match "^(.*)/")
    files.write(path, text)
end

--- A script of an experiment: it leaves a line in DIR/log when it runs.
local function scenario(name, body)
    write(("%s/s/%s.lua"):format(DIR, name), ([[
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local arg = H.args(experiment.args { lanes = 64 })
local f = io.open("%s/log", "a")
f:write("%s ", arg.scale, " ", arg.seed, "\n")
f:close()
local x = experiment.open { name = "%s", source = common.paper .. ", figure 1",
    title = "of %s", arg = arg }
print "said on standard output"
%s
x:close()
]]):format(DIR, name, name, name, body))
end

local function ran()
    local text = files.read(DIR .. "/log") or ""
    os.remove(DIR .. "/log")
    return (text:gsub("\n", ";"))
end

local function run(more)
    local o = { scenarios = DIR .. "/s", scale = "quick", jobs = 1, seed = 1,
        out = OUT, cache = DIR .. "/cache", quiet = true }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return reproduce.run(o)
end

write(DIR .. "/s/one/common.lua", [[return { paper = "ONE & <only> (2020)" }]])
write(DIR .. "/s/two/common.lua", [[return { paper = "TWO (2021)" }]])
write(DIR .. "/s/two/helper.lua", "return 1")
write(DIR .. "/s/readme.txt", "not a folder")
scenario("one/fig1", [[
x:say "<said>"
x:quantity { "near & dear", unit = "%", paper = 50.0, heddle = 55.0 }
x:quantity { "far", unit = "x", paper = 10.0, heddle = 20.0,
    skip = "<because>" }
x:quantity { "extra", heddle = 3 }
x:order { "designs", paper = { "A", "B" }, heddle = { A = 2.0, B = 1.0 } }
x:table("<details>", { { "a", "b", "c" }, { 1, nil, "</td>" }, "-",
    { "x", 2.5, "last" } })
x:bars { title = "bars", unit = "u", groups = { "g1", "g2", "g3" },
    series = { { name = "s", values = { 1, nil, 3 }, marks = { nil, 2 } } } }
x:lines { title = "lines", unit = "u", series = { { name = "s",
    values = { 1, 0 / 0, 2 } } } }
x:note "noted"]])
scenario("one/fig2", [[error "cannot <go> on"]])
scenario("two/fig1", [[
x:order { "designs", paper = { "A", "B" }, heddle = { A = 1.0, B = 2.0 } }
x:table("details of two", { { "a" }, { 1 } })]])

-- ---- what there is ---------------------------------------------------------------------

local list = reproduce.find(DIR .. "/s")
local names = {}
for i, e in ipairs(list) do
    names[i] = e.name
end
tap.is(table.concat(names, " "), "one/fig1 one/fig2 two/fig1",
    "experiments, and no modules")
tap.is(#reproduce.select(list, "two, one/fig1"), 2, "some of them")
tap.is(#reproduce.select(list, ""), 3, "or all")
tap.raises(function() reproduce.select(list, "one/fig3") end,
    "did you mean 'one/fig", "one that there is not")
for _, t in ipairs {
    { 'experiment.open { name = x }', true },
    { 'local x = suite.open("fig7", "figure 7", {})', true },
    { 'return suite.open { name = "two/fig7" }', true },
    { 'require("common").open_class("fig7", "figure 7", 0)', true },
    { 'io.open("out"); H.suites.get "fig7"', false },
} do
    tap.is(experiment.is("s/two/fig7.lua", t[1]), t[2], "declared: " .. t[1])
end
tap.is(experiment.is("s/two/common.lua", "experiment.open {}"), false,
    "what a paper's experiments share is none")
tap.is(#reproduce.find(DIR .. "/nowhere"), 0, "none in a folder that is not")

-- Every script of a paper is an experiment, or another one of its folder names it.
local found, papers = {}, {}
for _, e in ipairs(reproduce.find "scenarios") do
    found[e.file], papers[e.paper] = true, true
end
tap.ok(papers.mask and papers.mosaic, "there are some in scenarios/")
for _, paper in ipairs { "mask", "mosaic" } do
    local texts, lost = {}, {}
    for _, name in ipairs(experiment.list("scenarios/" .. paper)) do
        texts[name] = files.read(("scenarios/%s/%s"):format(paper, name))
    end
    for name in pairs(texts) do
        local used = found[("scenarios/%s/%s"):format(paper, name)]
        for other, text in pairs(texts) do
            used = used or other ~= name
                and text:find(('"%s["%%.]'):format(name:sub(1, -5):gsub("%-",
                    "%%-")))
        end
        lost[#lost + 1] = not used and name or nil
    end
    tap.is(table.concat(lost, " "), "", paper .. ": no script is forgotten")
end

-- ---- variants -------------------------------------------------------------------------

write(DIR .. "/v/three/common.lua", [[
return { variants = { "short" }, choices = { { "wide", { bus = 5 } } } }]])
write(DIR .. "/v/three/fig1.lua", [[
local H = require "heddle"
local experiment = require "heddle.experiment"
local x = experiment.open { name = "three/fig1", source = "THREE, figure 1",
    title = "of three", variants = require "common".variants,
    choices = require "common".choices,
    arg = H.args(experiment.args { variant = experiment.FIRST }) }
local near = x:settings().bus or x:preset "m" == "m" and 1 or 3
x:quantity { "near", paper = 1.0, heddle = near }
x:order { "designs", paper = { "A", "B" }, heddle = { A = near, B = 2.0 } }
x:close()
]])
local function both(variant)
    return run { scenarios = DIR .. "/v", variant = variant }
end
local status, docs = both "wide"
tap.ok(status == 0 and #docs == 1 and docs[1].variant == "wide" and docs[1].choice
    and docs[1].quantities[1].heddle == 5, "a choice runs where it is named")
os.remove(OUT .. "/three/fig1-wide.json")
status, docs = both "papers"
tap.ok(status == 0 and #docs == 1, "one variant of an experiment is run")
status, docs = both()
tap.is(status, 0, "or both")
tap.is(docs[2].variant, "short", "the second knows what it is")
tap.is(docs[1].quantities[1].heddle .. " " .. docs[2].quantities[1].heddle,
    "1 3", "and has numbers of its own")
local beside = page.build(docs, {})
tap.ok(beside:find "<th class=\"r\">short</th>"
    and beside:find "near</td>.->1<.->not scored: a quick run<.->3<",
    "they stand beside the first one's", beside:match "near</td>.-</tr>")
tap.ok(beside:find "1 experiment, on the papers&#39; machines: 2 not scored."
    and beside:find "Variant short, 1 experiment, not counted.",
    "and are not counted", beside:match "<p>1 exp.-</p>")
tap.ok(beside:find "Quick runs.-not comparable", "quick runs are not scored")
tap.ok(beside:find "variant=short", "with how to run it")
local choice = json.decode(json.encode(docs[1]))
choice.variant, choice.choice, choice.quantities[1].heddle = "R", true, 3
local scored = json.decode(json.encode(docs[1]))
scored.quantities[1].counts, scored.quantities[1].verdict = true, "match"
tap.ok(page.build({ scored, choice }, {}):find
    "match, depends on the machine as it is<",
    "a claim that matches on one machine alone is marked")
tap.raises(function()
    experiment.open { name = "three/fig1", source = "s", title = "t",
        variants = { "short" }, arg = { scale = "quick", out = OUT,
        variant = "shrot" } }
end, "expected papers or short", "no other variant")

-- ---- simulations behind them -------------------------------------------------------------

write(DIR .. "/w/four/fig1.lua", [[
local H = require "heddle"
local experiment = require "heddle.experiment"
local x = experiment.open { name = "four/fig1", source = "FOUR, figure 1",
    title = "of four", arg = H.args(experiment.args()) }
local jobs = {}
for i, n in ipairs { 1, 2 } do
    jobs[i] = { machine = "maxwell", settings = { ["core.count"] = n },
        label = n .. " cores", budget = 100, apps = { H.app("GUP",
        { size = "T" }) } }
end
x:quantity { "cycles", heddle = x:run(jobs)[1].cycles }
x:close()
]])
run { scenarios = DIR .. "/w" }
local explore = files.read(OUT .. "/view.html") or ""
local linked = files.read(OUT .. "/reproduce.html")
tap.ok(linked:find('<a href="view.html">', 1, true)
    and linked:find('<a href="view.html#filter=four/fig1">Explore the 2 '
    .. 'simulations', 1, true), "the page links to that of the simulations",
    linked:match "<section.-</section>")
local data = json.decode(explore:match 'id="data">(.-)</script>' or "{}")
tap.is(#(data.runs or {}), 2, "which has them")
tap.is(data.runs and data.runs[1].label .. data.runs[1].tags[1],
    "1 coresfour/fig1", "each with the experiment it belongs to")
run { scenarios = DIR .. "/w", cache = DIR .. "/no-cache" }
tap.ok(not files.read(OUT .. "/reproduce.html"):find "view.html",
    "no link where there are none")

-- ---- running --------------------------------------------------------------------------

local missing
status, docs, missing = run()
tap.is(ran(), "one/fig1 quick 1;one/fig2 quick 1;two/fig1 quick 1;",
    "all run, each with the modules of its paper")
tap.is(status, 1, "one failed")
tap.ok(#docs == 2 and docs[1].name == "one/fig1" and docs[2].name
    == "two/fig1", "the others are done")
tap.ok(#missing == 1 and missing[1].why:find "failed: .*cannot <go> on",
    "and it is told why", missing[1] and missing[1].why)
tap.ok(files.read(OUT .. "/one/fig1.txt"):find "said on standard output.*near",
    "what an experiment prints is in a file")
local html = files.read(OUT .. "/reproduce.html")
local again
status, again = run()
tap.is(ran(), "one/fig2 quick 1;", "what is known does not run again")
tap.ok(status == 1 and tap.differ(docs, again) == nil, "and is the same")
tap.is(files.read(OUT .. "/reproduce.html"), html, "so is the page, to the byte")
run { only = "two" }
tap.is(ran(), "", "only a paper")
tap.ok(files.read(OUT .. "/reproduce.html"):find "of one/fig1",
    "the page keeps what is known of the others")
status = run { only = "two", force = true }
tap.ok(status == 0 and ran() == "two/fig1 quick 1;", "unless force")
run { only = "two", seed = 7 }
tap.is(ran(), "two/fig1 quick 7;", "another seed is another run")
docs = select(2, run { only = "two", scale = "full" })
tap.is(ran(), "two/fig1 full 1;", "so is another scale")
tap.is(#docs, 1, "scales are not mixed on a page")
run()
ran()
write(DIR .. "/s/two/common.lua", [[return { paper = "TWO (2022)" }]])
docs = select(2, run())
tap.is(ran(), "one/fig2 quick 1;two/fig1 quick 1;",
    "a module that changed makes its paper's old results void")
tap.is(docs[2].source, "TWO (2022), figure 1", "and the new ones are read")
write(OUT .. "/two/fig1.json", "{ rubbish")
run { only = "two" }
tap.is(ran(), "two/fig1 quick 1;", "a spoiled file is not believed")
tap.is(experiment.identity(list[1].file, { jobs = "3", out = "x" }, "quick", 1),
    experiment.identity(list[1].file, {}, "quick", 1),
    "where and how fast decide nothing")
tap.ok(experiment.identity(list[1].file, { lanes = "32" }, "quick", 1)
    ~= experiment.identity(list[1].file, {}, "quick", 1),
    "other arguments are another experiment")

-- One alone, by the command, is the same experiment.
local command = ("'%s' run '%s/s/two/fig1.lua' out='%s' jobs=1 cache='%s/c' "
    .. "%s >'%s/printed' 2>&1")
local function alone(more)
    return os.execute(command:format(os.getenv "HEDDLE", DIR, OUT, DIR, more,
        DIR))
end
alone ""
ran()
run { only = "two" }
tap.is(ran(), "", "the command's own run counts")
alone "lanes=32"
ran()
run { only = "two" }
tap.is(ran(), "two/fig1 quick 1;", "but not one with other arguments")

tap.raises(function() run { scale = "huge" } end,
    "scale=huge: expected quick or full", "an unknown scale runs nothing")
tap.raises(function() run { scenarios = DIR .. "/nowhere" } end,
    "nowhere: no experiments there", "nor does a folder without experiments")

-- ---- names, deaths, interrupts ----------------------------------------------------------

scenario("two/fig2", "x.id = 'two/other'")
scenario("two/fig3", "os.exit(3)")
status, docs, missing = run { only = "two" }
tap.ok(status == 1 and #docs == 2 and #missing == 2 and missing[1].why
    :find "two/other.*two/fig2" and missing[2].why:find "status 3",
    "a wrong name, and a process that dies")
os.remove(DIR .. "/s/two/fig3.lua")
scenario("two/fig2", [[
local stat = io.open("/proc/self/stat"):read "a"
-- Not os.execute, which ignores SIGINT as long as it waits.
io.popen("kill -INT " .. stat:match "%) %a (%d+)"):close()
while true do end]])
os.remove(OUT .. "/two/fig1.json")
os.remove(OUT .. "/reproduce.html")
local _, how, code = os.execute(("'%s' run scenarios/reproduce.lua "
    .. "scenarios='%s/s' out='%s' cache='%s/c' only=two >'%s/printed' 2>&1")
    :format(os.getenv "HEDDLE", DIR, OUT, DIR, DIR))
tap.ok(how == "exit" and code == 130, "Ctrl-C ends with 130", code)
local left = files.read(OUT .. "/reproduce.html") or ""
tap.ok(left:find "of two/fig1" and left:find "two/fig2: not run",
    "and leaves a page of what is known", left:match "<body>.*")
tap.ok(files.read(DIR .. "/printed"):find "two/fig1 +1 not scored; a quick run.* 0:%d%d\n",
    "after what was told", files.read(DIR .. "/printed"))
-- Twice, while simulations run, and a death without a word: whichever way it
-- ends, nothing goes on.
local function killed(how_to)
    os.remove(DIR .. "/pids")
    scenario("two/fig2", ([[
local boss = io.open("/proc/self/stat"):read "a":match "%%) %%a (%%d+)"
local function job()
    local f = io.open("%s/pids", "a")
    f:write(io.open("/proc/self/stat"):read "a":match "^%%d+", "\n")
    f:close()
    while true do
        local n = select(2, io.open("%s/pids"):read "a":gsub("\n", ""))
        if n == 2 then
            io.popen("boss=" .. boss .. "; %s"):close()
            while true do end
        end
    end
end
H.run({ job, job }, { jobs = 2 })]]):format(DIR, DIR, how_to))
    local _, ended, status_of = os.execute(("'%s' run scenarios/reproduce.lua "
        .. "scenarios='%s/s' out='%s' cache='%s/c' only=two/fig2 "
        .. ">'%s/printed' 2>&1"):format(os.getenv "HEDDLE", DIR, OUT, DIR, DIR))
    local pids, alive = 0, 0
    for pid in (files.read(DIR .. "/pids") or ""):gmatch "%d+" do
        local stop, state = os.time() + 20, "R"
        while state and state ~= "Z" and os.time() < stop do
            state = (files.read("/proc/" .. pid .. "/stat") or ""):match "%) (%a)"
        end
        pids, alive = pids + 1, alive + (state and state ~= "Z" and 1 or 0)
    end
    tap.ok(pids == 2 and alive == 0, "nothing goes on after " .. how_to,
        alive .. " of " .. pids)
    return ended, status_of
end
how, code = killed "kill -INT $boss; kill -INT $boss"
tap.ok(how == "exit" and code == 130 or how == "signal" and code == 2,
    "Ctrl-C twice ends it", files.read(DIR .. "/printed"))
how, code = killed "kill -KILL $boss"
tap.ok(how == "signal" and code == 9 or code == 137, "so does a death",
    files.read(DIR .. "/printed"))
_, how, code = os.execute(("'%s' run scenarios/reproduce.lua scenarios='%s/s' "
    .. "out='%s' cache='%s/c' only=one jobs=1 >'%s/printed' 2>&1")
    :format(os.getenv "HEDDLE", DIR, OUT, DIR, DIR))
local printed = files.read(DIR .. "/printed")
tap.ok(how == "exit" and code == 1 and printed:find "one/fig1 .*kept"
    and printed:find "one/fig2 +failed:", "a failure ends with 1", printed)

-- ---- the page ---------------------------------------------------------------------------

--- Tags that match, attributes that are quoted; how many of each there are.
local function parse(text)
    local stack, count, at = {}, {}, 1
    text = text:gsub("<style>.-</style>", ""):gsub("^<!DOCTYPE html>", "")
    while true do
        local from, to, close, name, rest = text:find("<(/?)(%w+)(.-)>", at)
        local between = text:sub(at, (from or #text + 1) - 1)
        assert(not between:find "[<>]", "stray bracket in " .. between)
        for entity in between:gmatch "&([^;%s]*;?)" do
            assert(entity:find "^#?%w+;$", "bad entity &" .. entity)
        end
        if not from then
            break
        end
        at = to + 1
        if close == "/" then
            local open = table.remove(stack)
            assert(open == name, ("</%s> ends <%s>"):format(name, open))
        else
            count[name] = (count[name] or 0) + 1
            local more = rest:gsub("%s+[%w:-]+=(['\"])[^'\"<]*%1", "")
            assert(more == "" or more == "/", "attributes: " .. rest)
            if more ~= "/" and name ~= "meta" then
                stack[#stack + 1] = name
            end
        end
    end
    assert(#stack == 0, "unclosed " .. tostring(stack[#stack]))
    return count
end

tap.is(json.encode { 1, json.null, 3 }, "[1, null, 3]", "a hole is null")
local one = json.decode(files.read(OUT .. "/one/fig1.json"))
local two = { name = "two/x", source = "TWO, \1 figure \xff2", title = "<b>",
    scale = "quick", seed = 1, version = "0",
    seconds = 61.0, simulations = 4, measured = "then", host = "'host'",
    costs = { a = 65.0, b = 1.5 },
    quantities = {}, said = {}, notes = {}, differences = { "a < b" },
    orders = { { what = "o", paper = { "A", "B" }, here = { "B", "A" },
        concordant = 0, pairs = 1, counts = true, verdict = "0 of 1" } },
    tables = {}, charts = {} }
one.costs = { a = 65.0 }
html = page.build({ one, two }, { missing = { { name = "two/<y>",
    why = "failed: <why>" } } })
local ok, count = pcall(parse, html)
tap.ok(ok, "the page is well-formed", count)
count = ok and count or {}
tap.is(count.svg, 2, "every chart is on it")
tap.is(count.table, 1 + 2 + 1 + 1,
    "the summary, quantities, orders, and every table")
tap.is(count.details, 1, "details are folded away")
tap.ok(not html:find "<b>" and html:find "&lt;b&gt;"
    and html:find "&lt;because&gt;" and html:find "&lt;/td&gt;"
    and html:find "failed: &lt;why&gt;", "texts are escaped")
tap.ok(utf8.len(html) and not html:find "\1", "and are valid characters")
tap.ok(not html:find "src=" and not html:find "<link"
    and not html:find "<script" and not html:find "url%(",
    "nothing is loaded from elsewhere")
local first = html:sub(1, html:find "<dl>")
tap.ok(first:find("2 experiments, on the papers&#39; machines: pairs 0 of 1; 2 not "
    .. "scored", 1, true), "the counts come first", first:match "<p>.*")
tap.ok(html:find ">near &amp; dear</td><td class=\"r\">50.0 %%</td>"
    and html:find(">far</td>.->10 x</td>.->20 x</td>.->2.00</td>.->not compared: "
        .. "&lt;because&gt;<"),
    "the paper's number, heddle's, the ratio, the verdict")
tap.ok(html:find "A &gt; B</td><td class=\"o\">B &gt; A</td>.->0 of 1<",
    "orders, too")
tap.ok(html:find "<dt>Time</dt><dd>1:01 for 4 simulations; the 2 different "
    and html:find "took 1:06 of one core<", "a simulation that two use is "
    .. "counted once", html:match "<dt>Time.-</dd>")
tap.ok(html:find "&#39;host&#39;",
    "the heading")
tap.ok(html:find "g1, s: 1<" and html:find "g3, s: 3<"
    and not html:find "g2, s", "charts have the values that there are")
tap.ok(html:find "<p>Pairs 0 of 1; a quick run: not comparable",
    "how an experiment fares")
local three = json.decode(json.encode(two))
three.orders = json.array {}
three.costs = { c = 1.0 }
local groups, values = {}, {}
for i = 1, 200 do
    groups[i], values[i] = "a group " .. i, i
end
three.charts = { { kind = "bars", file = "x.svg", spec = { title = "t",
    unit = "u", groups = groups, series = { { name = "s",
        values = values } } } } }
local wide = page.build({ one, three }, {})
tap.ok(pcall(parse, wide), "a page with a wide chart")
local _, all = wide:gsub("<figure", "")
local kept = wide:match "<figure class=\"wide\" style=\"%-%-w:(%d+)px\">"
local _, many = wide:gsub("<figure class=\"wide\"", "")
tap.ok(all == 3 and many == 1 and tonumber(kept) > 800,
    "which keeps its width", ("%d figures, %d wide, %s"):format(all, many, kept))
tap.ok(wide:find "no claim of the paper&#39;s<", "an experiment that only shows")
tap.is(page.build({ one, two }, { missing = { { name = "two/<y>",
    why = "failed: <why>" } } }), html, "the same JSON, the same bytes")
tap.ok(pcall(parse, page.build({}, {})), "a page of nothing")

os.execute("rm -r " .. DIR)
return tap.done()
