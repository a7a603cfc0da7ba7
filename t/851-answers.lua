-- 851-answers.lua - pins: a policy that answers every point at random, within
-- the rules, breaks nothing: the run ends under sim.check, every translation
-- is the page table's, nothing is lost, and it is the same after a snapshot
-- and restore and in pieces.  The policies' random numbers are their state.
-- With seed= and n= it looks further.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local dice = require "lib.dice"
local whole = require "lib.whole"
local H = require "heddle"

local args = H.args { seed = 1, n = 9 }

local LOADS = {
    { "GUP", "MM" }, { "BFS2" }, { "HS" }, { whole.random(4, 4, 4), "TRD" },
    { whole.column(4, 8, "store", 32) }, { whole.freer(700, 24) },
}

local SETTINGS = {
    whole.join(whole.SMALL, { ["walk.walkers"] = 1, ["l1tlb.entries"] = 2,
        ["l2tlb.entries"] = 16, ["l1side.entries"] = 2, ["peers.latency"] = 9,
        ["walktable.bytes"] = 8192, ["groups.most"] = 5 }),
    whole.join(whole.SMALL, { ["bypass.entries"] = 4, ["pwc.mode"] = "full",
        ["pwc.style"] = "prefix", ["pwc.entries"] = 8, ["pwc.ways"] = 2,
        ["walk.walkers"] = 1 }),
    whole.join(whole.SMALL, { ["walk.walkers"] = 1, ["dram.queue"] = 4,
        ["l1cache.write"] = "back", ["pwc.mode"] = "full",
        ["core.compact"] = true }),
    whole.join(whole.SMALL, { ["walk.per_core"] = true,
        ["walk.walkers"] = 1, ["walk.batch"] = 8, ["l1tlb.overlap"] = "off",
        ["l1tlb.blocking"] = "full", ["dram.page"] = "closed",
        ["walktable.bytes"] = 65536, ["groups.most"] = 9, ["groups.l1"] = 9,
        ["compress.enable"] = true }),
    whole.join(whole.SMALL, { ["vm.paging"] = "fault",
        ["link.latency"] = 1500, ["vm.page"] = "64K", ["evict.unit"] = "64K",
        ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 1960,
        ["fault.thrashing"] = "refault", ["groups.most"] = 9, ["groups.l1"] = 2 }),
}

local bad, points = {}, {}
for i = 1, args.n do
    local seed = args.seed * 1000 + i
    local names = LOADS[i % #LOADS + 1]
    local settings = whole.join(SETTINGS[i % #SETTINGS + 1],
        { ["sim.stuck_cycles"] = 1000000, ["sim.seed"] = seed })
    -- Every other time without the schedulers, which slow everything down.
    local skip = i % 2 == 0 and { warp_limit = true, warp_pick = true } or {}
    -- Of 4 KB pages, or none coalesce; a larger one may never find a place.
    skip.page_size = names == LOADS[#LOADS]
        or settings["vm.memory_bytes"] ~= nil
    local ok, err = pcall(function()
        local sim <close> = whole.sim(names, settings, { check = true })
        sim:use(dice(seed, skip))
        local word, snap = sim:run(1 + seed * 37 % 2000), nil
        if word == "ok" then
            snap = sim:snapshot()
            word = sim:run()
        end
        assert(word == "done", word)
        sim:check()
        for name, v in pairs(sim:counters().policy) do
            points[name] = (points[name] or 0) + v
        end
        local d = snap and whole.again(sim, snap, 993)
        assert(not d, "another end after the restore:\n" .. tostring(d))
    end)
    if not ok then
        bad[#bad + 1] = ("run %d of seed %d, %s: %s"):format(i, args.seed,
            tostring(names[1]), tostring(type(err) == "table" and err.message
            or err))
    end
end
tap.ok(#bad == 0, args.n .. " runs with dice for a policy", table.concat(bad,
    "\n"))
local silent = {}
for _, p in ipairs(require("heddle.core").points()) do
    if points[p.name .. ".asked"] == 0 then
        silent[#silent + 1] = p.name
    end
end
tap.ok(#silent == 0, "every point was asked", table.concat(silent, " "))

return tap.done()
