--- faults.lua - what oversubscribed memory costs on the host.
--
--     heddle run bench/faults.lua [only=million|ATAX|BFS2|FDTD] [faults=1000000]
--
-- faults.million  processor seconds of a run with a million far faults: warps
--                 that load 4 KB pages at random out of three times as many as
--                 memory holds, so that nearly each load faults and has a page
--                 evicted; the machine is ETC's with pages of 4 KB
-- faults.ATAX     and so on: programs that touch 1 GB, in memory for two thirds
-- faults.BFS2     of it, as ETC's baseline brings and evicts pages: 20 M warp
-- faults.FDTD     instructions, and of FDTD two time steps
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"
local least = require "least"

local arg = H.args { only = "", faults = 1000000, percent = 150 }

local TABLES = 65536

--- Runs it to its end; prints a row and what happened.
local function row(name, frames, apps, settings, budget)
    local t = os.clock()
    settings["vm.paging"] = "fault"
    settings["vm.table_frames"] = TABLES
    settings["vm.memory_bytes"] = (TABLES + frames) * 4096
    settings["sim.relaunch"] = false
    local sim <close> = H.sim { machine = "etc", apps = apps, budget = budget,
        settings = settings }
    sim:run()
    local c = sim:counters()
    least.row("faults." .. name, os.clock() - t, "s", ("%d faults, %d MB came, "
        .. "%d MB left, %.1f M warp instructions, %.1f M cycles"):format(
        c.fault.faults, c.fault.pages // 256, c.evict.pages // 256,
        sim.instructions / 1e6, sim.now / 1e6))
    return c
end

--- Loads of 4 KB pages at random, a page a warp at a time.
local function jumps(pages, loads)
    return H.program(k.app {
        name = "jumps", source = "benchmark",
        buffers = function() return { k.i32("m", pages * 1024) } end,
        kernels = function(_, b)
            return { k.kernel("jump", { grid = 512, block = 1 }, function(t)
                local x = t:var(t.gid * 2654435761 + 12345)
                t:loop(loads // 512, function()
                    x:set(x * 6364136223846793005 + 1442695040888963407)
                    t:load(b.m, x:lshr(33) % pages * 1024)
                end)
            end) }
        end,
    })
end

local runs = {
    million = function()
        -- a third of the pages is there
        local c = row("million", 16384, { jumps(49152, arg.faults * 3 // 2) },
            { ["vm.page"] = "4K", ["evict.unit"] = "4K",
                ["fault.prefetch"] = "none" })
        assert(c.fault.faults > arg.faults * 0.9, "too few faults")
    end,
}
for name, o in pairs {
    ATAX = { { nx = 16384, ny = 16384 }, 20000000 },
    BFS2 = { { n = 27000000, hi = 4, lo = 2 }, 20000000 },
    FDTD = { { nx = 9344, ny = 9344, steps = 2 } },
} do
    runs[name] = function()
        row(name, (1 << 18) * 100 // arg.percent // 16 * 16,
            { H.app(name, o[1]) }, {}, o[2])
    end
end

for _, name in ipairs { "million", "ATAX", "BFS2", "FDTD" } do
    if arg.only == "" or arg.only == name then
        runs[name]()
    end
end
