-- 217-vm-host.lua - pins pages that come from the host and leave for it, many of
-- them: a prefetch of more pages than can be in flight at once sends all, one
-- that follows too; what leaves by each unit is checked wherever a run is looked
-- at, and memory never holds more than it has.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local H = require "heddle"

local HOST = whole.join(whole.SMALL, whole.ROUND, { ["vm.paging"] = "fault",
    ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20,
    ["sim.relaunch"] = false })

-- ---- more than can be in flight ------------------------------------------------

do
    local N, MOST = 2500, 4096 -- pages of a buffer; in flight
    local app = H.program(kernel.app { name = "sends", align = 2 << 20,
        buffers = function()
            return { kernel.i64("a", N * 512), kernel.i64("b", 2 * N * 512) }
        end,
        kernels = function(_, b)
            local k = kernel.kernel("last", { block = 32 }, function(t)
                t:load(b.a, t.gid)
                t:load(b.b, t.gid + (2 * N - 1) * 512)
            end)
            return { { k, prefetch = { b.a } }, { k, prefetch = { b.b } }, k }
        end })
    local sim <close> = whole.sim({ app }, HOST, { check = true })
    tap.ok(2 * N > MOST and sim:run() == "done", "two prefetches")
    sim:check()
    local c = sim:counters()
    tap.is(c.fault.prefetched, 3 * N - 1,
        "all are sent, but for the page that had faulted")
    tap.is(c.fault.faults, 1, "and nothing else faults")
    tap.is(c.link.bytes, 3 * N * 4096, "each crosses once")
end

-- ---- what leaves -----------------------------------------------------------------

for _, unit in ipairs { "4K", "64K", "2M", "tree" } do
    local pages = unit == "4K" and 24 or unit == "64K" and 160 or 3 * 512
    local sim <close> = whole.sim({ whole.random(2, 6, 8) },
        whole.join(HOST, { ["evict.unit"] = unit,
            ["fault.transfer"] = unit == "64K" and unit or nil,
            ["fault.prefetch"] = (unit == "2M" or unit == "tree") and "locality"
                or nil,
            ["vm.table_frames"] = (64 << 8) - pages }), { check = true })
    local bad, word, c
    repeat
        word = sim:run(99991)
        sim:check()
        c = sim:counters()
        bad = bad or c.fault.pages - c.evict.pages > pages and sim.now or nil
    until word ~= "ok"
    tap.is(bad, nil, unit .. ": checked, and never more than memory holds")
    tap.ok(word == "done" and c.evict.evictions > 0, unit .. ": units leave",
        c.evict.evictions)
end

tap.done()
