-- 744-far-faults.lua - pins: the metrics of far faults are what counters and
-- histograms say, in both modes, of each application and of all together, with
-- what belongs to no application only in the sum; curves of them add up to the
-- totals; the text has their section where pages fault and have faulted, and
-- nowhere else; a row of each batch of the driver, where they are asked for, sums
-- to what is counted, is in JSON and in databases, and nothing else changes.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local metric, counter = H.report.metric, H.report.counter

local SECTION = "\nFar faults\n"

local function run(settings, more)
    local all = { ["core.count"] = 4, ["vm.paging"] = "fault",
        ["vm.table_frames"] = 256, ["link.latency"] = 5000,
        ["evict.unit"] = "4K" }
    for k, v in pairs(settings) do
        all[k] = v
    end
    local o = { machine = "maxwell", settings = all,
        apps = { H.app("GUP", { size = "T" }), H.app("BP", { size = "T" }) } }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    local sim <close> = H.sim(o)
    sim:run()
    return sim:results()
end

local function text_of(r)
    return require("heddle.report").format(r)
end

local function close(a, b)
    return a and b and math.abs(a - b) <= 1e-9 * math.max(1, math.abs(b))
end

local function hist(r, name)
    for _, h in ipairs(r.histograms) do
        if h.component .. "." .. h.name == name then
            return h
        end
    end
end

--- What both modes have: each metric against its counters; i: of application i.
local function check(r, what, i, mode)
    local function c(name)
        return counter(r, name, i)
    end
    local cycles = i and r.apps[i + 1].cycles or r.counted
    local batches = c(mode == "driver" and "uvm.batches" or "fault.batches")
    local twice = c(mode == "driver" and "uvm.duplicates" or "fault.merges")
    local bad = {}
    for name, want in pairs {
        far_faults = c "fault.faults", fault_batches = batches,
        faults_per_batch = c "fault.faults" / batches,
        fault_duplicates = twice,
        fault_duplicate_share = twice / (twice + c "fault.faults"),
        evictions = c "evict.evictions", refaults = c "evict.refaults",
        refault_share = c "evict.refaults" / c "fault.pages",
        paged_in = c "fault.pages" * 4096 / 1e6,
        paged_out = c "evict.bytes" / 1e6,
        link_share = c "link.busy_cycles" / (2 * cycles),
    } do
        local got = metric(r, name, i)
        if not close(got, want) then
            bad[#bad + 1] = ("%s is %s, not %s"):format(name, got, want)
        end
    end
    table.sort(bad)
    tap.is(table.concat(bad, "; "), "", what .. ": metrics are of the counters")
end

-- ---- the papers' mode -----------------------------------------------------------

local LITTLE = (256 + 24) * 4096
local r = run({ ["vm.memory_bytes"] = LITTLE, ["fault.batch"] = 8 })
tap.ok(counter(r, "evict.refaults") > 0 and counter(r, "fault.merges") > 0,
    "pages are evicted and come again", ("%d refaults of %d pages"):format(
    counter(r, "evict.refaults"), counter(r, "fault.pages")))
check(r, "paper", nil)
check(r, "paper, GUP", 0)
check(r, "paper, BP", 1)
tap.is(metric(r, "fault_replays"), counter(r, "fault.batches"),
    "a batch is replayed together")
tap.ok(close(metric(r, "paged_in") + metric(r, "paged_out"),
    counter(r, "link.bytes") / 1e6), "in and out are what the link carried",
    counter(r, "link.bytes"))
local h = hist(r, "fault.latency")
for i, a in ipairs(h.apps) do
    tap.ok(a.n > 0 and close(metric(r, "fault_cycles", i - 1), a.sum / a.n)
        and metric(r, "fault_cycles_p50", i - 1) == a.p50
        and metric(r, "fault_cycles_p95", i - 1) == a.p95,
        r.apps[i].label .. ": its service time is of its histogram")
end
tap.ok(close(metric(r, "fault_cycles"), (h.apps[1].sum + h.apps[2].sum)
    / (h.apps[1].n + h.apps[2].n)), "the mean of both is of all their faults")
for _, p in ipairs { "p50", "p95" } do
    local v, a, b = metric(r, "fault_cycles_" .. p), h.apps[1][p], h.apps[2][p]
    tap.ok(v >= math.min(a, b) and v <= math.max(a, b),
        p .. " of both is between theirs", ("%s: %s, %s"):format(v, a, b))
end
tap.ok(text_of(r):find(SECTION, 1, true), "the text has a section on them")
local _, sections = text_of(r):gsub("\n  far_faults ", "")
tap.is(sections, 1, "once")

local by_page = run({ ["vm.memory_bytes"] = LITTLE, ["fault.batch"] = 8,
    ["fault.replay"] = "page" })
tap.is(metric(by_page, "fault_replays"), counter(by_page, "fault.faults"),
    "fault.replay=page: each fault is replayed by itself")

-- ---- the driver's mode ------------------------------------------------------------

local d = run { ["uvm.mode"] = "driver", ["vm.memory_bytes"] = (256 + 2048) * 4096,
    ["evict.unit"] = "2M" }
check(d, "driver", nil, "driver")
check(d, "driver, GUP", 0, "driver")
check(d, "driver, BP", 1, "driver")
tap.ok(metric(d, "fault_replays") == counter(d, "uvm.replays")
    and metric(d, "fault_replays") > 0
    and metric(d, "fault_replays", 0) == nil, "its replays are of no application")
local one = run({ ["uvm.mode"] = "driver" },
    { apps = { H.app("BP", { size = "T" }) } })
tap.is(metric(one, "fault_replays", 0), counter(one, "uvm.replays"),
    "but where there is only one")
tap.ok(text_of(d):find(SECTION, 1, true), "the text has the section, too")

-- ---- a row of each batch ---------------------------------------------------------

do
    local SMALL = { ["vm.memory_bytes"] = LITTLE, ["uvm.mode"] = "driver",
        ["uvm.evict_latency"] = 1000, ["uvm.page_latency"] = 10 }
    local kept, plain = run(SMALL, { batches = true }), run(SMALL)
    local paper = run({ ["vm.memory_bytes"] = LITTLE }, { batches = true })
    local list, sum, exact = kept.batches, {}, true
    for i, b in ipairs(list) do
        for k, v in pairs(b) do sum[k] = (sum[k] or 0) + v end
        exact = exact and b.number == i and math.abs(b.cycles - b.base - b.block
            - b.unmap - b.dma - b.room - b.page - b.evict - b.copy) <= 8
            and b.cycle <= kept.cycles and (i == 1 or b.cycle > list[i - 1].cycle)
    end
    tap.ok(#list > 3 and exact, "a row a batch, whose terms sum to its time", #list)
    for field, name in pairs { cycles = "uvm.batch_cycles",
        interrupt = "uvm.interrupt_cycles", room = "uvm.room_cycles",
        evict = "uvm.evict_cycles", copy = "uvm.copy_cycles" } do
        tap.is(sum[field], counter(kept, name), field .. ": as is counted")
    end
    for field, name in pairs { faults = "fault.faults", blocks = "uvm.blocks",
        duplicates = "uvm.duplicates", stale = "uvm.stale" } do
        local n = counter(kept, name) -- to the applications' first ends
        tap.ok(n <= sum[field] and n > 0.9 * sum[field] - 2,
            field .. ": as is counted", ("%d, %d"):format(n, sum[field]))
    end
    tap.ok(paper.batches == nil and plain.batches == nil,
        "in the driver's mode, where they are asked for")
    -- text: every percentile is one of the values
    local text = H.report.batches(kept)
    local cycles = {}
    for i, b in ipairs(list) do cycles[i] = b.cycles end
    table.sort(cycles)
    local p = cycles[math.ceil(0.9 * #list)]
    tap.ok(text:find(("^%d batches"):format(#list)) and text:match(
        "\n  cycles +[%d.]+ +%d+ +%d+ +(%d+)") == tostring(p), "a summary", text)
    tap.ok(text_of(kept):find(text, 1, true), "which the text has")
    -- files
    local dir = files.folder()
    H.report.json(kept, dir .. "/r.json")
    local back = H.report.read(dir .. "/r.json")[1]
    tap.is(H.json.encode(back.batches), H.json.encode(list), "JSON reads back")
    tap.is(H.report.batches(back), text, "to an equal summary")
    H.report.sqlite({ kept, plain }, dir .. "/r.sqlite")
    H.report.sqlite({ kept, plain }, dir .. "/r.sqlite") -- again: the same rows
    local db <close> = require("heddle.sqlite").open(dir .. "/r.sqlite")
    local n, of = 0, {}
    for _, row in ipairs(db:exec("select run, count(*) as n, sum(packets) as p, "
        .. "sum(copy) as c from batch group by run")) do
        n, of = n + 1, row
    end
    tap.ok(n == 1 and of.n == #list and of.p == sum.packets
        and of.c == sum.copy, "a table of a database", H.json.encode(of))
    files.command("rm -r " .. files.quote(dir))
    kept.batches = nil
    tap.is(H.json.encode(kept), H.json.encode(plain), "and nothing else changes")
end
do -- what is restored and repeated is there once; jobs of a series have them
    local function sim()
        return H.sim { machine = "maxwell", batches = true, progress = false,
            apps = { H.app("GUP", { size = "T" }) }, settings = {
            ["core.count"] = 4, ["vm.paging"] = "fault",
            ["uvm.mode"] = "driver" } }
    end
    local straight <close> = sim()
    local again <close> = sim()
    straight:run(400000)
    again:run(150000)
    local s = again:snapshot()
    again:run(200000)
    again:restore(s)
    again:run(250000)
    local want = H.json.encode(straight:results().batches)
    tap.is(H.json.encode(again:results().batches), want, "restored and repeated")
    tap.is(#straight:used(), 0, "it is no policy of the script's")
    local job = H.run({ { machine = "maxwell", batches = true,
        apps = { H.app("GUP", { size = "T" }) }, stop_cycles = 400000,
        settings = { ["core.count"] = 4, ["vm.paging"] = "fault",
            ["uvm.mode"] = "driver" } } }, { progress = false })[1]
    tap.is(H.json.encode(job.batches), want, "of a job of H.run")
    tap.raises(function() H.sim { machine = "maxwell", batches = 1,
        apps = { H.app("GUP", { size = "T" }) } } end,
        "H.sim: batches: true or false is expected, not 1", "what it takes")
end

-- ---- over time, and where there are none --------------------------------------------

local t = run({ ["vm.memory_bytes"] = LITTLE }, { interval = 20000 })
for _, name in ipairs { "far_faults", "evictions", "paged_in", "paged_out" } do
    local sum = 0
    for _, v in pairs(H.report.series(t, name).values) do
        sum = sum + v
    end
    tap.ok(close(sum, metric(t, name)), "a curve of " .. name .. " adds up", sum)
end
tap.is(next(H.report.series(t, "fault_cycles").values), nil,
    "intervals have no histograms")
for _, v in pairs(H.report.series(t, "link_share").values) do
    if v > 1 then
        tap.ok(false, "an interval's link is busy for no longer than it lasts", v)
    end
end

local none = run { ["vm.paging"] = "none" }
tap.ok(metric(none, "far_faults") == nil and metric(none, "paged_in") == nil
    and not text_of(none):find(SECTION, 1, true),
    "without paging there is neither metric nor section")
local early = run({}, { stop_cycles = 1 })
tap.ok(metric(early, "far_faults") == 0 and metric(early, "fault_cycles") == nil
    and metric(early, "faults_per_batch") == nil
    and not text_of(early):find(SECTION, 1, true),
    "before the first fault they are 0, and not shown")
return tap.done()
