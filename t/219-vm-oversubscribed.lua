-- 219-vm-oversubscribed.lua - pins: what comes from the host, stays there and
-- leaves in little memory, by every way there is, is checked all along, and goes
-- from the middle to the end that it had; and what is counted of it agrees.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

--- So many data frames of 4 KB.
local function memory(frames, more)
    return whole.join(whole.SMALL, { ["vm.paging"] = "fault",
        ["link.latency"] = 400, ["vm.memory_bytes"] = 64 << 20,
        ["vm.table_frames"] = (64 << 8) - frames, ["sim.relaunch"] = false },
        more or {})
end

local DRIVER = { ["uvm.mode"] = "driver", ["uvm.base_latency"] = 2000,
    ["uvm.block_latency"] = 500 }
local CASES = {
    { "4 KB by 4 KB", 24, { ["evict.unit"] = "4K" } },
    { "dirty pages alone are written", 24, { ["evict.unit"] = "4K",
        ["evict.write_back"] = "dirty", ["fault.serial"] = true,
        ["fault.batch"] = 3 } },
    { "64 KB, ahead of need", 96, { ["evict.unit"] = "64K",
        ["fault.transfer"] = "64K", ["evict.trigger"] = "watermark",
        ["evict.free_bytes"] = 65536 } },
    { "in overlap", 64, { ["evict.unit"] = "4K", ["evict.overlap"] = true,
        ["fault.prefetch"] = "sequential" } },
    { "trees", 1024, { ["evict.unit"] = "tree", ["fault.prefetch"] = "tree" } },
    { "2 MB", 1536, { ["evict.unit"] = "2M" } },
    { "the driver", 1536, DRIVER },
    { "the driver, memory by 4 KB", 48, whole.join(DRIVER, {
        ["evict.unit"] = "4K", ["uvm.perf_prefetch_enable"] = false,
        ["uvm.perf_fault_replay_policy"] = "batch_flush",
        ["fault.thrashing"] = "driver" }) },
    { "used on the host", 24, { ["evict.unit"] = "4K",
        ["remote.access"] = "remote" } },
    { "used there and kept", 24, { ["evict.unit"] = "4K",
        ["remote.access"] = "remote", ["remote.cache"] = true } },
    { "moved by accesses", 32, { ["evict.unit"] = "4K" },
        { "delayed", { td = 2 } } },
    { "walks in batches", 24, { ["evict.unit"] = "4K", ["walk.batch"] = 8,
        ["walk.walkers"] = 2, ["walk.queue"] = 16, ["l2tlb.mshrs"] = 4 } },
}

--- What must hold at the end of a run.
local function law(sim, driver)
    local c = sim:counters()
    local f, e, sum = c.fault, c.evict, 0
    for _, h in ipairs(sim.core:hists()) do
        if h.component == "fault" and h.name == "latency" then
            sum = sum + h.apps[1].sum
        end
    end
    local bad = {}
    for what, pair in pairs {
        ["bytes of the link"] = { c.link.bytes, 4096 * f.pages + e.bytes },
        ["stages of faults"] = { f.wait_cycles + f.host_cycles + f.room_cycles
            + f.link_cycles + f.batch_cycles, sum },
        ["pages mapped"] = { c.memory.mapped, f.pages + c.remote.pages },
        ["requests"] = { f.requests, driver and c.uvm.packets + c.uvm.held
            + c.uvm.overflows or f.faults + f.merges },
        ["lines of the host"] = { c.remote.in_bytes, 128 * c.remote.loads },
    } do
        if pair[1] ~= pair[2] then
            bad[#bad + 1] = ("%s: %d and %d"):format(what, pair[1], pair[2])
        end
    end
    return bad[1] and table.concat(bad, "\n")
end

for _, o in ipairs(CASES) do
    local what, frames, settings, policy = table.unpack(o)
    local pages = frames > 1000 and 1400 or frames * 2
    local make = whole.maker({ whole.any(pages, #what, 4) },
        memory(frames, settings), { check = true }, { policy })
    whole.stress(what, make, { step = 1999, snaps = 3,
        due = function(c) return c.fault.pages + c.remote.pages end,
        good = function(c, snaps) return snaps > 1 and c.fault.faults > 0 end })
    local sim <close> = make()
    sim:run()
    tap.is(law(sim, settings["uvm.mode"]), nil, what .. ": what is counted")
end

tap.done()
