--- mask/fig03.lua - what sharing the GPU costs under two designs.
--
-- MASK (ASPLOS 2018), figure 3: 35 pairs of applications share the GPU; the
-- weighted speedup with a page walk cache and with a shared L2 TLB is set
-- against that of an ideal TLB.  Columns: 64 threads a warp with cores split
-- evenly (the table of pairs), the same with the best split, 32 threads, with L1
-- TLBs that block, as those of the released simulator do (causes.lua), and all of
-- that simulator's machine.  The walk cache's look-up of 10 cycles is table 1's; what
-- the 85 of the release's last configuration make of PWCache is shown, and not
-- compared, as are the other choices of the machine (common.lua).
--
--     heddle run scenarios/mask/fig03.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local suite = require "common"

local x = suite.open("fig03", "figure 3", "two designs against an ideal TLB")
local results, o = suite.measure(x)

local columns = suite.columns(x, o, results)
table.move(suite.choices(x), 1, 9, #columns + 1, columns)

for _, q in ipairs { { "PWCache", paper = 45.0 }, { "SharedTLB",
    from = suite.LOSS.from, to = suite.LOSS.to } } do
    local design = q[1]
    q[1] = design .. ": loss against Ideal"
    q.kind, q.also = "loss", suite.beside(x, columns, function(r)
        return 100 * (1 - sharing.gain(r, design, "Ideal"))
    end)
    x:quantity(sharing.claim(q, results, design, "Ideal"))
    x:quantity { design .. ": ratio of means", unit = "%", heddle = 100 * (1
        - select(2, sharing.gain(results, design, "Ideal"))) }
end
x:order(sharing.order({ "weighted speedup", paper = { "Ideal", "SharedTLB",
    "PWCache" } }, results))
suite.pairs_table(x, o, results)
x:close()
