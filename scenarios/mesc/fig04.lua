--- mesc/fig04.lua - how long regions of contiguous pages are.
--
-- MESC (Yu, Bai, Wang), figure 4: of each program, how its regions (runs of pages
-- that are contiguous in virtual and physical memory) are distributed, by length
-- and by what they hold, with a small and a larger working set.  By number most are
-- short, and a few long ones hold most of the footprint, the more the larger it is.
--
-- Small sets are size S in memory as table II has it (memhog 25 %, defrag on);
-- larger ones size M where small fragments have been used up, 0.2 % of the pages
-- in short runs: fitted to SRAD's regions below, which are therefore no test.  Buffers
-- are side by side, so that a region may span two.
--
--     heddle run scenarios/mesc/fig04.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local store = require "heddle.store"
local suites = require "heddle.suites"
local mesc = require "common"

local x = mesc.open("fig04", "regions of contiguous pages",
    { programs = "", seeds = 5 })
local SETS = { { name = "small", size = "S", broken = 457 },
    { name = "larger", size = "M", broken = 2 } }
local BINS = { "1-256", "257-512", "513-768", "769-1024", "more" }

local programs = {}
for name in x.arg.programs:gmatch "[^,]+" do
    programs[#programs + 1] = name
end
if #programs == 0 then
    programs = x.full and suites.get "mesc".apps or { "BICG", "SRAD" }
end
x:say("%s; mean of %d seeds", table.concat(programs, ", "), x.arg.seeds)

--- Percent of regions, and of pages, by bin; and all pages.
local function bins(lengths)
    local count, pages = { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 }
    local sum = 0
    for _, n in ipairs(lengths) do
        local b = math.min((n + 255) // 256, #BINS)
        count[b], pages[b], sum = count[b] + 1, pages[b] + n, sum + n
    end
    for b = 1, #BINS do
        count[b] = 100 * count[b] / #lengths
        pages[b] = 100 * pages[b] / sum
    end
    return count, pages, sum
end

--- What those of a program are with each seed.
local function measure(name, set)
    local key = ("mesc regions %s %s %d %d %d"):format(name, set.size,
        set.broken, x.arg.seed, x.arg.seeds)
    return store.keep(key, x.arg.cache, function()
        local app, out = H.app(name, { size = set.size }), {}
        local built = table.pack(app.make())
        app.make = function() return table.unpack(built, 1, built.n) end
        for s = 1, x.arg.seeds do
            local count, pages, sum = bins(mesc.run_lengths(app,
                mesc.runs(set.broken), x.arg.seed + s - 1))
            out[s] = { count = count, pages = pages, sum = sum }
        end
        return out
    end)
end

local rows = { { "program", "set", "MB" } }
for _, b in ipairs(BINS) do
    rows[1][#rows[1] + 1] = b
end
rows[1][#rows[1] + 1] = "regions to 256"
local chart = { groups = {}, series = {}, title = "Footprint by length of its "
    .. "regions", unit = "% of the footprint",
    xlabel = "application, small (s) or larger (l) set" }
for b, name in ipairs(BINS) do
    chart.series[b] = { name = name, values = {} }
end
local short, long, srad = 0, { {}, {} }, nil
for _, name in ipairs(programs) do
    for k, set in ipairs(SETS) do
        local seeds = measure(name, set)
        local function mean(what, b)
            local list = {}
            for s, of in ipairs(seeds) do
                list[s] = of[what][b]
            end
            return mesc.mean(list)
        end
        local row = { name, set.name, ("%.0f"):format(seeds[1].sum / 256) }
        chart.groups[#chart.groups + 1] = name .. " " .. set.name:sub(1, 1)
        for b = 1, #BINS do
            local v = mean("pages", b)
            row[#row + 1] = ("%.1f"):format(v)
            chart.series[b].values[#chart.groups] = v
        end
        row[#row + 1] = ("%.1f"):format(mean("count", 1))
        rows[#rows + 1] = row
        long[k][#long[k] + 1] = 100 - mean("pages", 1)
        if k == 1 then
            short = math.max(short, mean("count", 1))
        elseif name == "SRAD" then
            srad = mean("count", 4)
        end
    end
end

x:scope(#programs, #suites.get "mesc".apps, "programs")
x:quantity { "regions to 256 pages, small sets, most of a program", unit = "%",
    paper = 90, said = "to 90", heddle = short }
for k, set in ipairs(SETS) do
    local v = mesc.mean(long[k])
    x:quantity { "footprint in regions above 256 pages, " .. set.name
        .. " sets", unit = "%", from = 50, said = "most", heddle = v }
end
x:quantity { "SRAD: regions of 769 to 1024, larger set", unit = "%",
    paper = 27.72, heddle = srad }
x:order { "what long regions hold", paper = { "larger", "small" },
    heddle = { larger = mesc.mean(long[2]), small = mesc.mean(long[1]) } }
x:table("Percent of the footprint by length of its regions, in pages", rows)
x:bars(chart)
x:close()
