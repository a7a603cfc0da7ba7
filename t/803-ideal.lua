-- 803-ideal.lua - pins: an ideal L1 TLB of zero latency gives the same cycles,
-- counters, histograms and kernel times as translation switched off, for all
-- applications, with the L1 cache beside the TLB or after it, for a stream, a
-- column stride and random accesses, alone and together; fixed:0 is the same
-- as ideal at zero latency; and latency is what makes the difference: with
-- the cache after the TLB an ideal TLB of ten cycles is slower.  Memory that
-- comes and goes changes nothing: an ideal TLB holds nothing to shoot down.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local function skip(component)
    return component == "l1tlb"
end

local function run(names, settings, extra)
    local sim <close> = whole.sim(names,
        whole.join(whole.SMALL, settings, extra))
    sim:run()
    local out = whole.statistics(sim, skip)
    out[#out + 1] = "cycles " .. sim.now
    return out, sim.now, sim:counters()
end

local OFF = { ["sim.translation"] = "off" }
local IDEAL = { ["l1tlb.mode"] = "ideal", ["l1tlb.latency"] = 0 }
local FIXED = { ["l1tlb.mode"] = "fixed:0" }
local SLOW = { ["l1tlb.mode"] = "ideal", ["l1tlb.latency"] = 10 }

local loads = {}
for _, name in ipairs(whole.APPS) do
    loads[#loads + 1] = { name, { name } }
end
loads[#loads + 1] = { "stream", { whole.stream(32) } }
loads[#loads + 1] = { "column", { whole.column(4, 16) } }
loads[#loads + 1] = { "random", { whole.random(4, 8) } }
loads[#loads + 1] = { "GUP with MM", { "GUP", "MM" } }

for _, order in ipairs { "beside", "after" } do
    local o = { ["l1cache.order"] = order }
    for _, load in ipairs(loads) do
        local off, cycles, c = run(load[2], o, OFF)
        local ideal, _, with = run(load[2], o, IDEAL)
        tap.ok(not whole.difference(off, ideal), ("%s, cache %s: ideal is off "
            .. "(%d cycles)"):format(load[1], order, cycles),
            whole.difference(off, ideal))
        if c.l1tlb.lookups ~= 0 or with.l1tlb.hits ~= with.l1tlb.lookups
            or with.l1tlb.lookups == 0 then
            tap.ok(false, ("%s: off looks up %d, ideal %d of %d pages"):format(
                load[1], c.l1tlb.lookups, with.l1tlb.hits, with.core.pages))
        end
        if load[1] == "random" then
            local fixed = run(load[2], o, FIXED)
            tap.ok(not whole.difference(off, fixed), "fixed:0 is ideal",
                whole.difference(off, fixed))
            local _, slow = run(load[2], o, SLOW)
            tap.ok(slow > cycles, ("cache %s: a TLB of ten cycles costs "
                .. "something"):format(order), slow .. " " .. cycles)
        end
    end
end

local GOES = { ["memory.free_at_end"] = true, ["memory.shootdown_l1"] = 1000 }
local off = run({ whole.random(4, 4), "MM" }, GOES, OFF)
local ideal = run({ whole.random(4, 4), "MM" }, GOES, IDEAL)
tap.ok(not whole.difference(off, ideal), "ideal is off when memory goes",
    whole.difference(off, ideal))

tap.done()
