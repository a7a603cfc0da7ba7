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
-- Alone: each application on 15 cores, the others idle, on SharedTLB.  It runs
-- `cycles` cycles after a warm-up; the warp instructions that it issues there
-- are its work.  Shared: both run, starting again when they end, until each
-- has issued its work.  Weighted speedup is the sum of IPC shared / IPC alone,
-- so that one reference serves all designs.
--
-- MASK measures 35 pairs over longer runs; three pairs show the mechanism, not
-- its averages.  Applications have the instruction mix of their sources, in
-- which most have far more arithmetic than MASK's losses suggest.
--
--     heddle run scenarios/tlb-contention.lua [cycles=N] [size=M] [jobs=N]
--                                             [trace=FILE] [svg=FILE] [json=FILE]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"

local arg = H.args {
    cycles = 200000,      -- of the alone runs; they fix the work
    warmup = 100000,      -- core cycles before counters start (MASK: an epoch)
    size = "M",           -- of the applications: T, S, M, L
    jobs = 2,             -- simulations at once
    trace = H.here "data/gather.hdt", -- "": none
    svg = "out/tlb-contention.svg",
    json = "",            -- where to write all results
    seed = 1,
}

--- MASK table 2: L1 / L2 TLB miss rate high (above 20 %) or low.
local CLASS = H.suites.get("mask").class

--- GUP keeps the size at which MASK's class holds: a table of 4 MB.
local PAIRS = {
    { "BFS2", "GUP", class = "0-HMR" },
    { "3DS", "BP", class = "1-HMR" },
    { "MM", "CONS", class = "2-HMR" },
}
local SIZE = { GUP = arg.size ~= "T" and "S" or "T" }

local CORES = 15 -- of each application

--- MASK figure 3 (means of 35 pairs) and section 4.3.
local PAPER = {
    loss = { SharedTLB = 0.406, PWCache = 0.450 },
    walk_hits = { 0.998, 0.988, 0.687, 0.010 },
}

local machine = H.machine "maxwell"
local designs = H.designs.list
local reference = H.designs.sharedtlb

local function describe(name, budget)
    return H.app(name, { size = SIZE[name] or arg.size, budget = budget })
end

local function job(design, cores, apps, more)
    local j = {
        machine = design(machine):with { ["core.count"] = cores },
        apps = apps, warmup = arg.warmup, seed = arg.seed,
    }
    for k, v in pairs(more or {}) do
        j[k] = v
    end
    return j
end

-- ---- the runs -------------------------------------------------------------

-- First: everybody alone.
local jobs, alone = {}, {}
for _, pair in ipairs(PAIRS) do
    for _, name in ipairs(pair) do
        jobs[#jobs + 1] = job(reference, CORES, { describe(name) }, {
            stop_cycles = arg.warmup + arg.cycles,
            budget = math.maxinteger, label = name .. " alone",
        })
        alone[name] = #jobs
    end
end
local first = H.run(jobs, { jobs = arg.jobs })
for name, i in pairs(alone) do
    alone[name] = first[i]
end

-- Then: pairs, for the work that each did alone; and the trace.
jobs = {}
local shared, traced = {}, {}
for p, pair in ipairs(PAIRS) do
    shared[p] = {}
    for _, d in ipairs(designs) do
        local apps = {}
        for i, name in ipairs(pair) do
            apps[i] = describe(name, alone[name].apps[1].instructions)
        end
        jobs[#jobs + 1] = job(d.apply, 2 * CORES, apps, { label = d.name })
        shared[p][d.name] = #jobs
    end
end
local trace = arg.trace ~= "" and H.trace(arg.trace)
if trace then
    for _, d in ipairs(designs) do
        jobs[#jobs + 1] = job(d.apply, 2 * CORES, { trace },
            { warmup = 0, label = d.name })
        traced[d.name] = #jobs
    end
end
local results = H.run(jobs, { jobs = arg.jobs })
if arg.json ~= "" then
    H.report.json({ alone = first, runs = results }, arg.json)
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

--- "0.51 + 0.62": IPC shared / IPC alone of both.
local function each(shared_run, of)
    local out = {}
    for i = 1, 2 do
        out[i] = ("%.2f"):format(H.report.ipc(shared_run, i)
            / H.report.ipc(of[i]))
    end
    return table.concat(out, " + ")
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
    "pair", "class", "design", "each", "weighted speedup", "loss", "paper",
    "L2 TLB miss alone", "shared", "L2 hits of walk reads, root..leaf %",
} }
local chart = { groups = {}, series = {} }
for i, d in ipairs(designs) do
    chart.series[i] = { name = d.name, values = {} }
end

local loss_sum = {}
for p, pair in ipairs(PAIRS) do
    local of = { alone[pair[1]], alone[pair[2]] }
    local ideal
    for i, d in ipairs(designs) do
        local r = results[shared[p][d.name]]
        local ws = H.report.weighted_speedup(r, of)
        ideal = ideal or ws
        local loss = 1 - ws / ideal
        loss_sum[d.name] = (loss_sum[d.name] or 0) + loss
        local tlb = d.name == "SharedTLB"
        rows[#rows + 1] = {
            i == 1 and pair[1] .. " + " .. pair[2] or "",
            i == 1 and pair.class or "",
            d.name, each(r, of), ("%.3f"):format(ws),
            i == 1 and "" or percent(loss), "",
            tlb and both(metric(of[1], "l2tlb_miss_rate", 1),
                metric(of[2], "l2tlb_miss_rate", 1)) or "",
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
            "mean", "", d.name, "", "", percent(loss_sum[d.name] / #PAIRS),
            percent(paper), "", "",
            d.name == "SharedTLB" and table.concat(hits, " ") .. " (paper)"
                or "",
        }
    end
end

local classes = { {
    "alone", "size", "L1 TLB miss", "L2 TLB miss", "class here", "in MASK",
    "IPC",
} }
local function high(rate)
    return rate and rate > 0.2 and "High" or "Low"
end
for _, pair in ipairs(PAIRS) do
    for i = 1, 2 do
        local r = alone[pair[i]]
        local l1, l2 = metric(r, "l1tlb_miss_rate"),
            metric(r, "l2tlb_miss_rate")
        classes[#classes + 1] = {
            pair[i], SIZE[pair[i]] or arg.size, percent(l1), percent(l2),
            high(l1) .. "/" .. high(l2), CLASS[pair[i]],
            ("%.3f"):format(H.report.ipc(r)),
        }
    end
end

io.write(H.report.table(classes), "\n")
io.write(("Weighted speedup of pairs on %s, %d + %d cores, for the work "
    .. "that each does\nalone on SharedTLB in %d cycles; beside MASK, figure 3 "
    .. "and section 4.3\n\n"):format(machine.name, CORES, CORES, arg.cycles),
    H.report.table(rows))

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
    chart.note = ("%s, %d + %d cores, work of %d cycles alone; mean loss in "
        .. "MASK: SharedTLB 40.6 %%, PWCache 45.0 %%"):format(machine.name,
        CORES, CORES, arg.cycles)
    io.write("\nChart: ", H.svg.write(arg.svg, H.svg.bars(chart)), "\n")
end
