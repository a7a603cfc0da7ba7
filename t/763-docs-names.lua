--[[
763-docs-names.lua - whoever reads a result can ask what a name in it means.

Pinned: walking over the results of runs that between them have every part of
the machine (far faults, moved pages, walk caches, policies, intervals), every
setting, counter, histogram, metric, counter of a kernel and of an interval is
explained, with its unit and meaning, and every other field is on
heddle_results(5); the same for what `heddle apps` writes.  The histograms that
the library knows are those that runs have; they are listed, completed, and
suggested for a name that is nearly theirs.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"
local core = require "heddle.core"
local config = require "heddle.config"
local index = require "heddle.index"
local json = require "heddle.json"

local HEDDLE = files.HEDDLE
local read, output = files.read, files.output

local function names(set)
    return table.concat(config.sorted_keys(set), " ")
end

-- ---- walking over results ------------------------------------------------------

local page = read "man/heddle_results.5"
local found = { fields = 0, names = 0, hists = {} }
local strange, explanation = {}, {}

--- Wants `name` explained, with these texts.
local function asked(name, ...)
    found.names = found.names + 1
    local text = explanation[name]
        or table.concat(index.explain(name) or {}, "\n")
    explanation[name] = text
    for _, part in ipairs { name, ... } do
        if not text:find(part, 1, true) then
            strange[name] = true
        end
    end
end

--- A field is on the page; a name with a dot is a name of heddle's.
local function field(name)
    if name:find("%.") then
        return asked(name)
    end
    found.fields = found.fields + 1
    if not page:find("%f[%w_.]" .. name .. "%f[^%w_]") then
        strange[name] = true
    end
end

local function walk(t)
    if t.component and t.name then
        asked(t.component .. "." .. t.name, t.unit, t.meaning)
    elseif t.section and t.name then
        asked(t.name, t.unit, t.meaning)
    end
    for k, v in pairs(t) do
        if type(k) == "string" then
            field(k)
        end
        if type(v) == "table" then
            walk(v)
        end
    end
end

local everything = { name = "everything", summary = "answers nothing",
    source = "this test", params = {}, state = {},
    every = { 1000, function() end } }
for _, p in ipairs(core.points()) do
    everything[p.name] = function() end
end

local function run(o)
    o.progress, o.interval, o.budget = false, 5000, 20000
    local sim <close> = H.sim(o)
    sim:run()
    local r = json.decode(json.encode(sim:results()))
    for _, h in ipairs(r.histograms) do
        found.hists[h.component .. "." .. h.name] = true
    end
    walk(r)
end

run { machine = "maxwell", label = "far faults",
    settings = whole.join(whole.SMALL, { ["vm.paging"] = "fault",
        ["link.latency"] = 100 }),
    apps = { H.app("GUP", { size = "T" }), H.app("BP", { size = "T" }) },
    policies = { everything } }
run { machine = H.designs.pwcache(H.machine("maxwell")),
    settings = { ["core.count"] = 4 },
    apps = { H.app("GUP", { size = "T" }) } }
run { machine = "maxwell", settings = whole.join(whole.SMALL,
    { ["fabric.nodes"] = 2 }), apps = { H.app("GUP", { size = "T" }) } }
run { machine = "mosaic", settings = { ["core.count"] = 4,
    ["bypass.entries"] = 8 }, apps = { whole.freer(700, 12) },
    policies = { "mosaic" } }
tap.is(names(strange), "", "every name in results is explained")
tap.ok(found.names > 2000 and found.fields > 4000, "there were many",
    ("%d names, %d fields"):format(found.names, found.fields))

-- ---- histograms ------------------------------------------------------------------

local known = {}
for _, h in ipairs(core.histograms()) do
    known[h.component .. "." .. h.name] = true
end
tap.is(names(known), names(found.hists),
    "the histograms that the library knows are those of the runs")
local list, group = output(HEDDLE .. " list histograms"),
    output(HEDDLE .. " explain fault")
tap.ok(list:find "core%.load_latency +core cycles +from the issue",
    "they are listed", list)
tap.ok(group:find "fault %(histograms%)\n +fault.latency", "also by group",
    group)
tap.is(output(HEDDLE .. " explain load_latency"), "core.load_latency "
    .. "(histogram)\n  from the issue of a load to its last datum\n"
    .. "  unit     core cycles\n", "and explained by the bare name, too")
tap.ok(output(HEDDLE .. " explain core.load_latncy 2>&1")
    :find("did you mean 'core.load_latency'?", 1, true)
    and output(HEDDLE .. " explain load_latncy 2>&1")
    :find("did you mean 'load_latency'?", 1, true), "a near name is suggested")
local complete = require "heddle.complete"
tap.same({ complete.find('help("core.load_lat', { env = {} }) },
    { { "core.load_latency" }, "core.load_lat" }, "Tab knows them")

-- ---- heddle apps -------------------------------------------------------------------

strange, found.names = {}, 0
for _, app in ipairs(json.decode(output(HEDDLE
    .. " apps GUP BFS2 size=T format=json")).apps) do
    for name in pairs(app.metrics) do
        asked(name, "(metric, heddle apps)")
    end
    app.metrics = nil
    walk(app)
end
tap.is(names(strange), "", "every name that heddle apps writes is explained")
tap.ok(found.names > 40, "there were many")
for _, name in ipairs { "weighted_speedup", "unfairness", "ipc_throughput" } do
    tap.ok(type(H.report[name]) == "function" and table.concat(
        index.explain(name) or {}):find("H.report." .. name, 1, true),
        name .. " is explained")
end

return tap.done()
