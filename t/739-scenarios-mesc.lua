--[[
739-scenarios-mesc.lua - the experiments of scenarios/mesc at scale=quick.

Pinned: what lib/scenarios.lua says of each; table II comes out within two points
of the paper, from the generator's fit, and the buddy lies near it;
scenarios/all.lua has its designs.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local scenarios = require "lib.scenarios"

local mesc = scenarios.of("mesc", { other = { common = true,
    instructions = true },
    -- fewer instructions than quick has on torn memory
    words = { memory = "budget=30000" } })
mesc:all(12)
mesc:again "fig10"
local near = 0
for paper, here in mesc.said.table2:gmatch
    "\nmemhog[^\n]-defrag o[nf]+ +([%d.]+) %% +([%d.]+) %%" do
    near = near + (math.abs(paper - here) <= 2 and 1 or 0)
end
tap.is(near, 6, "table II within 2 points")
local rows = 0
for paper, buddy in mesc.said.table2:gmatch
    "\n +%d+ %% +o[nf]+ +([%d.]+) +[%d.]+ +[%d.]+ +[%d.]+ +([%d.]+)" do
    rows = rows + 1
    tap.ok(math.abs(paper - buddy) < 6, "the buddy near it",
        paper .. " " .. buddy)
end
tap.is(rows, 6, "at all six points")

local ok, text = files.command(("%s run scenarios/all.lua shares=75 jobs=2 "
    .. "out=%s cache=%s/cache"):format(files.HEDDLE, mesc.dir, mesc.dir))
tap.ok(ok, "all five systems in one machine", text)
local designs = 0
for _ in text:gmatch "\n[%a, +]+ %d%.%d%d%d +%d%.%d%d%d%f[\n]" do
    designs = designs + 1
end
tap.is(designs, 15, "none, five, five without one, all, ETC without compression "
    .. "alone and in all, and no misses")
--- The row of a design in the table of what each did.
local function did(design)
    return text:match("\nMVT%+SRAD 75 +" .. design .. "  ([^\n]*)") or ""
end
local function cells(design)
    return did(design):match
        "(%d+) +(%d+) %% +(%d+) +(%-?%d+) %% +(%d+) +(%d+) +(%d+) +(%d+)"
end
local _, covered, _, saved = cells "MESC"
tap.ok(tonumber(covered) > 50 and tonumber(saved) > 20,
    "pages that fault are in order where frames are reserved", text)
local _, _, _, _, stopped, _, packed, apart = cells "all"
tap.ok(tonumber(stopped) > 0 and tonumber(packed) > 0 and tonumber(apart) > 0,
    "what ETC did, and what compression kept apart", text)
tap.ok(did "Mosaic":find "Mosaic coalesced nothing" and did "all":find
    "MESC filled no subregion" and not did "MESC":find "filled no",
    "who did nothing is named", text)
tap.is(select(7, cells "PE %+ MT"), "0", "PE + MT compresses nothing")
mesc:done()
