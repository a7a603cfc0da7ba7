--- mask/sec72.lua - MASK's mechanisms, each alone.
--
-- MASK (ASPLOS 2018), section 7.2: tokens raise the L2 TLB's hit rate by 49.9 %
-- (of SharedTLB's); the bypass cache hits 66.5 %; the L2 bypass alone gives
-- 43.6 % and the DRAM scheduler alone 22.7 % over SharedTLB; with the scheduler
-- DRAM answers page walks up to 10.6 % sooner and carries up to 5.6 % more, and
-- SRAD, SCAN and CONS gain 18.7, 8.9 and 30.2 %.  The bypass of the released
-- simulator, alone and in all of MASK (MASK-released), is shown.
--
-- As orders: tokens raise the L2 TLB's hit rate, the bypass that of data in the
-- L2 cache, the scheduler lowers DRAM's latency for walks.
--
-- The hit rate of the L2 TLB is that of its own entries; hits of the bypass
-- cache beside it are a row of their own, of all requests and of those that
-- the L2 TLB does not answer.  A third row asks what it would be if every access
-- asked the bypass cache first, as in the released simulator (bypass-first.lua).
--
--     heddle run scenarios/mask/sec72.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local sharing = require "heddle.sharing"
local suite = require "common"

local NAMES = { table.unpack(suite.with_released) }
NAMES[#NAMES + 1] = "MASK-Cache-released"

local x = suite.open("sec72", "section 7.2", "MASK's mechanisms, each alone")
local results, o = suite.measure(x, { names = NAMES })
local names = suite.names(o)

local function share(design, part, ...)
    local over = { ... }
    return suite.map(results, o, function(r)
        local sum = 0
        for _, name in ipairs(over) do
            sum = sum + report.counter(r[design].run, name)
        end
        return sum > 0 and part(function(name)
            return report.counter(r[design].run, name)
        end) / sum or nil
    end)
end

-- ---- tokens ------------------------------------------------------------------------

local function own_hits(c)
    return c "mmu.hits" - (c "mmu.bypass_hits" or 0)
end
local before, hits_before = share("SharedTLB", own_hits, "mmu.hits",
    "mmu.misses")
local after, hits_after = share("MASK-TLB", own_hits, "mmu.hits",
    "mmu.misses")
x:quantity { "L2 TLB hit rate, MASK-TLB over SharedTLB", unit = "%",
    kind = "gain", paper = 49.9, heddle = 100 * (hits_after / hits_before - 1) }
local _, answered = share("MASK-TLB", function(c) return c "mmu.hits" end,
    "mmu.hits", "mmu.misses")
x:quantity { "the same with hits of the bypass cache", unit = "%",
    heddle = 100 * (answered / hits_before - 1) }
local function bypass(c) return c "mmu.bypass_hits" end
local _, of_all = share("MASK-TLB", bypass, "mmu.hits", "mmu.misses")
local _, of_rest = share("MASK-TLB", bypass, "mmu.bypass_hits", "mmu.misses")
x:quantity { "bypass cache hit rate, of requests", unit = "%", paper = 66.5,
    heddle = 100 * of_all }
x:quantity { "bypass cache hit rate, of what the L2 TLB leaves", unit = "%",
    heddle = 100 * of_rest }
--- Of all accesses in short runs of some pairs, those that the bypass cache could
-- have answered.
local function asked_first(settings)
    local jobs, looks, hits = {}, 0, 0
    local tokens = H.designs.mask { bypass = 0, dram = 0, epoch = 2000 }
    local machine = tokens.apply(o.machine:with(settings))
    for i = 1, math.min(#o.pairs, suite.FEW) do
        jobs[i] = function()
            local apps = {}
            for a, name in ipairs(o.pairs[i].apps) do
                apps[a] = H.app(name, { size = "S" })
            end
            local sim = H.sim { machine = machine, apps = apps, policies = {
                tokens.policies[1], { use = H.here "bypass-first.lua" } },
                progress = false }
            sim:run(x.full and 100000 or 30000)
            local state = sim:used()[2].state
            sim:close()
            return { state.looks, state.hits }
        end
    end
    for _, r in ipairs(H.run(jobs, { jobs = x.arg.jobs, progress = false })) do
        looks, hits = looks + r[1], hits + r[2]
    end
    return 100 * hits / looks
end
x:quantity { "bypass cache hit rate, of accesses if all asked it first",
    unit = "%", heddle = asked_first {} }
x:quantity { "the same, L1 TLBs block", unit = "%",
    heddle = asked_first(suite.blocking) }
suite.grouped(x, { title = "L2 TLB hits", unit = "of look-ups", head = "pair" }, names,
    { { name = "SharedTLB", values = before }, { name = "MASK-TLB",
        values = after } })

-- ---- L2 cache ----------------------------------------------------------------------

local function data_hits(design)
    return select(2, suite.map(results, o, function(r)
        local hits, all = 0, 0
        for _, kind in ipairs { "read", "write", "atomic" } do
            hits = hits + report.counter(r[design].run, "l2cache." .. kind
                .. "_hits")
            all = all + report.counter(r[design].run, "l2cache." .. kind
                .. "_lookups")
        end
        return all > 0 and hits / all or nil
    end))
end
local data = { ["MASK-Cache"] = data_hits "MASK-Cache",
    SharedTLB = data_hits "SharedTLB" }
for _, name in ipairs { "SharedTLB", "MASK-Cache" } do
    x:quantity { "L2 cache hit rate of data, " .. name, unit = "%",
        heddle = 100 * data[name] }
end
x:order { "L2 cache hit rate of data", paper = { "MASK-Cache", "SharedTLB" },
    heddle = data }

-- ---- performance, alone --------------------------------------------------------------

for _, q in ipairs { { "MASK-TLB" }, { "MASK-Cache", 43.6 },
    { "MASK-DRAM", 22.7 }, { "MASK" }, { "MASK-Cache-released", 43.6, shown = true },
    { "MASK-released", 57.8, shown = true } } do
    x:quantity(sharing.claim({ q[1] .. " over SharedTLB", paper = q[2],
        shown = q.shown }, results, q[1], "SharedTLB"))
end
local series = {}
for i, name in ipairs { "MASK-TLB", "MASK-Cache", "MASK-DRAM", "MASK",
    "MASK-Cache-released", "MASK-released" } do
    series[i] = { name = name, values = suite.map(results, o, function(r)
        return r[name].ws / r.SharedTLB.ws
    end) }
end
suite.grouped(x, { title = "Weighted speedup over SharedTLB",
    unit = "of SharedTLB's", head = "pair" }, names, series)

-- ---- DRAM --------------------------------------------------------------------------------

local function change(f)
    local list = suite.map(results, o, function(r)
        local a, b = f(r["MASK-DRAM"].run), f(r.SharedTLB.run)
        return a and b and 100 * (a / b - 1) or nil
    end)
    return list, suite.mean(list)
end
local latency, mean_latency = change(function(run)
    return suite.histogram(run, "dram", "walk_latency")
end)
local bandwidth, mean_bandwidth = change(function(run)
    return report.metric(run, "dram_peak_share_data")
        + (report.metric(run, "dram_peak_share_walk") or 0)
end)
local least, most = math.huge, -math.huge
for i in ipairs(names) do
    least = math.min(least, latency[i] or math.huge)
    most = math.max(most, bandwidth[i] or -math.huge)
end
x:quantity { "DRAM latency of page walks, MASK-DRAM: best pair", unit = "%",
    kind = "gain", paper = -10.6, heddle = least }
x:quantity { "DRAM latency of page walks, MASK-DRAM: mean", unit = "%",
    heddle = mean_latency }
x:quantity { "DRAM bandwidth, MASK-DRAM: best pair", unit = "%",
    kind = "gain", paper = 5.6, heddle = most }
x:quantity { "DRAM bandwidth, MASK-DRAM: mean", unit = "%",
    heddle = mean_bandwidth }

--- Each application that MASK names: mean of its pairs, IPC under MASK-DRAM
-- over that under SharedTLB.
local NAMED = { SRAD = 18.7, SCAN = 8.9, CONS = 30.2 }
local more, mo = results, o
if not x.full then
    mo = suite.options(x, { names = { "SharedTLB", "MASK-DRAM" },
        pairs = suite.named { "SCAN_CONS", "SRAD_3DS" } })
    more = sharing.measure(x, mo)
end
for _, app in ipairs { "SRAD", "SCAN", "CONS" } do
    local list = {}
    for i, r in ipairs(more) do
        for a, name in ipairs(mo.pairs[i].apps) do
            if name == app then
                list[#list + 1] = 100 * (r["MASK-DRAM"].each[a]
                    / r.SharedTLB.each[a] - 1)
            end
        end
    end
    x:quantity { app .. " with the DRAM scheduler", unit = "%",
        kind = "gain", paper = NAMED[app], heddle = suite.mean(list) }
end
x:close()
