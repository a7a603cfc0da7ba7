--- proposals/depot.lua - translations that come back after an eviction are protected.
--
-- Anik, Jung, Ryoo, Lee: Dead on Arrival, Characterizing and Protecting Against
-- Dead-Entry TLB Misses in GPU Microarchitectures, 2026 (arXiv 2606.00486).  Many misses
-- of the L2 TLB are for what it has just evicted; DEPOT, a Bloom filter of 1 KB, keeps
-- such an entry from being evicted again at once.  The abstract: up to 72 % more
-- instructions a cycle where applications' own accesses interfere, no loss elsewhere.
-- How long an entry is protected, and when the filter is emptied, is not public: both
-- are guesses, so only the direction is scored.
--
-- Machine: maxwell with its shared L2 TLB.
--
--     heddle run scenarios/proposals/depot.lua [scale=full] [programs=ATAX,GUP]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local common = require "common"

local x = common.open("depot", "Entries that come back are protected", "Anik 2026")
local machine = H.designs.sharedtlb(H.machine "maxwell")
local designs = { { name = "LRU" },
    { name = "SRRIP", use = { use = "srrip", at = "l2tlb" } },
    { name = "DEPOT", use = { use = H.here "../../policies/depot.lua", at = "l2tlb" } },
}
x:say("alone on %d cores, size %s, %d cycles after %d of warm-up", 30, x.size,
    x.cycles, x.warmup)
local all = common.alone(x, machine, designs)
common.show(x, all, designs, {
    common.metric("walks", "walks"), common.metric("waits, cycles", "walk_wait_cycles"),
    common.counter("filled", "l2tlb.fills"),
    common.counter("came back", "policy.depot.dead"),
    common.counter("others evicted", "policy.depot.saved"),
}, { DEPOT = { from = 0 } })
x:close()
