--- mosaic/causes.lua - why translation costs less here than in Mosaic's figure
-- 3: one change of the machine at a time.
--
-- Each change is made to GPU-MMU and to Ideal alike; the loss is the mean over
-- programs, each alone, of what GPU-MMU lacks of Ideal on the same machine.
--
-- What it shows is what scenarios/mask/causes.lua does: L1 TLBs that walk for one
-- instruction at a time and the release's 85 cycles in the L2's partition make
-- translation dear, and only together.  DRAM limits few programs: a line is one
-- burst.  In short runs (scale=quick) every page is new.
--
-- No figure uses any of it: a row asks what a difference comes from.
--
-- SPDX-License-Identifier: MIT
local report = require "heddle.report"
local sharing = require "heddle.sharing"
local suite = require "common"

local CYCLES_A_BURST = 2 -- of DRAM: BL 8 at quad data rate

local NEAR = { ["l2cache.queue_latency"] = 0 }
local RELEASED = { "released", "the released simulator's machine", {} }
local CHANGES = {
    { "as it is", "the preset mosaic", {} },
    { "walkers", "8 walks at once", { ["walk.walkers"] = 8 } },
    { "walk 500", "a walk takes 500 cycles, as if its reads missed the L2",
        { ["walk.mode"] = "fixed:500" } },
    { "walk 1000", "a walk takes 1000 cycles",
        { ["walk.mode"] = "fixed:1000" } },
    { "none", "misses under a miss", { ["l1tlb.blocking"] = "none" } },
    { "near", "no time in the L2 cache's partition: mosaic-literal", NEAR },
    { "crossbar", "the release's cycles in the crossbar: mosaic-crossbar",
        { ["xbar.latency"] = 50, ["walk.latency"] = 50,
            ["l2cache.queue_latency"] = 0 } },
    { "none, near", "both", { ["l1tlb.blocking"] = "none",
        ["l2cache.queue_latency"] = 0 } },
    { "regs", "131,072 registers a core", { ["core.regs"] = 131072 } },
    { "free", "no dependences in runs of arithmetic", { ["core.ilp"] = 0 } },
    { "none, near, regs, free", "all four", { ["l1tlb.blocking"] = "none",
        ["l2cache.queue_latency"] = 0, ["core.regs"] = 131072,
        ["core.ilp"] = 0 } },
    { "far walker", "crossbar, and walk reads cross it, too",
        { ["xbar.latency"] = 50, ["walk.latency"] = 50,
            ["l2cache.queue_latency"] = 0, ["walk.memory_latency"] = 50 } },
    { "full", "a miss stops all memory instructions of its core",
        { ["l1tlb.blocking"] = "full" } },
    { "full, near", "both", { ["l1tlb.blocking"] = "full",
        ["l2cache.queue_latency"] = 0 } },
    RELEASED,
    { "issue", "4 instructions a cycle, so that fewer programs are bound by "
        .. "them", { ["core.issue"] = 4 } },
    { "64 lanes", "warps of 64", { ["core.issue"] = 1,
        ["core.lanes"] = 64, ["core.width"] = 64,
        ["core.threads"] = 4096, ["core.regs"] = 131072 } },
    { "cache", "an L2 cache of 128 KB", { ["l2cache.bytes"] = 131072 } },
    { "dram", "DRAM without a limit of bandwidth",
        { ["dram.mode"] = "ideal" } },
    { "bus 32", "DRAM of a quarter of the bandwidth, as a Fermi card has it",
        { ["dram.bus_bytes"] = 32 } },
    { "bus 64", "and of half", { ["dram.bus_bytes"] = 64 } },
    { "lines", "lines of 32 bytes, so that one word does not cost 128",
        { ["l1cache.line"] = 32, ["l2cache.line"] = 32 } },
}

local x = suite.open("causes", "figure 3",
    "what decides the cost of translation", { only = "" })
if x.full then -- there are many rows
    x.arg.cycles = x.arg.cycles > 0 and x.arg.cycles or 200000
    x.arg.warmup = x.arg.warmup > 0 and x.arg.warmup or 20000
end

--- The changes that are measured: all, few, or those that only=NAME;NAME says.
local function chosen()
    if x.arg.only == "" then
        return x.full and CHANGES or { CHANGES[1], RELEASED }
    end
    local list = {}
    for _, c in ipairs(CHANGES) do
        if (";" .. x.arg.only .. ";"):find(";" .. c[1] .. ";", 1, true) then
            list[#list + 1] = c
        end
    end
    return list
end

local changes = chosen()
local designs = {}
for _, c in ipairs(changes) do
    local list = { suite.gpummu, suite.ideal, suite.mosaic }
    if c == RELEASED then
        list = suite.released(list)
    end
    for _, d in ipairs(list) do
        designs[#designs + 1] = suite.variant(d, d.name .. ", " .. c[1], c[3])
    end
end
local sets = suite.sets(x, "homogeneous", 1, 9)
local results = suite.measure(x, sets, designs)

suite.say(x, ("%d programs, each alone"):format(#sets))
local PRINTED = { ["as it is"] = true, released = true }
local rows, groups, losses = { { "change", "loss", "of programs > 5 %",
    "Mosaic's gain", "what it is" } }, {}, {}
for i, c in ipairs(changes) do
    local base, ideal = "GPU-MMU, " .. c[1], "Ideal, " .. c[1]
    local loss, feel = 1 - sharing.gain(results, base, ideal), 0
    for _, r in ipairs(results) do
        feel = feel + (r[base].ws < 0.95 * r[ideal].ws and 1 or 0)
    end
    if PRINTED[c[1]] then -- what is varied is in the table
        x:quantity { "loss, " .. c[1], unit = "%", kind = "loss",
            heddle = 100 * loss, paper = 48.1, shown = true } -- figure 3 counts it
    end
    rows[i + 1] = { c[1], report.percent(loss), feel, report.percent(
        sharing.gain(results, "Mosaic, " .. c[1], base) - 1), c[2] }
    groups[i], losses[i] = c[1], math.max(0, 100 * loss)
end
x:table("Changes", rows)

--- Each program's own losses, a row a change.
local each = { { "change" } }
for p = 1, #sets do
    each[1][p + 1] = suite.label(sets[p])
end
for i, c in ipairs(changes) do
    each[i + 1] = { c[1] }
    for p, r in ipairs(results) do
        each[i + 1][p + 1] = report.percent(1 - r["GPU-MMU, " .. c[1]].ws
            / r["Ideal, " .. c[1]].ws)
    end
end
x:table("Loss of each program", each)

--- What a program uses of the machine, on GPU-MMU: shares of its issue slots and
-- of DRAM's data bus, misses by 1000 warp instructions.
local function use_of(result, loss)
    local function n(name)
        return report.counter(result, name) or 0
    end
    local work = n "core.instructions" / 1000
    local bursts = n "dram.data_bursts" + n "dram.walk_bursts"
    local settings = suite.machine(x).settings
    local cores = tonumber(settings["core.count"][1])
    local slots = tonumber(settings["core.issue"][1])
    return { report.percent(loss),
        report.percent(report.metric(result, "ipc") / cores / slots),
        report.percent(CYCLES_A_BURST * bursts / n "dram.cycles"),
        ("%.1f"):format((n "l1tlb.misses" - n "l1tlb.merges") / work),
        ("%.1f"):format(n "walk.walks" / work),
        ("%.0f"):format(report.metric(result, "walk_latency") or 0),
        ("%.1f"):format(report.metric(result, "concurrent_walks") or 0),
        report.percent((report.metric(result, "time_tlb")
            + report.metric(result, "time_walk"))
            / (1 - report.metric(result, "time_idle"))) }
end

local use = { { "program", "loss", "issue slots", "DRAM bus",
    "L1 TLB misses by 1000", "walks by 1000", "a walk, cycles", "at once",
    "warp time in translation" } }
for i, r in ipairs(results) do
    local base = r["GPU-MMU, " .. changes[1][1]]
    use[i + 1] = { suite.label(sets[i]), table.unpack(use_of(base.run,
        1 - base.ws / r["Ideal, " .. changes[1][1]].ws)) }
end
x:table("What programs use: " .. changes[1][2], use)
x:bars { title = x.title, unit = "loss against Ideal, %", groups = groups,
    xlabel = "what is changed",
    series = { { name = "GPU-MMU", values = losses } }, width = 960 }
x:close()
