-- 850-settings.lua - pins: whatever the settings, a run comes to its end under
-- sim.check, the same when it is cut by a snapshot, restored and run on in
-- pieces.  Settings and workloads are drawn from a seed; those that contradict
-- one another are refused before cycle 0, in words.  With seed= and n= it
-- looks further: heddle run t/850-settings.lua seed=7 n=500
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local args = H.args { seed = 2, n = 60 }

local x = args.seed * 7919 + 1

local function random(n)
    x = x * 6364136223846793005 + 1442695040888963407
    return (x >> 33) % n
end

local function pick(list)
    return list[random(#list) + 1]
end

local DRAWN = {
    { "clock.core", 1020000000, 1300000000 },
    { "clock.l2", 1020000000, 650000000 },
    { "sim.translation", "full", "full", "full", "full", "off" },
    { "core.count", 2, 3, 7 }, { "core.lanes", 32, 64 },
    { "core.width", 1, 8, 32 }, { "core.issue", 1, 2, 4 },
    { "core.alu_latency", 1, 9, 30 }, { "core.ilp", 0, 1, 2, 7 },
    { "core.scheduler", "gto", "lrr" }, { "core.subcores", 1, 2, 4 },
    { "core.classes", false, false, true }, { "core.atomics", "line", "word" },
    { "core.exit", "issue", "stores" }, { "l1cache.allocate", "fill" },
    { "core.int_latency", 1, 4, 300 }, { "core.int_interval", 1, 2, 9 },
    { "core.memory_interval", 1, 16 }, { "shared.latency", 1, 30 },
    { "core.warps", 16, 17, 20, 64 }, { "core.blocks", 1, 2, 16 },
    { "core.queue", 1, 2, 8, 64 }, { "core.parked", 64, 65, 2048 },
    { "l1tlb.mode", "full", "full", "full", "off", "ideal", "fixed:7" },
    { "l1tlb.entries", 1, 2, 16, 64 }, { "l1tlb.ports", 1, 2, 4 },
    { "l1tlb.latency", 0, 1, 5 }, { "l1tlb.mshrs", 1, 2, 32 },
    { "l1tlb.blocking", "none", "hits", "full" },
    { "l1tlb.large_entries", 0, 1, 4 }, { "l1tlb.ranges", false, false, true },
    { "l1tlb.merge_pages", 4, 16 }, { "l2tlb.group_index", true, false },
    { "l1cache.mode", "full", "full", "full", "off", "ideal", "fixed:3" },
    { "l1cache.bytes", 512, 4096, 16384 }, { "l1cache.ways", 1, 2, 4 },
    { "l1cache.latency", 0, 1, 20 }, { "l1cache.ports", 1, 2 },
    { "l1cache.mshrs", 1, 2, 64 }, { "l1cache.merges", 1, 2, 16 },
    { "l1cache.write", "evict", "through", "back" },
    { "l1cache.order", "beside", "after", "after", "virtual" }, { "l1cache.stores", 1, 2, 32 },
    { "xbar.latency", 0, 1, 8, 50 }, { "xbar.bytes", 1, 8, 32, 256 },
    { "l2tlb.mode", "full", "full", "full", "off", "ideal", "fixed:7" },
    { "l2tlb.entries", 16, 32, 512 }, { "l2tlb.ways", 0, 1, 16 },
    { "l2tlb.ports", 1, 2 }, { "l2tlb.latency", 0, 1, 10 },
    { "l2tlb.mshrs", 1, 2, 256 }, { "l2tlb.large_entries", 0, 2, 16 },
    { "l2tlb.serial", true, false }, { "bypass.entries", 0, 1, 32 },
    { "utlb1.entries", 0, 0, 0, 1, 4 }, { "utlb1.share", 1, 2 },
    { "utlb1.mshrs", 1, 2, 64 }, { "utlb1.sub_4k", 1, 4, 0 },
    { "utlb1.latency", 0, 1, 9 }, { "utlb1.ports", 1, 3 },
    { "utlb2.entries", 0, 0, 0, 4, 16 }, { "utlb2.share", 2, 4 },
    { "utlb2.ways", 0, 2 },
    { "utlb2.mshrs", 1, 2, 64 }, { "utlb2.sub_4k", 1, 16 },
    { "utlb2.fill", "page", "line" }, { "utlb2.replace", "lru", "fifo" },
    { "utlb3.entries", 0, 0, 0, 4, 64 }, { "utlb3.share", 4, 0, 0 },
    { "utlb3.mshrs", 1, 64 }, { "utlb3.sub_4k", 2, 32 },
    { "utlb3.sub_2m", 0, 16 }, { "utlb3.replace", "lru", "random" },
    { "utlb3.fill", "page", "line" },
    { "walk.mode", "full", "full", "fixed:9", "ideal" },
    { "walk.walkers", 1, 2, 64 }, { "walk.queue", 1, 3, 256 },
    { "walk.per_core", false, false, true }, { "walk.latency", 0, 1, 10 },
    { "walk.memory_latency", 0, 1, 3, 50 },
    { "walk.port", "own", "own", "core" },
    { "pwc.mode", "off", "full", "full", "ideal", "fixed:3" },
    { "pwc.style", "physical", "prefix" }, { "pwc.entries", 2, 16, 1024 },
    { "pwc.ways", 0, 1, 2 }, { "pwc.latency", 0, 1, 10 },
    { "pwc.ports", 1, 4 }, { "pwc.line", 8, 64, 128 },
    { "l2cache.mode", "full", "full", "full", "off", "ideal", "fixed:30" },
    { "l2cache.bytes", 65536, 2097152 }, { "l2cache.ways", 1, 4, 16 },
    { "l2cache.latency", 0, 1, 10 }, { "l2cache.queue_latency", 0, 1, 85 },
    { "l2cache.ports", 1, 2 },
    { "l2cache.mshrs", 1, 2, 64 }, { "l2cache.merges", 1, 2, 32 },
    { "l2cache.write", "back", "through", "evict" },
    { "l2cache.slices", 24, 48, 20 }, { "l2cache.halves", 1, 1, 2 },
    { "l2cache.far_latency", 0, 50 }, { "l2cache.queue", 1, 2, 16 },
    { "dram.mode", "full", "full", "full", "ideal", "fixed:20", "off" },
    { "dram.channels", 1, 2, 3, 6 }, { "dram.banks", 4, 8, 16 },
    { "dram.groups", 1, 2, 4 }, { "dram.map", "A", "B" },
    { "dram.scheduler", "hit-first", "capped", "ready-first" },
    { "dram.page", "open", "closed" }, { "dram.refresh", true, false },
    { "dram.trefi", 500, 6529 }, { "dram.queue", 1, 2, 192 },
    { "dram.tfaw", 0, 30 }, { "vm.page", "4K", "64K", "2M" },
    { "vm.entry_bytes", 8, 8, 8, 64, 128 },
    { "vm.format", "x86-64", "x86-64", "x86-64", "x86-64", "x86-64", "x86-64",
        "volta", "hopper" },
    { "vm.round", true, false }, { "vm.memory_bytes", 3 << 30, 1 << 30 },
    { "vm.paging", "none", "none", "launch", "fault", "fault" },
    { "memory.fragment_index", 0, 0, 30, 100 },
    { "memory.fragment_occupancy", 0, 10, 50 },
    { "memory.hog", 0, 0, 40 }, { "memory.hog_torn", 0, 0, 9 },
    { "memory.hog_kept", 1, 5, 100 }, { "vm.scan", true, false },
    { "memory.shootdown_l1", 0, 15, 3000 },
    { "memory.shootdown_l2", 0, 200, 9000 }, { "memory.move_window", 1, 64 },
    { "memory.move", "owner", "any" },
    { "memory.bulk_ns", 0, 80, 5000 },
    { "memory.setup_traffic", true, false },
    { "memory.free_at_end", true, false }, { "fault.batch", 1, 3, 256 },
    { "fault.serial", true, false }, { "fault.transfer", "page", "2M" },
    { "fault.replay", "batch", "page" }, { "link.latency", 0, 100, 5000 },
    { "link.bandwidth", 1000000000, 16000000000 },
    { "clock.link", 1020000000, 500000000 },
    { "dram.queues", "shared", "apart" }, { "dram.queue_silver", 0, 1, 64 },
    { "dram.queue_golden", 0, 1, 16 }, { "dram.golden", "fifo", "banks" },
    { "dram.turn_idle", 1, 100, 100000 },
    { "dram.partition", true, false, false },
    { "l2cache.partition", true, false, false },
    { "core.limit_cycles", 1, 100, 1000 }, { "sim.warmup", 0, 500 },
    { "dram.channel_hash", "none", "none", "xor" },
    { "l2cache.slice_hash", "none", "xor" },
    { "l2cache.set_hash", "none", "xor" },
    { "dram.bank_hash", "none", "xor", "ipoly" }, { "dram.latency", 0, 1, 100 },
}

-- Bound beside the settings; nobody picks victims among ways shared out.
local POLICIES = {
    {}, {}, {}, { "mask" }, { "mosaic" }, { "mask", "mosaic" }, { "lrr" },
    { "frfcfs" }, { "policies/mask.lua" }, { "policies/mosaic.lua" },
    { "policies/mask-asked.lua" }, { "policies/gto.lua" },
    { "runs" }, { { use = "buddy", defrag = "hog" } }, { "colt" },
    { { use = "policies/colt.lua", full = 1 } },
    { { use = "policies/buddy.lua", defrag = "all" } },
    { { use = "srrip", at = "l1cache" }, { use = "fifo", at = "l1tlb" } },
}

local LOADS = {
    { "GUP" }, { "BFS2" }, { "HS" }, { "MM" }, { "3DS", "GUP" }, { "TRD" },
    { "LUD" }, { "FWT" }, { "RED", "BP" },
    { whole.column(4, 8, "store", 32) }, { whole.column(4, 8, "atomic", 32) },
    { whole.random(4, 4), "MM" },
}

local function draw(i)
    local out = { ["sim.stuck_cycles"] = 2000000, ["sim.stop_cycles"] = 3000000,
        ["sim.seed"] = i }
    for _, d in ipairs(DRAWN) do
        local value = d[random(#d - 1) + 2]
        if random(3) > 0 or d[1] == "l2cache.slices" then
            out[d[1]] = value
        end
    end
    return out
end

--- Runs it, and a part of it again.
local function try(names, settings, policies, cut)
    local sim <close> = whole.sim(names, settings,
        { check = true, policies = policies })
    whole.split(sim, cut)
end

-- Of three draws one is meant to run; the more settings there are, the fewer fit.
local ran, refused, bad, i = 0, 0, {}, 0
local wanted = args.n // 3
while ran < wanted and i < 4 * args.n do
    i = i + 1
    local settings, names, policies = draw(i), pick(LOADS), pick(POLICIES)
    local ok, err = pcall(try, names, settings, policies, random(3000) + 1)
    if ok then
        ran = ran + 1
    elseif type(err) == "table" and (err.code == -3
        or err.message:find("^out of frames")
        or err.message:find("never asks", 1, true)
        or err.message:find("tokens say who", 1, true)) then
        refused = refused + 1
    else
        local text = {}
        for _, d in ipairs(DRAWN) do
            if settings[d[1]] ~= nil then
                text[#text + 1] = ("%s=%s"):format(d[1],
                    tostring(settings[d[1]]))
            end
        end
        bad[#bad + 1] = ("run %d of seed %d: %s\n%s\n%s"):format(i, args.seed,
            tostring(type(err) == "table" and err.message or err),
            table.concat(text, " "), tostring(names[1]) .. " " .. tostring(policies[1]))
    end
end
tap.ok(#bad == 0, ("%d machines ran, %d were refused"):format(ran, refused),
    table.concat(bad, "\n"))
tap.ok(ran + #bad >= wanted, "enough of them ran", ran)

tap.done()
