--- uvm/deadlock.lua - faults that wait for their own eviction.
--
-- A page that a fault has migrated stays until the requests that waited for it
-- are served, and in batches that is when all of the batch has come.  So a batch
-- that needs more pages than memory has waits for room that only its own end
-- could make: a deadlock, of which users of the driver have reports, too.  heddle
-- says so in words as soon as nothing can change it any more, and stops.
--
-- 32 lanes of each of some warps touch a page each.  For each size of a batch the
-- least memory in which the run comes to its end is sought; below it stands what
-- is said.
--
--     heddle run scenarios/uvm/deadlock.lua
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"
local experiment = require "heddle.experiment"

local arg = H.args(experiment.args {})
local x = experiment.open { name = "uvm/deadlock",
    source = "beyond ETC (ASPLOS 2019), section 4.1",
    title = "the least memory for a batch of faults", arg = arg }

local WARPS = 4
x:say("%d warps whose 32 lanes touch a page of 4 KB each, 4 KB evicted at once",
    WARPS)
local scatter = k.app {
    name = "scatter", source = "this scenario",
    buffers = function() return { k.i32("m", WARPS * 32 * 1024) } end,
    kernels = function(_, b)
        return { k.kernel("touch", { grid = WARPS, block = 32 }, function(t)
            local v = t:load(b.m, t.gid * 1024)
            t:alu(1, { uses = { v } })
        end) }
    end,
}

--- Whether it ends with so many frames of 4 KB; what is said if not.
local function ends(batch, frames)
    local sim <close> = H.sim { machine = "etc", apps = { H.program(scatter) },
        progress = false, seed = arg.seed, settings = {
            ["vm.paging"] = "fault", ["vm.page"] = "4K", ["evict.unit"] = "4K",
            ["fault.prefetch"] = "none", ["fault.batch"] = batch,
            ["fault.serial"] = true, ["sim.relaunch"] = false,
            ["vm.memory_bytes"] = 64 << 20,
            ["vm.table_frames"] = (64 << 8) - frames } }
    local ok, why = pcall(sim.run, sim)
    return ok, tostring(why)
end

local rows = { { "faults a batch", "least frames", "with one less" } }
local chart = { groups = {}, unit = "frames", xlabel = "faults in a batch",
    series = { { name = "least memory", values = {} } },
    title = "The least memory by the size of a batch" }
for _, batch in ipairs { 1, 4, 16, 64, 256 } do
    local least, most, said = 0, WARPS * 32, ""
    while most - least > 1 do -- it ends with `most`, not with `least`
        local middle = (least + most) // 2
        local ok, why = ends(batch, middle)
        if ok then
            most = middle
        else
            least, said = middle, why
        end
    end
    x:quantity { ("least memory, %d faults a batch"):format(batch),
        heddle = most, unit = "frames" }
    rows[#rows + 1] = { batch, most, said:match "out of frames: [^:]*" or said }
    chart.groups[#chart.groups + 1] = tostring(batch)
    chart.series[1].values[#chart.groups] = most
end
x:table("the least memory, and what is said of less", rows)
x:bars(chart)
x:close()
