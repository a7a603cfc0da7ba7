--- mosaic/fig16.lua - compaction under fragmentation.
--
-- Mosaic (MICRO 2017), figure 16: Mosaic without CAC, with it, with copies
-- inside DRAM (CAC-BC) and with copies that cost nothing, (a) for growing shares
-- of frames that hold others' pages, half of each in use, (b) where all frames
-- do, for growing shares of their pages in use.  CAC matters only above 90 %;
-- CAC-BC helps where few pages are in the way.
--
-- Buffers are mapped once, so what compaction costs falls before the first
-- instruction: the whole GPU stands still while pages move, for a time that does
-- not depend on how long programs run.  What it brings lasts as long as they do.
-- So both are measured apart: the stall, and the weighted speedup after it (the
-- warm-up of a design is longer by its stall).  Curves like the paper's are
-- speedup * run / (run + stall) for programs of run=20000000 cycles, a guess:
-- the paper does not say how long its programs run.
--
-- The last column has a page in each channel (dram.interleave=4096) instead of
-- 256 bytes: copies inside DRAM go side by side then.
--
--     heddle run scenarios/mosaic/fig16.lua [scale=full] [sets=N] [run=CYCLES]
--
-- SPDX-License-Identifier: MIT
local fragment = require "fragment"
local report = require "heddle.report"
local suite = require "common"

local x = suite.open("fig16", "figure 16",
    "compaction under fragmentation", { run = 20000000 })
local INDEX = x.full and { 0, 50, 80, 90, 95, 97, 100 } or { 50, 100 }
local OCCUPANCY = x.full and { 1, 10, 25, 35, 50, 75 } or { 10, 75 }
local PAGE = { ["dram.interleave"] = 4096 }

-- ---- designs: a variant at a point ----------------------------------------------

local designs, paged = {}, {}
local function key(variant, index, occupancy)
    return ("%s %g/%g"):format(variant, index, occupancy)
end

local function add(index, occupancy)
    for _, v in ipairs(fragment.variants) do
        local name = key(v[1], index, occupancy)
        if not designs[name] then
            designs[name] = fragment.design(v, index, occupancy)
            designs[#designs + 1] = designs[name]
            if v[1] == "CAC-BC" then
                paged[#paged + 1] = fragment.design(v, index, occupancy, PAGE)
            end
        end
    end
end
for _, v in ipairs(INDEX) do
    add(v, 50)
end
for _, v in ipairs(OCCUPANCY) do
    add(100, v)
end

-- ---- runs --------------------------------------------------------------------------

local function stall_of(result)
    return report.counter(result, "memory.stall_cycles") or 0
end

--- ws and stall by set and design name.
local sets, all = fragment.sets(x), {}
for i, set in ipairs(sets) do
    local begin, later = fragment.start(x, set, designs), {}
    local apart = fragment.start(x, set, paged)
    local o = suite.options(x, {}, {})
    for k, d in ipairs(designs) do
        later[k] = { name = d.name, apply = d.apply, policies = d.policies,
            warmup = o.warmup + stall_of(begin[d.name]) }
    end
    later[#later + 1] = suite.gpummu
    local r = suite.measure(x, { set }, later, fragment.options(x, set))[1]
    all[i] = { base = r["GPU-MMU"].ws }
    for _, d in ipairs(designs) do
        all[i][d.name] = { ws = r[d.name].ws, start = begin[d.name],
            stall = stall_of(begin[d.name]),
            paged = apart[d.name] and stall_of(apart[d.name]) }
    end
end
suite.say(x, ("%d sets of two applications"):format(#sets))
x:say("memory of 3 GB for 217 MB of footprint; curves for programs of %d "
    .. "cycles", x.arg.run)

-- ---- what they say -----------------------------------------------------------------

--- Mean over sets of f(values of a design, values of a set).
local function mean(variant, index, occupancy, f)
    return suite.mean(all, function(r)
        return f(r[key(variant, index, occupancy)], r)
    end)
end

local function over(index, occupancy) -- CAC's speedup over that without, %
    return mean("Ideal CAC", index, occupancy, function(v, r)
        return 100 * (v.ws / r[key("No CAC", index, occupancy)].ws - 1)
    end)
end

local function stall(variant, occupancy)
    return mean(variant, 100, occupancy, function(v) return v.stall end)
end

local function overall(variant, index, occupancy)
    return mean(variant, index, occupancy, function(v, r)
        return v.ws / r.base * x.arg.run / (x.arg.run + v.stall)
    end)
end

local low = 0.0
for _, v in ipairs(INDEX) do
    low = v <= 90 and math.max(low, math.abs(over(v, 50))) or low
end
x:scope(#sets, suite.count("homogeneous", 2) + suite.count("heterogeneous", 2), "sets")
x:quantity { "large pages by compaction, index <= 90 %", unit = "%", kind = "gain",
    paper = 0, said = "none", heddle = low }
x:order { "index 100 %", paper = { "compaction", "none" }, heddle = {
    compaction = 1 + over(100, 50) / 100, none = 1.0 } }
local few, many = OCCUPANCY[1], OCCUPANCY[#OCCUPANCY]
x:order { ("stall, occupancy %d %%"):format(few), paper = { "CAC", "CAC-BC" },
    heddle = { CAC = stall("CAC", few), ["CAC-BC"] = stall("CAC-BC", few) } }
x:quantity { ("stall of CAC-BC of CAC's, occupancy %d %%"):format(many),
    kind = "times", paper = 1, said = "no shorter", heddle = stall("CAC", many) > 0
        and stall("CAC-BC", many) / stall("CAC", many) or 1 }
local order = {}
for _, v in ipairs(fragment.variants) do
    order[v[1]] = overall(v[1], 100, 50)
end
x:order { "index 100 %, half in use", paper = { "Ideal CAC", "CAC-BC", "CAC",
    "No CAC" }, heddle = order }

local function curve(title, xlabel, values, at)
    local rows, chart = { { title, "coalesced" } }, { title = title,
        xlabel = xlabel, unit = "weighted speedup over GPU-MMU", series = {} }
    for k, v in ipairs(fragment.variants) do
        rows[1][k + 2] = v[1]
        chart.series[k] = { name = v[1], values = {}, x = {} }
    end
    for _, name in ipairs { "stall CAC", "CAC-BC", "CAC-BC, page a channel" } do
        table.insert(rows[1], name)
    end
    for i, value in ipairs(values) do
        local index, occupancy = at(value)
        local row = { value, ("%.0f"):format(mean("CAC", index, occupancy,
            function(v)
                return report.counter(v.start, "memory.coalesced") or 0
            end)) }
        for k, v in ipairs(fragment.variants) do
            local y = overall(v[1], index, occupancy)
            row[k + 2] = ("%.3f"):format(y)
            chart.series[k].values[i], chart.series[k].x[i] = y, value
        end
        for _, f in ipairs { { "CAC", "stall" }, { "CAC-BC", "stall" },
            { "CAC-BC", "paged" } } do
            row[#row + 1] = ("%.0f"):format(mean(f[1], index, occupancy,
                function(v) return v[f[2]] end))
        end
        rows[i + 1] = row
    end
    x:table(title, rows)
    x:lines(chart)
end
curve("Fragmented frames, %, half of each in use", "fragmentation index, %",
    INDEX, function(v) return v, 50 end)
curve("Pages in use, %, all frames fragmented", "occupancy, %", OCCUPANCY,
    function(v) return 100, v end)
x:close()
