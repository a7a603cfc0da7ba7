-- 740-sim-api.lua - pins the Lua face of a simulation: however a run is cut it
-- gives the same results; a snapshot goes back; results of a real run are
-- equal in JSON and CSV and balance; intervals sum to the totals; the runner
-- gives what single runs give; own budgets; unknown names raise.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local json = require "heddle.json"

local function options(more)
    local o = {
        machine = H.machine("maxwell") { ["core.count"] = 4 },
        apps = { H.app("ATAX", { size = "T" }), H.app("GUP", { size = "T" }) },
        budget = 3000, check = true,
    }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return o
end

local function text_of(sim)
    return json.encode(sim:results())
end

-- One run, and the same in pieces.
local a = H.sim(options())
tap.is(a.status, "ready", "a simulation is ready")
tap.is(a:run(), "done", "and runs to its end")
tap.is(a.status, "done", "which it says")
local whole = text_of(a)
local b = H.sim(options())
while b:step(777) == "ok" do end
tap.is(text_of(b), whole, "steps give what one run gives")
local c = H.sim(options())
tap.is(c:run_until(function(s) return s.now >= 500 end, 100), "ok",
    "run_until stops")
tap.is(c.now, 500, "where it was told")
local k = c:snapshot()
local hash = c:state_hash()
c:run(400)
tap.ok(c:state_hash() ~= hash, "the state moves on")
c:restore(k)
tap.is(c:state_hash(), hash, "and goes back")
tap.is(c.now, 500, "with its time")
c:run()
tap.is(text_of(c), whole, "a run from a snapshot ends as the straight one")
c:restore(c:snapshot(k))
tap.is(c:run(), "done", "a finished state stays finished")
tap.is(text_of(c), whole, "nor does a snapshot change anything")
tap.raises(function()
    local used = c:snapshot()
    c:snapshot(used)
    c:restore(used)
end, "used up", "a snapshot whose memory was reused cannot be restored")

-- Results.
local r = a:results()
tap.is(#r.apps, 2, "there are two applications")
tap.is(r.config["core.count"], "4", "the configuration is part of the result")
tap.ok(r.inputs[1].hash:find("^%x+$") and #r.inputs[1].hash == 16,
    "and the hashes of the inputs")
tap.ok(H.report.counter(r, "core.instructions") > 0, "counters count")
tap.is(a:counters().core.instructions,
    H.report.counter(r, "core.instructions"), "counters() says the same")
local bad = {}
for _, x in ipairs(r.counters) do
    local sum = 0
    for _, v in ipairs(x.instances) do
        sum = x.peak and math.max(sum, v) or sum + v
    end
    if sum ~= x.total then
        bad[#bad + 1] = x.component .. "." .. x.name
    end
end
tap.is(table.concat(bad, " "), "", "instances sum to totals")
local share = 0
for _, part in ipairs(require("heddle.metrics").TIME) do
    share = share + (H.report.metric(r, "time_" .. part[1]) or 0)
end
tap.ok(math.abs(share - 1) < 1e-9, "warp time is accounted for", share)

-- Time x warps, in ticks.
local d = H.sim(options { apps = { H.app("BP", { size = "T" }) },
    budget = 0 })
d:run()
local time = 0
for name, v in pairs(d:counters().core) do
    if name:find("^time_") then
        time = time + v
    end
end
tap.is(time, d.now * d.core:ticks() * 64 * 4,
    "the parts of warp time sum to cycles x warps x cores")
tap.ok((H.report.metric(d:results(), "ipc") or 0) > 0, "IPC is there")

-- Intervals.
local e = H.sim(options { interval = 250 })
e:run()
local er = e:results()
tap.ok(#er.intervals >= 2, "intervals are kept")
tap.is(er.intervals[1].to, 250, "of the length asked for")
local curve = e:plot("ipc", { width = 40, height = 4 })
local _, ends = curve:gsub("\n", "")
tap.ok(ends == 6 and curve:find "^ipc, warp instructions a cycle: IPC\n%s*%d"
    and curve:find("0 .* " .. e.now .. " core cycles$"), "a curve", curve)
for _, wrong in ipairs { { "ipc", { app = 7 } }, { "ipc", { widht = 40 } },
    { "ipc", { width = 3 } }, { "ipc", 40 }, { "ipx" } } do
    tap.ok(not pcall(e.plot, e, wrong[1], wrong[2]), "no such curve")
end
local auto <close> = H.sim(options { interval = "auto" })
auto:run()
local kept = #auto:results().intervals
tap.ok(kept >= 2 and kept <= 200, "intervals by themselves", kept)
local sums = {}
for _, i in ipairs(er.intervals) do
    for name, by_app in pairs(i.counters) do
        for n, v in ipairs(by_app) do
            sums[name] = sums[name] or {}
            sums[name][n] = (sums[name][n] or 0) + v
        end
    end
end
bad = {}
for _, x in ipairs(er.counters) do
    if not x.peak then
        local s = sums[x.component .. "." .. x.name] or {}
        for n, v in ipairs(x.apps) do
            -- Counters of a finished application are frozen, samples are not.
            if (s[n] or 0) < v then
                bad[#bad + 1] = x.component .. "." .. x.name
            end
        end
    end
end
tap.is(table.concat(bad, " "), "", "and hold what the counters hold")

-- A metric over intervals.
do
    local sim <close> = H.sim(options { interval = 400, budget = 0, apps = {
        H.app("GUP", { size = "T" }), H.app("BP", { size = "T" }) } })
    sim:run()
    local res = sim:results()
    local ipc = H.report.series(res, "ipc", 1)
    tap.is(ipc.name, "ipc, BP", "a series has a name")
    tap.is(#ipc.x, #res.intervals, "and a place for each interval")
    local sum, wrong, last, done = 0, 0, 0, 0
    for n, i in ipairs(res.intervals) do
        local v = ipc.values[n]
        sum = sum + (v or 0) * (i.to - i.from)
        wrong = wrong + (ipc.x[n] == i.to and 0 or 1)
        last = v and n or last
        done = i.from < res.apps[2].cycles and n or done
    end
    tap.ok(math.abs(sum - res.apps[2].instructions) < 0.5,
        "IPC times cycles sums to the instructions", sum)
    tap.is(wrong, 0, "at the ends of the intervals")
    tap.is(last, done, "none after its application has finished")
    local walks, all = 0, H.report.series(res, "walk.walks")
    for n in ipairs(res.intervals) do
        walks = walks + all.values[n]
    end
    tap.is(walks, H.report.counter(res, "walk.walks"), "a counter's growth, too")
    local rate = H.report.series(res, "l1tlb_miss_rate")
    local grown = res.intervals[2].counters
    local function of(name)
        local v = 0
        for _, x in ipairs(grown["l1tlb." .. name] or {}) do
            v = v + x
        end
        return v
    end
    tap.ok(math.abs(rate.values[2] - (1 - of "hits" / of "lookups")) < 1e-9,
        "a rate is that of the interval")
    tap.ok(H.svg.lines { title = "IPC", unit = "", series = { ipc } }
        :find "<polyline points='[^']+'", "charts take it")
    tap.raises(function() H.report.series(res, "ipcc") end,
        "no metric 'ipcc' (did you mean 'ipc'?)", "a metric that is none")
    tap.raises(function() H.report.series(res, "walk.wlks") end,
        "no counter 'walk.wlks' (did you mean 'walk.walks'?)",
        "a counter that is none")
    tap.raises(function() H.report.series(res, "ipc", 2) end,
        "there is no application 2", "an application that is none")
    tap.raises(function() H.report.series(c:results(), "ipc") end,
        "have no intervals", "results without intervals")
    -- CSV and the database have the same.
    local path = os.tmpname()
    H.report.csv(res, path)
    local lines, found = {}, nil
    for line in io.lines(path) do
        lines[#lines + 1] = line
        found = found or line:match "^[^,]*,2,1,,metric,,ipc,[^,]*,(.*)$"
    end
    tap.ok(math.abs(tonumber(found) - ipc.values[2]) < 1e-12,
        "CSV has metrics of intervals", found)
    H.report.sqlite(res, path .. ".sqlite")
    H.report.sqlite({ res }, path .. ".sqlite") -- in its place
    local db <close> = require("heddle.sqlite").open(path .. ".sqlite")
    tap.is(db:exec("select count(*) as n from result")[1].n, #lines - 1,
        "a database has the rows of the CSV")
    tap.is(db:exec([[select value from result where interval = 2 and app = 1
        and component = 'metric' and stat = 'ipc']])[1].value, ipc.values[2],
        "with their values")
    tap.is(#db:exec [[select value from result where interval = 2 and
        component = 'core' and stat = 'instructions' and app = 1]], 1,
        "and counters of intervals")
    tap.raises(function() H.report.sqlite(res, 5) end, "path of a database",
        "no path")
    os.remove(path)
    os.remove(path .. ".sqlite")
end

-- The runner.
local jobs = {}
for _, seed in ipairs { 1, 2, 3 } do
    jobs[#jobs + 1] = options { seed = seed }
end
local one = H.run(jobs, { jobs = 1, progress = false })
H.runner.cache = {}
local two = H.run(jobs, { jobs = 2, progress = false })
tap.is(json.encode(two), json.encode(one),
    "simulations side by side give the same bytes as one by one")
one[1].label = nil
tap.is(json.encode(one[1]), whole, "and as alone")
local started = H.runner.cache
tap.ok(next(started), "results are kept for equal jobs")

-- Own budgets: equal work, over completions.
local f = H.sim(options {
    apps = { H.app("ATAX", { size = "T", budget = 700 }),
        H.app("GUP", { size = "T", budget = 4000 }) }, budget = 0,
    warmup = 300 })
f:run()
local fr = f:results()
tap.is(fr.apps[1].instructions, 700, "an application's own budget")
tap.is(fr.apps[2].instructions, 4000, "is met exactly")
tap.ok(fr.apps[2].completions >= 2, "over completions")
tap.raises(function()
    f.core:set_budget(0, 5)
end, "before the first run", "and fixed once it runs")
tap.raises(function()
    f.core:set_start(0, 5)
end, "before the first run", "a start, too")

-- A warm-up longer than the work finishes nothing.
local g = H.sim(options { warmup = 20000, budget = 500 })
tap.is(g:run(), "done", "a long warm-up")
tap.ok(g:results().apps[1].cycles > 1, "measures what comes after it")

-- Looking inside.
local names = {}
for _, o in ipairs(a:objects()) do
    names[o.name] = o.instances
    tap.is(type(a:look(o.name)), "table", o.name .. " can be looked at")
end
tap.is(names.l1tlb, 4, "there is an L1 TLB in each core")
local rows = b:look("l2tlb", 0)
tap.ok(#rows > 0 and rows[1].kind, "its entries can be seen")
tap.raises(function()
    a:look("l3tlb")
end, "l2tlb", "an unknown object names the nearest")
tap.raises(function()
    a:look("l1tlb", 99)
end, "l1tlb", "an instance too many is an error")
tap.is(a:translate(0, 0), nil, "nothing lies at address 0")
a:check()

-- Names.
tap.raises(function() H.sim { apps = {} } end, "apps", "no application")
tap.raises(function() H.sim(options { machin = 1 }) end, "machine",
    "an unknown option suggests one")
tap.raises(function() H.app("ATAXX") end, "ATAX",
    "an unknown application suggests one")
tap.raises(function() return a.nowhere end, "nowhere", "an unknown field")
tap.raises(function() return H.nothing end, "nothing",
    "an unknown part of heddle")
tap.raises(function() return a.rum end, "did you mean 'run'?",
    "which suggests one")
tap.raises(function() return H.report.txt end, "did you mean 'text'?",
    "an unknown function of a part")
tap.raises(function() H.app("GUP", { sise = "T" }) end,
    "did you mean 'size'?", "an unknown parameter")
tap.raises(function() H.app("GUP", "T") end, "options are a table",
    "a size without its name")
tap.raises(function() H.program {} end, "H.kernel.app", "no program")
local gup = H.app("GUP", { size = "T" })
tap.raises(function()
    H.sim(options { apps = { gup, nil, gup } })
end, "[3] is there, but [2] is nil", "an application behind a gap")
tap.raises(function()
    H.sim(options { policies = { nil, "srrip" } })
end, "policies is a list", "a policy behind a gap")
tap.raises(function() H.sim(options { label = {} }) end, "label",
    "a label that is no text")
do
    local ready <close> = H.sim(options())
    tap.is(H.report.ipc(ready:results(), 0), 0.0, "no IPC before the start")
end
for _, case in ipairs { { "GUP", "threads", 0, "threads is a multiple" },
    { "GUP", "m", 2.5, "a whole number" }, { "MM", "n", -1, "a whole number" },
    { "SCAN", "grid", 0, "grid 1 to 256" } } do
    tap.raises(function()
        H.app(case[1], { size = "T", [case[2]] = case[3] }).make()
    end, case[4], ("%s %s=%s"):format(table.unpack(case)))
end
tap.raises(function() H.report.ipc(r, 2) end, "count from 0 to 1",
    "the IPC of an application that there is not")
tap.raises(function() H.report.metric(r, "ipc", -1) end, "count from 0 to 1",
    "nor a metric")
tap.raises(function() H.report.counter(r, "l2tlb.hits", 2) end,
    "count from 0 to 1", "nor a counter")
for what, call in pairs {
    ["H.sim: a table of options"] = function() H.sim "maxwell" end,
    ["no option 'appps' (did you mean 'apps'?), 'sedd' (did you mean"] =
        function() H.sim { sedd = 1, machine = "maxwell", appps = {} } end,
    ["self.self: a value is expected, not a table"] = function()
        local own = {}
        own.self = own
        H.sim { apps = { H.app("GUP", { size = "T" }) }, settings = own }
    end,
    ["H.config_write: a machine or a simulation is expected"] = function()
        H.config_write("/dev/null", { 1 })
    end,
    ["settings are a table"] = function() H.machine("maxwell") "x" end,
    ["l2tlb.entries: a value is expected"] = function()
        H.machine("maxwell") { l2tlb = { entries = {} } }
    end,
    ["H.args: a table"] = function() H.args "x" end,
    ["H.args: [1]: arguments have names"] = function() H.args { 5 } end,
    ["H.report.text: what sim:results() returns"] = function()
        H.report.text {}
    end,
    ["H.report.metric: what sim:results() returns is expected, not a nil"] =
        function() H.report.metric(nil, "ipc") end,
    ["are expected, not a nil"] = function() H.report.csv() end,
    ["a trace has no option 'contxt'; did you mean 'context'?"] = function()
        H.sim { apps = { H.trace("scenarios/data/vecadd.hdt",
            { contxt = 0 }) } }
    end,
    ["option keep: expected a whole number"] = function()
        H.sim { apps = { H.trace("scenarios/data/vecadd.hdt",
            { keep = "1K" }) } }
    end,
    ["a policy is a table, a name"] = function() H.sim(options()):use() end,
    ["options are a table, as in { at"] = function()
        H.sim(options()):use("srrip", 5)
    end,
    ["H.run: job 1 is a string"] = function() H.run { "x" } end,
    ["suites: a set"] = function() H.suites.load "mask" end,
} do
    tap.raises(call, what, "another type: " .. what)
end
tap.raises(function() H.report.csv(r, 5) end, "a path or an open file",
    "a file that is none")
tap.raises(function()
    H.sim(options { settings = { ["l2tlb.ways"] = 7 } })
end, "l2tlb", "contradictory settings are errors")

-- What an application has done by its end is what its cores counted.
do
    local x <close> = H.sim { machine = H.machine("maxwell") {
        ["core.count"] = 2 }, apps = { H.app("MM", { size = "T" }) } }
    x:run()
    tap.is(x.core:apps()[1].thread_instructions,
        x:counters({ app = 0 }).core.thread_instructions,
        "the lanes of a finished application")
end

-- Life.
do
    local x <close> = H.sim(options())
    x:run(10)
    b = x
end
tap.raises(function() return b.now end, "closed", "a closed simulation")
for _ = 1, 20 do
    H.sim(options()):run(5)
end
collectgarbage()
tap.ok(collectgarbage("count") < 100000, "simulations are collected")

return tap.done()
