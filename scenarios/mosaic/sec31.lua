--- mosaic/sec31.lua - a shared L2 TLB in place of a page walk cache.
--
-- Mosaic (MICRO 2017), section 3.1: the design it starts from has private L1
-- TLBs and a page walk cache for the shared walkers; Mosaic gives the walk
-- cache's place to a shared L2 TLB and gains 14 % on average.
--
--     heddle run scenarios/mosaic/sec31.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local sharing = require "heddle.sharing"
local suite = require "common"

local x = suite.open("sec31", "section 3.1",
    "a shared L2 TLB instead of a page walk cache")
local pwcache = { name = "PWCache", apply = H.designs.pwcache }
local both = suite.variant(suite.gpummu, "both", { ["pwc.mode"] = "full",
    ["pwc.style"] = "physical" })
local designs = { pwcache, suite.gpummu, both, suite.ideal }
local sets = suite.sets(x, "homogeneous", 1)
local results = suite.measure(x, sets, designs)

suite.say(x, ("%d programs, each alone"):format(#sets))
local ratio, of_means = sharing.gain(results, "GPU-MMU", "PWCache")
x:quantity { "L2 TLB over walk cache", unit = "%", paper = 14.0,
    heddle = 100 * (ratio - 1), why = suite.why.walkcache }
x:quantity { "L2 TLB over walk cache, ratio of means", unit = "%",
    heddle = 100 * (of_means - 1) }
x:quantity { "both over the L2 TLB alone", unit = "%",
    heddle = 100 * (sharing.gain(results, "both", "GPU-MMU") - 1) }
x:order { "performance", paper = { "Ideal", "GPU-MMU", "PWCache" },
    heddle = { Ideal = sharing.mean(results, "Ideal"),
        ["GPU-MMU"] = sharing.mean(results, "GPU-MMU"),
        PWCache = sharing.mean(results, "PWCache") },
    why = suite.why.walkcache }

local few = suite.sets(x, "homogeneous", 1, 9)
local there = suite.measure(x, few, suite.released(designs))
x:quantity { ("L2 TLB over walk cache, the release's machine (%d programs)")
    :format(#few), unit = "%", paper = 14.0, heddle = 100 * (sharing.gain(
    there, "GPU-MMU", "PWCache") - 1), why = suite.why.walkcache }
suite.sets_table(x, "IPC over GPU-MMU's, and of Ideal's", sets, designs,
    results)
suite.sets_chart(x, "IPC over GPU-MMU's", sets, designs, results)
x:close()
