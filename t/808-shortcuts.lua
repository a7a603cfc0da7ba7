-- 808-shortcuts.lua - pins: what the engine does in one go is what it does
-- step by step.  With --check every line takes the long way through the
-- load/store unit, and the L2 keeps its books; without it lines that hit are
-- served in a row.  Cycles, counters and histograms are the same, byte for
-- byte, with ports of one and of several look-ups a cycle, few MSHRs, a TLB
-- that thrashes, misses under misses and not, caches looked up beside and after
-- it, LRR and policies.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local json = require "heddle.json"

local WORK = {
    { "columns", function() return { whole.column(32, 16, "load", 32) } end },
    { "ATAX", function() return { "ATAX" } end },
    { "GUP", function() return { "GUP" } end },
    { "BFS2 + CONS", function() return { "BFS2", "CONS" } end },
}

local SETTINGS = {
    {},
    { ["l1cache.ports"] = 2, ["l1tlb.ports"] = 3 },
    { ["l1tlb.entries"] = 4, ["l1tlb.mshrs"] = 2, ["l1cache.mshrs"] = 2 },
    { ["l1cache.order"] = "after", ["l1tlb.latency"] = 3,
        ["core.scheduler"] = "lrr" },
    { ["l1tlb.ports"] = 1, ["l1cache.ports"] = 4, ["vm.page"] = "64K" },
}

local function run(apps, settings, check)
    local sim = whole.sim(apps, settings, { check = check })
    local why = sim:run(400000)
    local r = sim:results()
    local out = json.encode { sim.now, r.counters, r.histograms, r.apps }
    sim:close()
    return out, why
end

for _, work in ipairs(WORK) do
    for i, settings in ipairs(SETTINGS) do
        for _, under in ipairs { "hits", "none" } do
            settings["l1tlb.blocking"] = under
            local a = run(work[2](), settings, false)
            local b = run(work[2](), settings, true)
            tap.ok(a == b, ("%s, settings %d, blocking %s"):format(work[1], i,
                under))
        end
    end
end

tap.done()
