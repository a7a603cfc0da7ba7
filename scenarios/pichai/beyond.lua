--- pichai/beyond.lua - warps, blocks and walks that know of TLBs, on MASK's machine.
--
-- What Pichai et al. (ASPLOS 2014) put into each core meets the shared TLB and
-- walkers of MASK (ASPLOS 2018), preset maxwell, which no paper measured:
--   pairs of programs share the GPU, and CCWS or TCWS schedules their warps, alone
--   and beside MASK; work as in sharing.lua;
--   the same pairs where walkers, of which all cores have some together, take the
--   walks that wait in batches;
--   blocks of Pichai's programs are compacted, with and without care for the TLB.
--
-- What came out (scale=full): with a shared TLB and 64 walkers no miss waits for one,
-- and neither schedulers (CCWS -1.0 %, TCWS +0.3 %) nor batches (+0.3 %) find much.
-- With 8 walkers for all 30 cores batches gain 88 %, with one they make a pair 11.4
-- times as fast, and it does 97 % of what 64 walkers do: a walk then reads 1.6 entries
-- of 4, since walks that miss meanwhile join the batch.  TLB-aware compaction has 2.4
-- pages an instruction of a formed warp instead of 4.1; MUM gains 9 % by it and 11 % by
-- compaction without, and MEMC loses a third to either.
--
--     heddle run scenarios/pichai/beyond.lua [scale=full] [pairs=3DS_BP,MM_CONS]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"
local H = require "heddle"
local report = require "heddle.report"
local sharing = require "heddle.sharing"

local choices = {} -- maxwell's paths are MASK's
local x = suite.open("beyond", "On MASK's machine", { pairs = "" }, #choices == 0)
local EPOCH = x.full and 100000 or 2000
x.machine = "maxwell"

-- ---- pairs -------------------------------------------------------------------------

--- SharedTLB with policies, and with settings.
local function design(name, policies, settings)
    return { name = name, policies = policies, apply = function(machine)
        return H.designs.sharedtlb(machine):with(settings or {})
    end }
end

local base, mask = design("SharedTLB"), H.designs.mask { epoch = EPOCH }
local designs = { base, mask, H.designs.get "Ideal" }
local gains = { { mask, base } }
for _, policy in ipairs { "ccws", "tcws" } do
    local d = design(policy:upper(), { { use = policy } })
    local both = H.designs.both(mask, d)
    table.insert(designs, d)
    table.insert(designs, both)
    table.insert(gains, { d, base })
    table.insert(gains, { both, mask })
end
for _, walkers in ipairs { 64, 8, 1 } do
    local of = {}
    for i, batch in ipairs { 1, 32 } do
        of[i] = design(("%d walkers, batches of %d"):format(walkers, batch), nil,
            { ["walk.walkers"] = walkers, ["walk.batch"] = batch })
        table.insert(designs, of[i])
    end
    table.insert(gains, { of[2], of[1] })
end

local sets, names = {}, {}
for _, set in ipairs(H.suites.pairs()) do
    if x.arg.pairs == "" and (x.full and set.hmr == 2 and #sets < 6
        or not x.full and #sets < 1 and not set.name:find "GUP")
        or ("," .. x.arg.pairs .. ","):find("," .. set.name .. ",", 1, true) then
        sets[#sets + 1], names[#names + 1] = set.apps, set.name
    end
end
local o = { machine = H.machine "maxwell", designs = designs, reference = base,
    sets = sets, size = x.full and "M" or "S", sizes = { GUP = "S" },
    warmup = EPOCH, cycles = x.full and 500000 or 10000 }
local r = sharing.measure(x, o)
x:say("%s of size %s on maxwell, work of %d cycles alone on SharedTLB",
    table.concat(names, ", "), o.size, o.cycles)
for _, g in ipairs(gains) do
    x:quantity { ("%s over %s, weighted speedup, mean"):format(g[1].name,
        g[2].name), unit = "%",
        heddle = 100 * (sharing.gain(r, g[1].name, g[2].name) - 1) }
end
local rows = { { "design", "weighted speedup", "L1 TLB misses", "walks",
    "references a walk", "walk cycles", "waiting" } }
local chart = { groups = names, series = {}, title = "Weighted speedup",
    unit = "applications", xlabel = "pairs of applications" }
for i, d in ipairs(designs) do
    rows[i + 1] = { d.name, ("%.3f"):format(sharing.mean(r, d.name)) }
    chart.series[i] = { name = d.name, values = {} }
    for s, v in ipairs(r) do
        chart.series[i].values[s] = v[d.name].ws
    end
    for k, m in ipairs { "l1tlb_miss_rate", "walks", "references_per_walk",
        "walk_latency", "walk_wait_cycles" } do
        local sum = 0
        for _, v in ipairs(r) do
            sum = sum + (report.metric(v[d.name].run, m) or 0)
        end
        rows[i + 1][k + 2] = (k == 1 and "%.3f" or "%.1f"):format(sum / #r)
    end
end
x:table("What each design did, mean of the pairs", rows)
x:bars(chart)

-- ---- blocks ------------------------------------------------------------------------

local whole = { suite.with(suite.GTO, "SharedTLB", {}),
    suite.both(suite.TBC(), suite.GTO), suite.both(suite.TBC(3), suite.GTO) }
local all = suite.measure(x, whole)
for i = 2, 3 do
    x:quantity { ("%s over %s, mean of programs"):format(whole[i].name,
        whole[i - 1].name), unit = "%",
        heddle = -suite.below(all, whole[i], whole[i - 1]) }
end
for i = 2, 3 do
    x:quantity { "pages a memory instruction of a formed warp: "
        .. whole[i].name, unit = "pages", heddle = suite.mean(all, function(row)
            return suite.ratio(row[whole[i].name], "core.formed_pages",
                "core.formed_mem_instructions")
        end) }
end
suite.show(x, all, whole, whole[1], "Performance over SharedTLB")
x:close()
