--[[
727-characterise-papers.lua - the checks of scenarios/characterise at size T.

Pinned: each of them runs and counts what it checks; what holds at T, too:
ETC's classes for a threshold of 5, Pichai's share of memory instructions, no
loss by 2 MB pages, figures of an access that do not depend on the size, no verdict
on a run that is shorter than MAFIA's.  What needs full sizes (miss rates, page
divergence, groups by speedup) is printed by the scenarios and not asserted here.
And what the table of agreement counts.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local HEDDLE = files.HEDDLE

local function run(name, words)
    local ok, text = files.command(("%s run scenarios/characterise/%s.lua "
        .. "jobs=2 %s"):format(HEDDLE, name, words))
    tap.ok(ok, name .. " runs", text)
    return text
end

--- "N of M agree", as two numbers; how many tables have such a line.
local function count(text)
    local good, all, n = 0, 0, 0
    for a, b in text:gmatch "(%d+) of (%d+) agree" do
        good, all, n = good + a, all + b, n + 1
    end
    return good, all, n
end

-- ---- ETC -------------------------------------------------------------------------

local text = run("etc", "size=T")
local low, high = text:match "above ([%d.]+) and up to ([%d.]+) separate"
tap.ok(tonumber(low) < 5 and tonumber(high) >= 5,
    "a threshold of 5 separates ETC's classes at T", text)
local _, all = count(text)
tap.is(all, 15, "of all 15 programs")
tap.ok(text:find "\nSAD +regular +[%d.]+ lanes a line: regular; [%d.]+ with ",
    "textures are no global loads, and are told", text)
tap.ok(text:find "\n  LPS: not so for a threshold of 9, 10",
    "a class that differs is told", text)

-- ---- programs of today -------------------------------------------------------------

text = run("modern", "size=T")
tap.ok(text:find "\nPAGEDATTN +0.9 MB +10976 +10976 +27648 +27648 +256 +256 +1.00 "
    and text:find "\nall counts are those of the closed forms\n",
    "programs of today do what their closed forms say", text)

-- ---- MASK --------------------------------------------------------------------------

text = run("mask", "sizes=T")
local n
_, all, n = count(text)
tap.ok(n == 4 and all == 4 * 27,
    "four ways to count, for every program there is", text)

-- ---- MAFIA -------------------------------------------------------------------------

local dir = files.output("mktemp -d"):gsub("\n", "")
text = run("mafia", ("programs=RED,HISTO ilp=1 millions=1 out=%s cache=%s/c")
    :format(files.quote(dir), files.quote(dir)))
_, n = text:gsub("not comparable %(1 million instructions, MAFIA 100%)\n", "")
tap.ok(n >= 9 and not text:find "%f[%a]match%f[%A]" and not text:find "nearest",
    "no row of a run shorter than MAFIA's is judged", text)
files.output("rm -rf " .. files.quote(dir))

-- ---- Pichai --------------------------------------------------------------------------

text = run("pichai", "size=T")
for _, name in ipairs { "BFS", "KMEANS", "STREAMCLUSTER", "PATHFINDER" } do
    tap.ok(text:find(name .. ": memory instructions%s+< 25 %%%s+[%d.]+ %%"
        .. "%s+yes"), name .. " has less than 25 % memory instructions", text)
end

-- ---- MESC ----------------------------------------------------------------------------

text = run("mesc", "size=T")
local slow, seen = {}, 0
for name, speedup in text:gmatch "\n(%w+)%s+(%d+%.%d%d)%s+%l*sensitive" do
    seen = seen + 1
    -- MVT's buffers are a few pages; aligned to 2 MB they meet in DRAM's banks.
    if tonumber(speedup) < (name == "MVT" and 0.85 or 0.95) then
        slow[#slow + 1] = name
    end
end
tap.is(seen, 15, "MESC's 15 programs")
tap.is(table.concat(slow, " "), "", "2 MB pages cost none of them much")

-- ---- figures ---------------------------------------------------------------------------

text = run("figures", "size=T")
local good
good, all = count(text)
tap.ok(all >= 10 and good == all, "figures that hold at every size", text)

-- ---- the table of agreement ------------------------------------------------------------

package.path = "scenarios/characterise/?.lua;" .. package.path
local agree = require "agree"
local checks = agree.new()
checks:add("a", "1", "1", true)
checks:add("b", "1", "2", false, "because")
checks:add("c", "1", "2", nil)
checks:within("d", 100, 104.9, 0.05)
checks:within("e", 100, 105.1, 0.05)
checks:within("f", 100, nil, 0.05)
tap.is(checks.good, 2, "what agrees is counted")
tap.is(checks.all, 4, "and what was checked")
tap.is(table.concat(checks.why, "; "),
    "b: because; e: the cause was not found", "and why not is told")

return tap.done()
