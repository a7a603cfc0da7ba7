--- mask/sec43.lua - how often page walk reads hit the L2 cache, by level.
--
-- MASK (ASPLOS 2018), section 4.3: reads of the root nearly always hit, those
-- of the leaves hardly ever; the third level depends on the pair, MM_CONS and
-- RED_RAY are named.  SharedTLB; a read that joins one of the same line under
-- way is a look-up that did not hit, and has a column of its own.  1.0 and 68.7 %
-- want an entry in a line of its own and five bits of index: rows below with
-- entries of 128 bytes, and of 64 (vm.entry_bytes), shown; at full for few pairs.
--
--     heddle run scenarios/mask/sec43.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local report = require "heddle.report"
local suite = require "common"

local PAPER = { 99.8, 98.8, 68.7, 1.0 }
local LEVEL3 = { MM_CONS = 58.3, RED_RAY = 94.5 }

local x = suite.open("sec43", "section 4.3",
    "L2 cache hit rate of page walk reads")
local results, o = suite.measure(x, { names = { "SharedTLB" } })

local function rate(r, level)
    local v = suite.metric(r.SharedTLB.run, "walk_hit_rate_" .. level)
    return v and 100 * v
end

local columns = suite.entries(x, o, results)

--- The mean of a function of a pair's result, in those columns.
local function beside(f, other)
    return suite.beside(x, other or columns, function(sets)
        return (select(2, suite.map(sets, o, f)))
    end)
end

local function merged(r)
    local c = report.counter
    local all = c(r.SharedTLB.run, "l2cache.walk4_lookups")
    return all > 0 and 100 * c(r.SharedTLB.run, "l2cache.walk4_merged") / all
end

local series, means = {}, {}
for level = 1, 4 do
    local values, mean = suite.map(results, o, function(r)
        return rate(r, level)
    end)
    means["level " .. level] = mean
    series[level] = { name = "level " .. level, values = values }
    x:quantity { ("level %d%s"):format(level, level == 1 and " (root)"
        or level == 4 and " (leaf)" or ""), unit = "%", paper = PAPER[level],
        heddle = mean, note = level == 4 and suite.note.leaf or nil,
        also = beside(function(r) return rate(r, level) end) }
end
local joined, mean = suite.map(results, o, merged)
x:quantity { "level 4, reads that joined another one", unit = "%",
    heddle = mean, also = beside(merged) }
series[5] = { name = "level 4 joined", values = joined }
local named = suite.named { "MM_CONS", "RED_RAY" }
local more = require("heddle.sharing").measure(x, suite.options(x,
    { names = { "SharedTLB" }, pairs = named }))
for i, set in ipairs(named) do
    x:quantity { "level 3, " .. set.name, unit = "%", n = 1, of = 1,
        paper = LEVEL3[set.name], heddle = rate(more[i], 3),
        also = beside(function(r) return rate(r, 3) end,
            suite.entries(x, o, results, { set })) }
end
x:order { "hit rates", paper = { "level 1", "level 2", "level 3", "level 4" },
    heddle = means }
suite.grouped(x, { title = "L2 cache hit rate of page walk reads", unit = "%",
    head = "pair", format = "%.1f" }, suite.names(o), series)
x:close()
