--- mask/mosaic.lua - MASK and Mosaic in one machine.
--
-- MASK (ASPLOS 2018) says that it combines with Mosaic (MICRO 2017), which gives
-- TLBs more reach, while MASK shares what reach there is; neither measures it.
-- Here both policies run in one simulation, on the machine of Mosaic (whose TLBs
-- have entries for large pages), in MASK's pairs.  Layouts differ by design:
-- CoCoA places pages, the others take frames as they come.
--
-- Columns: the machine as it is, where hits pass a TLB miss, and with L1 TLBs that
-- block, as the released simulator's do (causes.lua).
--
-- They do combine, and Mosaic does nearly all (scale=quick): over SharedTLB MASK
-- loses 2.3 %, Mosaic gains 373 %, both 382 %, Ideal 524 %; where L1 TLBs block, MASK
-- loses 2.6 %, Mosaic and both gain 197 %, Ideal 268 %.  Mosaic leaves 4 walks of 547,
-- and MASK's golden queue shortens them from 573 to 520 cycles.
--
-- code=lua takes the policies in Lua (policies/mask.lua, policies/mosaic.lua);
-- the results are the same to the last digit.
--
--     heddle run scenarios/mask/mosaic.lua [scale=full] [code=lua]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local sharing = require "heddle.sharing"
local suite = require "common"

local x = suite.open("mosaic", "beside Mosaic", "MASK and Mosaic in one machine",
    { code = "c" }, suite.FEW)
if x.arg.code ~= "c" and x.arg.code ~= "lua" then
    error(("code is c or lua, not '%s'"):format(x.arg.code), 0)
end

local function policy(name)
    return x.arg.code == "lua" and H.here("../../policies/" .. name .. ".lua")
        or name
end
local mask = H.designs.mask { policy = policy "mask",
    epoch = not x.full and 2000 or nil }
local mosaic = H.designs.mosaic { policy = policy "mosaic" }
local both = H.designs.both(mask, mosaic)
local DESIGNS = { H.designs.get "SharedTLB", mask, mosaic, both,
    H.designs.get "Ideal" }

local function column(name, settings)
    local o = suite.options(x, { designs = DESIGNS, settings = settings,
        machine = H.machine(x:preset "mosaic") })
    local r = sharing.measure(x, o)
    for i = 2, #DESIGNS do
        x:quantity { DESIGNS[i].name .. " over SharedTLB" .. name, unit = "%",
            heddle = 100 * (sharing.gain(r, DESIGNS[i].name, "SharedTLB")
                - 1) }
    end
    for _, d in ipairs { mask, mosaic, both } do
        x:quantity { d.name .. " below Ideal" .. name, unit = "%",
            heddle = 100 * (1 - sharing.gain(r, d.name, "Ideal")) }
    end
    return r, o
end

--- What each design did, mean of the pairs.
local function details(name, r, o)
    local function mean(design, f)
        return select(2, suite.map(r, o, function(v)
            return f(v[design].run)
        end))
    end
    local function of(metric)
        return function(run) return report.metric(run, metric) end
    end
    local function count(counter)
        return function(run) return report.counter(run, counter) end
    end
    local rows = { { "design", "L1 TLB misses", "L2 TLB misses", "walks",
        "walk cycles", "regions coalesced", "bypass cache fills",
        "golden requests" } }
    for i, d in ipairs(o.designs) do
        rows[i + 1] = { d.name,
            report.percent(mean(d.name, of "l1tlb_miss_rate")),
            report.percent(mean(d.name, of "l2tlb_miss_rate")) }
        for _, f in ipairs { count "walk.walks", of "walk_latency",
            count "memory.coalesced", count "mmu.bypass_fills",
            count "dram.golden" } do
            local v = mean(d.name, f)
            table.insert(rows[i + 1], v and ("%.0f"):format(v) or "-")
        end
    end
    x:table("What each design did, mean of the pairs" .. name, rows)
end

local r, o = column("", nil)
local blocked, bo = column(", L1 TLBs block", suite.blocking)
suite.say(x, o)
suite.pairs_table(x, o, r)
details("", r, o)
details(", L1 TLBs block", blocked, bo)
suite.grouped(x, { title = "Weighted speedup where L1 TLBs block",
    unit = "weighted speedup", head = "pair" }, suite.names(bo), (function()
        local series = {}
        for i, d in ipairs(bo.designs) do
            series[i] = { name = d.name, values = suite.map(blocked, bo,
                function(v) return v[d.name].ws end) }
        end
        return series
    end)())
x:close()
