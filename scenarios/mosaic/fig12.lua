--- mosaic/fig12.lua - Mosaic with demand paging over GPU-MMU without.
--
-- Mosaic (MICRO 2017), figure 12: weighted speedup of Mosaic, whose pages come
-- from the host, over that of GPU-MMU with 4 KB pages whose pages are there.
--
-- "There" can mean that they were copied before the first kernel, and the copy
-- is paid, or that it is left out; both are shown, and Mosaic with the same copy
-- and with far faults.  Whole runs: a copy is paid once.
--
--     heddle run scenarios/mosaic/fig12.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local paging = require "paging"
local suite = require "common"

local PAPER = { homogeneous = 58.5, heterogeneous = 47.5 }

local x = suite.open("fig12", "figure 12",
    "Mosaic with demand paging over GPU-MMU without")
local designs = { paging.design(suite.gpummu, "none"),
    paging.design(suite.gpummu, "launch"), paging.design(suite.gpummu, "fault"),
    paging.design(suite.mosaic, "none"), paging.design(suite.mosaic, "launch"),
    paging.design(suite.mosaic, "fault") }
local FREE, PAID = designs[1].name, designs[2].name

local groups, values = {}, {}
for _, kind in ipairs { "homogeneous", "heterogeneous" } do
    local all, list = {}, {}
    local counts = kind == "homogeneous" and { 1, 2 } or { 2 }
    for _, n in ipairs(x.full and counts or { 2 }) do
        local sets = suite.sets(x, kind, n, 5)
        local results, size = paging.whole(x, sets, designs)
        table.move(results, 1, #sets, #all + 1, all)
        table.move(sets, 1, #sets, #list + 1, list)
        x:say("%s, %d applications: whole runs of %d sets, size %s", kind, n,
            #sets, size)
    end
    local of = 0
    for _, n in ipairs(counts) do
        of = of + suite.count(kind, n)
    end
    x:scope(#all, of, "sets")
    for i = 5, 6 do
        for _, reference in ipairs { FREE, PAID } do
            local scored = i == 6 and reference == FREE
            x:quantity(sharing.claim({ ("%s: %s over %s"):format(kind,
                designs[i].name, reference), paper = scored and PAPER[kind]
                or nil }, all, designs[i].name, reference))
        end
    end
    x:order(sharing.order({ kind .. ": far faults", paper = { designs[6].name,
        designs[3].name } }, all))
    suite.sets_table(x, kind, list, designs, all)
    groups[#groups + 1] = kind
    values[#groups] = {}
    for _, d in ipairs(designs) do
        values[#groups][d.name] = sharing.gain(all, d.name, FREE)
    end
end
suite.chart(x, x.title, "weighted speedup over GPU-MMU without paging", groups,
    designs, function(g, name) return values[g][name] end)
x:close()
