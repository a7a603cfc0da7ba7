--- mt4g.lua - sizes and latencies that MT4G finds: V100, A100 PCIe 40 GB, H100.
--
-- One thread, a load after the other, lines in turn.  The size of the L1 is the
-- largest range in which all loads still hit: found between two ranges, to 512 bytes,
-- as MT4G does to one line.  The latency of the L2 is that of loads 4 kB apart in a
-- quarter of it.  Sizes have no tolerance: the tool's are the card's.
--
--     heddle run scenarios/validate/mt4g.lua
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local LOADS, FINE = 2048, 512

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/mt4g", arg = arg, source = "caps-tum/mt4g",
    title = "sizes and latencies of caches by MT4G" }
local x = v.x

--- Card of the file, machine, use, and whether the file says it of the card rightly.
local CARDS = {
    { "Tesla V100-PCIE-16GB", "v100", "fit" },
    { "NVIDIA A100-PCIE-40GB", "a100-pcie", "test" },
    { "NVIDIA H100 80GB HBM3", "h100", "fit" },
}

local head, figures = nil, {}
for _, row in ipairs(common.figures "mt4g-cards.csv") do
    head = head or row
    figures[row[1]] = {}
    for i, name in ipairs(head) do
        figures[row[1]][name] = row[i]
    end
end

local function chase(name, bytes, stride)
    return { machine = own.machine(name), seed = arg.seed, apps = { kernels.of("chase", {
        bytes = bytes, stride = stride, order = "stride", warm = 2 * bytes // stride,
        loads = LOADS }) } }
end

--- The largest ranges in which all loads take what the smallest does, of all cards at
-- once, by halving what is between.
local low, high, hit = {}, {}, {}
for i, c in ipairs(CARDS) do
    low[i], high[i] = 16384, 262144
    c.figures = figures[c[1]]
end
for i, r in ipairs(x:run { chase("v100", 16384, 128), chase("a100-pcie", 16384, 128),
    chase("h100", 16384, 128) }) do
    hit[i] = kernels.timed(r) / LOADS
end
while high[1] - low[1] > FINE do
    local jobs, middle = {}, {}
    for i, c in ipairs(CARDS) do
        middle[i] = (low[i] + high[i]) // 2 // 128 * 128
        jobs[i] = chase(c[2], middle[i], 128)
    end
    for i, r in ipairs(x:run(jobs)) do
        local side = kernels.timed(r) / LOADS < hit[i] + 1 and low or high
        side[i] = middle[i]
    end
end
local jobs = {}
for i, c in ipairs(CARDS) do
    jobs[i] = chase(c[2], math.tointeger(own.machine(c[2]):get "l2cache.bytes" // 4
        // 4096 * 4096), 4096)
end
local names, there, here = {}, {}, {}
for i, r in ipairs(x:run(jobs)) do
    local c = CARDS[i]
    local f = c.figures
    names[i], there[i], here[i] = c[2], f.l2_p50_cycles, kernels.timed(r) / LOADS
    v:row { c[2] .. ": L1 size", unit = "bytes", measured = f.l1_bytes, heddle = low[i],
        within = FINE, use = c[3] }
    v:row { c[2] .. ": L2", unit = "cycles", measured = there[i], heddle = here[i],
        tolerance = 0.07, use = c[3] }
    v:row { c[2] .. ": L1", unit = "cycles", measured = f.l1_p50_cycles, heddle = hit[i],
        tolerance = 0.07, use = c[3],
        why = f.l1_p50_cycles > 60 and "inflated: twice what other tools find" or nil }
end
x:bars { title = "hits in the L2", unit = "cycles", groups = names,
    xlabel = "card", series = {
    { name = "measured", values = there }, { name = "heddle", values = here } } }
x:say "One thread, a load after the other"
v:close()
