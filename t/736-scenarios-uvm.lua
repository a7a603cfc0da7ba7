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
    -- programs that are over soon; thrash runs what quick does
    words = { allen = "only=stream", driver = "size=T",
        oversubscribe = "programs=LPS", pair = "pairs=BFS2+LPS size=T",
        prefetch = "programs=RED", pressure = "pairs=RED+LPS",
        remote = "programs=RED" } })
uvm:all(9)
local fixed = uvm.said.allen:match "stream, 1024 .- ([%d.]+) +14%.0 +0%.90"
tap.ok(tonumber(fixed) == 35, "allen: batches take what the settings say", fixed)
uvm:again "oversubscribe"
local least, most = uvm.said.oversubscribe:match
    "LPS +125 %% +([%d.]+).-LPS +200 %% +([%d.]+)"
tap.ok(tonumber(least) > 1 and tonumber(most) > tonumber(least),
    "less memory, more time", least)
local ok, text = uvm:run("oversubscribe", "programs=LPS unit=1G")
tap.ok(not ok and text:find "4K|64K|2M", "a unit that is none", text)
uvm:done()
