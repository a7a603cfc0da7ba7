--- stride.lua - one thread's loads by stride and range: an A100 beside the table of
-- yqg9651/cuda_test, strides of 2 to 128 MB, ranges to 32 GB.
--
-- A load after the other at a stride, each waiting for the one before; the range is
-- taken once before.  As a range has few lines, most of the table fits the L1, whose
-- hits ask no TLB; the rest is the L2 and what TLBs add.  A cell is a hit in the L1
-- where its time is below the middle of the two, on the card (25 to 31 and 154 ns) and
-- here.  The source is noisy: lone cells of its hits are two and three times the others.
--
-- All cells are run at either scale.
--
--     heddle run scenarios/validate/stride.lua
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local LOADS = 2048
local HIT, MISS = 28, 154 -- ns on the card

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/stride", arg = arg,
    source = "yqg9651/cuda_test", title = "an A100 by stride and range" }
local x = v.x

local figures = common.figures "tlb-a100-stride-range-ns.csv"
local machine = own.machine "a100"
local GHZ = tonumber(machine:get "clock.core") / 1e9

local UNIT = { KB = 1 << 10, MiB = 1 << 20, GB = 1 << 30 }
local ranges = {}
for i, name in ipairs(figures[1]) do
    local n, unit = tostring(name):match "^(%d+)(%a+)$"
    ranges[i] = n and tonumber(n) * UNIT[unit]
end

local jobs, at = {}, {}
for row = 2, #figures do
    local stride = figures[row][1]
    for i = 2, #figures[row] do
        local ns = figures[row][i]
        if ns > 0 then
            local n = ranges[i] // stride
            at[#at + 1] = { row = row, stride = stride, range = ranges[i],
                measured = ns }
            jobs[#at] = { machine = machine, seed = arg.seed,
                apps = { kernels.of("chase", { bytes = n * stride, stride = stride,
                    order = "stride", warm = math.max(n, 64),
                    loads = math.min(n, LOADS) }) } }
        end
    end
end
for i, r in ipairs(x:run(jobs)) do
    local a = at[i]
    a.heddle = kernels.timed(r) / math.min(a.range // a.stride, LOADS) / GHZ
end

-- ---- rows ------------------------------------------------------------------------

local function median(list)
    table.sort(list)
    return #list > 0 and list[(#list + 1) // 2] or nil
end

local there, here = { [true] = {}, [false] = {} }, { [true] = {}, [false] = {} }
local l1, slowest, alike = tonumber(machine:get "l1cache.latency") / GHZ, 0, 0
for _, a in ipairs(at) do
    slowest = math.max(slowest, a.heddle)
end
for _, a in ipairs(at) do
    a.hit = a.measured < (HIT + MISS) / 2
    a.here = a.heddle < (l1 + slowest) / 2
    alike = alike + (a.hit == a.here and 1 or 0)
    table.insert(there[a.hit], a.measured)
    table.insert(here[a.here], a.heddle)
end
v:row { "a100: cells that are hits in the L1 in both, or in neither", unit = "",
    measured = #at, heddle = alike, within = 10, use = "test",
    note = "an L1 whose sets are the low bits of the line number has all lines of such "
        .. "a stride in one set; the card holds 1,024 of them" }
for _, of in ipairs { { true, "hits in the L1" }, { false, "all others" } } do
    v:row { "a100: " .. of[2] .. ", the median cell", unit = "ns",
        measured = median(there[of[1]]), heddle = median(here[of[1]]),
        tolerance = 0.15, use = "test" }
end

local head, rows = { "stride, MB" }, {}
for i = 2, #figures[1] do
    head[i] = tostring(figures[1][i])
end
for row = 2, #figures do
    rows[row] = { ("%d, card"):format(figures[row][1] >> 20) }
    rows[#figures + row] = { ("%d, heddle"):format(figures[row][1] >> 20) }
    for i = 2, #figures[row] do
        rows[row][i], rows[#figures + row][i] = "", ""
    end
end
for _, a in ipairs(at) do
    for i = 2, #head do
        if ranges[i] == a.range then
            rows[a.row][i] = ("%.0f"):format(a.measured)
            rows[#figures + a.row][i] = ("%.0f"):format(a.heddle)
        end
    end
end
local list = { head }
for row = 2, #figures do
    list[#list + 1], list[#list + 2] = rows[row], rows[#figures + row]
end
x:table("ns a load by stride and range", list)
x:say("One thread, a load after the other; %d cells", #at)
v:close()
