--- mask/fig11.lua - MASK against SharedTLB, by class of pair.
--
-- MASK (ASPLOS 2018), figure 11: weighted speedup of all designs, mean of the
-- pairs of 0-, 1- and 2-HMR and of all.  Columns: 64 threads a warp with cores
-- split evenly (the table), the same with the best split, 32 threads, with L1
-- TLBs that block, as those of the released simulator do (causes.lua), and all of
-- that simulator's machine.  MASK means that on each design the split is the
-- best; here it is the reference's.  MASK-released, whose bypass is the
-- released simulator's, is shown, and the inputs of size M are.
--
--     heddle run scenarios/mask/fig11.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local sharing = require "heddle.sharing"
local suite = require "common"

local PAPER = { [0] = 58.7, 61.2, 52.0 }
local MEAN = "MASK over SharedTLB, mean of ratios"

local x = suite.open("fig11", "figure 11", "MASK against SharedTLB")
local results, o = suite.measure(x, { names = suite.with_released })

local groups, series, n = {}, {}, 0
for i, d in ipairs(o.designs) do
    series[i] = { name = d.name, values = {} }
end
local function group(name, r)
    n = n + 1
    groups[n] = name
    for i, d in ipairs(o.designs) do
        series[i].values[n] = sharing.mean(r, d.name)
    end
end

for hmr = 0, 2 do
    local some = suite.some(results, o, function(set)
        return set.hmr == hmr
    end)
    if #some > 0 then
        local of = 0
        for _, set in ipairs(H.suites.pairs()) do
            of = of + (set.hmr == hmr and 1 or 0)
        end
        x:quantity(sharing.claim({ ("MASK over SharedTLB, %d-HMR"):format(hmr),
            paper = PAPER[hmr], n = #some, of = of }, some, "MASK", "SharedTLB"))
        x:quantity(sharing.claim({ ("MASK-released over SharedTLB, %d-HMR"):format(
            hmr), paper = PAPER[hmr], shown = true }, some, "MASK-released",
            "SharedTLB"))
        group(("%d-HMR"):format(hmr), some)
    end
end
group("mean", results)
local columns = suite.columns(x, o, results, x.full and suite.with_released
    or { "Ideal", "SharedTLB", "PWCache", "MASK", "MASK-released" })
for _, c in ipairs(suite.choices(x, { "SharedTLB", "MASK", "MASK-released",
    "Ideal" })) do
    if c.choice == "inputs-M" then
        columns[#columns + 1] = c
    end
end
x:quantity(sharing.claim({ MEAN, from = suite.GAIN.from, to = suite.GAIN.to,
    note = suite.note.gain, also = suite.beside(x, columns, function(r)
        return 100 * (sharing.gain(r, "MASK", "SharedTLB") - 1)
    end) }, results, "MASK", "SharedTLB"))
x:quantity(sharing.claim({ "MASK-released over SharedTLB, mean of ratios",
    from = suite.GAIN.from, to = suite.GAIN.to, shown = true,
    also = suite.beside(x, columns, function(r)
        return 100 * (sharing.gain(r, "MASK-released", "SharedTLB") - 1)
    end) }, results, "MASK-released", "SharedTLB"))
x:quantity { "MASK over SharedTLB, ratio of means", unit = "%",
    heddle = 100 * (select(2, sharing.gain(results, "MASK", "SharedTLB")) - 1) }
x:quantity(sharing.claim({ "MASK below Ideal", kind = "loss", paper = 23.2, on = MEAN,
    also = suite.beside(x, columns, function(r)
        return 100 * (1 - sharing.gain(r, "MASK", "Ideal"))
    end) }, results, "MASK", "Ideal"))
x:order(sharing.order({ "weighted speedup", paper = { "Ideal", "MASK", "MASK-Cache",
    "MASK-DRAM", "SharedTLB", "PWCache" } }, results))
suite.grouped(x, { title = "By class of pair", unit = "weighted speedup", head = "class" },
    groups, series)
suite.pairs_table(x, o, results)
x:close()
