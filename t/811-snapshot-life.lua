--[[
811-snapshot-life.lua - who needs whom, in Lua.  Pinned: a snapshot can be
restored and used again after the simulation that it was taken from was closed,
collected, or closed with its applications, in whatever order they go; a
simulation runs on after the snapshot that it was set from is gone.

SPDX-License-Identifier: MIT
--]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local NAMES = { "BFS2", "GUP", "LUD" }

local function collect()
    collectgarbage()
    collectgarbage()
end

for _, name in ipairs(NAMES) do
    local straight = whole.sim { name }
    straight:run()
    local want, cut = straight:state_hash(), straight.now // 2
    straight:close()

    local function taken(close)
        local sim = whole.sim { name }
        sim:run(cut)
        local snap = sim:snapshot()
        sim:run(cut // 2)
        if close then
            sim:close()
        end
        return snap
    end

    for _, close in ipairs { true, false } do
        local title = name .. (close and ", closed" or ", collected")
        local snap = taken(close)
        collect()
        local sim = whole.sim { name }
        sim:restore(snap)
        sim:run(cut // 2)
        local again = sim:snapshot(snap)
        tap.raises(function() sim:restore(snap) end, "used up",
            title .. ": its memory was used again")
        sim:run()
        tap.is(sim:state_hash(), want, title .. ": another runs to the end")
        local third = whole.sim { name }
        third:restore(again)
        sim, snap, again = nil, nil, nil -- luacheck: ignore 311
        collect()
        third:run()
        tap.is(third:state_hash(), want, title .. ": and one from that")
        third:close()
        snap = taken(close)
        collect()
        snap = nil -- luacheck: ignore 311
        collect()
        tap.ok(true, title .. ": nothing but the snapshot is left to be freed")
    end
end

-- A workload that is closed while a simulation has it.
do
    local app = H.app("BFS2", { size = "T" })
    local straight = whole.sim { app }
    straight:run()
    local want = straight:state_hash()
    straight:close()
    local sim = whole.sim { H.app("BFS2", { size = "T" }) }
    sim:run(3000)
    local snap = sim:snapshot()
    local kept = debug.getuservalue(sim.core, 1)
    for i = 1, #kept do
        getmetatable(kept[i]).__close(kept[i])
    end
    sim:run()
    tap.is(sim:state_hash(), want, "a workload that was closed is run on")
    sim:restore(snap)
    sim:close()
    snap = nil -- luacheck: ignore 311
    collect()
    tap.raises(function() sim:run() end, "closed", "and freed with the last")
end

tap.done()
