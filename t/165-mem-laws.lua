-- 165-mem-laws.lua - pins what holds of the memory system however it is set:
-- what the L2 is asked hits, misses or joins; misses and what leaves dirty are
-- what DRAM is asked, whose data buses are busy as long as its bursts take; and
-- what can be looked at in the middle agrees with the settings.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local program = whole.kinds(8)
local SETTINGS = whole.join(whole.SMALL, { ["sim.relaunch"] = false })

--- What of the memory is wrong when it is looked at, or nil.
local function odd(sim, m)
    for i = 0, m["dram.channels"] - 1 do
        local banks, waiting = 0, 0
        for _, r in ipairs(sim:look("dram", i)) do
            if r.kind == "bank" then
                banks = banks + 1
            elseif r.kind == "request" then
                waiting = waiting + 1
                if r.bank >= m["dram.banks"] or r.bursts_left < 1
                    or r.address % 32 ~= 0 or r.accepted > sim.now * 2 + 100 then
                    return ("request of bank %d"):format(r.bank)
                end
            end
        end
        if banks ~= m["dram.banks"] or waiting > m["dram.queue"]
            + m["dram.banks"] + 1 then
            return ("%d banks, %d requests"):format(banks, waiting)
        end
    end
    local slices = m["l2cache.slices"]
    for i = 0, slices - 1 do
        local lines, mshrs, n = {}, {}, 0
        for _, r in ipairs(sim:look("l2cache", i)) do
            if r.kind == "line" then
                if lines[r.line] then
                    return ("line %d is there twice"):format(r.line)
                end
                lines[r.line] = true
            elseif r.kind == "mshr" then
                n = n + 1
                if lines[r.line] or mshrs[r.line] or r.requests
                    > m["l2cache.merges"] + 1 then
                    return ("line %d is missed, %d requests"):format(r.line,
                        r.requests)
                end
                mshrs[r.line] = true
            end
        end
        if n > m["l2cache.mshrs"] then
            return ("%d misses"):format(n)
        end
    end
end

local function numbers(sim)
    local out = {}
    for _, s in ipairs(sim.resolved) do
        out[s.name] = tonumber(s.value) or s.value
    end
    return out
end

local function check(title, more)
    local sim <close> = whole.sim({ program }, whole.join(SETTINGS, more),
        { check = true })
    local m, bad, wrong = numbers(sim), {}
    repeat
        local word = sim:run(1009)
        wrong = wrong or sim.now < 30000 and m["dram.mode"] == "full"
            and odd(sim, m) or nil
    until word ~= "ok"
    sim:check()
    tap.is(wrong, nil, title .. ": what is looked at")
    local function same(what, a, b)
        if a ~= b then
            bad[#bad + 1] = ("%s: %s and %s"):format(what, a, b)
        end
    end
    local c = sim:counters()
    local l1, l2, dram = c.l1cache, c.l2cache, c.dram
    local read, past = 0, m["walk.memory"] == "dram"
    for _, class in ipairs { "read", "write", "atomic", "walk1", "walk2",
        "walk3", "walk4" } do
        same("look-ups of " .. class, l2[class .. "_lookups"], l2[class
            .. "_hits"] + l2[class .. "_misses"] + l2[class .. "_merged"])
        read = read + (class ~= "write" and l2[class .. "_misses"] or 0)
    end
    same("reads", l2.read_lookups, l1.read_misses - l1.read_merges)
    same("writes", l2.write_lookups, l1.writes)
    same("atomics", l2.atomic_lookups, c.core.lines - l1.reads - l1.writes)
    same("reads of DRAM", l2.dram_reads, read + (past and l2.bypass_walks or 0))
    if m["l2cache.write"] ~= "through" then
        same("writes of DRAM", l2.dram_writes, l2.write_backs)
        same("fills", l2.fills, read + l2.write_misses)
    end
    if m["dram.mode"] == "full" then
        local bursts = 128 // m["dram.bus_bytes"]
        same("arriving reads", dram.reads + dram.walk_reads, l2.dram_reads)
        same("arriving writes", dram.writes, l2.dram_writes)
        if m["l2cache.write"] ~= "through" then
            same("bursts of data", dram.data_bursts, (dram.reads + dram.writes)
                * bursts)
        end
        same("cycles of the buses", dram.busy, (dram.data_bursts
            + dram.walk_bursts) * m["dram.bl"])
        if dram.busy > dram.cycles or dram.precharges > dram.activates
            or dram.activates - dram.precharges > m["dram.channels"]
            * m["dram.banks"] then
            bad[#bad + 1] = "more than there can be"
        end
        for _, h in ipairs(sim.core:hists()) do
            if h.component == "dram" then
                same("latencies", h.apps[1].n, h.name == "walk_latency"
                    and dram.walk_reads or dram.reads)
            end
        end
    end
    tap.is(bad[1], nil, title .. ": what is counted")
end

check("small", {})
check("walks past the L2", { ["walk.memory"] = "dram" })
check("written through", { ["l2cache.write"] = "through" })
check("few of everything", { ["l2cache.mshrs"] = 2, ["l2cache.queue"] = 1,
    ["l2cache.merges"] = 1, ["dram.queue"] = 2, ["dram.channels"] = 1,
    ["l2cache.slices"] = 2 })
check("refresh and closed rows", { ["dram.refresh"] = true,
    ["dram.page"] = "closed", ["dram.trefi"] = 2000 })
for _, scheduler in ipairs { "hit-first", "capped", "ready-first" } do
    check(scheduler, { ["dram.scheduler"] = scheduler, ["dram.channels"] = 1 })
end
check("one channel, open rows", { ["dram.channels"] = 1,
    ["l2cache.slices"] = 1, ["dram.page"] = "open" })
check("DRAM of fixed time", { ["dram.mode"] = "fixed:100" })

tap.done()
