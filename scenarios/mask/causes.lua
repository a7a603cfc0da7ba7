--- mask/causes.lua - what decides how much pairs lose to translation.
--
-- MASK (ASPLOS 2018), figure 3, has SharedTLB 40.6 % and PWCache 45.0 % below an
-- ideal TLB.  Each row changes one thing of the papers' machine, for all designs
-- and for the alone runs, and measures both losses again.  Beside them: what the
-- pairs did under Ideal and SharedTLB (IPC, share of DRAM's peak bandwidth), leaf
-- reads that hit the L2 cache, walks and the warps that wait for one.
--
-- What it shows (three pairs, as at scale=quick: 40,000 cycles of work after 2,000):
--   * Two things make translation dear, and only together: L1 TLBs that walk for
--     one instruction at a time (hits under a miss), and the release's 85 cycles in
--     the L2's partition, which each read of a walk waits for.  SharedTLB loses
--     73 %; with misses under a miss 6 % (`none`), without the 85 cycles 22 % (`near`,
--     the literal form of the text), with neither 2 %.
--   * With as many cycles in the crossbar (`crossbar`) 61 % are lost, but there
--     walks take 58 cycles instead of 399, and it is each look-up of the L2 TLB that
--     takes 110; with walk reads over that crossbar (`far-walker`) 82 % are lost.
--   * Where a miss lets nothing pass (`blocking`) 63 % are lost.
--   * Registers and dependences of arithmetic move a loss by 6 points at most.
--   * A walk cache of 10 cycles, as table 1 says, makes PWCache lose 53 %; with the 85
--     of the release's last configuration (`pwc-85`) it loses 82, more than SharedTLB,
--     which is MASK's order.
--   * On the release's machine SharedTLB loses 54 % and PWCache 68 % (MASK 40.6 and
--     45.0), with DRAM and L2 cache of its Maxwell card 63 and 76; with hits under a
--     miss 63, with misses under a miss 9 %.
--   * A read that is sent past the L2 cache skips the 85 cycles.  Where reads of
--     levels 2 to 4 are (`released-skip`), SharedTLB performs 38 % better than on
--     `released`: as much as MASK's bypass alone (43.6 %).  With tokens and the DRAM
--     scheduler 43 % (MASK in all 57.8).  The policy does not choose it: it sends past
--     the cache what hits less often than data, and 89 % of leaf reads hit; MASK has
--     1 %, by a counter that counts a read again in each cycle in which the cache cannot
--     take it.
--   * What tokens deny a fill is not lost in the release: its page stays with the
--     core for 10,000 cycles, in a list without bound that is asked before the
--     TLBs (tlb.cc, bypass_done_REG); MASK does not mention it.  With 1,024
--     entries in MASK's L1 TLBs in its place (`blocking-list`, `released-list`)
--     MASK gains -2.0 and 0.5 % instead of -2.4 and -2.3.
--
-- All 35 pairs in 60,000 cycles after 20,000: SharedTLB and PWCache lose 63.5 and
-- 36.1 % on maxwell, 42.9 and 38.9 on maxwell-crossbar; with the release's inputs
-- (size=R) 51.0 and 29.7, 34.4 and 32.0.  Data take 10 % of DRAM's peak on maxwell,
-- 17 on maxwell-crossbar (MASK: 15).
--
-- scenarios/characterise/mafia.lua sets programs beside MAFIA's run of them, on 15
-- cores as it had; ways.lua sweeps the three latencies.
--
-- Nothing here is a better machine, and no figure uses any of it: rows ask what
-- a difference comes from.
--
--     heddle run scenarios/mask/causes.lua [only=base,leaf] [sets=N]
--
-- sets=N takes N pairs drawn with `seed`; scale=full eight, in runs as short:
-- there are many rows.  Half of them are run at full only, or if `only` names them.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local sharing = require "heddle.sharing"
local suite = require "common"

local LEAF = { use = H.here "skip-walks.lua", level = 4 }
local DEEP = { use = H.here "skip-walks.lua", level = 2 }
local WALKS = { use = H.here "skip-walks.lua", level = 1 }

--- What the aggressive machine has of each, for all at once and one by one.
local NONE = { ["l1tlb.blocking"] = "none" }
local NEAR = { ["l2cache.queue_latency"] = 0 }
local CROSSBAR = { ["xbar.latency"] = 50, ["walk.latency"] = 50,
    ["l2cache.queue_latency"] = 0 }
local REGS = { ["core.regs"] = 131072 }
local FREE = { ["core.ilp"] = 0 }

local function all(...)
    local out = {}
    for _, settings in ipairs { ... } do
        for k, v in pairs(settings) do
            out[k] = v
        end
    end
    return out
end

--- name, what it asks, settings, more: policies, sizes, lanes, budgets.
local CASES = {
    { "base", "maxwell as it is" },
    { "inputs-R", "the inputs of the release, as the figures have them",
        size = "R" },
    { "none", "misses under a miss", NONE },
    { "near", "no time in the L2 cache's partition: maxwell-literal", NEAR },
    { "crossbar", "the release's cycles in the crossbar: maxwell-crossbar",
        CROSSBAR },
    { "none-near", "both", all(NONE, NEAR) },
    { "regs", "131,072 registers a core", REGS },
    { "free", "no dependences in runs of arithmetic", FREE },
    { "regs-free", "both", all(REGS, FREE) },
    { "all", "all four: misses under a miss, no partition, registers, no "
        .. "dependences", all(NONE, NEAR, REGS, FREE) },
    { "far-walker", "crossbar, and walk reads cross it, too",
        all(CROSSBAR, { ["walk.memory_latency"] = 50 }) },
    { "pwc-85", "85 cycles a look-up of the walk cache, as the release's last "
        .. "configuration", { ["pwc.latency"] = 85 } },
    { "aggressive", "the preset: the four, and walk reads over the crossbar",
        machine = "aggressive" },
    { "blocking", "a miss stops the memory instructions of its core",
        { ["l1tlb.blocking"] = "full" } },
    { "blocking-near", "blocking, and no time in the L2 cache's partition",
        all({ ["l1tlb.blocking"] = "full" }, NEAR) },
    { "released", "the released simulator's machine", machine = "released" },
    { "released-maxwell", "and DRAM and L2 cache of its Maxwell card",
        machine = "released-maxwell" },
    { "released-hits", "the same, but hits pass a miss",
        { ["l1tlb.blocking"] = "hits" }, machine = "released" },
    { "released-free", "the same, but a miss stops nothing",
        { ["l1tlb.blocking"] = "none" }, machine = "released" },
    { "released-skip", "released, and reads of levels 2 to 4 skip the L2 cache",
        machine = "released", policies = { DEEP } },
    { "blocking-list", "blocking, and 1,024 entries in MASK's L1 TLBs alone",
        { ["l1tlb.blocking"] = "full" }, mask = { ["l1tlb.entries"] = 1024 } },
    { "released-list", "released, and 1,024 entries in MASK's L1 TLBs alone",
        machine = "released", mask = { ["l1tlb.entries"] = 1024 } },
    { "same", "each design against itself alone", alone = "same" },
}

--- What moves no loss by much, and what takes long: at scale=full, or where `only`
-- asks for it.
local MORE = {
    { "leaf", "leaf reads never hit the L2 cache",
        policies = { LEAF } },
    { "walks", "no walk read hits the L2 cache", policies = { WALKS } },
    { "released-leaf", "released, and leaf reads never hit the L2 cache",
        machine = "released", policies = { LEAF } },
    { "blocking-leaf", "blocking, and leaf reads never hit the L2 cache",
        { ["l1tlb.blocking"] = "full" }, policies = { LEAF } },
    { "l1tlb-16", "16 entries in an L1 TLB", { ["l1tlb.entries"] = 16 } },
    { "l1tlb-mshrs", "8 misses at once in an L1 TLB",
        { ["l1tlb.mshrs"] = 8 } },
    { "l2tlb-mshrs", "32 misses at once in the L2 TLB",
        { ["l2tlb.mshrs"] = 32 } },
    { "l2tlb-port", "one port of the L2 TLB", { ["l2tlb.ports"] = 1 } },
    { "l2tlb-64", "64 entries in the L2 TLB", { ["l2tlb.entries"] = 64 } },
    { "walkers", "8 walks at once", { ["walk.walkers"] = 8 } },
    { "blocks", "8 blocks a core", { ["core.blocks"] = 8 } },
    { "threads", "1,024 threads a core", { ["core.threads"] = 1024 } },
    { "lanes", "warps of 32 threads, 2 issue slots", lanes = 32 },
    { "issue", "4 issue slots a cycle: nothing is bound by issue",
        { ["core.issue"] = 4 } },
    { "alu", "ALU latency of 1 cycle", { ["core.alu_latency"] = 1 } },
    { "l2-512K", "an L2 cache of 512 KB", { ["l2cache.bytes"] = 524288 } },
    { "l2-ideal", "every access hits the L2 cache",
        { ["l2cache.mode"] = "ideal" } },
    { "dram", "DRAM without limit of bandwidth: 100 cycles for each request",
        { ["dram.mode"] = "fixed:100" } },
    { "dram-leaf", "the same, and leaf reads never hit the L2 cache",
        { ["dram.mode"] = "fixed:100" }, policies = { LEAF } },
    { "dram-4th", "DRAM of a quarter of the bandwidth, as a Fermi card has it",
        { ["dram.bus_bytes"] = 32 } },
    { "dram-half", "and of half", { ["dram.bus_bytes"] = 64 } },
    { "dram-2x", "and of twice", { ["dram.channels"] = 16 } },
    { "budget", "four times the work", cycles = 4 },
}

local x = suite.open("causes", "figure 3",
    "what decides the losses", { only = "" }, suite.FEW)
x.full = false -- runs are short at any scale
x.variants = {} -- for reproduce.lua: none, since `near` is the literal form

--- The designs of a case, with settings for MASK alone (mask); where a policy of
-- the case says which walk reads go past the L2 cache, MASK is without its own
-- bypass.
local function designs(case)
    local list = suite.designs(x, { "Ideal", "SharedTLB", "PWCache", "MASK" })
    if case.policies or case.mask then
        list[4] = suite.variant(list[4], "MASK", case.mask,
            case.policies and { bypass = 0 })
    end
    for i, d in ipairs(list) do
        local policies = table.move(d.policies or {}, 1, 9, 1, {})
        table.move(case.policies or {}, 1, 9, #policies + 1, policies)
        list[i] = { name = d.name, apply = d.apply, policies = policies }
    end
    return list
end

local function measure(case)
    local list = designs(case)
    local o = suite.options(x, { designs = list, settings = case[3],
        size = x.arg.size == "" and (case.size or "M") or nil,
        lanes = case.lanes, machine = case.machine
            and H.machine(case.machine) })
    o.reference, o.alone = list[2], case.alone
    o.cycles = o.cycles * (case.cycles or 1)
    return sharing.measure(x, o), o
end

local function value(results, o, design, name)
    local _, mean = suite.map(results, o, function(r)
        return suite.metric(r[design].run, name)
    end)
    return mean
end

--- Bursts of DRAM that the work of the sets took: what a design adds.
local function bursts(results, o)
    local rows = { { "pair" } }
    for _, d in ipairs(o.designs) do
        rows[1][#rows[1] + 1] = d.name
    end
    for i, r in ipairs(results) do
        local row = { o.pairs[i].name }
        for k, d in ipairs(o.designs) do
            local v = r[d.name]
            local n = "dram.data_bursts"
            row[k + 1] = ("%.0f + %.0f; %.2f + %.2f"):format(
                report.counter(v.run, n, 0) / 1000,
                report.counter(v.run, n, 1) / 1000, v.each[1], v.each[2])
        end
        rows[i + 1] = row
    end
    x:table("Thousand DRAM bursts of each application, until both have done "
        .. "their work; IPC shared / alone of each", rows)
end

--- What each program of the sets asks of translation and of memory, alone on
-- half of the cores on SharedTLB.
local function programs(results, o)
    local rows = { { "program", "footprint", "warps a core", "pages an access",
        "L1 TLB misses", "L2 TLB misses", "walks a 1,000 instr.",
        "walk cycles", "walks at once", "warps a walk", "time on translation",
        "DRAM, of the peak", "data read, DRAM cycles" } }
    for i, a in ipairs(suite.alone(results, o)) do
        local function m(name) return report.metric(a.run, name) or 0 end
        local latency = suite.histogram(a.run, "dram", "data_latency")
        local function share(v) return report.percent(v) end
        rows[i + 1] = { a.name, ("%.1f MB"):format(a.run.apps[1].footprint
            / 1e6), ("%.0f"):format(tonumber(o.machine:get "core.warps")
            * (1 - m "time_idle")), ("%.1f"):format(m "pages_per_access"),
            share(m "l1tlb_miss_rate"), share(m "l2tlb_miss_rate"),
            ("%.1f"):format(1000 * m "walks" / m "instructions"),
            ("%.0f"):format(m "walk_latency"),
            ("%.1f"):format(m "concurrent_walks"),
            ("%.1f"):format(m "warps_per_miss"),
            share(m "time_tlb" + m "time_walk"),
            share(m "dram_peak_share_data" + m "dram_peak_share_walk"),
            latency and ("%.0f"):format(latency) or "- (it writes)" }
    end
    x:table("Programs alone on half of the cores, SharedTLB, maxwell as it is; "
        .. "an idle DRAM channel takes 15 to 39 cycles", rows)
end

local chosen = {}
for name in x.arg.only:gmatch "[^,]+" do
    chosen[name] = true
end
local rows = { { "case", "what is changed", "SharedTLB loss", "PWCache loss",
    "MASK gain", "IPC Ideal", "DRAM Ideal", "DRAM SharedTLB", "leaf hits",
    "walk cycles", "walks", "warps a walk" } }
local groups, losses = {}, { SharedTLB = {}, PWCache = {} }
local by = {} -- results by case
--- Cases that are set beside the paper's numbers; what is varied is in the table.
local PAPER = { SharedTLB = 40.6, PWCache = 45.0 }
local PRINTED = { base = true, released = true }
local first
if x.arg.scale == "full" or x.arg.only ~= "" then
    table.move(MORE, 1, #MORE, #CASES + 1, CASES)
end
for _, case in ipairs(CASES) do
    if x.arg.only == "" or chosen[case[1]] then
        local results, o = measure(case)
        local row = { case[1], case[2] }
        groups[#groups + 1] = case[1]
        for _, d in ipairs { "SharedTLB", "PWCache" } do
            local loss = 100 * (1 - sharing.gain(results, d, "Ideal"))
            losses[d][#groups] = loss
            row[#row + 1] = ("%.1f %%"):format(loss)
            if PRINTED[case[1]] then
                x:quantity { ("%s: loss, %s"):format(d, case[1]), unit = "%",
                    kind = "loss", shown = true, paper = PAPER[d], heddle = loss }
            end
        end
        by[case[1]] = results
        row[#row + 1] = report.percent(sharing.gain(results, "MASK",
            "SharedTLB") - 1)
        row[#row + 1] = ("%.2f"):format(sharing.mean(results, "Ideal", "ipc"))
        for _, d in ipairs { "Ideal", "SharedTLB" } do
            row[#row + 1] = report.percent(value(results, o, d,
                "dram_peak_share_data"))
        end
        row[#row + 1] = report.percent(value(results, o, "SharedTLB",
            "walk_hit_rate_4"))
        row[#row + 1] = ("%.0f"):format(value(results, o, "SharedTLB",
            "walk_latency"))
        row[#row + 1] = ("%.1f"):format(value(results, o, "SharedTLB",
            "concurrent_walks"))
        row[#row + 1] = ("%.1f"):format(value(results, o, "SharedTLB",
            "warps_per_miss"))
        rows[#rows + 1] = row
        if not first then
            first = { results, o }
            suite.say(x, o)
        end
    end
end
--- MASK as the released simulator runs it: its L2 bypass sends reads of levels 2 to
-- 4 past the L2 cache always, and past the 85 cycles before it.
if by.released and by["released-skip"] then
    local skip = sharing.gain(by["released-skip"], "SharedTLB", "Ideal")
        / sharing.gain(by.released, "SharedTLB", "Ideal")
    x:quantity { "MASK's L2 bypass as released, over SharedTLB", unit = "%",
        kind = "gain", shown = true, paper = 43.6, heddle = 100 * (skip - 1) }
    x:quantity { "MASK as released, over SharedTLB", unit = "%", shown = true,
        kind = "gain", paper = 57.8, heddle = 100 * (skip * sharing.gain(by["released-skip"],
            "MASK",
            "SharedTLB") - 1) }
end
x:table("One change at a time", rows)
if first then
    programs(table.unpack(first))
    bursts(table.unpack(first))
end
x:bars { title = "Loss against Ideal, one change at a time", unit = "%",
    xlabel = "what is changed",
    groups = groups, width = math.max(720, 60 + 90 * #groups), series = {
        { name = "SharedTLB", values = losses.SharedTLB },
        { name = "PWCache", values = losses.PWCache } } }
x:close()
