--[[
734-scenarios-mosaic.lua - the experiments of scenarios/mosaic at scale=quick.

Pinned: what lib/scenarios.lua says of each; `with` changes the machine and what
is found; memory shrinks with footprints.  What the numbers are is told by the
scenarios and not asserted here.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local scenarios = require "lib.scenarios"

local mosaic = scenarios.of("mosaic", { other = { common = true,
    fragment = true, paging = true, speedup = true, sweep = true },
    words = { fig16 = "size=S" } }) -- less memory to fragment
mosaic:all(15)
mosaic:again "fig03"

local _, other = mosaic:run("fig03", "with=l1tlb.mshrs=1,walk.mode=fixed:400")
local function loss(text)
    return tonumber(text:match "4 KB: loss against Ideal +%S+ %% +(%S+) %%")
end
tap.ok(other:find("machine changed: l1tlb.mshrs=1,walk.mode=fixed:400", 1,
    true) and loss(other) > loss(mosaic.said.fig03),
    "with changes the machine", other)
local ok, text = mosaic:run("fig03", "with=l1tlb.mshr=1")
tap.ok(not ok and text:find "l1tlb.mshrs", "an unknown setting is named", text)
ok, text = mosaic:run("fig03", "with=l1tlb.mshrs")
tap.ok(not ok and text:find "with=l1tlb.mshrs: expected setting=value",
    "and one without a value", text)

package.path = "scenarios/mosaic/?.lua;" .. package.path
local suite = require "common"
for _, size in ipairs { "S", "M" } do
    local set = { apps = { "TRD", "HS" } }
    local share = suite.memory(set, size) / suite.footprint(set, size)
    tap.ok(math.abs(share / (3221225472 / 217e6) - 1) < 0.01
        and suite.memory(set, size) % (2 << 20) == 0,
        "memory of size " .. size .. ": 3 GB for 217 MB, in whole frames")
end

mosaic:done()
