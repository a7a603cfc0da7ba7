-- 732-experiment.lua - pins: a database keeps what it is given; results on
-- disk are those of a run, and nothing runs twice; an experiment judges its
-- claims, names measured causes alone, and leaves a table, JSON, charts and rows of a
-- database; fixed partitions of cores; sharing measures equal work against
-- alone runs, and a search finds the best split of its grid.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local experiment = require "heddle.experiment"
local json = require "heddle.json"
local process = require "heddle.process"
local sharing = require "heddle.sharing"
local sqlite = require "heddle.sqlite"
local store = require "heddle.store"

local DIR = os.tmpname()
os.remove(DIR)

-- ---- the database -------------------------------------------------------------------

process.mkdir(DIR .. "/a/b")
do
    local path = DIR .. "/a/b/x.sqlite"
    local db <close> = sqlite.open(path)
    db:exec "create table t (name text, i integer, v real)"
    db:exec("insert into t values (?, ?, ?)", "it's", 1 << 60, 0.5)
    db:exec("insert into t values (?, ?, ?)", nil, -1, true)
    local rows = db:exec "select * from t order by i desc"
    tap.ok(#rows == 2 and rows[1].name == "it's" and rows[1].i == 1 << 60
        and rows[1].v == 0.5 and rows[2].name == nil, "rows come back")
    tap.is(#db:exec("select * from t where i > ?", 1 << 61), 0, "or none")
    tap.raises(function() db:exec "selekt" end, "syntax error", "bad SQL")
    tap.raises(function() db:exec("select ?", {}) end, "string expected",
        "a value that is a table")
    tap.raises(function() db:exec("select ?", 1, 2) end, "out of range",
        "more values than places")
    db:close()
    tap.raises(function() db:exec "select 1" end, "closed", "after its end")
    tap.raises(function() sqlite.open(DIR .. "/no/where.sqlite") end,
        "unable to open", "a folder that is not there")
    local f = assert(io.open(path, "r+b"))
    f:write "rubbish and more rubbish"
    f:close()
    local spoiled <close> = sqlite.open(path)
    tap.raises(function() spoiled:exec "create table u (v real)" end,
        path .. ": file is not a database", "one that is spoiled")
end

-- ---- the store ---------------------------------------------------------------------

local function job(more)
    local j = { machine = "maxwell", apps = { H.app("TRD", { size = "T" }) },
        settings = { ["core.count"] = 2 } }
    for k, v in pairs(more or {}) do
        j[k] = v
    end
    return j
end

local options = { dir = DIR .. "/cache", jobs = 2, quiet = true }
local jobs = { job(), job { seed = 2 }, job(),
    job { policies = { { use = "srrip", at = "l2cache", bits = 3 } } } }
local begun = 0
options.before = function() begun = begun + 1 end
local first, ran, costs = store.run(jobs, options)
tap.is(ran .. " " .. begun, "3 1", "equal jobs run once, and it is told before")
local again, more, kept = store.run(jobs, options)
tap.is(more .. " " .. begun, "0 1", "and never again")
local different, spent = 0, 0
for _, cpu in pairs(kept) do
    different, spent = different + 1, spent + (cpu > 0 and 1 or 0)
end
tap.ok(different == 3 and spent == 3 and tap.differ(costs, kept) == nil,
    "what they cost then is known", tap.differ(costs, kept))
tap.ok(tap.differ(first, again) == nil, "the results are the same",
    tap.differ(first, again))
local whole = H.run(jobs, { jobs = 1 })
tap.ok(tap.differ(first, whole) == nil, "those of H.run, all that they are",
    tap.differ(first, whole))
tap.is(H.json.encode(again), H.json.encode(whole), "to the byte in JSON")
do
    local function five() return { n = 5 } end
    local function fails() error("no good", 0) end
    local o = { dir = options.dir, jobs = 1, quiet = true, keep = true }
    local out, n = store.run({ five, jobs[1], fails }, o)
    tap.ok(out[1].n == 5 and n == 2 and out[2].cycles == first[1].cycles
        and out[3].error == "no good", "functions run, too, and keep is as of "
        .. "H.run", H.json.encode { out[1], n, out[3] })
    tap.raises(function() store.run(jobs, { job = 2 }) end,
        "store.run has no option 'job'; it takes before, dir, jobs, keep, quiet",
        "an unknown option")
    tap.raises(function() store.run({ 5 }, o) end,
        "store.run: job 1 is a number", "a job that is none")
end
for path in files.output("ls " .. options.dir):gmatch "%S+" do
    files.write(options.dir .. "/" .. path, "rubbish")
end
again, more = store.run(jobs, options)
tap.ok(more == 3 and tap.differ(first, again) == nil,
    "spoiled files are not believed")
for path in files.output("ls " .. options.dir):gmatch "%S+" do
    local f = assert(io.open(options.dir .. "/" .. path, "r+b"))
    f:seek("set", f:seek "end" // 2)
    local byte = f:read(1):byte()
    f:seek("cur", -1)
    f:write(string.char(byte ~ 1))
    f:close()
end
again, more = store.run(jobs, options)
tap.ok(more == 3 and tap.differ(first, again) == nil,
    "nor are those with a bit of another value")
local own = { name = "own", warp_limit = function() end }
more = select(2, store.run({ job { policies = { own } } }, options))
ran = select(2, store.run({ job { policies = { own } } }, options))
tap.ok(more == 1 and ran == 1, "what has no text is run each time")
local kernel = H.kernel
local function program()
    return kernel.app { name = "own",
        buffers = function() return { kernel.i32("a", 64) } end,
        kernels = function(_, b)
            return { kernel.kernel("own", { block = 64 }, function(t)
                t:load(b.a, t.gid)
            end) }
        end }
end
local made = job { apps = { H.program(program()) } }
more = select(2, store.run({ made }, options))
ran = select(2, store.run({ made }, options))
tap.ok(more == 1 and ran == 1, "nor is a program of the script kept")
local both = H.run({ made, job { apps = { H.program(program()) } } },
    { jobs = 1 })
tap.is(H.json.encode(both[1].inputs), H.json.encode(both[2].inputs),
    "though what it is has a text without an address")
local function traced(path)
    return job { apps = { H.trace(path, { label = "t" }) } }
end
local copy = DIR .. "/t.hdt"
files.output("cp scenarios/data/vecadd.hdt " .. copy)
more = select(2, store.run({ traced(copy) }, options))
ran = select(2, store.run({ traced(copy) }, options))
tap.ok(more == 1 and ran == 0, "a trace's container is kept")
files.output("cp scenarios/data/gather.hdt " .. copy)
tap.is(select(2, store.run({ traced(copy) }, options)), 1,
    "until there is another in its place")
tap.is(files.output("ls " .. options.dir .. " | grep -c part$"), "0\n",
    "nothing is left half-written")

-- ---- partitions ---------------------------------------------------------------------

local function owners(cores, params)
    local use = { use = "cores" }
    for k, v in pairs(params) do
        use[k] = v
    end
    local sim <close> = H.sim { machine = "maxwell",
        settings = { ["core.count"] = cores }, policies = { use },
        apps = { H.app("TRD", { size = "T" }), H.app("RED", { size = "T" }),
            H.app("BLK", { size = "T" }) } }
    sim:run(1000)
    local n, values = { 0, 0, 0 }, sim.core:counter_values()
    for i, c in ipairs(sim.core:counters()) do
        if c.component == "core" and c.name:find "^time_" then
            for app = 1, 3 do
                for core, ticks in ipairs(values[i][app]) do
                    local seen = n[app .. " " .. core]
                    n[app] = n[app] + (ticks > 0 and not seen and 1 or 0)
                    n[app .. " " .. core] = seen or ticks > 0
                end
            end
        end
    end
    return table.concat(n, " ")
end

tap.is(owners(10, { app0 = 5, app1 = 3, app2 = 2 }), "5 3 2", "as it says")
tap.is(owners(10, { app1 = 4 }), "3 4 3", "the others share what is left")
tap.is(owners(10, {}), "3 3 4", "evenly")
tap.is(owners(10, { app0 = 1, app1 = 1, app2 = 1 }), "1 1 8",
    "the last gets the rest")
tap.raises(function() owners(10, { app0 = 8, app1 = 8 }) end, "cores",
    "more cores than there are")

tap.raises(function() owners(8, { app0 = 6, app1 = 3 }) end,
    "9 cores are given to applications, the machine has 8", "too many cores")
tap.raises(function() owners(8, { app3 = 1 }) end,
    "app3 is set, but applications are 0 to 2", "cores for nobody")

-- ---- sharing ---------------------------------------------------------------------------

local arg = experiment.args { out = DIR, cache = DIR .. "/cache", jobs = 2,
    scale = "full" }
local x = experiment.open { name = "paper/fig1", source = "A paper, figure 1",
    title = "a test", arg = arg }
local machine = H.machine("maxwell"):with { ["core.count"] = 6 }
local designs = { { name = "SharedTLB", apply = H.designs.sharedtlb },
    { name = "Ideal", apply = H.designs.ideal } }
local o = { machine = machine, designs = designs, reference = designs[1],
    sets = { { "GUP", "TRD" } }, size = "T", warmup = 500, cycles = 4000 }
local r = sharing.measure(x, o)[1]
tap.is(table.concat(r.Ideal.split, " "), "3 3", "an even split")
for i = 1, 2 do
    local a, s = r.Ideal.alone[i].apps[1], r.Ideal.run.apps[i]
    tap.ok(s.instructions == a.instructions and a.instructions > 0,
        "application " .. i .. " does the work that it did alone")
    tap.ok(a.before > 0 and s.before == a.before
        and r.SharedTLB.run.apps[i].before == a.before,
        "from the instruction on at which that began", s.before)
end
tap.ok(math.abs(r.Ideal.ws - r.Ideal.each[1] - r.Ideal.each[2]) < 1e-12
    and math.abs(r.SharedTLB.unfairness - 1 / math.min(r.SharedTLB.each[1],
    r.SharedTLB.each[2])) < 1e-9, "weighted speedup and unfairness")
tap.is(r.Ideal.alone[1].cycles, r.SharedTLB.alone[1].cycles,
    "one alone run serves both designs")
o.partition, o.grid = "oracle", 1
local best = sharing.measure(x, o)[1]
local highest, where = 0, nil
for n = 1, 5 do
    o.partition = "even"
    local one = sharing.measure(x, setmetatable({ designs = { {
        name = "SharedTLB", apply = H.designs.sharedtlb } } },
        { __index = o }))[1]
    local split = H.run({ { machine = designs[1].apply(machine),
        warmup = 500, policies = { { use = "cores", app0 = n, app1 = 6 - n } },
        apps = { H.app("GUP", { size = "T" }), H.app("TRD", { size = "T" }) },
        stop_cycles = 2000 } }, { jobs = 1 })[1]
    tap.ok(one ~= nil and split ~= nil, "split " .. n .. " runs")
    where = where or n
    highest = math.max(highest, one.SharedTLB.ws)
end
tap.ok(best.SharedTLB.ws >= r.SharedTLB.ws - 1e-12
    and best.SharedTLB.split[1] + best.SharedTLB.split[2] == 6,
    "a search is no worse than the even split, which it tries")

-- ---- an experiment -----------------------------------------------------------------------

x:say("said %d", 7)
x:quantity { "near", unit = "%", paper = 50.0, heddle = 55.0, note = "a remark" }
x:quantity { "far", unit = "cycles", paper = 10.0, heddle = 20.0, also = {
    { "bus 64", 11.0, setting = "dram.bus_bytes=64" }, { "wide", 40.0 } } }
x:quantity { "far, too", unit = "%", paper = 40.0, heddle = 0.25 }
x:quantity { "extra", heddle = 3 }
x:quantity { "few", unit = "%", paper = 1, heddle = 1, n = 3, of = 35,
    sets = "pairs" }
x:order { "holds", paper = { "A", "B" }, heddle = { A = 2.0, B = 1.0 } }
x:order { "within half a percent", paper = { "A", "B", "C" },
    heddle = { A = 1.0, B = 1.004, C = 0.9 } }
x:order { "equal ones, and one that is broken", paper = { "A", "B", "C" },
    heddle = { A = 1.0, B = 1.0, C = 1.2 }, workloads = true }
x:order { "broken", paper = { "A", "B", "C" },
    heddle = { A = 1.0, B = 2.0, C = 0.5 } }
tap.raises(function() x:quantity { "old", why = "because" } end,
    "has no field 'why'", "a cause in words is none")
x:table("details", { { "a", "b" }, { 1, 2 } })
x:bars { title = "t", unit = "u", groups = { "g" },
    series = { { name = "s", values = { 1 } } } }
x:bars { title = "t2", unit = "u", groups = { "g" },
    series = { { name = "s", values = { 1 } } } }
local printed = {}
local write = io.write
io.write = function(...) -- luacheck: ignore 122
    for _, s in ipairs { ... } do
        printed[#printed + 1] = tostring(s)
    end
end
local doc = x:close()
io.write = write -- luacheck: ignore 122
printed = table.concat(printed)
local t = doc.tally
tap.is(("%d %d %d %g %d %d"):format(t.claims, t.match, t.near, t.concordant, t.pairs,
    t.unscored), "3 1 0 6 10 1", "claims, matches, near ones, pairs, not scored")
tap.ok(doc.orders[2].concordant == 2.5 and doc.orders[2].equal[1] == "B = A"
    and printed:find "half a percent +A > B > C +B = A > C +2.5 of 3",
    "equal ones are half", printed)
tap.ok(doc.orders[3].concordant == 0.5
    and printed:find "C > A = B +tau %-0.67 +0.5 of 3",
    "a later one that is better is none; tau over workloads", printed)
tap.is(table.concat(doc.differences, "; "), "far: dram.bus_bytes=64: 20 cycles "
    .. "before, 11 cycles after (match); measured in paper/fig1, scale=full seed=1; "
    .. "cause not found: far, too; order of equal ones, and one that is broken "
    .. "(C above A, C above B); order of broken (B above A)",
    "what is off, and the cause that was measured")
tap.ok(printed:find "said 7.*near +50.0 %% +55.0 %% +%+5.0 pt +match"
    and printed:find "3 claims: 1 match, 0 near; pairs 6 of 10; 1 not scored\n"
    and printed:find "far +10 cycles +20 cycles +2.00 +off, depends on bus 64"
    and printed:find "bus 64 +11 cycles +shown"
    and printed:find "few .*not scored: 3 of 35 pairs" and printed:find "details"
    and printed:find "near: a remark", "in print", printed)
local f = assert(io.open(DIR .. "/paper/fig1.json"))
local back = json.decode and json.decode(f:read "a")
f:close()
tap.ok(not back or back.tally.match == 1 and back.schema_version == 4, "as JSON")
for _, name in ipairs { "fig1.svg", "fig1-2.svg" } do
    f = io.open(DIR .. "/paper/" .. name)
    tap.ok(f and f:read "a":find "<svg", name)
end
local db <close> = sqlite.open(DIR .. "/results.sqlite")
local rows = db:exec("select * from quantity where experiment = ? order by "
    .. "quantity", "paper/fig1")
tap.is(#rows, 9, "nine rows in the database")
tap.ok(rows[5].quantity == "near" and rows[5].points == 5.0
    and rows[5].verdict == "match" and rows[5].counts == 1
    and rows[5].scale == "full"
    and rows[5].build == require("heddle.build").fingerprint(), "with their values")
tap.ok(rows[4].sets == 3 and rows[4].paper_sets == 35, "and how many sets")
do
    local path = DIR .. "/old"
    process.mkdir(path)
    local old <close> = sqlite.open(path .. "/results.sqlite")
    old:exec "create table quantity (experiment text, agrees integer)"
    local z = experiment.open { name = "paper/fig3", source = "A paper, figure 3",
        title = "after others", arg = setmetatable({ out = path, scale = "quick" },
        { __index = arg }) }
    z:quantity { "q", paper = 1, heddle = 1 }
    io.write = function() end -- luacheck: ignore 122
    local quick = z:close()
    io.write = write -- luacheck: ignore 122
    tap.is(quick.quantities[1].verdict, "not scored: a quick run",
        "a quick run is not scored")
    tap.is(#old:exec "select verdict from quantity", 1,
        "a table of another way of counting gives way")
end
local y = experiment.open { name = "paper/fig2", source = "A paper, figure 2",
    title = "many", arg = arg }
tap.raises(function() y:bars { groups = { "g" }, serie = {} } end,
    "did you mean 'series'?", "a chart is checked where it is given")
local early = { name = "early", values = {} }
y:lines { groups = { "g", "h" }, series = { early } }
for i = 1, 12 do
    y:quantity { "q" .. i, unit = "%", paper = 40.0, heddle = -0.001 * i }
end
io.write = function() end -- luacheck: ignore 122
early.values[1], early.values[2] = 3.5, 4.5
doc = y:close()
io.write = write -- luacheck: ignore 122
tap.ok(files.read(DIR .. "/paper/fig2.svg"):find "early, h: 4.5<",
    "and may be given before its values")
tap.is(table.concat(doc.differences, "|"), "cause not found: q1; q2; q3; q4; q5; "
    .. "q6; and 6 more", "a long list is cut")
local row = experiment.summary(doc)[2]
tap.is(row[3] .. " " .. row[4], "0.0 % -40.0 pt", "nothing has no sign")
tap.raises(function() experiment.open { arg = { scale = "huge" } } end,
    "quick or full", "an unknown scale")

files.output("rm -r " .. DIR)
tap.done()
