--- tlb-contention.lua - applications that fight over the shared TLB.
--
-- After MASK (ASPLOS 2018), figure 3: pairs of applications share a GPU, 15
-- cores each, under three designs.  Ideal: every L1 TLB look-up hits.
-- SharedTLB: an L2 TLB that all cores share.  PWCache: a page walk cache in
-- its place.  Then the same designs under a trace of a real program.
--
-- Pairs are chosen by the classes of MASK's table 2, one of each kind: n-HMR
-- has n applications whose L1 and L2 TLB miss rates are both high.  MM + CONS
-- and 3DS + BP are pairs of MASK; for 0-HMR, BFS2 (low L1, high L2 miss rate)
-- stands beside GUP (high, low), as in MASK's HISTO + GUP.
--
-- Weighted speedup is the sum of IPC shared / IPC alone.  Alone: on SharedTLB
-- for all designs, 15 cores, the others idle.  Equal work: the same number of
-- warp instructions for each application in every run (budget), measured to
-- its own completion of them; the first to finish goes on as load.
--
-- MASK measures 35 pairs over longer runs; three pairs at a small budget show
-- the mechanism, not its averages.
--
--     heddle run scenarios/tlb-contention.lua [budget=N] [size=M] [jobs=N]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"

local arg = H.args {
    budget = 300000,      -- warp instructions of each application
    warmup = 20000,       -- core cycles before counters start
    size = "S",           -- of the applications: T, S, M, L
    jobs = 2,             -- simulations at once
    trace = "data/gather.hdt",
    trace_budget = 0,     -- warp instructions of the trace; 0: all
    svg = "out/tlb-contention.svg",
    json = "",            -- where to write all results
    seed = 1,
}

local PAIRS = {
    { "BFS2", "GUP", class = "0-HMR" },
    { "3DS", "BP", class = "1-HMR" },
    { "MM", "CONS", class = "2-HMR" },
}

local CORES = 15 -- of each application

--- MASK figure 3 (means of 35 pairs) and section 4.3.
local PAPER = {
    loss = { SharedTLB = 0.406, PWCache = 0.450 },
    walk_hits = { 0.998, 0.988, 0.687, 0.010 },
}

local machine = H.machine "maxwell"
local designs = H.designs.list

-- ---- the runs -------------------------------------------------------------

local jobs = {}

local function job(design, cores, apps, budget)
    for i, name in ipairs(apps) do
        apps[i] = type(name) == "string" and H.app(name, { size = arg.size })
            or name
    end
    jobs[#jobs + 1] = {
        machine = design.apply(machine):with { ["core.count"] = cores },
        apps = apps, budget = budget, warmup = arg.warmup, seed = arg.seed,
        label = design.name,
    }
    return #jobs
end

local shared, alone, traced = {}, {}, {}
for p, pair in ipairs(PAIRS) do
    shared[p] = {}
    for _, d in ipairs(designs) do
        shared[p][d.name] = job(d, 2 * CORES, { pair[1], pair[2] },
            arg.budget)
    end
    alone[p] = {}
    for i = 1, 2 do
        alone[p][i] = job(designs[2], CORES, { pair[i] }, arg.budget)
    end
end
local trace = arg.trace ~= "" and H.trace(H.here(arg.trace))
if trace then
    for _, d in ipairs(designs) do
        traced[d.name] = job(d, 2 * CORES, { trace }, arg.trace_budget)
    end
end

local results = H.run(jobs, { jobs = arg.jobs })
if arg.json ~= "" then
    H.report.json(results, arg.json)
end

-- ---- the tables -------------------------------------------------------------

local metric, percent = H.report.metric, H.report.percent

--- "12.3 / 45.6 %": a metric of both applications.
local function both(a, b)
    if not a and not b then
        return "-"
    end
    return ("%s / %s %%"):format(a and ("%.1f"):format(a * 100) or "-",
        b and ("%.1f"):format(b * 100) or "-")
end

--- L2 cache hit rates of walk reads, root to leaf.
local function walk_hits(r)
    local out = {}
    for level = 1, 4 do
        local v = metric(r, "walk_hit_rate_" .. level)
        out[level] = v and ("%.1f"):format(v * 100) or "-"
    end
    return table.concat(out, " ")
end

local rows = { {
    "pair", "class", "design", "weighted speedup", "loss", "paper",
    "L2 TLB miss alone", "shared", "L2 hits of walk reads, root..leaf %",
} }
local chart = { groups = {}, series = {} }
for i, d in ipairs(designs) do
    chart.series[i] = { name = d.name, values = {} }
end

local loss_sum = {}
for p, pair in ipairs(PAIRS) do
    local reference = { results[alone[p][1]], results[alone[p][2]] }
    local ideal
    for i, d in ipairs(designs) do
        local r = results[shared[p][d.name]]
        local ws = H.report.weighted_speedup(r, reference)
        ideal = ideal or ws
        local loss = 1 - ws / ideal
        loss_sum[d.name] = (loss_sum[d.name] or 0) + loss
        local tlb = d.name == "SharedTLB"
        rows[#rows + 1] = {
            i == 1 and pair[1] .. " + " .. pair[2] or "",
            i == 1 and pair.class or "",
            d.name, ("%.3f"):format(ws),
            i == 1 and "" or percent(loss), "",
            tlb and both(metric(reference[1], "l2tlb_miss_rate", 1),
                metric(reference[2], "l2tlb_miss_rate", 1)) or "",
            tlb and both(metric(r, "l2tlb_miss_rate", 1),
                metric(r, "l2tlb_miss_rate", 2)) or "",
            i == 1 and "" or walk_hits(r),
        }
        chart.series[i].values[p] = ws
    end
    chart.groups[p] = pair[1] .. " + " .. pair[2]
end
rows[#rows + 1] = "-"
for _, d in ipairs(designs) do
    local paper = PAPER.loss[d.name]
    if paper then
        local hits = {}
        for i, v in ipairs(PAPER.walk_hits) do
            hits[i] = ("%.1f"):format(v * 100)
        end
        rows[#rows + 1] = {
            "mean", "", d.name, "", percent(loss_sum[d.name] / #PAIRS),
            percent(paper), "", "",
            d.name == "SharedTLB" and table.concat(hits, " ") .. " (paper)"
                or "",
        }
    end
end

io.write(("Weighted speedup of pairs on %s, %d + %d cores, %d warp "
    .. "instructions each,\nalone runs on SharedTLB (MASK figure 3)\n\n")
    :format(machine.name, CORES, CORES, arg.budget), H.report.table(rows))

if trace then
    rows = { {
        "trace", "design", "IPC", "loss", "L1 TLB miss", "L2 TLB miss",
        "L2 hits of walk reads, root..leaf %",
    } }
    local ideal
    for i, d in ipairs(designs) do
        local r = results[traced[d.name]]
        local ipc = H.report.ipc(r)
        ideal = ideal or ipc
        rows[#rows + 1] = {
            i == 1 and trace.label or "", d.name, ("%.3f"):format(ipc),
            i == 1 and "" or percent(1 - ipc / ideal),
            i == 1 and "" or percent(metric(r, "l1tlb_miss_rate")),
            d.name == "SharedTLB" and percent(metric(r, "l2tlb_miss_rate"))
                or "",
            i == 1 and "" or walk_hits(r),
        }
    end
    io.write("\nA real program on 30 cores, from its trace\n\n",
        H.report.table(rows))
end

if arg.svg ~= "" then
    chart.title = "Sharing a GPU under three translation designs"
    chart.unit = "weighted speedup"
    chart.note = ("%s, %d + %d cores, %d warp instructions each; loss in "
        .. "MASK: SharedTLB 40.6 %%, PWCache 45.0 %%"):format(machine.name,
        CORES, CORES, arg.budget)
    io.write("\nChart: ", H.svg.write(arg.svg, H.svg.bars(chart)), "\n")
end
