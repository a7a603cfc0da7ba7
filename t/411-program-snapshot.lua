--[[
411-program-snapshot.lua - kernel programs inside a whole simulation: a search
with a host and contents (BFS2) beside random atomics (GUP), the first to
finish relaunched.

Pinned: a run with a snapshot in the middle, to the end, back, and to the end
again gives the state of the straight run, bit for bit; so do steps of 37
cycles; a snapshot stays good after others were taken.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"

local function simulation()
    return H.sim { machine = "maxwell", apps = {
        H.app("bfs2", { size = "T" }), H.app("gup", { size = "T" }) } }
end

local straight = simulation()
straight:run()
local now, hash = straight.now, straight:state_hash()
tap.ok(now > 5000, "the run is long enough to be cut", now)

local s = simulation()
s:step(1500)
local early, middle = s:snapshot(), s:state_hash()
s:step(4000)
local late = s:snapshot()
s:run()
tap.is(s.now, now, "snapshots change nothing")
tap.is(s:state_hash(), hash, "in any state")
for i = 1, 2 do
    s:restore(early)
    tap.is(s:state_hash(), middle, "restored, round " .. i)
    s:run()
    tap.is(s:state_hash(), hash, "and run again, round " .. i)
end
s:restore(late)
s:run()
tap.is(s:state_hash(), hash, "from the later one")

local steps = simulation()
while steps.now + 37 <= now do steps:step(37) end
steps:run()
tap.is(steps:state_hash(), hash, "in steps of 37 cycles")

return tap.done()
