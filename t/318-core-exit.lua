-- 318-core-exit.lua - pins: with core.exit=stores a warp ends when the L2 has
-- acknowledged its stores: a way there and back later, by the crossbar and the
-- slice; by default when they have left the load/store unit.  What only loads is as
-- before; whole machines lose nothing under checks and continue from snapshots.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"

--- Cycles of a launch of one warp that loads, and then perhaps stores.
local function cycles(exit, xbar, latency, stores)
    local app = H.program(k.app { name = "one", source = "this test",
        buffers = function() return { k.i32("m", 4096) } end,
        kernels = function(_, b) return {
            k.kernel("one", { grid = 1, block = 32 }, function(t)
                t:load(b.m, t.gid)
                t:alu(1)
                if stores then
                    t:store(b.m, t.gid + 1024, 1)
                    t:store(b.m, t.gid + 2048, 1)
                end
            end) } end })
    local sim <close> = H.sim { machine = H.machine(), apps = { app },
        settings = { ["core.exit"] = exit, ["xbar.latency"] = xbar,
            ["l2cache.latency"] = latency, ["core.lanes"] = 32,
            ["core.width"] = 32, ["clock.core"] = 1000000000,
            ["clock.l2"] = 1000000000, ["sim.translation"] = "off",
            ["sim.relaunch"] = false, ["sim.check"] = true } }
    sim:run()
    return sim:results().kernels[1].cycles
end

local function longer(xbar, latency, stores)
    return cycles("stores", xbar, latency, stores)
        - cycles("issue", xbar, latency, stores)
end
tap.is(longer(20, 10, false), 0, "loads alone: nothing changes")
local base = longer(20, 10, true)
tap.ok(base >= 2 * 20 + 10 and base < 2 * 20 + 10 + 16, "stores: there and back",
    base)
tap.is(longer(50, 10, true), base + 2 * 30, "by the crossbar, twice")
tap.is(longer(20, 25, true), base + 15, "and the look-up")

local SECTORS = { ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32,
    ["l1cache.write"] = "through" }
for _, run in ipairs {
    { {} }, { SECTORS }, { { ["l1cache.write"] = "back" } },
    { { ["core.subcores"] = 4, ["l1cache.stores"] = 1 } },
    { { ["vm.paging"] = "fault" } }, { { ["core.compact"] = true } },
} do
    local settings = whole.join(whole.SMALL, run[1],
        { ["core.exit"] = "stores", ["sim.relaunch"] = false })
    local sim <close> = whole.sim({ "GUP", "HS" }, settings,
        { machine = "maxwell", check = true })
    sim:run(3000)
    local snap = sim:snapshot()
    sim:run()
    sim:check()
    local of = {}
    for name, v in pairs(run[1]) do
        of[#of + 1] = ("%s=%s"):format(name, v)
    end
    table.sort(of)
    tap.is(whole.again(sim, snap, 777), nil, "from a snapshot "
        .. table.concat(of, " "))
end

tap.done()
