--[[
306-core-room.lua - how many blocks a core holds by its registers.

Pinned: a block takes the registers of all lanes of its warps, a thread's rounded
up to a multiple of 4 (GPGPU-Sim's rule): the last number of a thread that leaves
room for a block more, and the first that does not.  And that an application's
kernels ask for what they state: BLK's 31 hold as many blocks as 32, and so on.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local k = require "heddle.kernel"

-- Most blocks that were on one core of `regs` registers.
local function most(app, regs)
    local settings = { ["core.count"] = 1, ["core.regs"] = regs,
        ["core.lanes"] = 32, ["core.width"] = 32, ["dram.mode"] = "off" }
    local sim = H.sim { machine = "maxwell", translation = "off",
        settings = settings, apps = { app }, policies = { {
            name = "look", state = { most = 0 },
            block_place = function(q, s)
                s.most = math.max(s.most, q.resident[1] + 1)
                return 1
            end } } }
    sim:run()
    return sim:used()[1].state.most
end

local function crowd(regs, threads)
    return H.program(k.app { name = "crowd",
        buffers = function() return { k.f32("x", 64) } end,
        kernels = function() return { k.kernel("crowd",
            { grid = 8, block = threads, regs = regs },
            function(t) t:alu(2000) end) } end })
end

for _, case in ipairs {
    { 28, 32, 4 }, { 29, 32, 4 }, { 32, 32, 4 }, { 33, 32, 3 }, { 36, 32, 3 },
    { 40, 32, 3 }, { 41, 32, 2 }, { 64, 64, 1 }, { 29, 64, 2 }, { 33, 64, 1 },
    { 32, 1, 4 }, { 33, 1, 3 }, { 32, 33, 2 }, { 0, 32, 8 },
} do
    tap.is(most(crowd(case[1], case[2]), 4096), case[3],
        ("%d registers a thread, blocks of %d threads"):format(case[1],
            case[2]))
end

-- BLK: blocks of 128 threads with 31 registers; NW: 16 threads with 47.
local function app(name, room, want)
    tap.is(most(H.app(name, { size = "T" }), room), want,
        ("%s in %d registers"):format(name, room))
end

app("BLK", 2 * 128 * 32 - 1, 1)
app("BLK", 2 * 128 * 32, 2)
app("NW", 4 * 32 * 48 - 1, 3)
app("NW", 4 * 32 * 48, 4)

tap.done()
