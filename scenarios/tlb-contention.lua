--- tlb-contention.lua - what sharing a GPU costs in translation, and who gets it
-- back.
--
-- After MASK (ASPLOS 2018), figure 3, and Mosaic (MICRO 2017), figure 8: pairs
-- of applications share a GPU, 15 cores each.  Five designs do the same work:
--
--     Ideal       every L1 TLB look-up hits: what is lost is set against it
--     SharedTLB   pages of 4 KB, an L2 TLB that all cores share
--     PWCache     pages of 4 KB, a page walk cache in its place
--     2 MB        SharedTLB with pages of 2 MB, and buffers rounded up to them
--     Mosaic      SharedTLB with Mosaic: 4 KB frames that are coalesced to 2 MB
--
-- The last two have Mosaic's TLB entries for large pages.  Four machines:
--
--     maxwell           the papers': hits under a miss, and the released
--                       simulator's 85 cycles in the L2's partition
--     maxwell-literal   as maxwell without these
--     released          the simulator that MASK's and Mosaic's authors released
--     aggressive        misses under a miss: what a better L1 TLB would give
--
-- The pairs were fixed before the first run, one of each class of MASK's table 2
-- (n-HMR: n applications whose L1 and L2 TLB miss rates are both high).  MM +
-- CONS and 3DS + BP are pairs of MASK; for 0-HMR, BFS2 (low L1, high L2 miss
-- rate) stands beside GUP (high, low), at the size at which MASK's class of GUP
-- holds, a table of 4 MB.
--
-- Alone: each application on 15 cores, the others idle, on the same machine's
-- SharedTLB.  It runs `cycles` cycles after a warm-up; the warp instructions that
-- it issues there are its work.  Shared: both run until each has done its work.
-- Performance is weighted speedup, the sum of IPC shared / IPC alone.
--
--     heddle run scenarios/tlb-contention.lua [cycles=N] [size=M] [jobs=N]
--         [machines=maxwell,released] [detail=true] [svg=FILE] [json=FILE]
--
-- The chart that it writes is the README's, man/tlb-contention.svg.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local sharing = require "heddle.sharing"

local arg = H.args {
    cycles = 200000,      -- of the alone runs; they fix the work
    warmup = 100000,      -- core cycles before the work begins (MASK: an epoch)
    size = "M",           -- of the applications: T, S, M, L
    machines = "maxwell,maxwell-literal,released,aggressive",
    jobs = 2,             -- simulations at once
    detail = false,       -- prints more tables
    svg = "out/tlb-contention.svg",
    json = "",            -- where to write all results
    seed = 1,
}

local CORES = 30

local PAIRS = {
    { "BFS2", "GUP", class = "0-HMR" },
    { "3DS", "BP", class = "1-HMR" },
    { "MM", "CONS", class = "2-HMR" },
}

--- A design with Mosaic's entries for large pages.
local function large(design, name)
    return { name = name, policies = design.policies, apply = function(machine)
        return design.apply(H.designs.sharedtlb(machine)):with({
            ["l1tlb.large_entries"] = 16, ["l2tlb.large_entries"] = 256,
        }, "Mosaic table 1")
    end }
end

local DESIGNS = {
    { name = "Ideal", apply = H.designs.ideal },
    { name = "SharedTLB", apply = H.designs.sharedtlb },
    { name = "PWCache", apply = H.designs.pwcache },
    large(H.designs.get "GPU-MMU 2 MB", "2 MB"),
    large(H.designs.get "Mosaic", "Mosaic"),
}

--- Losses as MASK (means of 35 pairs: figure 3) and Mosaic (27 programs alone:
-- figure 3, two applications: section 6.1) print them.
local PAPER = { SharedTLB = "40.6 %", PWCache = "45.0 %", ["2 MB"] = "< 2 %",
    Mosaic = "6.8 %" }

-- ---- the runs -------------------------------------------------------------

--- What sharing.lua asks of an experiment: to run jobs.
local runner = { arg = arg, run = function(_, jobs)
    return H.run(jobs, { jobs = arg.jobs })
end }

local machines, results = {}, {}
for name in arg.machines:gmatch "[^,]+" do
    machines[#machines + 1] = name
end
for _, name in ipairs(machines) do
    results[name] = sharing.measure(runner, {
        machine = H.machine(name):with { ["core.count"] = CORES },
        designs = DESIGNS, reference = DESIGNS[2], sets = PAIRS,
        size = arg.size, sizes = { GUP = arg.size ~= "T" and "S" or "T" },
        warmup = arg.warmup, cycles = arg.cycles,
    })
end
if arg.json ~= "" then
    H.report.json(results, arg.json)
end

-- ---- the tables -------------------------------------------------------------

local metric, percent = H.report.metric, H.report.percent
local first = results[machines[1]]

--- Of a set of a machine: what a design loses against Ideal.
local function loss(set, design)
    return 1 - set[design].ws / set.Ideal.ws
end

--- Mean over a machine's sets.
local function mean(name, f)
    local sum = 0.0
    for _, set in ipairs(results[name]) do
        sum = sum + f(set)
    end
    return sum / #results[name]
end

--- What a design loses on a machine, mean over the sets.
local function mean_loss(name, design)
    return mean(name, function(set) return loss(set, design) end)
end

--- Mean over a machine's sets of metrics of SharedTLB, added.
local function shared(name, ...)
    local names = { ... }
    return mean(name, function(set)
        local sum = 0.0
        for _, what in ipairs(names) do
            sum = sum + (metric(set.SharedTLB.run, what) or 0)
        end
        return sum
    end)
end

--- Warp time that goes into translation, of the time of resident warps.
local function translating(name)
    return shared(name, "time_tlb", "time_walk")
        / (1 - shared(name, "time_idle"))
end

--- A row of the designs but Ideal: of(name of the design).
local function row_of(title, of)
    local row = { title }
    for i = 2, #DESIGNS do
        row[i] = of(DESIGNS[i].name)
    end
    return row
end

local rows = { row_of("mean loss on", function(design) return design end) }
table.move({ "translating", "walks at once" }, 1, 2, #rows[1] + 1, rows[1])
for _, name in ipairs(machines) do
    local row = row_of(name, function(design)
        return percent(mean_loss(name, design))
    end)
    row[#row + 1] = percent(translating(name))
    row[#row + 1] = ("%.1f"):format(shared(name, "concurrent_walks"))
    rows[#rows + 1] = row
end
rows[#rows + 1] = "-"
rows[#rows + 1] = row_of("the papers", function(design) return PAPER[design] end)

local function kept(design)
    return percent(1 - mean_loss(machines[1], design))
end

io.write(("Two applications on one GPU, with pages of 4 KB, reach %s of the "
    .. "performance of\nan ideal TLB; with pages of 2 MB %s, with Mosaic %s (%s, "
    .. "mean of %d pairs).\n\n"):format(kept "SharedTLB", kept "2 MB",
    kept "Mosaic", machines[1], #PAIRS), H.report.table(rows), [[

Losses are against the ideal TLB; translating: share of warp time on SharedTLB.
The papers' are means of 35 pairs and 27 programs, on the simulator `released`.

]])

rows = { row_of("% of Ideal on " .. machines[1], function(design) return design end) }
for p, pair in ipairs(PAIRS) do
    rows[p + 1] = row_of(pair[1] .. " + " .. pair[2], function(design)
        return ("%.1f"):format(100 * (1 - loss(first[p], design)))
    end)
end
io.write(H.report.table(rows), "\n")

-- ---- detail=true --------------------------------------------------------------

--- MASK table 2: L1 / L2 TLB miss rate high (above 20 %) or low.
local CLASS = H.suites.get("mask").class
local function high(rate)
    return rate and rate > 0.2 and "High" or "Low"
end

--- Weighted speedups, what each application does alone, and who uses DRAM.
local function detail()
    rows = { { "weighted speedup", "class" } }
    for p, pair in ipairs(PAIRS) do
        local row = { pair[1] .. " + " .. pair[2], pair.class }
        for i, d in ipairs(DESIGNS) do
            rows[1][i + 2] = d.name
            row[i + 2] = ("%.3f"):format(first[p][d.name].ws)
        end
        rows[#rows + 1] = row
    end
    io.write(H.report.table(rows), "\n")
    rows = { { "alone", "L1 TLB miss", "L2 TLB miss", "class here", "in MASK",
        "walks at once", "IPC" } }
    for p, pair in ipairs(PAIRS) do
        for i, name in ipairs(pair) do
            local r = first[p].SharedTLB.alone[i]
            local l1, l2 = metric(r, "l1tlb_miss_rate"),
                metric(r, "l2tlb_miss_rate")
            rows[#rows + 1] = { name, percent(l1), percent(l2),
                high(l1) .. "/" .. high(l2), CLASS[name],
                ("%.1f"):format(metric(r, "concurrent_walks")),
                ("%.3f"):format(H.report.ipc(r)) }
        end
    end
    io.write(H.report.table(rows), "\n")
    rows = { { "peak of DRAM used", "by data", "by walks" } }
    for _, name in ipairs(machines) do
        rows[#rows + 1] = { name, percent(shared(name, "dram_peak_share_data")),
            percent(shared(name, "dram_peak_share_walk")) }
    end
    rows[#rows + 1] = "-"
    rows[#rows + 1] = { "MASK", "15 %", "2.4 %" }
    io.write(H.report.table(rows), "\n")
end

if arg.detail then
    detail()
end

-- ---- the chart ----------------------------------------------------------------

--- Performance of Ideal's as the papers print it; for 2 MB there is a bound alone.
local PRINTED = { SharedTLB = 100 - 40.6, PWCache = 100 - 45.0, Mosaic = 100 - 6.8 }

if arg.svg ~= "" then
    local chart = { groups = {}, series = {}, width = 940, height = 420,
        title = "Performance relative to an ideal TLB",
        unit = "performance, % of an ideal TLB's",
        mark = "the papers' means", sections = {
            { name = "pairs of applications, on " .. machines[1], count = #PAIRS },
            { name = "mean of the pairs, by machine", count = #machines } },
        note = "Two applications share the GPU, 15 + 15 cores; performance is weighted "
            .. "speedup.  The papers: MASK figure 3, means of 35 pairs (SharedTLB, "
            .. "PWCache); Mosaic 6.1 (Mosaic; with 2 MB pages less than 2 % is lost)." }
    for i = 2, #DESIGNS do
        chart.series[i - 1] = { name = DESIGNS[i].name, values = {}, marks = {} }
    end
    local function group(name, of, printed)
        chart.groups[#chart.groups + 1] = name
        for i, s in ipairs(chart.series) do
            s.values[#chart.groups] = math.floor(1e5 * (1 - of(DESIGNS[i + 1].name))
                + 0.5) / 1000
            s.marks[#chart.groups] = printed and PRINTED[s.name] or nil
        end
    end
    for p, pair in ipairs(PAIRS) do
        group(pair[1] .. " + " .. pair[2], function(design)
            return loss(first[p], design)
        end)
    end
    for _, name in ipairs(machines) do
        group(name, function(design) return mean_loss(name, design) end, true)
    end
    io.write("Chart: ", H.svg.write(arg.svg, H.svg.bars(chart)), arg.detail and "\n"
        or "; with detail=true also speedups, miss rates, DRAM\n")
end
