--- snapshot.lua - what copying and restoring a whole state costs.
--
--     heddle run bench/snapshot.lua [turns=40]
--
-- maxwell in the middle of gather (256 MB mapped) and of 3DS with BP, the
-- demo's pair with the largest arena.  A snapshot is taken into the memory of
-- an old one, then put back; buffers of the programs hold no contents.  The
-- least of `turns`, of processor time.  The larger of the two runs counts.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local least = require "least"

local arg = H.args { turns = 40 }

local RUNS = {
    { "gather", { H.trace "scenarios/data/gather.hdt" } },
    { "3DS + BP", { H.app("3DS", { size = "M" }), H.app("BP", { size = "M" }) } },
}

local take, restore, what = 0, 0, ""
for _, run in ipairs(RUNS) do
    local sim = H.sim { machine = least.machine, apps = run[2] }
    sim.core:run(20000)
    local old = sim.core:snapshot()
    local t1, t2 = math.huge, math.huge
    for _ = 1, arg.turns do
        sim.core:run(50) -- not the same state again
        local t = os.clock()
        old = sim.core:snapshot(old)
        t1 = math.min(t1, os.clock() - t)
        sim.core:run(50)
        t = os.clock()
        sim.core:restore(old)
        t2 = math.min(t2, os.clock() - t)
    end
    what = ("%s%s%s %.1f MB"):format(what, what ~= "" and ", " or "of ",
        run[1], sim.core:memory() / 2^20)
    take, restore = math.max(take, t1), math.max(restore, t2)
    sim:close()
end
least.row("snapshot", take * 1e3, "ms", what)
least.row("restore", restore * 1e3, "ms", what)
