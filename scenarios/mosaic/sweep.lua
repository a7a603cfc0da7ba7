--- sweep.lua - GPU-MMU and Mosaic with more and with fewer TLB entries: what
-- Mosaic's figures 14 and 15 measure.
--
-- Weighted speedup, mean of a seeded choice of sets of two applications
-- (sensitivity studies take a subset; sets=N takes more), over that of GPU-MMU
-- with the entries of table 1.
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local suite = require "common"

local sweep = {}

local BOTH = { suite.gpummu, suite.mosaic }

local function sets_of(x)
    local sets = {}
    for _, kind in ipairs { "homogeneous", "heterogeneous" } do
        local list = suite.sets(x, kind, 2, 3)
        table.move(list, x.full and 1 or #list, #list, #sets + 1, sets)
    end
    return sets
end

local function name_of(design, n)
    return ("%s, %d"):format(design.name, n)
end

--- { sets =, [setting] = { [design] = { [entries] = mean over GPU-MMU's of
-- table 1 } } }; settings: { { setting, counts, quick counts }, ... }.
function sweep.measure(x, settings)
    local sets, designs = sets_of(x), { suite.gpummu }
    for _, s in ipairs(settings) do
        s.counts = x.full and s[2] or s[3]
        for _, d in ipairs(BOTH) do
            for _, n in ipairs(s.counts) do
                designs[#designs + 1] = suite.variant(d, s[1] .. " "
                    .. name_of(d, n), { [s[1]] = n })
            end
        end
    end
    x:scope(#sets, suite.count("homogeneous", 2) + suite.count("heterogeneous", 2),
        "sets")
    local results, out = suite.measure(x, sets, designs), { sets = sets }
    for _, s in ipairs(settings) do
        out[s[1]] = {}
        for _, d in ipairs(BOTH) do
            local values = {}
            for _, n in ipairs(s.counts) do
                values[n] = sharing.gain(results, s[1] .. " "
                    .. name_of(d, n), "GPU-MMU")
            end
            out[s[1]][d.name] = values
        end
    end
    suite.say(x, ("%d sets of two applications"):format(#sets))
    return out
end

--- What the paper says of a design from the most entries to the fewest: flat, which
-- is a loss of nothing, or sensitive, which is an order.
function sweep.claim(x, s, design, flat, values)
    local few, many = values[s.counts[1]], values[s.counts[#s.counts]]
    x:quantity { ("%s, %s: loss of the fewest entries"):format(s.title, design),
        unit = "%", kind = "loss", paper = flat and 0 or nil,
        said = flat and "flat" or nil, heddle = 100 * (1 - few / many) }
    if not flat then
        x:order { ("%s, %s"):format(s.title, design), paper = { "most", "fewest" },
            heddle = { most = many, fewest = few } }
    end
end

--- A table and a chart of one setting.
function sweep.show(x, s, found)
    local rows, chart = { { s[1] } }, { title = s.title, series = {},
        unit = "weighted speedup over GPU-MMU", xlabel = "log2 of entries" }
    for i, n in ipairs(s.counts) do
        rows[i + 1] = { n }
    end
    for k, d in ipairs(BOTH) do
        rows[1][k + 1] = d.name
        local series = { name = d.name, values = {}, x = {} }
        for i, n in ipairs(s.counts) do
            local v = found[s[1]][d.name][n]
            rows[i + 1][k + 1] = ("%.3f"):format(v)
            series.values[i], series.x[i] = v, math.log(n, 2)
        end
        chart.series[k] = series
    end
    x:table(s.title, rows)
    x:lines(chart)
end

return sweep
