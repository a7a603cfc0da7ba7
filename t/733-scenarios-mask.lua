--[[
733-scenarios-mask.lua - the experiments of scenarios/mask at scale=quick.

Pinned: what lib/scenarios.lua says of each, and that an unknown pair is named.
What the numbers are is told by the scenarios and not asserted here; runs are
shorter still than quick's, and one needs only a part of its causes.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local scenarios = require "lib.scenarios"

local mask = scenarios.of("mask", {
    -- a module, policies
    other = { common = true, ["skip-walks"] = true, ["bypass-first"] = true },
    -- two pairs, and once those that quick runs
    words = { causes = "only=base,leaf", sec43 = "pairs=", fig13 = "pairs=FWT_BP" },
    more = "pairs=HISTO_LPS,MM_CONS cycles=8000",
})
mask:all(18)
mask:again "fig03"

local ok, text = mask:run("fig05", "pairs=A_B")
tap.ok(not ok and text:find "no pair 'A_B'", "an unknown pair is named", text)

mask:done()
