--- proposals/shortest_walks.lua - which walk a free walker takes: first come, first
-- served, or the instruction with the fewest walks first and its walks together.
--
-- Shin, Cox, Oskin, Loh, Solihin, Bhattacharjee, Basu: Scheduling Page Table Walks for
-- Irregular GPU Applications, ISCA 2018.  The abstract: irregular applications gain
-- 30 % on average by both rules.  Their machine is an integrated GPU whose IOMMU has
-- few walkers; the numbers of its table could not be read, so the size is not scored.
-- Here: maxwell with a shared L2 TLB, and 8 walkers, without which nothing waits that
-- could be ordered; 64, the preset's own, stand beside.
--
--     heddle run scenarios/proposals/shortest_walks.lua [scale=full] [programs=BFS2]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local common = require "common"

local x = common.open("shortest_walks", "Walks ordered by instruction", "Shin 2018")
local FEW = { ["walk.walkers"] = { 8, "guess: few, as in an IOMMU" } }
local MANY = { ["walk.walkers"] = { 64, "MASK" } }
local machine = H.designs.sharedtlb(H.machine "maxwell")
local function designs(settings)
    return {
        { name = "first come", settings = settings },
        { name = "shortest", settings = settings,
            use = { use = "shortest_walks", together = "no" } },
        { name = "shortest, together", settings = settings,
            use = { use = "shortest_walks" } },
        { name = "newest", settings = settings, use = { use = { name = "newest",
            source = "the other end", walk_pick = function(q) return q.n end } } },
    }
end
x:say("alone on %d cores, size %s, %d cycles after %d of warm-up, 8 walkers", 30,
    x.size, x.cycles, x.warmup)
local columns = {
    common.metric("walks", "walks"), common.metric("waits, cycles", "walk_wait_cycles"),
    common.metric("walk, cycles", "walk_latency"),
    common.metric("walks at once", "concurrent_walks"),
    common.percent("time waiting for walks", "time_walk"),
}
local few = designs(FEW)
local all = common.alone(x, machine, few)
common.show(x, all, few, columns, { ["shortest, together"] = {
    paper = 30, shown = true } })
if x.full then
    local many = designs(MANY)
    local r = common.alone(x, machine, many)
    local product = 1
    for _, name in ipairs(x.programs) do
        product = product * common.speed(r, name, "shortest, together", "first come")
    end
    x:quantity { "shortest, together over first come, 64 walkers", unit = "%",
        kind = "gain", heddle = 100 * (product ^ (1 / #x.programs) - 1) }
end
x:close()
