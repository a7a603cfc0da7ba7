--[[
738-scenarios-pichai.lua - the experiments of scenarios/pichai at scale=quick.

Pinned: what lib/scenarios.lua says of each; where the lanes of a warp walk along
rows of their own (the first launch of KMEANS), CCWS keeps the rows in the L1.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local scenarios = require "lib.scenarios"

local pichai = scenarios.of("pichai", { other = { common = true } })
pichai:all(15)
pichai:again "fig16"
local gto, ccws = pichai.said.fig13:match "KMEANS +1%.000 +([%d.]+) +([%d.]+)"
tap.ok(tonumber(ccws) > 1.5 * tonumber(gto), "CCWS over GTO alone",
    ("%s, %s"):format(gto, ccws))
local ok, text = pichai:run("fig13", "programs=NONE")
tap.ok(not ok and text:find "NONE", "a program that is none", text)
pichai:done()
