--- mask/sec71.lua - throughput and unfairness of MASK.
--
-- MASK (ASPLOS 2018), section 7.1: against SharedTLB, the sum of the pairs' IPC
-- rises by 43.4 % and the largest slowdown falls by 22.4 %, weighted speedup
-- rises by 57.8 %.
--
--     heddle run scenarios/mask/sec71.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local suite = require "common"

local x = suite.open("sec71", "section 7.1", "throughput and unfairness")
local results, o = suite.measure(x, { names = suite.all })
for _, q in ipairs {
    { "weighted speedup", "ws", 57.8, true }, -- figure 11 counts it
    { "IPC throughput", "ipc", 43.4 },
    { "unfairness", "unfairness", -22.4 },
} do
    local _, of_means = sharing.gain(results, "MASK", "SharedTLB", q[2])
    x:quantity(sharing.claim({ q[1] .. ", MASK over SharedTLB, mean of ratios",
        paper = q[3], shown = q[4] }, results, "MASK", "SharedTLB", q[2]))
    x:quantity { q[1] .. ", ratio of means", unit = "%",
        heddle = 100 * (of_means - 1) }
end
local groups, ipc, unfair = {}, {}, {}
for i, d in ipairs(o.designs) do
    groups[i] = d.name
    ipc[i] = sharing.gain(results, d.name, "SharedTLB", "ipc")
    unfair[i] = sharing.gain(results, d.name, "SharedTLB", "unfairness")
end
suite.grouped(x, { title = "Throughput and unfairness of pairs",
    unit = "of SharedTLB's", head = "design" }, groups,
    { { name = "IPC throughput", values = ipc }, { name = "unfairness",
        values = unfair } })
x:close()
