-- 314-core-skip.lua - pins cores that skip instructions between windows of a
-- sampled run: each instruction is issued or skipped once, under every scheduler
-- and state of its warps, checked all along; buffers hold what they would; windows
-- that cover all leave the run as it is, and equal runs are equal, however they are
-- cut; what is skipped leaves in the L1s what it would leave there.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local H = require "heddle"

local SETTINGS = whole.join(whole.SMALL, { ["core.count"] = 2,
    ["core.warps"] = 12, ["sim.relaunch"] = false })

--- Warps that compute for other times each, and add to what others add to.
local function sums()
    return H.program(kernel.app { name = "sums",
        buffers = function() return { kernel.i64("n", 64),
            kernel.i64("m", 1 << 16) } end,
        kernels = function(_, b) return {
            kernel.kernel("sums", { grid = 10, block = 96 }, function(t)
                t:loop(12, function(j)
                    t:alu(3)
                    t:when((t.warp % 2):eq(0), function() t:alu(17) end)
                    t:load(b.m, (t.gid * 61 + j * 4099) % (1 << 16))
                    t:atomic("add", b.n, t.gid % 64, j + 1)
                    t:when((j % 4):eq(0), function() t:sync() end)
                end)
            end) } end })
end

local function sim(app, more, options)
    return whole.sim({ app }, whole.join(SETTINGS, more or {}), options)
end

--- Windows of so many instructions in so many.
local function windows(every, window, warm)
    return { ["sample.every"] = every, ["sample.window"] = window,
        ["sample.warm"] = warm or 0 }
end

local function state(s)
    local a = s.core:apps()[1]
    return ("%d instructions, %d pages"):format(a.instructions, a.pages)
end

for what, settings in pairs {
    plain = {}, lrr = { ["core.scheduler"] = "lrr" },
    ["in groups"] = { ["core.ilp"] = 2, ["core.alu_latency"] = 40 },
    ["sub-cores"] = { ["core.subcores"] = 4 },
    ["classes"] = { ["core.subcores"] = 2, ["core.classes"] = true,
        ["core.int_latency"] = 90 },
    ["a queue of one"] = { ["core.queue"] = 1, ["l1cache.mshrs"] = 2 },
    ["full blocking"] = { ["l1tlb.blocking"] = "full" },
    ["written back"] = { ["l1cache.write"] = "back" },
    ["pages on the host"] = { ["vm.paging"] = "fault",
        ["link.latency"] = 100 },
} do
    local all <close> = sim(sums(), settings)
    all:run()
    for _, w in ipairs { { 400, 40, 20 }, { 150, 30, 0 },
        not settings["vm.paging"] and { 97, 7, 5 } or nil } do
        local set = whole.join(settings, windows(table.unpack(w)))
        local part <close> = sim(sums(), set, { check = true })
        local bad, word
        repeat
            word = part:run(211)
            bad = bad or not pcall(part.check, part) and part.now or nil
        until word ~= "ok"
        local title = ("%s, windows of %d in %d"):format(what, w[2], w[1])
        tap.ok(word == "done" and not bad, title .. ": checked to the end", bad)
        tap.is(state(part), state(all), title
            .. ": instructions are issued or skipped once")
        local r = part:results().sample
        tap.ok(r.windows > 2 and r.detailed < all.core:apps()[1].instructions
            and part.now < all.now, title .. ": some are skipped", r.detailed)
        local straight <close> = sim(sums(), set)
        local cut <close> = sim(sums(), set)
        straight:run()
        repeat until cut:run(37) ~= "ok"
        tap.is(whole.difference(whole.statistics(straight),
            whole.statistics(cut)), nil, title .. ": however it is cut")
    end
    for _, w in ipairs { { 1 << 30, 1 << 30 }, { 300, 300 } } do
        local part <close> = sim(sums(), whole.join(settings,
            windows(table.unpack(w))))
        part:run()
        tap.is(whole.difference(whole.statistics(all), whole.statistics(part)),
            nil, what .. ": windows of all leave the run as it is")
    end
end

-- ---- what is left in the L1s ---------------------------------------------------------

--- One warp that waits for each access, and for stores behind loads of one line.
local function chase()
    return H.program(kernel.app { name = "chase",
        buffers = function() return { kernel.i64("a", 1 << 16),
            kernel.i64("b", 64) } end,
        kernels = function(_, b) return {
            kernel.kernel("chase", { grid = 1, block = 32 }, function(t)
                t:alu(50)
                t:loop(150, function(j)
                    local at = (j * 40503 + j * j * 77) % (1 << 16)
                    local x = t:load(b.a, at)
                    t:alu(1, { uses = { x } })
                    t:store(b.a, at:bxor(32), j)
                    t:loop(30, function()
                        local y = t:load(b.b, 0)
                        t:alu(1, { uses = { y } })
                    end)
                end)
            end) } end })
end

local function held(settings, every)
    local s <close> = sim(chase(), whole.join(settings, windows(every, 1)))
    s:run()
    local out = {}
    for _, name in ipairs { "l1tlb", "l1cache" } do
        for _, r in ipairs(s:look(name, 0)) do
            local fields = {}
            for field, v in pairs(r) do
                fields[#fields + 1] = field .. "=" .. tostring(v)
            end
            table.sort(fields)
            out[#out + 1] = name .. " " .. table.concat(fields, " ")
        end
    end
    return out
end

for what, settings in pairs { plain = {}, ["written back"] =
    { ["l1cache.write"] = "back" }, evicted = { ["l1cache.write"] = "evict" },
    ["64 KB"] = { ["vm.page"] = "64K", ["l1tlb.entries"] = 4 } } do
    local set = whole.join({ ["core.count"] = 1, ["dram.mode"] = "fixed:50" },
        settings)
    local want, got = held(set, 0), held(set, 1 << 40)
    tap.ok(#want > 20, what .. ": they hold something", #want)
    tap.is(whole.difference(want, got), nil, what
        .. ": skipped, and simulated")
end

tap.done()
