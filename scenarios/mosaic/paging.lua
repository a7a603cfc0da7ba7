--- paging.lua - designs whose pages come from the host, and the two ways to look
-- at what that costs: Mosaic's figures 4 and 12, and columns of 8 and 9.
--
-- Modes: none (pages are there before cycle 0), launch (an application's buffers
-- are copied before its first kernel) and fault (each page when it is touched:
-- 55 us for 4 KB, 318 us for 2 MB).  Alone runs are those of GPU-MMU without
-- paging, so a weighted speedup has the cost of paging in it.
--
-- A whole run goes from the first instruction to the last and pays for every
-- page once.  A window is the first work of a run, as much as is done in some
-- cycles without paging: there a page of 2 MB that is waited for for 318 us is
-- mostly waited for in vain.  The paper does not say which it shows.
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local report = require "heddle.report"
local suite = require "common"

local paging = {}

paging.modes = { "none", "launch", "fault" }

local NAMES = { none = "no paging", launch = "copies at launch",
    fault = "far faults" }
paging.names = NAMES

--- A design in a mode.
function paging.design(design, mode)
    return suite.variant(design, ("%s, %s"):format(design.name, NAMES[mode]),
        { ["vm.paging"] = mode })
end

--- Programs from the first instruction to the last.  Their size is smaller than
-- that of other experiments: all they touch crosses the link.
function paging.whole(x, sets, designs)
    local o = suite.options(x, sets, designs, {
        size = x.arg.size ~= "" and x.arg.size or x.full and "S" or "T",
        warmup = 0, cycles = 1 << 40,
    })
    return sharing.measure(x, o), o.size
end

--- The first work of programs: what `cycles` do without paging.
function paging.window(x, sets, designs, cycles)
    local o = suite.options(x, sets, designs, { warmup = 0, cycles = cycles })
    return sharing.measure(x, o), o.size
end

--- Columns for a figure of weighted speedups without paging: the same with
-- copies at launch and with far faults, in whole runs, shown.
function paging.columns(x, kind)
    local counts = kind == "homogeneous" and { 1, 2 } or { 2 }
    local designs, rows = {}, { { "applications", "sets" } }
    local size
    if not x.full then
        counts = { 2 }
    end
    for _, mode in ipairs(paging.modes) do
        for _, d in ipairs { suite.gpummu, suite.mosaic, suite.ideal } do
            designs[#designs + 1] = paging.design(d, mode)
        end
        table.insert(rows[1], "Mosaic over GPU-MMU, " .. NAMES[mode])
        table.insert(rows[1], "Mosaic of Ideal, " .. NAMES[mode])
    end
    local all = {}
    for i, n in ipairs(counts) do
        local sets = suite.sets(x, kind, n, 5)
        local results
        results, size = paging.whole(x, sets, designs)
        table.move(results, 1, #sets, #all + 1, all)
        rows[i + 1] = { n, #sets }
        for k = 1, #designs, 3 do
            table.insert(rows[i + 1], report.percent(sharing.gain(results,
                designs[k + 1].name, designs[k].name) - 1))
            table.insert(rows[i + 1], report.percent(sharing.gain(results,
                designs[k + 1].name, designs[k + 2].name)))
        end
    end
    x:say("paging columns: whole runs of %d sets, size %s", #all, size)
    for k, mode in ipairs(paging.modes) do
        local g, m, i = designs[3 * k - 2].name, designs[3 * k - 1].name,
            designs[3 * k].name
        x:quantity(sharing.claim({ ("Mosaic over GPU-MMU, whole runs, %s"):format(
            NAMES[mode]) }, all, m, g))
        x:quantity(sharing.claim({ ("Mosaic below Ideal, whole runs, %s"):format(
            NAMES[mode]), kind = "loss" }, all, m, i))
    end
    x:table("Whole runs by mode of paging", rows)
end

return paging
