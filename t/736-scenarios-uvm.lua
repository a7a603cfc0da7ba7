--[[
736-scenarios-uvm.lua - the experiments of scenarios/uvm at scale=quick.

Pinned: what lib/scenarios.lua says of each; less memory than is touched costs
time, and more where programs come back to what has left.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local scenarios = require "lib.scenarios"

local uvm = scenarios.of("uvm", { other = { common = true, programs = true,
        advised = true }, -- t/752
    words = { allen = "only=stream", oversubscribe = "programs=BFS2",
        pair = "pairs=BFS2+LPS", prefetch = "programs=BFS2",
        thrash = "programs=BFS2" } })
uvm:all(9)
local fixed = uvm.said.allen:match "stream, 1024 .- ([%d.]+) +14%.0 +0%.90"
tap.ok(tonumber(fixed) == 35, "allen: batches take what the settings say", fixed)
uvm:again "oversubscribe"
local least, most = uvm.said.oversubscribe:match
    "BFS2 +125 %% +([%d.]+).-BFS2 +200 %% +([%d.]+)"
tap.ok(tonumber(least) > 1 and tonumber(most) > tonumber(least),
    "less memory, more time", least)
local ok, text = uvm:run("oversubscribe", "programs=BFS2 unit=1G")
tap.ok(not ok and text:find "4K|64K|2M", "a unit that is none", text)
uvm:done()
