--- mask/ways.lua - what the latencies to the L2 do to the losses.
--
-- MASK (ASPLOS 2018) gives the L2 cache and the L2 TLB 10 cycles, and does not
-- say how far they are from a core (xbar.latency, walk.latency), nor a walker
-- from the L2 cache but that it is next to it (footnote 2; walk.memory_latency).
-- Its authors' simulator adds 85 cycles in the L2's partition
-- (l2cache.queue_latency).  Losses of SharedTLB and PWCache against Ideal on
-- maxwell, which has these, on maxwell-literal, which has none of it, and on
-- maxwell-crossbar, which has them in the crossbar.
--
-- Each latency is then changed alone, from maxwell-literal, whose others are
-- short, so that what a row adds is its own; and the first two together, as a core
-- reaches the L2 TLB over the crossbar.
--
-- The pairs are a list fixed beforehand, three of each class; the first three and
-- the longest ways at quick.
--
--     heddle run scenarios/mask/ways.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local sharing = require "heddle.sharing"
local suite = require "common"

local PAIRS = { "HISTO_LPS", "3DS_BP", "MM_CONS", "RAY_HS", "FWT_BP",
    "SCAN_CONS", "NW_LPS", "RED_RAY", "TRD_MUM" }
local WAYS = { 8, 20, 50, 90 }
local PAPER = { SharedTLB = 40.6, PWCache = 45.0 }

local x = suite.open("ways", "footnotes 2 and 3",
    "losses by the latencies to the L2 cache and TLB")
if x.arg.pairs == "" then
    x.arg.pairs = table.concat(PAIRS, ",", 1, x.full and #PAIRS or 3)
end

--- name, machine, settings, whether the paper's values stand beside.
local cases = { { "maxwell", "maxwell", {}, true },
    { "maxwell-literal", "maxwell-literal", {}, true },
    { "maxwell-crossbar", "maxwell-crossbar", {}, true } }
local GROUPS = { { "xbar.latency" }, { "walk.latency" },
    { "walk.memory_latency" }, { "l2cache.queue_latency" },
    { "xbar.latency", "walk.latency" } }
for _, names in ipairs(GROUPS) do
    for i, way in ipairs(WAYS) do
        if x.full or i == #WAYS then
            local settings = {}
            for _, name in ipairs(names) do
                settings[name] = way
            end
            cases[#cases + 1] = { ("%s %d"):format(table.concat(names, ", "),
                way), "maxwell-literal", settings }
        end
    end
end

local groups, series, said = {}, { { name = "SharedTLB", values = {} },
    { name = "PWCache", values = {} } }, false
for i, case in ipairs(cases) do
    local name, machine, settings, paper = table.unpack(case)
    local o = suite.options(x, { machine = H.machine(machine),
        settings = settings })
    local r = sharing.measure(x, o)
    if not said then
        suite.say(x, o)
        said = true
    end
    groups[i] = name
    for s, design in ipairs { "SharedTLB", "PWCache" } do
        local loss = 100 * (1 - sharing.gain(r, design, "Ideal"))
        series[s].values[i] = loss
        x:quantity { ("%s: loss against Ideal, %s"):format(design, name),
            unit = "%", kind = "loss", shown = paper,
            paper = paper and PAPER[design] or nil, heddle = loss }
    end
end
suite.grouped(x, { title = "Loss against Ideal", unit = "%",
    head = "machine", format = "%.1f" }, groups, series)
x:close()
