--[[
737-scenarios-etc.lua - the experiments of scenarios/etc at scale=quick.

Pinned: what lib/scenarios.lua says of each; less memory than is touched costs
performance; a program that is none is refused by its name.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local scenarios = require "lib.scenarios"

local etc = scenarios.of("etc", { other = { common = true },
    more = "programs=BICG size=T memory=50" })
etc:all(16)
etc:again "fig13"
local bl = etc.said.fig13:match "BICG +50 %% +([%d.]+)"
tap.ok(tonumber(bl) < 0.95, "half of the memory costs performance", bl)
local ok, text = etc:run("fig13", "programs=NONE")
tap.ok(not ok and text:find "NONE", "a program that is none", text)
etc:done()
