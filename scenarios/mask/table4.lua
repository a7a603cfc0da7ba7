--- mask/table4.lua - other machines: Fermi and an integrated GPU.
--
-- MASK (ASPLOS 2018), table 4: PWCache, SharedTLB and MASK, in percent of Ideal,
-- on a GTX 480 and on the integrated GPU of Power et al.; machines `fermi` and
-- `integrated`, which say what in them is a guess.  Warps have 32 threads.
--
--     heddle run scenarios/mask/table4.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local sharing = require "heddle.sharing"
local suite = require "common"

local PAPER = {
    fermi = { PWCache = 53.1, SharedTLB = 60.4, MASK = 78.0 },
    integrated = { PWCache = 52.1, SharedTLB = 38.2, MASK = 64.5 },
}

local x = suite.open("table4", "table 4", "Fermi and an integrated GPU", nil, suite.FEW)
local groups, series = {}, {}
for i, name in ipairs { "PWCache", "SharedTLB", "MASK" } do
    series[i] = { name = name, values = {}, marks = {} }
end
for m, machine in ipairs { "fermi", "integrated" } do
    local r, o = suite.measure(x, { names = { "Ideal", "PWCache", "SharedTLB",
        "MASK" }, machine = H.machine(machine) })
    groups[m] = machine
    local order = {}
    for _, s in ipairs(series) do
        local paper = PAPER[machine][s.name]
        local q = sharing.claim({ ("%s on %s"):format(s.name, machine),
            kind = "part", paper = paper, on = s.name == "MASK"
            and "SharedTLB on " .. machine or nil }, r, s.name, "Ideal")
        s.values[m], s.marks[m] = q.heddle, paper
        order[#order + 1] = s.name
        x:quantity(q)
    end
    table.sort(order, function(a, b)
        return PAPER[machine][a] > PAPER[machine][b]
    end)
    x:order(sharing.order({ machine, paper = order }, r))
    suite.pairs_table(x, o, r)
end
suite.grouped(x, { title = "Other machines", unit = "% of Ideal",
    head = "machine", format = "%.1f", mark = "MASK's paper" }, groups, series)
x:close()
