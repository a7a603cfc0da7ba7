-- 710-results-forms.lua - pins: the forms of a result (JSON, CSV long and
-- wide, text) are well-formed and hold the same numbers; sums over instances
-- are totals; shares of warp time sum to 1; intervals are differences that
-- sum to the totals; equal input gives equal bytes.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local json = require "heddle.json"
local report = H.report

-- A simulation without an engine: 2 applications, 2 cores.
local list = {
    { component = "core", name = "instructions", unit = "warp instructions",
        instances = 2 },
    { component = "core", name = "peak", unit = "x", instances = 2,
        peak = true },
    { component = "l2tlb", name = "lookups", unit = "look-ups",
        instances = 1 },
    { component = "l2tlb", name = "hits", unit = "look-ups", instances = 1 },
    { component = "mmu", name = "hits", unit = "requests", instances = 1 },
    { component = "mmu", name = "misses", unit = "requests", instances = 1 },
}
local values = { -- [counter][application, none][instance]
    { { 100, 50 }, { 0, 70 }, { 0, 0 } },
    { { 4, 9 }, { 3, 2 }, { 1, 0 } },
    { { 10 }, { 40 }, { 5 } },
    { { 5 }, { 10 }, { 0 } },
    { { 5 }, { 10 }, { 0 } },
    { { 5 }, { 30 }, { 0 } },
}
for i, part in ipairs(require("heddle.metrics").TIME) do
    list[#list + 1] = { component = "core", name = "time_" .. part[1],
        unit = "ticks", instances = 2 }
    values[#values + 1] = { { i, 1 }, { 2 * i, 0 }, { 0, 0 } }
end
local fake = {}
function fake.counters() return list end
function fake.counter_values() return values end
function fake.counter_kernel(_, k)
    local out = {}
    for i = 1, #list do
        out[i] = k * i
    end
    return out
end
function fake.apps()
    return {
        { name = "A", instructions = 150, thread_instructions = 4800,
            cycles = 300, completions = 1, finished = true,
            truncated = false, footprint = 4096, pages = 1, hash = -1 },
        { name = "B", instructions = 70, thread_instructions = 2240,
            cycles = 1000, completions = 0, finished = false,
            truncated = false, footprint = 8192, pages = 2, hash = 255 },
    }
end
function fake.kernels()
    return { { name = 'k "1", x', app = 0, id = 1, run = 0, start = 0,
        ["end"] = 300, instructions = 150, thread_instructions = 4800,
        blocks = 4 } }
end
function fake.hists()
    local h = { n = 3, sum = 30, min = 5, max = 15, p50 = 10, p90 = 15,
        p95 = 15, p99 = 15, buckets = { { 5, 5, 1 }, { 10, 10, 1 },
            { 15, 15, 1 } } }
    local none = { n = 0, sum = 0, min = 0, max = 0, p50 = 0, p90 = 0,
        p95 = 0, p99 = 0, buckets = {} }
    return { { component = "core", name = "load_latency",
        unit = "core cycles", apps = { h, h, none } } }
end
function fake.sample() return nil end -- nothing is
function fake.now() return 1000 end
function fake.counted() return 1000 end
function fake.instructions() return 220 end

local function totals(scale)
    local out = {}
    for i, by_app in ipairs(values) do
        out[i] = {}
        for a, instances in ipairs(by_app) do
            local sum = 0
            for _, v in ipairs(instances) do
                sum = sum + v
            end
            out[i][a] = list[i].peak and sum or sum * scale // 4
        end
    end
    return out
end

--- The applications at a sample: instructions, and cycles that grow with them.
local function sampled(a, b)
    return { { instructions = a, cycles = 2 * a, finished = a == 150 },
        { instructions = b, cycles = 1000 * b // 70 } }
end

local sim = {
    core = fake, machine = { name = "toy" }, label = "one, \"quoted\"",
    apps = { { label = "A", key = "app:A" }, { label = "B", key = "app:B" } },
    extents = {}, rounded = {}, noted = {}, resolved = { { name = "sim.seed", value = "7" },
        { name = "core.count", value = "2" } },
    policies = { { policy = "srrip", options = { at = "l2cache" } } },
    status = "ok",
    samples = {
        { cycle = 0, counted = 0, values = totals(0), apps = sampled(0, 0) },
        { cycle = 500, counted = 500, values = totals(2),
            apps = sampled(75, 35) },
        { cycle = 1000, counted = 1000, values = totals(4),
            apps = sampled(150, 70) },
    },
}
local r = report.collect(sim)

tap.is(r.schema_version, 1, "the schema has a version")
tap.is(r.version, H.version, "and the result heddle's")
tap.is(r.seed, 7, "the seed")
tap.is(r.config["core.count"], "2", "the resolved configuration")
tap.is(r.inputs[1].hash, "ffffffffffffffff", "and the hashes of the inputs")
tap.is(r.policies[1], "srrip at l2cache", "and the policies")

-- Sums.
local bad = {}
for _, c in ipairs(r.counters) do
    local apps, instances = c.none, 0
    for _, v in ipairs(c.apps) do
        apps = c.peak and math.max(apps, v) or apps + v
    end
    for _, v in ipairs(c.instances) do
        instances = c.peak and math.max(instances, v) or instances + v
    end
    if apps ~= c.total or instances ~= c.total then
        bad[#bad + 1] = c.name
    end
end
tap.is(table.concat(bad, " "), "", "instances and applications sum to totals")
tap.is(report.counter(r, "core.peak"), 9, "a peak is a maximum")

-- Metrics.
tap.is(report.metric(r, "ipc", 0), 0.5, "IPC of an application")
tap.is(report.metric(r, "ipc"), 0.22, "and of all")
tap.is(report.metric(r, "l2tlb_miss_rate", 1), 0.75, "a miss rate")
tap.is(report.metric(r, "l1_hit_rate"), nil, "what was not counted is absent")
local share = 0
for _, part in ipairs(require("heddle.metrics").TIME) do
    share = share + report.metric(r, "time_" .. part[1])
end
tap.ok(math.abs(share - 1) < 1e-12, "shares of warp time sum to 1")

-- Intervals.
local sums = {}
for _, i in ipairs(r.intervals) do
    for name, by_app in pairs(i.counters) do
        sums[name] = sums[name] or 0
        for _, v in ipairs(by_app) do
            sums[name] = sums[name] + v
        end
    end
end
tap.is(#r.intervals, 2, "there are two intervals")
tap.is(sums["l2tlb.lookups"], 55, "which sum to the counters")
tap.is(r.intervals[2].from, 500, "and say where they begin")

-- JSON.
local text = json.encode(r)
local back = json.decode(text)
local function blank(v) -- nil and empty are the same in a decoded result
    if type(v) ~= "table" then
        return v
    end
    local out = {}
    for k, x in pairs(v) do
        out[k] = blank(x)
    end
    return out
end
tap.same(back, blank(r), "JSON reads back as the result")
tap.is(json.encode(report.collect(sim)), text, "equal runs give equal bytes")
tap.is(json.encode { 1.5, -0.25, 1e300, 0 / 0, math.huge },
    "[1.5, -0.25, 1e+300, null, null]", "numbers of JSON")
tap.is(json.encode { a = "\"\\\n\1é" }, '{"a": "\\"\\\\\\n\\u0001é"}',
    "strings of JSON")
tap.is(json.encode "a\xff\xc3(\xe2\x82", '"a\u{fffd}\u{fffd}(\u{fffd}\u{fffd}"',
    "bytes that are no UTF-8")
tap.is(json.decode(json.encode(0.1)), 0.1, "floats are exact")
tap.is(json.encode(json.array {}), "[]", "an empty array")
local all = { a = json.array { 1, 2.5, -3e20, true, false, "x\"\n\u{e9}" },
    b = { c = "", ["d e"] = json.array {} }, n = 1 << 60 }
tap.same(json.decode(json.encode(all)), all, "JSON is read as it was written")
tap.is(json.encode(json.decode "[-0.0]"), "[-0.0]", "and so is minus 0")
tap.is(json.decode '"\\u00e9\\uD83D\\ude00"', "\u{e9}\u{1f600}",
    "a pair of surrogates is one letter")
tap.raises(function() json.decode '["\\ud83d"]' end,
    "line 1: expected a pair of surrogates", "one alone is refused")
tap.raises(function() json.decode '{"\xff": 1, "\xfe": 2}' end,
    "line 1: expected UTF-8", "bytes that are no UTF-8 are refused")
local deep = ("["):rep(1000) .. ("]"):rep(1000)
tap.is(#json.decode(deep), 1, "1000 lists in one another")
tap.raises(function() json.decode("[" .. deep .. "]") end,
    "expected no more than 1000 levels", "1001 are refused")
tap.ok(json.encode(json.decode(deep)):gsub("%s", "") == deep:gsub("%[%]", "{}"),
    "and written")
do
    local own = { list = { {}, {} } }
    tap.raises(function() json.encode { json.decode(deep) } end,
        "json: 1.1.1.1.1.1.1.1.1.1.1.1... is nested too deeply",
        "1001 are not")
    local chain = {}
    for _ = 1, 60 do
        chain = { chain, chain }
    end
    tap.raises(function() json.encode(chain) end, "would have no end",
        "nor tables each of which has the next twice, 60 times")
    own.list[2].up = own
    tap.raises(function() json.encode(own) end,
        "json: list.2.up is a table that contains itself", "a circle")
    own.list[2].up = own.list[1]
    tap.same(json.decode(json.encode(own)), { list = { {}, { up = {} } } },
        "a table in two places is written twice")
    own.list[2].up = print
    tap.raises(function() json.encode(own) end,
        "json: list.2.up is a function", "what is no plain data has its place")
end
for _, wrong in ipairs { "{", "[1,]", '{"a" 1}', '"x', "1 2", "", "nul" } do
    tap.ok(not pcall(json.decode, wrong), "not JSON: " .. wrong)
end

-- CSV.
local function parse_csv(s)
    local rows, row, at = {}, {}, 1
    while at <= #s do
        local cell
        if s:sub(at, at) == '"' then
            local parts = {}
            at = at + 1
            while true do
                local stop = assert(s:find('"', at, true), "open quote")
                parts[#parts + 1] = s:sub(at, stop - 1)
                at = stop + 1
                if s:sub(at, at) ~= '"' then
                    break
                end
                parts[#parts + 1] = '"'
                at = at + 1
            end
            cell = table.concat(parts)
        else
            local stop = s:find("[,\n]", at)
            cell = s:sub(at, stop - 1)
            at = stop
        end
        row[#row + 1] = cell
        if s:sub(at, at) == "\n" then
            rows[#rows + 1], row = row, {}
        else
            assert(s:sub(at, at) == ",", "expected a comma")
        end
        at = at + 1
    end
    return rows
end

local function csv_of(fn)
    local path = os.tmpname()
    fn(r, path)
    local f <close> = assert(io.open(path))
    os.remove(path)
    return parse_csv(f:read("a"))
end

local rows = csv_of(report.csv)
local widths = {}
for _, row in ipairs(rows) do
    widths[#row] = true
end
tap.same(widths, { [9] = true }, "every line of the long CSV has 9 cells")
tap.is(table.concat(rows[1], ","),
    "run,interval,app,kernel,component,instance,stat,unit,value",
    "its heading")

--- The number in the long CSV.
local function look(want)
    local found
    for i = 2, #rows do
        local row, fits = {}, true
        for k, name in ipairs(rows[1]) do
            row[name] = rows[i][k]
            if name ~= "value" and name ~= "unit" and name ~= "run"
                and row[name] ~= (want[name] or "") then
                fits = false
            end
        end
        if fits then
            assert(found == nil, "twice in the CSV")
            found = tonumber(row.value)
        end
    end
    return found
end

bad = {}
for _, c in ipairs(r.counters) do
    for a, v in ipairs(c.apps) do
        if look { component = c.component, stat = c.name,
            app = tostring(a - 1) } ~= v then
            bad[#bad + 1] = c.name .. " of " .. a
        end
    end
    for i, v in ipairs(c.instances) do
        if look { component = c.component, stat = c.name,
            instance = tostring(i - 1) } ~= v then
            bad[#bad + 1] = c.name .. " in " .. i
        end
    end
end
for _, m in ipairs(r.metrics) do
    if look { component = "metric", stat = m.name } ~= m.total then
        bad[#bad + 1] = m.name
    end
end
tap.is(table.concat(bad, " "), "", "the long CSV has the numbers of the JSON")
tap.is(look { component = "core", stat = "load_latency.p99", app = "0" }, 15,
    "and histograms")
tap.is(look { component = "l2tlb", stat = "lookups", app = "1",
    interval = "2" }, 20, "and intervals")
tap.is(look { component = "l2tlb", stat = "hits", app = "0",
    kernel = "1.0" }, 4, "and kernels")
tap.is(rows[2][1], 'one, "quoted"', "texts are quoted")

--- The text value of a row without a number.
local function word(component, stat, app)
    for _, row in ipairs(rows) do
        if row[5] == component and row[7] == stat and row[3] == (app or "") then
            return row[9]
        end
    end
end
tap.is(word("sim", "version"), H.version, "it says who wrote it")
tap.is(word("config", "core.count"), "2", "for what settings")
tap.is(word("app", "hash", "1"), "00000000000000ff", "and for what input")
tap.is(word("sim", "policy"), "srrip at l2cache", "under which policies")

local wide = csv_of(report.csv_wide)
local column = {}
for k, name in ipairs(wide[1]) do
    column[name] = k
end
tap.is(wide[3][column.version], H.version, "which says who wrote it")
tap.is(wide[3][column["config.core.count"]], "2", "for what settings")
tap.is(wide[3][column.hash], "00000000000000ff", "and for what input")
tap.is(#wide, 3, "the wide CSV has a line an application")
do
    -- One run without an L2 TLB, one with: what the first has not is there.
    local function of(mode)
        local run <close> = H.sim { machine = "maxwell", settings = {
            ["core.count"] = 2, ["l2tlb.mode"] = mode },
            apps = { H.app("GUP", { size = "T" }) } }
        run:run()
        return run:results()
    end
    local got = of "off"
    local other = of "full"
    local path = os.tmpname()
    report.csv_wide({ got, other }, path)
    local head, one, two = io.open(path):read("l", "l", "l")
    os.remove(path)
    local at, n = nil, 0
    for name in head:gmatch "[^,]+" do
        n = n + 1
        at = name == "metric.l2tlb_miss_rate" and n or at
    end
    local function cell(words)
        local k = 0
        for v in (words .. ","):gmatch "([^,]*)," do
            k = k + 1
            if k == at then
                return v
            end
        end
    end
    tap.ok(at and cell(one) == "" and tonumber(cell(two))
        == report.metric(other, "l2tlb_miss_rate", 0),
        "its columns are those of all results")
end
bad = {}
for a = 1, 2 do
    for k, name in ipairs(wide[1]) do
        local got = tonumber(wide[a + 1][k])
        if name:find("%.") and not name:find("^config%.") then
            local metric = name:match("^metric%.(.*)")
            local want
            if metric then
                want = report.metric(r, metric, a - 1)
            else
                want = report.counter(r, name, a - 1)
            end
            if got ~= want then
                bad[#bad + 1] = name
            end
        end
    end
end
tap.is(table.concat(bad, " "), "", "with the same numbers")

-- Text.
text = report.format(r)
tap.ok(text:find("A + B on toy, seed 7", 1, true), "text names the run")
tap.ok(text:find("\n  ipc%s+0.500%s+0.070%s+0.220%s+warp instructions a "
    .. "cycle%s+IPC\n"), "and has its numbers, names and meanings", text)
tap.ok(text:find("00000000000000ff  B  app:B", 1, true), "its inputs")
tap.ok(text:find("core: count=2", 1, true), "and the settings")
tap.raises(function() report.metric(r, "icp") end, "did you mean 'ipc'?",
    "an unknown metric raises")
tap.raises(function() report.counter(r, "l2tlb.hit") end, "l2tlb.hits",
    "and an unknown counter")
tap.is(report.counter(r, "pwc.hits_level1"), nil,
    "one that is not in this machine is nil")
tap.is(report.table { { "a", "b" }, { "x", 1 }, { "long", 100 } },
    "a       b\nx       1\nlong  100\n", "tables are aligned")

-- Comparisons, by hand: A alone 1.0, shared 0.5; B alone 0.14, shared 0.07.
local alone = {
    { apps = { { instructions = 100, cycles = 100 } } },
    { apps = { { instructions = 140, cycles = 1000 } } },
}
tap.is(report.weighted_speedup(r, alone), 1.0, "weighted speedup")
tap.raises(function() report.weighted_speedup(r, { alone[1] }) end,
    "B has no result alone", "not without a result alone for each")
tap.raises(function() report.unfairness(r) end, "A has no result alone",
    "nor is there unfairness")
tap.is(report.unfairness(r, alone), 2.0, "unfairness")
tap.ok(math.abs(report.ipc_throughput(r) - 0.57) < 1e-12, "IPC throughput")

return tap.done()
