--- halves.lua - an L2 of two halves: what one core reads at random.
--
-- One thread follows a chain through all lines of a buffer, twice; the mean of
-- the second time, by the buffer's size.  The L2 is an A100's, 2 x 20 MB in 80
-- slices, divided by `scale`; a near hit takes 206 cycles, a far one 400, DRAM 419
-- in its own half.  The first two were measured (RRZE-HPC/gpu-benches 1038c5d,
-- gpu-latency; yqg9651/cuda_test dade57b); the third is inferred: far from 40 MB up
-- RRZE has 514, half of which are loads by the far path, 190 cycles longer.
-- Beside it is what RRZE measured on an A100 of 80 GB; nothing else was chosen for
-- it.  Its pages are scattered, so its steps are rounder than these.
--
--     heddle run scenarios/characterise/halves.lua [scale=8] [copies=true]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"

local arg = H.args {
    scale = 8,       -- the L2 and the buffers are so many times smaller
    copies = "true", -- l2cache.far_copies
}

-- MB, cycles: RRZE's rows next to these sizes.
local MEASURED = { { 9, 205.8 }, { 17, 205.4 }, { 19, 206.6 }, { 23, 376.8 },
    { 26, 397.2 }, { 30, 405.9 }, { 34, 406.9 }, { 38, 397.2 }, { 47, 514.4 },
    { 55, 507.7 } }

local SETTINGS = {
    ["clock.core"] = 1410000000, ["clock.l2"] = 1410000000, ["sim.translation"] = "off",
    ["l1cache.mode"] = "off", ["core.count"] = 4, ["sim.relaunch"] = false,
    ["xbar.latency"] = 92, ["l2cache.latency"] = 9, ["dram.latency"] = 192,
    ["l2cache.bytes"] = (40 << 20) // arg.scale, ["l2cache.ways"] = 16,
    ["l2cache.slices"] = 80, ["dram.channels"] = 40,
    ["dram.channel_hash"] = "ipoly", ["l2cache.slice_hash"] = "ipoly",
    ["l2cache.set_hash"] = "ipoly",
    ["l2cache.halves"] = 2, ["l2cache.far_latency"] = 92,
    ["l2cache.far_copies"] = arg.copies == "true",
}

local function chase(bytes)
    local n = bytes // 128 // 2 * 2
    local stride = n * 3 // 8 | 1 -- odd, and made prime to n
    while (function(a, b)
        while b ~= 0 do
            a, b = b, a % b
        end
        return a
    end)(n, stride) ~= 1 do
        stride = stride + 2
    end
    local app = H.program(k.app { name = "chase", source = "this script",
        buffers = function() return { k.i32("m", n * 32) } end,
        kernels = function(_, b)
            local once = k.kernel("once", { grid = 1, block = 1 }, function(t)
                local x = t:var(0)
                t:loop(n, function()
                    t:load(b.m, x * 32)
                    t:alu(1) -- waits for it
                    x:set((x + stride) % n)
                end)
            end)
            return { once, once }
        end })
    local sim <close> = H.sim { machine = H.machine(), settings = SETTINGS,
        progress = false, apps = { app } }
    sim:run()
    local last = sim:results().kernels[2]
    return (last.cycles) / n, sim:counters().l2half, n
end

local rows = { { "MB", "cycles", "A100", "ratio", "near copies", "far" } }
for _, m in ipairs(MEASURED) do
    local cycles, c, n = chase(m[1] * (1 << 20) // arg.scale)
    rows[#rows + 1] = { m[1], ("%.0f"):format(cycles), m[2],
        ("%.2f"):format(cycles / m[2]), ("%.2f"):format(c.near_hits / n),
        ("%.2f"):format(c.far_reads / n) }
end
io.write(H.report.table(rows))
