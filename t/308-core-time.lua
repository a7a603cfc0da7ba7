-- 308-core-time.lua - pins: the time of a core's warps is counted wherever a run
-- is looked at, in the middle of everything: what they wait for sums to the time
-- of all warps.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local H = require "heddle"

local N = 8 * 96

--- Loads, stores, arithmetic, shared memory and barriers in three warps a block.
local function program()
    return H.program(kernel.app { name = "waits",
        buffers = function() return { kernel.i32("a", 1 << 20) } end,
        kernels = function(_, b) return {
            kernel.kernel("waits", { grid = 8, block = 96 }, function(t)
                local warp = t.gid // 32
                t:alu(9)
                t:load(b.a, t.gid * 33 % (1 << 20))
                t:when((warp % 3):eq(0), function() t:alu(60) end)
                t:sync()
                t:store(b.a, t.gid * 1031 % (1 << 20), warp)
                t:load(b.a, t.gid + N)
                t:alu(2)
                t:sync()
                t:atomic("add", b.a, t.gid % 5)
            end) } end })
end

local CORES, WARPS = 2, 16
local sim <close> = whole.sim({ program() }, whole.join(whole.SMALL, {
    ["core.count"] = CORES, ["core.warps"] = WARPS, ["core.queue"] = 1,
    ["sim.relaunch"] = false }))
local whole_time = CORES * WARPS * sim.core:ticks()
local last, off
repeat
    local state, sum = sim:run(7), 0
    last = sim:counters().core
    for name, v in pairs(last) do
        sum = sum + (name:find "^time_" and v or 0)
    end
    if state ~= "done" and sum ~= sim.now * whole_time then
        off = off or ("%d at %d"):format(sum - sim.now * whole_time, sim.now)
    end
until state == "done"
tap.is(off, nil, "every 7 cycles it sums to the time of all warps")
for _, what in ipairs { "issue", "ready", "alu", "lsu", "tlb", "walk", "data",
    "barrier", "idle" } do
    tap.ok(last["time_" .. what] > 0, "there was " .. what)
end

tap.done()
