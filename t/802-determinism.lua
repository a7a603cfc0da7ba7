-- 802-determinism.lua - pins: the same input gives the same bits: two runs in
-- two processes, and simulations interleaved in one process against apart.
-- Compared are all counters, histograms, kernel records, cycles and all state of
-- a few runs; 821-fast.lua compares them with those of another build.  Last, the
-- epochs of a policy that does nothing change nothing: no core runs ahead of one, so
-- what depended on how far cores run ahead of one another would differ.
--
-- With print=true the script prints what it measures, and tests nothing.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"

local args = H.args { print = false }

local RUNS = {
    { { "BFS2" } }, { { "GUP", "MM" }, { budget = 3000, warmup = 500 } },
    { { "BLK" } }, { { "NN" } }, { { "LUD" }, { machine = "fermi" } },
    { { whole.random(4, 8) }, { machine = "pichai" } },
    { { "3DS", "TRD" }, { settings = { ["vm.page"] = "64K" } } },
    { { "GUP" }, nil, { "policies/random.lua", "policies/mask.lua" } },
    { { "HS" }, nil, { "srrip", "lrr", "frfcfs" } },
}

local function build(r)
    local sim = whole.sim(r[1], nil, r[2])
    for _, p in ipairs(r[3] or {}) do
        sim:use(p)
    end
    return sim
end

local function result(i, sim)
    local lines = whole.statistics(sim)
    table.insert(lines, 1, ("run %d: %d cycles"):format(i, sim.now))
    return table.concat(lines, "\n"), ("state %x"):format(sim:state_hash())
end

local apart, states = {}, {}
for i, r in ipairs(RUNS) do
    local sim = build(r)
    sim:run()
    apart[i], states[i] = result(i, sim)
    sim:close()
end
local all = table.concat(apart, "\n") .. "\n"

if args.print then
    io.write(all, table.concat(states, "\n"), "\n")
    return
end

-- ---- interleaved ---------------------------------------------------------------

do
    local sims, live = {}, #RUNS
    for i, r in ipairs(RUNS) do
        sims[i] = build(r)
    end
    local ended = {}
    local turn = 0
    while live > 0 do
        for i, sim in ipairs(sims) do
            turn = turn + 1
            if not ended[i] and sim.core:run(1 + turn * 37 % 613) ~= "ok" then
                ended[i] = true
                live = live - 1
            end
        end
    end
    for i, sim in ipairs(sims) do
        local got, state = result(i, sim)
        tap.ok(got == apart[i] and state == states[i],
            ("run %d, interleaved with the others"):format(i), got)
        sim:close()
    end
end

-- ---- with epochs that do nothing ------------------------------------------------

for _, cycles in ipairs { 777, 1000 } do
    for _, paging in ipairs { "none", "fault" } do
        local got = {}
        for i = 1, 2 do
            local sim = whole.sim({ "GUP", "BFS2" },
                whole.join(whole.SMALL, { ["vm.paging"] = paging }))
            if i == 2 then
                sim:use { name = "idle", every = { cycles, function() end } }
            end
            sim:run()
            got[i] = whole.statistics(sim, function(component)
                return component == "policy"
            end)
            sim:close()
        end
        local d = whole.difference(got[1], got[2])
        tap.ok(#got[1] > 1000 and d == nil,
            ("epochs of %d cycles, vm.paging=%s"):format(cycles, paging), d)
    end
end

-- ---- another process ----------------------------------------------------------------

--- The first line in which two texts differ.
local function first(a, b)
    local theirs = b:gmatch("[^\n]*")
    for line in a:gmatch("[^\n]*") do
        local other = theirs()
        if line ~= other then
            return line .. "\n" .. tostring(other)
        end
    end
end

local again = files.output(files.HEDDLE .. " run t/802-determinism.lua print=true")
tap.ok(again == all .. table.concat(states, "\n") .. "\n",
    "another process, state and all", first(all, again))

tap.done()
