--[[
753-scenarios-proposals.lua - the pages of scenarios/proposals, with few programs.

Pinned: what lib/scenarios.lua says of each; of neighbours that were asked for each has
one fate; a walker that steals loses nothing against a partition for the application
that misses less, and the slower of two is better off with owners than without; L1 TLBs
find what they lack in each other; entries come back after an eviction; a hashed table
has one read a walk; groups of pages save walks; scenarios find policies wherever they
are run.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local scenarios = require "lib.scenarios"

local short = " cycles=20000 warmup=5000"
local of = scenarios.of("proposals", { other = { common = true },
    words = { pte_line = "programs=BICG,GUP" .. short,
        shortest_walks = "programs=BFS2,GUP" .. short,
        dws = "pairs=HISTO_GUP" .. short, valkyrie = "programs=MM" .. short,
        depot = "programs=GUP" .. short, fs_hpt = "programs=GUP" .. short,
        snakebyte = "programs=BICG" .. short } })
of:all(7)
local asked, fates = of.said.pte_line:match
    "neighbours asked for[^\n]-(%d+) pages.-one fate each[^\n]-(%d+) pages"
tap.ok(asked and asked == fates and tonumber(asked) > 1000, "neighbours have one fate",
    ("%s %s"):format(asked, fates))
local slow = {}
for design, v in of.said.dws:gmatch "HISTO_GUP +(%a+) +[%d.]+ +([%d.]+)" do
    slow[design] = tonumber(v)
end
tap.ok(slow.partition and slow.partition > slow.shared and slow.stealing > slow.shared,
    "owners protect the slower one", ("%s %s %s"):format(slow.shared, slow.partition,
    slow.stealing))
local hit = of.said.valkyrie:match "MM +Valkyrie +[%d.]+ +%d+ +(%d+)"
tap.ok(hit and tonumber(hit) > 10, "L1 TLBs have what others lack", hit)
local back = of.said.depot:match "GUP +DEPOT[^\n]-(%d+) +%d+ *\n"
tap.ok(back and tonumber(back) > 0, "entries come back", back)
local reads = of.said.fs_hpt:match "GUP +hashed +[%d.]+ +%d+ +[%d.]+ +[%d.]+ +([%d.]+)"
tap.ok(reads and tonumber(reads) < 1.1, "a hashed table has one read a walk", reads)
local pages = of.said.snakebyte:match "BICG +pages +[%d.]+ +(%d+)"
local groups = of.said.snakebyte:match "BICG +groups +[%d.]+ +(%d+)"
tap.ok(pages and groups and tonumber(groups) < tonumber(pages), "groups save walks",
    ("%s %s"):format(groups, pages))
local ok, text = of:run("dws", "pairs=NONE_SUCH" .. short)
tap.ok(not ok and text:find "pair", "a pair that is none", text)

-- Scripts find policies in Lua from whatever folder they are run in.
local stray = {}
for path in files.output "ls scenarios/*.lua scenarios/*/*.lua":gmatch "%S+" do
    local code = files.read(path):gsub("%-%-[^\n]*", "")
    stray[#stray + 1] = code:find '"policies/' and path or nil
end
tap.is(table.concat(stray, " "), "", "no policy is sought in the folder of the caller")
of:done()
