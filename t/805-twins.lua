-- 805-twins.lua - pins: on whole runs every policy that exists in C and in Lua
-- gives byte-identical statistics: lru, fifo, random and srrip at each kind of
-- structure, gto, lrr and frfcfs; lru, gto, lrr and frfcfs are what the engine
-- does by itself; the policies are not all the same; and where nobody is bound
-- nothing is asked.  (550-policy-machine.lua has the same for one pair of
-- applications and policies everywhere at once.)
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

-- Two launches of walks along columns and jumps: every structure replaces.
local function load()
    return { "BFS2", whole.random(4, 8, 4) }
end

local function run(policy, options, extra, skip)
    local sim = whole.sim(load(), whole.join(whole.SMALL, extra or {}))
    if policy then
        sim:use(policy, options)
    end
    sim:run()
    local out = whole.statistics(sim, skip)
    out[#out + 1] = "cycles " .. sim.now
    local counters = sim:counters()
    sim:close()
    return out, counters
end

local plain, counters = run(nil, nil, nil, whole.no_policy)
do
    local asked = 0
    for _, v in pairs(counters.policy) do
        asked = asked + v
    end
    tap.is(asked, 0, "nobody is bound, nothing is asked")
    local n = 0
    for _ in pairs(counters.policy) do
        n = n + 1
    end
    tap.is(n, 2 * #require("heddle.core").points(),
        "every point has its counters")
end

local different = {}

local function twin(name, options, extra, points)
    local title = name .. (options and " at " .. options.at or "")
    local c, count = run(name, options, extra)
    local lua = run("policies/" .. name .. ".lua", options, extra)
    tap.ok(not whole.difference(c, lua), title .. ": C and Lua alike",
        whole.difference(c, lua))
    for _, p in ipairs(points) do
        if count.policy[p .. ".asked"] < 20 then
            tap.ok(false, ("%s: %s was asked %d times"):format(title, p,
                count.policy[p .. ".asked"]))
        end
    end
    local base = extra and run(nil, nil, extra, whole.no_policy) or plain
    local d = whole.difference(base, (run(name, options, extra, whole.no_policy)))
    different[title] = d
    return title
end

local changed = 0
for _, at in ipairs { "l1tlb", "l2tlb", "l1cache", "l2cache" } do
    for _, name in ipairs { "lru", "fifo", "random", "srrip" } do
        local title = twin(name, { at = at }, nil, { "repl_victim" })
        if name == "lru" then
            tap.ok(not different[title], title .. " is the engine's own",
                different[title])
        else
            changed = changed + (different[title] and 1 or 0)
        end
    end
end
tap.ok(changed >= 10, "the others are not the engine's own", changed
    .. " of 12 differ from it")

for _, case in ipairs {
    { "gto", {} }, { "lrr", { ["core.scheduler"] = "lrr" } },
    { "frfcfs", {} }, { "frfcfs", { ["dram.page"] = "closed" } },
} do
    local title = twin(case[1], nil, case[2],
        { case[1] == "frfcfs" and "dram_pick" or "warp_pick" })
    tap.ok(not different[title], title .. " is the engine's own",
        different[title])
end
tap.ok(twin("lrr", nil, nil, { "warp_pick" }) and different.lrr,
    "lrr is not gto")
tap.ok(twin("gto", nil, { ["core.scheduler"] = "lrr" }, { "warp_pick" })
    and different.gto, "gto is not lrr")

tap.done()
