--- mesc/table2.lua - how much of a footprint is in contiguous subregions.
--
-- MESC (Yu, Bai, Wang), table II: memhog has 25, 50 or 75 % of memory, and
-- compaction ("defrag") is on or off.  The generator (runs) has a parameter that
-- was fitted to this table, so it shows that the machine does what the fit says;
-- the mean of several seeds, 25,600 pages.  Beside it a buddy allocator, whose
-- memory has as many frames in short runs as the generator gives to the footprint,
-- and what it makes of that when the engine's compaction has put it together.
--
--     heddle run scenarios/mesc/table2.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local kernel = require "heddle.kernel"
local mesc = require "common"

local x = mesc.open("table2", "footprint in contiguous subregions of 64 pages",
    { pages = 25600, seeds = 0 }) -- 0: those of the scale
local PAGES = x.arg.pages
local SEEDS = x.arg.seeds > 0 and x.arg.seeds or x.full and 20 or 4
local footprint = H.program(kernel.app { name = "footprint", source = "heddle",
    buffers = function() return { kernel.f32("m", PAGES * 1024) } end,
    kernels = function(_, b)
        return { kernel.kernel("touch", { grid = 1, block = 32 }, function(t)
            t:load(b.m, t.gid)
        end) }
    end })
footprint.lasting = "mesc footprint " .. PAGES -- results of it are kept
local KINDS = { "generator", "buddy", "buddy, compacted" }

x:say("%d pages, mean of %d seeds", PAGES, SEEDS)
local jobs = {}
for _, p in ipairs(mesc.TABLE2) do
    for seed = x.arg.seed, x.arg.seed + SEEDS - 1 do
        for _, place in ipairs { mesc.runs(p.broken),
            mesc.buddy(p.hog, false, p.broken, PAGES),
            mesc.buddy(p.hog, true, p.broken, PAGES) } do
            jobs[#jobs + 1] = mesc.mapped(footprint, place, seed)
        end
    end
end
local results = x:run(jobs)

local rows = { { "memhog", "defrag", "paper", "generator", "(of 2 MB)", "+-",
    "buddy", "+-", "buddy, compacted" } }
local chart = { groups = {}, series = { { name = "paper", values = {} } },
    title = "Footprint in contiguous subregions", unit = "% of the footprint",
    xlabel = "program" }
for k, kind in ipairs(KINDS) do
    chart.series[k + 1] = { name = kind, values = {} }
end
for i, p in ipairs(mesc.TABLE2) do
    local c, ac = { {}, {}, {} }, {}
    for s = 1, SEEDS do
        for k = 1, #KINDS do
            local r = results[((i - 1) * SEEDS + s - 1) * #KINDS + k]
            local some, all = mesc.coverage(r)
            c[k][s] = some
            if k == 1 then
                ac[s] = all
            end
        end
    end
    local mean, spread = {}, {}
    for k = 1, #KINDS do
        mean[k] = mesc.mean(c[k])
        local sum = 0.0
        for _, v in ipairs(c[k]) do
            sum = sum + (v - mean[k]) ^ 2
        end
        spread[k] = (sum / SEEDS) ^ 0.5
        chart.series[k + 1].values[i] = mean[k]
    end
    local name = ("memhog %d %%, defrag %s"):format(p.hog,
        p.defrag and "on" or "off")
    chart.groups[i], chart.series[1].values[i] = name, p.paper
    x:quantity { name, unit = "%", paper = p.paper, heddle = mean[1],
        calibrated = true }
    local function f(v) return ("%.1f"):format(v) end
    rows[#rows + 1] = { p.hog .. " %", p.defrag and "on" or "off", f(p.paper),
        f(mean[1]), f(mesc.mean(ac)), f(spread[1]), f(mean[2]), f(spread[2]),
        f(mean[3]) }
end
x:note("the generator was fitted to this table, so nothing of it counts; the buddy's "
    .. "memory is torn as much as the generator breaks up of the footprint, so its "
    .. "column is no second measurement; compacted: all that the hog has kept in torn "
    .. "blocks moves together, which the paper's 0.4 to 4.4 points of defrag are far "
    .. "from")
x:table("Percent of the footprint in contiguous subregions", rows)
x:bars(chart)
x:close()
