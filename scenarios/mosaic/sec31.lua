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
x:scope(#sets, suite.count("homogeneous", 1), "programs")
local few = suite.sets(x, "homogeneous", 1, 9)
local there = suite.measure(x, few, suite.released(designs))
x:quantity(sharing.claim({ "L2 TLB over walk cache", paper = 14.0, also = { {
    ("the release's machine (%d programs)"):format(#few), 100 * (sharing.gain(there,
    "GPU-MMU", "PWCache") - 1) } } }, results, "GPU-MMU", "PWCache"))
x:quantity { "L2 TLB over walk cache, ratio of means", unit = "%", heddle = 100
    * (select(2, sharing.gain(results, "GPU-MMU", "PWCache")) - 1) }
x:quantity(sharing.claim({ "both over the L2 TLB alone" }, results, "both",
    "GPU-MMU"))
x:order(sharing.order({ "performance", paper = { "Ideal", "GPU-MMU", "PWCache" } },
    results))
suite.sets_table(x, "IPC over GPU-MMU's, and of Ideal's", sets, designs,
    results)
suite.sets_chart(x, "IPC over GPU-MMU's", sets, designs, results)
x:close()
