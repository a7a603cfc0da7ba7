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
    for i = 5, 6 do
        for _, reference in ipairs { FREE, PAID } do
            x:quantity { ("%s: %s over %s"):format(kind, designs[i].name,
                reference), unit = "%", paper = PAPER[kind],
                heddle = 100 * (sharing.gain(all, designs[i].name, reference)
                    - 1), why = suite.why.paged }
        end
    end
    x:order { kind .. ": far faults", paper = { "Mosaic", "GPU-MMU" },
        slack = 0.01, heddle = { Mosaic = sharing.mean(all, designs[6].name),
            ["GPU-MMU"] = sharing.mean(all, designs[3].name) },
        why = suite.why.paged }
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
