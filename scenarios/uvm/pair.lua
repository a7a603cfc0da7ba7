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
local PAIRS = uvm.words(arg.pairs, full
    and { "2DCONV+ATAX", "HS+BFS2", "FDTD+MVT", "3DS+GUP", "ATAX+MVT" }
    or { "2DCONV+ATAX", "HS+BFS2" })
local SHARES = { 75, 50 }
local VICTIMS = { { "oldest" }, { "largest", "policies/largest.lua" } }

local x = experiment.open { name = "uvm/pair",
    source = "beyond ETC (ASPLOS 2019), section 6",
    title = "two applications in less memory than both touch", arg = arg }
x:say("size %s, units of %s; memory: a share of the 64 KB pages that both touch",
    arg.size, arg.unit)

local function job(pair, pages, policy)
    return uvm.job(x, uvm.pair(pair), arg.size, pages, {
        policies = policy and { policy } or nil,
        settings = { ["evict.unit"] = arg.unit },
    })
end

local jobs = {}
for i, pair in ipairs(PAIRS) do
    jobs[i] = job(pair)
end
local whole = x:run(jobs)
jobs = {}
for i, pair in ipairs(PAIRS) do
    for _, share in ipairs(SHARES) do
        for _, v in ipairs(VICTIMS) do
            jobs[#jobs + 1] = job(pair, uvm.touched(whole[i]) * share // 100,
                v[2])
        end
    end
end
local squeezed = x:run(jobs)

local rows = { { "pair", "memory", "who leaves", "first", "second", "apart",
    "MB evicted of the first", "of the second" } }
local chart = { groups = {}, series = {}, unit = "times",
    title = "The longer of two slowdowns, by what leaves",
    note = "Of the time with memory for all." }
for i, v in ipairs(VICTIMS) do
    chart.series[i] = { name = v[1], values = {} }
end
local at, mean = 0, {}
for i, pair in ipairs(PAIRS) do
    for _, share in ipairs(SHARES) do
        chart.groups[#chart.groups + 1] = pair .. " " .. share
        for k, v in ipairs(VICTIMS) do
            at = at + 1
            local r, slow = squeezed[at], {}
            for a = 1, 2 do
                slow[a] = r.apps[a].cycles / whole[i].apps[a].cycles
            end
            local worst = math.max(slow[1], slow[2])
            local apart = worst / math.min(slow[1], slow[2])
            chart.series[k].values[#chart.groups] = worst
            rows[#rows + 1] = { pair, share .. " %", v[1],
                ("%.2f"):format(slow[1]), ("%.2f"):format(slow[2]),
                ("%.2f"):format(apart),
                ("%.1f"):format(uvm.total(r, "evict.pages", 0) / 256),
                ("%.1f"):format(uvm.total(r, "evict.pages", 1) / 256) }
            local m = mean[share .. v[1]] or { worst = 0.0, apart = 0.0 }
            m.worst, m.apart = m.worst + worst, m.apart + apart
            mean[share .. v[1]] = m
        end
    end
end
for _, share in ipairs(SHARES) do
    for _, v in ipairs(VICTIMS) do
        local m = mean[share .. v[1]]
        x:quantity { ("longer slowdown at %d %%, %s leaves"):format(share, v[1]),
            heddle = m.worst / #PAIRS, unit = "times" }
        x:quantity { ("how far apart at %d %%, %s leaves"):format(share, v[1]),
            heddle = m.apart / #PAIRS, unit = "times" }
    end
end
x:table("times as long as with memory for all", rows)
x:bars(chart)
x:close()
