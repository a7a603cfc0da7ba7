--- etc/fig20.lua - what compression gains, by how much it compresses.
--
-- ETC (ASPLOS 2019), figure 20: with half of the memory, performance against the
-- compression ratio from 1 to 2 is nearly linear, with a jump at 2, where all
-- fits.  Sizes of pages are drawn for all programs (compress.contents = false).
--
--     heddle run scenarios/etc/fig20.lua [scale=full] [programs=ATAX]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local etc = require "common"

local x = etc.open("fig20", { "ATAX", "SCAN", "LUD", "BICG", "MVT", "GESUMMV" },
    "by compression ratio, with half of the memory")
x.shares = { 50 }
local quick = x.arg.scale ~= "full"
local RATIOS = quick and { 100, 150, 200 } or { 100, 125, 150, 175, 200 }
local designs = {}
for i, ratio in ipairs(RATIOS) do
    designs[i] = { name = ("%.2f"):format(ratio / 100), settings = {
        ["compress.enable"] = true, ["compress.contents"] = false,
        ["compress.ratio"] = tostring(ratio) } }
end
local all = etc.measure(x, designs)
local mean = {}

for _, d in ipairs(designs) do
    local sum = 0.0
    for _, r in ipairs(all) do
        sum = sum + etc.share(r, d.name)
    end
    mean[d.name] = sum / #all
    x:quantity { "performance at a ratio of " .. d.name .. ", of memory for all",
        heddle = 100 * mean[d.name], unit = "%" }
end
x:order { "more compression, more performance",
    paper = { "2.00", "1.50", "1.00" }, heddle = mean }
local slope = {}
for i = 2, #designs do
    local a, b = designs[i - 1].name, designs[i].name
    slope[a .. " to " .. b] = (mean[b] - mean[a])
        / (RATIOS[i] - RATIOS[i - 1])
end
local last = designs[#designs - 1].name .. " to 2.00"
local first = "1.00 to " .. designs[2].name
x:order { "the jump is at 2", paper = { last, first }, heddle = slope }
etc.show(x, all, designs, "performance, with memory for all as 1")
local rows = { { "program", "ratio", "pages back" } }
for _, r in ipairs(all) do
    for _, d in ipairs(designs) do
        rows[#rows + 1] = { r.program, d.name,
            H.report.counter(r[d.name], "evict.refaults") }
    end
end
x:table("pages migrated again after an eviction", rows)
x:close()
