-- 573-classify.lua - pins app_classify: it is asked of each application when a
-- policy that answers is bound, and at the end of each of its epochs, and told
-- the lanes and lines of all loads so far; what it said last is what
-- core_throttle and page_compress are told, and nothing when it has gone;
-- samples are counted, but for what is not known.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local EPOCH, EPOCHS = 1000, 12
local CLASS = { [0] = "unknown", "regular", "sharing", "irregular" }

--- A policy that keeps what it is told of classes.
local function told()
    return { name = "told", state = { is = {} }, core_throttle = function(q, s)
        s.is[q.app + 1] = q.is
        return -1 >> 64 - q.n
    end, page_compress = function(q, s)
        s.packed = q.is
        return true
    end }
end

do
    local sim <close> = whole.sim({ whole.column(8, 200), "MM" },
        whole.join(whole.SMALL, { ["throttle.cycles"] = 100 }))
    sim:use(told())
    sim:run(250)
    local is = sim:used()[1].state.is
    tap.ok(is[1] == "unknown" and is[2] == "unknown",
        "while no policy says so all is unknown")
    sim:use { name = "class", state = { asked = {} },
        every = { EPOCH, function() end },
        app_classify = function(q, s) -- each pair of questions has another answer
            s.asked[#s.asked + 1] = { q.app, q.lanes, q.lines }
            local n = (#s.asked - 1) // 2 % 4
            return n == 0 and "unknown" or n == 1 and "regular"
                or n == 2 and "sharing" or "irregular"
        end }
    local bad, count, moves = nil, { 0, 0, 0 }, 0
    local before
    for epoch = 0, EPOCHS - 1 do
        local asked = sim:used()[2].state.asked
        if #asked ~= 2 * (epoch + 1) then
            bad = bad or ("%d questions in epoch %d"):format(#asked, epoch)
        end
        sim:run(250 + (epoch + 1) * EPOCH - 1 - sim.now) -- a cycle before its end
        is = sim:used()[1].state.is
        for app = 0, 1 do
            local q, c = asked[#asked - 1 + app], sim:counters { app = app }
            if q[1] ~= app or before and (q[2] < before[app].load_lanes
                or q[3] < before[app].load_lines
                or q[2] > c.core.load_lanes or q[3] > c.core.load_lines) then
                bad = bad or ("epoch %d: %d lanes, %d lines of %d"):format(epoch,
                    q[2], q[3], q[1])
            end
            for i = 1, 3 do
                if c.classify[CLASS[i]] ~= count[i] then
                    bad = bad or ("epoch %d: %d %s"):format(epoch,
                        c.classify[CLASS[i]], CLASS[i])
                end
            end
            if is[app + 1] ~= CLASS[epoch % 4] then
                bad = bad or ("epoch %d: told %s"):format(epoch, is[app + 1])
            end
            moves = moves + (before and c.core.load_lines
                > before[app].load_lines and 1 or 0)
        end
        before = { [0] = sim:counters { app = 0 }.core,
            sim:counters { app = 1 }.core }
        if (epoch + 1) % 4 ~= 0 then
            count[(epoch + 1) % 4] = count[(epoch + 1) % 4] + 1
        end
        sim:run(2)
    end
    tap.is(bad, nil, "asked, told and counted at each epoch")
    tap.ok(moves > EPOCHS, "while loads are issued", moves)
    sim:unuse "class"
    sim:run(EPOCH)
    is = sim:used()[1].state.is
    tap.ok(is[1] == "unknown" and is[2] == "unknown",
        "when it has gone all is unknown again")
end

for i, class in pairs(CLASS) do
    local sim <close> = whole.sim({ whole.touch(20, 4096, "load") },
        whole.join(whole.SMALL, { ["vm.paging"] = "fault",
            ["link.latency"] = 300, ["compress.enable"] = true }))
    sim:use(told())
    sim:use { name = "class", params = { i = i }, every = { EPOCH,
        function() end }, app_classify = function(_, _, p)
            return p.i == 0 and "unknown" or p.i == 1 and "regular"
                or p.i == 2 and "sharing" or "irregular"
        end }
    sim:run()
    tap.is(sim:used()[1].state.packed, class,
        "page_compress is told: " .. class)
end

tap.done()
