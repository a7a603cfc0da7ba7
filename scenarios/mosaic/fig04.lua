--- mosaic/fig04.lua - what demand paging costs with pages of 4 KB and of 2 MB.
--
-- Mosaic (MICRO 2017), figure 4: programs whose pages come from the host when
-- they are touched, 4 KB or 2 MB at a time, one program and several copies of
-- it, against GPU-MMU with 4 KB pages that are there.
--
-- Both sizes move 7.8 bytes a cycle once faults overlap, so a loss of 92 % of
-- one against the other cannot be that of whole runs that use what they bring:
-- of five programs alone, 2 MB lose 11 to 39 % against 4 KB in the first 100,000
-- cycles of work of four, and up to 15 % in whole runs of two; the others gain
-- (scale=full apps=1).  A window (paging.lua) is shown beside whole runs.
--
--     heddle run scenarios/mosaic/fig04.lua [scale=full] [sets=N] [cycles=N]
--         [apps=N]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local report = require "heddle.report"
local paging = require "paging"
local suite = require "common"

local COUNTS = { 1, 2, 5 }
local LOSS = { [1] = 40.0, [5] = 82.3 }
local LARGE = { 92.5, 98.0, [5] = 99.8 }

local x = suite.open("fig04", "figure 4",
    "demand paging with pages of 4 KB and of 2 MB", { apps = 0 })
local designs = { paging.design(suite.gpummu, "none"),
    paging.design(suite.gpummu, "fault"), paging.design(suite.large, "fault") }
local NONE, SMALL, BIG = designs[1].name, designs[2].name, designs[3].name

--- How much is looked at: a name, and what measures sets.
local spans = { { "whole runs", paging.whole } }
local windows = x.arg.cycles > 0 and { x.arg.cycles }
    or { x.full and 100000 or 15000 }
for i, cycles in ipairs(windows) do
    spans[i + 1] = { ("first %d cycles"):format(cycles),
        function(_, sets, list)
            return paging.window(x, sets, list, cycles)
        end }
end

local function apps(n)
    return n == 1 and "1 application" or n .. " applications"
end

local counts = x.arg.apps > 0 and { x.arg.apps } or x.full and COUNTS
    or { 1, 2 }
local rows = { { "applications", "span", "sets", "size", "4 KB of no paging",
    "2 MB of no paging", "2 MB of 4 KB" } }
local groups, share = {}, {}
for _, n in ipairs(counts) do
    local sets = suite.sets(x, "homogeneous", n, 5)
    for _, span in ipairs(spans) do
        local r, size = span[2](x, sets, designs)
        local small = sharing.gain(r, SMALL, NONE)
        local big = sharing.gain(r, BIG, NONE)
        local both = sharing.gain(r, BIG, SMALL)
        local what = apps(n) .. ", " .. span[1]
        local shown = span[1] ~= "whole runs" or nil -- which are what is scored
        x:scope(#sets, suite.count("homogeneous", n), "sets")
        x:quantity(sharing.claim({ "4 KB: loss by paging, " .. what,
            kind = "loss", paper = LOSS[n], shown = shown }, r, SMALL, NONE))
        x:quantity(sharing.claim({ "2 MB: loss against 4 KB, both paging, " .. what,
            kind = "loss", paper = LARGE[n], shown = shown }, r, BIG, SMALL))
        x:order(sharing.order({ what, paper = { NONE, SMALL, BIG },
            shown = shown }, r))
        groups[#groups + 1] = what
        share[what] = { [NONE] = 1.0, [SMALL] = small, [BIG] = big }
        rows[#rows + 1] = { n, span[1], #sets, size, report.percent(small),
            report.percent(big), report.percent(both) }
    end
end
x:say("copies of %d programs; machine mosaic, cores split evenly; weighted "
    .. "speedup of GPU-MMU without paging is 1",
    #suite.sets(x, "homogeneous", 1, 5))
x:table("Performance with paging", rows)
suite.chart(x, x.title, "share of no paging", groups, designs,
    function(g, name) return share[groups[g]][name] end)
x:close()
