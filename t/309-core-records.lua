-- 309-core-records.lua - pins: launches past the 96 that are recorded are added
-- to the last record of their name, of their own application; one whose name
-- has no record is not recorded, and the whole counts it.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local H = require "heddle"

local ROOM = 96
local N = { x = 5, y = 9, z = 17 } -- instructions of a warp, but for its exit

--- Launches of kernels by these names, one warp each.
local function program(name, list)
    return H.program(kernel.app { name = name,
        buffers = function() return { kernel.i32("a", 32) } end,
        kernels = function()
            local of, out = {}, {}
            for i, k in ipairs(list) do
                of[k] = of[k] or kernel.kernel(k, { block = 32 }, function(t)
                    t:alu(N[k])
                end)
                out[i] = of[k]
            end
            return out
        end })
end

local list = {}
for i = 1, ROOM do
    list[i] = i % 2 == 1 and "x" or "y"
end
for _, k in ipairs { "x", "z", "y", "x" } do
    list[#list + 1] = k
end

local sim <close> = whole.sim({ program("many", list) },
    whole.join(whole.SMALL, { ["sim.relaunch"] = false }))
tap.is(sim:run(), "done", "a hundred launches")
local kernels = sim.core:kernels()
tap.is(#kernels, ROOM, "so many records")
local one = { x = kernels[1].instructions, y = kernels[2].instructions }
tap.is(one.y - one.x, N.y - N.x, "instructions of one launch")
local bad
for i, k in ipairs(kernels) do
    local times = i == ROOM - 1 and 3 or i == ROOM and 2 or 1
    if k.name ~= list[i] or k.launches ~= times
        or k.instructions ~= times * one[list[i]] or k.blocks ~= times
        or k.cycles < (times - 1) * kernels[3].cycles
        or times == 1 and k.cycles ~= k["end"] - k.start then
        bad = ("record %d: %s, %d launches, %d instructions"):format(i, k.name,
            k.launches, k.instructions)
    end
end
tap.is(bad, nil, "three more of x and two of y are in the last of their names")
local all = 0
for _, k in ipairs(kernels) do
    all = all + k.instructions
end
tap.is(sim:counters().core.instructions - all, one.x + N.z - N.x,
    "z has no record, and is counted")

-- Two applications: each has records of its own.
local two <close> = whole.sim({ program("one", list), program("other", list) },
    whole.join(whole.SMALL, { ["sim.relaunch"] = false }))
two:run()
local launches = { 0, 0 }
for _, k in ipairs(two.core:kernels()) do
    launches[k.app + 1] = launches[k.app + 1] + k.launches
end
tap.same(launches, { #list - 1, #list - 1 },
    "all launches of two applications but z's are in records of their own")

tap.done()
