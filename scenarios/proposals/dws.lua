--- proposals/dws.lua - walkers that have owners: shared, parted, and with stealing.
--
-- Pratheek, Jawalkar, Basu: Improving GPU Multi-tenancy with Page Walk Stealing, HPCA
-- 2021.  Of two applications on a GPU the one that misses more fills the walkers'
-- queue.  A static partition of walkers protects the other and leaves walkers idle; a
-- walker that steals while its own application has no walk has both.  The paper's
-- numbers could not be read: the order is what is compared, stealing above shared, and
-- above the partition.
--
-- Pairs: the first six of class 2-HMR; quick: the first two with GUP, which misses most.
--
-- Machine: maxwell with its shared L2 TLB and 16 walkers (a guess; 64 are the
-- preset's, where little waits), pairs of MASK, cores split evenly; equal work, as in
-- MASK.
--
--     heddle run scenarios/proposals/dws.lua [scale=full] [pairs=3DS_BP,GUP_HISTO]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local common = require "common"
local report = require "heddle.report"
local sharing = require "heddle.sharing"

local x = common.open("dws", "Walkers with owners", "Pratheek 2021", { pairs = "" })

local function design(name, use)
    return { name = name, policies = { use }, apply = function(machine)
        return H.designs.sharedtlb(machine):with {
            ["walk.walkers"] = { 16, "guess" } }
    end }
end
local shared = design "shared"
local designs = { shared,
    design("partition", { use = "dws", steal = "none" }),
    design("stealing", { use = "dws" }),
}
local sets, names = {}, {}
for _, set in ipairs(H.suites.pairs()) do
    local wanted = ("," .. x.arg.pairs .. ","):find("," .. set.name .. ",", 1, true)
    if wanted or x.arg.pairs == ""
        and (x.full and set.hmr == 2 and #sets < 6
            or not x.full and #sets < 2 and set.name:find "GUP") then
        sets[#sets + 1], names[#names + 1] = set.apps, set.name
    end
end
if #sets == 0 then
    error(("pairs=%s: no such pair; heddle explain mask-pairs lists them")
        :format(x.arg.pairs), 0)
end
local r = sharing.measure(x, { machine = H.machine "maxwell", designs = designs,
    reference = shared, sets = sets, size = x.size, sizes = { GUP = "S" },
    warmup = x.warmup, cycles = x.cycles })
x:say("%s of size %s, work of %d cycles alone", table.concat(names, ", "), x.size,
    x.cycles)
for _, g in ipairs { { "stealing", "shared" }, { "stealing", "partition" },
    { "partition", "shared" } } do
    x:quantity { ("%s over %s, weighted speedup, mean"):format(g[1], g[2]),
        unit = "%", kind = "gain", from = g[1] == "stealing" and 0 or nil,
        heddle = 100 * (sharing.gain(r, g[1], g[2]) - 1) }
end
local rows = { { "pair", "design", "weighted speedup", "slower one", "walks",
    "walk, cycles", "waits, cycles", "stolen" } }
local chart = { title = "Weighted speedup", groups = names, series = {},
    unit = "sum of speeds over alone", xlabel = "pairs of applications" }
for d, of in ipairs(designs) do
    chart.series[d] = { name = of.name, values = {} }
end
for s, v in ipairs(r) do
    for d, of in ipairs(designs) do
        local m = v[of.name]
        chart.series[d].values[s] = m.ws
        rows[#rows + 1] = { names[s], of.name, ("%.3f"):format(m.ws),
            ("%.3f"):format(math.min(table.unpack(m.each))),
            ("%.0f"):format(report.metric(m.run, "walks") or 0),
            ("%.1f"):format(report.metric(m.run, "walk_latency") or 0),
            ("%.1f"):format(report.metric(m.run, "walk_wait_cycles") or 0),
            tostring(report.counter(m.run, "policy.dws.stolen") or 0) }
    end
end
x:table("What each design did", rows)
x:bars(chart)
x:close()
