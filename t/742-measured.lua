-- 742-measured.lua - pins: rates are over the cycles that counters cover, after
-- a reset, after a warm-up, and for an application that finished early;
-- intervals sum to the totals, and go back with a snapshot; a wait that is open
-- when somebody looks is told as what it is; how much of a run is done.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local metric, counter = H.report.metric, H.report.counter

local function options(more)
    local o = {
        machine = H.machine("maxwell") { ["core.count"] = 4 },
        apps = { H.app("BP", { size = "T" }), H.app("GUP", { size = "T" }) },
    }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return o
end

-- ---- after a reset ----------------------------------------------------------

local warm <close> = H.sim(options { warmup = 1000 })
warm:run()
local want = warm:results()
local reset <close> = H.sim(options())
reset:run(1000)
reset:reset_counters()
tap.is(reset:results().counted, 0, "a reset begins anew")
tap.is(metric(reset:results(), "ipc"), nil, "there is no rate of no time")
reset:run()
local got = reset:results()
tap.is(got.counted, want.cycles - 1000, "counters cover what is after a reset")
local bad = {}
for i, m in ipairs(want.metrics) do
    if m.total ~= got.metrics[i].total then
        bad[#bad + 1] = m.name
    end
end
tap.is(table.concat(bad, " "), "", "metrics are those after a warm-up")
tap.ok(math.abs(metric(got, "ipc") * got.counted - counter(got,
    "core.instructions")) < 1e-6, "IPC is over those cycles")

-- ---- an application that finished early -------------------------------------

-- Its DRAM bandwidth is over its own time: of two that finish at different
-- times, the shares by own time sum up to the bytes that were moved.
local early <close> = H.sim(options { apps = { H.app("GUP", { size = "T" }),
    H.app("ATAX", { size = "T" }) } })
early:run()
local r = early:results()
tap.ok(r.apps[1].cycles * 2 < r.apps[2].cycles, "one finishes much earlier")
local bytes = counter(r, "dram.data_bursts", 0)
    * tonumber(r.config["dram.bus_bytes"])
local seconds = r.apps[1].cycles / tonumber(r.config["clock.core"])
local gbps = metric(r, "dram_gbps_data", 0)
tap.ok(math.abs(gbps / (bytes / seconds / 1e9) - 1) < 0.01,
    "its bandwidth is over its own time", gbps)
tap.ok(math.abs(metric(r, "dram_peak_share_data", 0)
    / (counter(r, "dram.data_bursts", 0) * 2
        / (seconds * tonumber(r.config["clock.dram"])
            * tonumber(r.config["dram.channels"]))) - 1) < 0.01,
    "and its share of the peak")

bad = {}
for _, kind in ipairs { "counters", "histograms", "metrics" } do
    for _, row in ipairs(r[kind]) do
        if not (row.meaning or ""):find "%a%a" or not row.unit then
            bad[#bad + 1] = row.name
        end
    end
end
tap.is(table.concat(bad, " "), "", "every number has a unit and a meaning")

-- ---- a start of one's own -----------------------------------------------------

-- Counters are those of the work: they begin with its first instruction, before
-- or after the end of the warm-up, and the parts of warp time sum to its cycles.
local function late(o)
    local s <close> = H.sim(options(o))
    s:run()
    return s:results()
end
for _, o in ipairs {
    { "no warm-up" }, { "a long warm-up", warmup = 20000 },
    { "a warm-up past the end", warmup = 10000000 },
} do
    local own = late { warmup = o.warmup, check = true,
        apps = { H.app("GUP", { size = "T", start = 500, budget = 1000 }) } }
    local a = own.apps[1]
    tap.is(a.instructions, 1000, o[1] .. ": so many instructions")
    tap.ok(math.abs(counter(own, "core.instructions", 0) - 1000) < 200,
        "and its cores count those", counter(own, "core.instructions", 0))
    local time = 0
    for _, part in ipairs(require("heddle.metrics").TIME) do
        time = time + counter(own, "core.time_" .. part[1], 0)
    end
    local sim = H.sim(options {})
    local whole = a.cycles * tonumber(own.config["core.count"])
        * tonumber(own.config["core.warps"]) * sim.core:ticks()
    sim:close()
    tap.ok(math.abs(time / whole - 1) < 0.01, "time is that of the work",
        time / whole)
    tap.is(own.counted, a.cycles, "and what is nobody's begins with it")
end

-- Two, one of which begins late and ends early: each has its own window, and no
-- share of what they use is more than the whole.
local two = late { warmup = 30000, check = true, apps = {
    H.app("GUP", { size = "S", start = 3000, budget = 500 }),
    H.app("ATAX", { size = "T", start = 100, budget = 20000 }) } }
tap.ok(two.apps[1].cycles < two.apps[2].cycles, "the late one is shorter")
tap.ok(two.counted >= two.apps[2].cycles, "and lies within what is counted")
local used = 0
for i = 1, 2 do
    local part = metric(two, "dram_peak_share_data", i - 1)
    used = used + part * two.apps[i].cycles
    tap.ok(part > 0 and part < 1, "a share of the peak", part)
end
tap.ok(metric(two, "dram_peak_share_data") * two.counted <= used * 1.01,
    "together no more than both")

-- Counters of different work are told: half of the cycles are gone.
local fake = { values = { dram = { data_bursts = 500000, cycles = 100000 } },
    work = { instructions = 1, thread_instructions = 1, cycles = 1000 } }
tap.raises(function()
    require("heddle.metrics").compute({ fake }, { config = two.config,
        values = fake.values, cycles = 1000 })
end, "not counted over the same work", "a share above 100 % is an error")
fake.values.dram.cycles = 0
tap.ok(pcall(require("heddle.metrics").compute, { fake }, { config = two.config,
    values = fake.values, cycles = 0 }), "a share of nothing is left out")

-- ---- intervals --------------------------------------------------------------

local function sums_of(result)
    local sums = {}
    for _, i in ipairs(result.intervals) do
        for name, by_app in pairs(i.counters) do
            for _, v in ipairs(by_app) do
                sums[name] = (sums[name] or 0) + v
            end
        end
    end
    return sums
end

for _, o in ipairs { { interval = 700 }, { interval = 250 },
    { interval = 300, warmup = 1000 },
    { interval = 400, settings = { ["vm.paging"] = "fault" } } } do
    local s <close> = H.sim(options(o))
    s:run(60000)
    local result, off = s:results(), {}
    local sums = sums_of(result)
    for _, c in ipairs(result.counters) do
        local name = c.component .. "." .. c.name
        -- Counters of what there was before begin with it.
        if not c.peak and not o.warmup and (sums[name] or 0) ~= c.total
            or o.warmup and name == "core.instructions"
            and sums[name] < c.total then
            off[#off + 1] = name
        end
    end
    tap.is(table.concat(off, " "), "", ("intervals of %d sum to the totals")
        :format(o.interval))
end

local straight <close> = H.sim(options { interval = 500 })
straight:run()
local turned <close> = H.sim(options { interval = 500 })
turned:run(1000)
local snapshot = turned:snapshot()
turned:run(1000)
turned:restore(snapshot)
tap.is(turned.status, "ok", "a snapshot knows the status")
turned:run()
tap.same(turned:results().intervals, straight:results().intervals,
    "intervals after a restore are those of a straight run")

-- ---- waits that are open ----------------------------------------------------

-- A far fault takes 50,000 cycles: before the first page has come, all who
-- wait do so for a page.
local faults <close> = H.sim(options { apps = { H.app("GUP", { size = "S" }) },
    settings = { ["vm.paging"] = "fault" } })
faults:run(40000)
local core = faults:counters().core
tap.ok(core.time_fault > 50 * core.time_data,
    "a wait for a far fault is told before its end", core.time_data)

-- What was told is hardly ever taken back: only where a warp waits for several
-- loads, as the last of them to come is the one that counts, and data are more
-- than 100 cycles on their way.
local seen, back = {}, 0
local watched <close> = H.sim(options { apps = { H.app("ATAX",
    { size = "T" }) } })
for _ = 1, 400 do
    watched:step(70)
    local now = watched:counters().core
    for _, part in ipairs { "alu", "walk", "fault", "tlb", "barrier", "lsu" } do
        local name = "time_" .. part
        back = back + math.max(0, (seen[name] or 0) - now[name])
        seen[name] = now[name]
    end
end
tap.ok(back < (seen.time_walk + seen.time_tlb + seen.time_lsu) / 10,
    "the parts of warp time grow", back)

-- ---- arguments --------------------------------------------------------------

for _, wrong in ipairs {
    { { interval = 0 }, "interval" }, { { interval = "x" }, "interval" },
    { { policies = "srrip" }, "policies is a list" },
    { { policies = { use = "srrip" } }, "policies is a list" },
} do
    tap.raises(function() H.sim(options(wrong[1])) end, wrong[2],
        "not an option: " .. wrong[2])
end
tap.raises(function() H.app("BP", { size = "T", budget = -4 }) end, "-4",
    "nor a budget below 0")
tap.raises(function() H.app("BP", { size = "T", start = 1.5 }) end, "1.5",
    "nor a start that is no whole number")
local s <close> = H.sim(options())
for _, wrong in ipairs {
    { function() s:run(-1) end, "cycles" },
    { function() s:step "x" end, "cycles" },
    { function() s:run_until(5) end, "function" },
    { function() s:run_until(function() end, 0) end, "every" },
    { function() s:counters { ap = 0 } end, "'ap'" },
    { function() s:counters { app = 2 } end, "0 to 1" },
    { function() s:translate(2, 0) end, "0 to 1" },
    { function() s:translate(0) end, "address" },
    { function() s:restore {} end, "snapshot" },
} do
    tap.raises(wrong[1], wrong[2], "refused: " .. wrong[2])
end

-- ---- how much is done -------------------------------------------------------

-- A terminal that keeps what is written, and a clock that goes on by itself.
local process = require "heddle.process"
local isatty, clock, io = process.isatty, process.time, _G.io
local lines, time = {}, 0
local function shown(o, run)
    lines, time = {}, 0
    process.isatty = function() return true end
    process.time = function()
        time = time + 1
        return time
    end
    _G.io = { stderr = {
        write = function(_, text) lines[#lines + 1] = text end,
    } }
    local ok, err = pcall(function()
        local sim <close> = H.sim(o)
        run(sim)
    end)
    process.isatty, process.time, _G.io = isatty, clock, io
    assert(ok, err)
    local shares = {}
    for _, text in ipairs(lines) do
        shares[#shares + 1] = tonumber(text:match "(%d+) %%  cycle")
    end
    return shares
end
local function to_end(sim)
    sim:run()
end
local function rises(shares, least)
    for i = 2, #shares do
        if shares[i] < shares[i - 1] then
            return false
        end
    end
    return #shares >= least and shares[1] < 50 and shares[#shares] > 50
end
local function until_cycle(n)
    return function(sim)
        sim:run_until(function() return sim.now >= n end)
    end
end
local shares = shown({ machine = "maxwell",
    apps = { H.app("GRM", { size = "T" }) } }, to_end)
tap.ok(rises(shares, 4), "the share of many launches rises",
    table.concat(shares, " "))
shares = shown({ machine = "maxwell", apps = { H.app("NW", { size = "S" }) },
    stop_cycles = 300000 }, to_end)
tap.ok(rises(shares, 4), "so does that of a run with a limit",
    table.concat(shares, " "))
shares = shown({ machine = "maxwell", apps = { H.app("NW", { size = "S" }) } },
    until_cycle(5000))
tap.ok(#shares > 0 and lines[#lines] == "\r\27[K",
    "run_until has a line, which goes", #shares)
shown({ machine = "maxwell", apps = { H.app("BFS2", { size = "S" }) } },
    until_cycle(5000))
tap.ok(lines[1]:find "Kcycle %d+  BFS2 k%d+ %d+ %%.*ETA %?",
    "a host has no share that is known before", lines[1])

return tap.done()
