--[[
305-core-latency.lua - how long one load takes in an empty machine is the sum of
its parts: L1, TLBs, crossbar, L2 cache and replies, changed one by one.

A single warp loads with nothing else going on, and its latency is compared with
the closed form, to the cycle.  An L1 hit once took no time at all: the last line
of an instruction was done when the load/store unit left it.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local k = require "heddle.kernel"

local L1, XBAR, L2, FLITS, MEMORY = 3, 7, 11, 128 // 32, 50
local BASE = {
    ["l1cache.latency"] = L1, ["xbar.latency"] = XBAR,
    ["l2cache.latency"] = L2, ["l2cache.queue_latency"] = 0,
    ["dram.mode"] = "off",
    ["clock.dram"] = 1020000000,
}

--- Latencies of loads of these elements, one after the other: least, most, sum.
local function load(settings, list, machine)
    local app = k.app { name = "loads",
        buffers = function() return { k.i32("a", 1 << 20) } end,
        kernels = function(_, b) return {
            k.kernel("loads", { block = 32 }, function(t)
                for _, i in ipairs(list) do
                    t:load(b.a, i)
                    t:alu(1)
                end
            end) } end }
    local all = {}
    for _, t in ipairs { machine and {} or BASE, settings } do
        for name, v in pairs(t) do
            all[name] = v
        end
    end
    local sim <close> = H.sim { machine = machine or "maxwell", settings = all,
        apps = { H.program(app) } }
    sim:run()
    for _, h in ipairs(sim:results().histograms) do
        if h.name == "load_latency" then
            return h.apps[1].min, h.apps[1].max, h.apps[1].sum
        end
    end
end

local OFF = { ["sim.translation"] = "off" }

local function off(more)
    local t = { ["sim.translation"] = "off" }
    for name, v in pairs(more or {}) do
        t[name] = v
    end
    return t
end

-- Down and back, the L2's look-up, and the line's flits at the reply port.
local below = XBAR + L2 + XBAR + FLITS

local least, most = load(OFF, { 0, 0 })
tap.is(least, L1, "an L1 hit takes the L1's latency")
tap.is(most, L1 + below, "a miss goes on from there")
for _, lat in ipairs { 0, 1, 17 } do
    tap.is(load(off { ["l1cache.latency"] = lat }, { 0, 0 }), lat,
        "L1 latency " .. lat)
end
tap.is(load(off { ["l1cache.mode"] = "fixed:29" }, { 0 }), 29,
    "an L1 of fixed time")
tap.is(load(off { ["l1cache.mode"] = "off" }, { 0, 0 }), below,
    "without an L1")
tap.is(load(off { ["dram.mode"] = "fixed:" .. MEMORY }, { 0 }),
    L1 + below + MEMORY, "and the DRAM's time behind the L2's")

-- The partition of the L2 before its tags.
for _, queue in ipairs { 1, 85 } do
    local before = { ["l2cache.queue_latency"] = queue }
    tap.is(load(off(before), { 0 }), L1 + below + queue,
        ("%d cycles before the tags of the L2"):format(queue))
    before["l2cache.mode"] = "fixed:12"
    tap.is(load(off(before), { 0 }), L1 + XBAR + 12 + XBAR + FLITS,
        "an L2 cache of fixed time has none")
    before["l2cache.mode"] = "ideal"
    tap.is(load(off(before), { 0 }), L1 + below + queue,
        "an ideal one has them")
    before["l2cache.mode"] = "off"
    tap.is(load(off(before), { 0 }), L1 + below - L2,
        "what goes to DRAM at once has none")
end

-- The TLB beside the L1 or before it.
for _, case in ipairs {
    { "beside", 2, 3 }, { "beside", 9, 9 }, { "after", 2, 5 }, { "after", 9, 12 },
} do
    tap.is(load({ ["l1cache.order"] = case[1], ["l1tlb.latency"] = case[2],
        ["walk.mode"] = "fixed:1" }, { 0, 0 }), case[3],
        ("an L1 TLB of %d cycles %s an L1 of %d"):format(case[2], case[1], L1))
end

-- A hit in the L2 TLB: there, its look-up, back; then the L1.
least = load({ ["l1tlb.entries"] = 1, ["l1tlb.latency"] = 2,
    ["walk.latency"] = 13, ["l2tlb.latency"] = 21 }, { 0, 1024, 0 })
tap.is(least, 2 + 13 + 21 + 13 + L1, "an L2 TLB hit, and the L1")

-- A miss there: its way and its look-up, a read of each level, back, the L1.
-- Walk reads cross the crossbar, or have a way of their own.
for _, way in ipairs { 0, 1, 2, 90 } do
    local hop = way == 0 and XBAR or way
    tap.is(load({ ["l1tlb.latency"] = 2, ["walk.latency"] = 13,
        ["l2tlb.latency"] = 21, ["walk.memory_latency"] = way }, { 0 }),
        2 + 13 + 21 + 4 * (hop + L2 + hop) + 13 + L1 + below,
        "four reads of a walk with walk.memory_latency " .. way)
end

-- So do reads of a walk wait before the tags.
tap.is(load({ ["l1tlb.latency"] = 2, ["walk.latency"] = 13,
    ["l2tlb.latency"] = 21, ["walk.memory_latency"] = 5,
    ["l2cache.queue_latency"] = 85 }, { 0 }),
    2 + 13 + 21 + 4 * (5 + 85 + L2 + 5) + 13 + L1 + below + 85,
    "four reads of a walk with 85 cycles before the tags")

-- By way of the core that missed: first to it.
tap.is(load({ ["l1tlb.latency"] = 2, ["walk.latency"] = 13,
    ["l2tlb.latency"] = 21, ["walk.memory_latency"] = 0,
    ["walk.port"] = "core" }, { 0 }),
    2 + 13 + 21 + 4 * (13 + XBAR + L2 + XBAR) + 13 + L1 + below,
    "four reads of a walk that leave by the core")

--- Cycles of a warp that does n instructions of arithmetic, and stores.
local function arithmetic(n, ilp, warps)
    local app = k.app { name = "chain",
        buffers = function() return { k.i32("a", 1 << 10) } end,
        kernels = function(_, b) return {
            k.kernel("chain", { block = 32 * (warps or 1) }, function(t)
                t:alu(n)
                t:store(b.a, t.gid, 1)
            end) } end }
    local sim = H.sim { machine = "maxwell", apps = { H.program(app) },
        settings = { ["core.lanes"] = 32, ["core.width"] = 32,
            ["core.ilp"] = ilp, ["sim.translation"] = "off" } }
    sim:run()
    return sim.now, sim:counters().core
end

-- Each group but the first waits for the one before: 8 cycles more than a free
-- run, whose instructions follow each other.
for _, case in ipairs { { 1, 1, 0 }, { 100, 1, 99 }, { 100, 2, 49 },
    { 101, 2, 50 }, { 100, 7, 14 }, { 100, 99, 1 }, { 100, 100, 0 } } do
    local n, ilp, gaps = table.unpack(case)
    local free, c0 = arithmetic(n, 0)
    local held, c1 = arithmetic(n, ilp)
    tap.is(held - free, 8 * gaps, ("%d instructions, core.ilp %d: %d gaps")
        :format(n, ilp, gaps))
    tap.ok(c0.instructions == c1.instructions
        and c0.time_issue == c1.time_issue
        and c1.time_alu > c0.time_alu == (gaps > 0),
        "and all of it is waiting for the ALU")
end

-- Nine warps fill the gaps of each other, and ten the port.
for _, warps in ipairs { 9, 10 } do
    local now = arithmetic(100, 1, warps)
    local alone = arithmetic(100, 1)
    tap.ok(warps == 9 and now - alone < 20
        or warps == 10 and now - alone > 80,
        warps .. " warps issue in turn", ("%d, %d"):format(now, alone))
end

-- What was measured on a TU104, by the last of these loads.
for _, case in ipairs {
    { "an L1 hit", 32, { 0, 0 } },
    { "an L2 hit", 236, { 0, 32 } },
    { "a miss of the L1 TLB, then an L2 hit", 472, { 0, 1024, 32 } },
} do
    local settings = { ["dram.mode"] = "off", ["l1tlb.entries"] = 1 }
    local list = case[3]
    local _, _, all = load(settings, list, "maxwell-tu104")
    list[#list] = nil
    local _, _, before = load(settings, list, "maxwell-tu104")
    tap.is(all - before, case[2], "maxwell-tu104: " .. case[1])
end
local _, cold = load({}, { 0 }, "maxwell-tu104")
tap.ok(cold >= 1000 and cold <= 1200, "maxwell-tu104: where nothing is cached", cold)

--- Cycles in which warps are ready and do not issue.  Two warps store into one
-- page and exit: the first into one line, the second into `lines`.  They wait
-- for the translation, and the first exits when its line has gone, whatever
-- the load/store unit still has to do for the second.
local function held(lines)
    local app = k.app { name = "stores",
        buffers = function() return { k.i32("a", 1 << 20) } end,
        kernels = function(_, b) return {
            k.kernel("stores", { block = 64 }, function(t)
                local lane, warp = t.gid % 32, t.gid // 32
                t:store(b.a, lane * (1 + warp * (lines - 1)), lane)
            end) } end }
    local sim = H.sim { machine = "maxwell", apps = { H.program(app) },
        settings = { ["core.lanes"] = 32, ["core.width"] = 32,
            ["walk.mode"] = "fixed:50", ["dram.mode"] = "off" } }
    sim:run()
    local n = sim:counters().core
    tap.is(n.lines, 1 + lines, "lines of two stores")
    return n.time_ready
end

tap.is(held(32), held(1), "a store that is done holds up no exit")

return tap.done()
