--- uvm/pair.lua - two applications in less memory than both touch.
--
-- No paper's figure: ETC (ASPLOS 2019) runs one program.  Two run side by side,
-- cores halved, once with memory for all and then in a share of the summed
-- footprints.  What leaves is the oldest unit of all, whosesoever it is (the
-- default); or the least used one of the application that has most (the example
-- policies/largest.lua).  Told is how much longer each takes than with memory for
-- all, and how unequally the two suffer.
--
--     heddle run scenarios/uvm/pair.lua [scale=full] [pairs=HS+ATAX,FDTD+BFS2]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local uvm = require "common"

local arg = H.args(experiment.args {
    pairs = "",   -- A+B, separated by commas; "": those of the scale
    size = "S",
    unit = "64K", -- what leaves at once: 4K, 64K, 2M
})
local full = arg.scale == "full"
local PAIRS = uvm.pairs(arg.pairs, full
    and { "2DCONV+ATAX", "HS+BFS2", "FDTD+MVT", "3DS+GUP", "ATAX+MVT" }
    or { "2DCONV+ATAX", "HS+BFS2" })
local SHARES = { 75, 50 }
local VICTIMS = { { "oldest" }, { "largest", H.here "../../policies/largest.lua" } }

local x = experiment.open { name = "uvm/pair",
    source = "beyond ETC (ASPLOS 2019), section 6",
    title = "two applications in less memory than both touch", arg = arg }
x:say("size %s, units of %s; memory: a share of the 64 KB pages that both touch",
    arg.size, arg.unit)

local function slow(run, a)
    return run.result.apps[a].cycles / run.whole.apps[a].cycles
end

local chart = { unit = "times",
    title = "The longer of two slowdowns, by what leaves",
    note = "Of the time with memory for all.",
    xlabel = "programs, and the memory that they touch, % of what there is" }
local runs, worst = uvm.squeeze(x, { programs = PAIRS, size = arg.size,
    shares = SHARES, cases = VICTIMS, chart = chart,
    job = function(v)
        return { policies = v[2] and { v[2] } or nil,
            settings = { ["evict.unit"] = arg.unit } }
    end,
    pages = function(touched, share) return touched * share // 100 end,
    label = function(pair, share) return pair .. " " .. share end,
    value = function(run) return math.max(slow(run, 1), slow(run, 2)) end,
})

local rows, far = { { "pair", "memory", "evicted", "first", "second", "apart",
    "MB evicted of the first", "of the second" } }, {}
for _, run in ipairs(runs) do
    local a, b, r = slow(run, 1), slow(run, 2), run.result
    local key, apart = run.share .. run.case[1], run.value / math.min(a, b)
    rows[#rows + 1] = { run.name, run.share .. " %", run.case[1],
        ("%.2f"):format(a), ("%.2f"):format(b), ("%.2f"):format(apart),
        ("%.1f"):format(uvm.total(r, "evict.pages", 0) / 256),
        ("%.1f"):format(uvm.total(r, "evict.pages", 1) / 256) }
    far[key] = (far[key] or 0.0) + apart / #PAIRS
end
for _, share in ipairs(SHARES) do
    for _, v in ipairs(VICTIMS) do
        x:quantity { ("longer slowdown at %d %%, %s leaves"):format(share, v[1]),
            heddle = worst[share][v[1]], unit = "times" }
        x:quantity { ("how far apart at %d %%, %s leaves"):format(share, v[1]),
            heddle = far[share .. v[1]], unit = "times" }
    end
end
x:table("times as long as with memory for all", rows)
x:bars(chart)
x:close()
