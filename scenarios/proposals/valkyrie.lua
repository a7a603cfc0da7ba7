--- proposals/valkyrie.lua - L1 TLBs that ask each other, and prefetch for each other.
--
-- Baruah, Sun, Mojumder, Abellan, Ukidave, Joshi, Rubin, Kim, Kaeli: Valkyrie,
-- Leveraging Inter-TLB Locality to Enhance GPU Performance, PACT 2020.  Cores touch the
-- same pages at about the same time, so what an L1 TLB lacks another one often has.  The
-- abstract: prefetching and probing together are 1.95 times as fast on average.  Its
-- machine and the sizes of both parts are not public, so the direction is scored, not
-- the size.
--
-- Machine: maxwell with its shared L2 TLB; a network of 5 cycles between L1 TLBs, rings
-- of 8 cores (guesses).
--
--     heddle run scenarios/proposals/valkyrie.lua [scale=full] [programs=ATAX,GUP]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local common = require "common"

local x = common.open("valkyrie", "L1 TLBs that ask each other", "Baruah 2020")
local machine = H.designs.sharedtlb(H.machine "maxwell")
local RING = { ["peers.latency"] = { 5, "guess: a few hops of a ring" },
    ["prefetch.queue"] = { 64, "guess: eight rings' worth" } }
local function design(name, options)
    local use = { use = H.here "../../policies/valkyrie.lua" }
    for k, v in pairs(options) do use[k] = v end
    return { name = name, use = use, settings = RING }
end
local designs = { { name = "plain" },
    design("probing", { table = 0 }),
    design("prefetching", { ask = "none" }),
    design("Valkyrie", {}),
}
x:say("alone on %d cores, size %s, %d cycles after %d of warm-up", 30, x.size,
    x.cycles, x.warmup)
local all = common.alone(x, machine, designs)
common.show(x, all, designs, {
    common.counter("asked", "peers.asked"), common.counter("hit", "peers.hit"),
    common.counter("late", "peers.late"), common.counter("refused", "peers.refused"),
    common.counter("prefetched", "prefetch.filled"),
    common.percent("useful", "tlb_prefetch_accuracy"),
    common.counter("L2 TLB requests", "mmu.requests"), common.metric("walks", "walks"),
}, { Valkyrie = { from = 0 } })
x:close()
