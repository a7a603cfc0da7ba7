--- mosaic/fig03.lua - what translation costs with pages of 4 KB and of 2 MB.
--
-- Mosaic (MICRO 2017), figure 3: each program alone on the GPU, its pages there
-- before it starts, against a TLB that always hits.
--
--     heddle run scenarios/mosaic/fig03.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local suite = require "common"

local x = suite.open("fig03", "figure 3",
    "pages of 4 KB and of 2 MB against an ideal TLB")
local designs = { suite.gpummu, suite.large, suite.ideal }
local sets = suite.sets(x, "homogeneous", 1)
local results = suite.measure(x, sets, designs)

--- The loss of a design with each choice that the machine leaves open (common.lua); at
-- full for few programs.
local FEW = 8
local few = suite.sets(x, "homogeneous", 1, FEW)
local mark = #few < #sets and (" (%d programs)"):format(#few) or ""
local columns = x:alternatives()
if #few < #sets then
    table.insert(columns, 1, { name = "these programs", settings = {}, arg = {} })
end
for _, c in ipairs(columns) do
    c.results = suite.with(x, few, designs, c)
end
local function beside(design)
    local out = {}
    for i, c in ipairs(columns) do
        out[i] = { c.name .. mark, 100 * (1 - sharing.gain(c.results, design,
            "Ideal")), setting = c.setting, before = mark ~= "" and i > 1
            and out[1][2] or nil }
    end
    return out
end

suite.say(x, ("%d programs, each alone"):format(#sets))
x:scope(#sets, suite.count("homogeneous", 1), "programs")
for _, q in ipairs { { "GPU-MMU", "4 KB", paper = 48.1 },
    { "GPU-MMU 2 MB", "2 MB", to = 2.0 } } do
    local _, of_means = sharing.gain(results, q[1], "Ideal")
    x:quantity(sharing.claim({ q[2] .. ": loss against Ideal", kind = "loss",
        paper = q.paper, to = q.to, also = beside(q[1]) }, results, q[1], "Ideal"))
    x:quantity { q[2] .. ": loss against Ideal, ratio of means", unit = "%",
        heddle = 100 * (1 - of_means) }
end
x:order(sharing.order({ "performance", paper = { "Ideal", "GPU-MMU 2 MB",
    "GPU-MMU" } }, results))
suite.sets_table(x, "IPC over GPU-MMU's, and of Ideal's", sets, designs,
    results)
suite.sets_chart(x, "share of Ideal", sets, { suite.gpummu, suite.large },
    results, "Ideal")
x:close()
