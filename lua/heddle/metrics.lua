--- metrics.lua - what is derived from counters: rates, shares, speedups.
--
-- A metric is a row of the table below: a name, a unit, a meaning, and a
-- function of a reader.  The reader's c(component, counter) is the counter's
-- value for one application, or for all; it raises a private mark where the
-- machine has no such counter, and the metric is left out.  Ratios of nothing
-- (no look-up, no walk) are left out, too.  h(component, histogram) is a summary
-- (n, sum, p50, p95); intervals have no histograms, and none of these metrics.
--
-- Comparisons between runs (weighted speedup, unfairness) are functions of
-- results; which runs are "alone" is the scenario's to say.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local metrics = {}

local ABSENT = setmetatable({}, { __tostring = function()
    return "no such counter"
end })

--- a / b, or nothing.
local function ratio(a, b)
    if b == 0 then
        error(ABSENT, 0)
    end
    return a / b
end

--- A part of a whole.  More than the whole is an error of who counts: their
-- windows differ.  What the edges of a window cut (a look-up before it, its
-- answer inside) is no more than is in flight at once.
local CUT = 1024

local function share(part, whole)
    local r = ratio(part, whole)
    if part > whole + CUT then
        error(("a share of %.1f %%: %.0f of %.0f, so they were not counted "
            .. "over the same work"):format(100 * r, part, whole), 0)
    end
    return math.min(1.0, r)
end

local function rate(component, part, whole)
    return function(r)
        return ratio(r.c(component, part), r.c(component, whole))
    end
end

local function share_of(component, part, whole)
    return function(r)
        return share(r.c(component, part), r.c(component, whole))
    end
end

--- 1 - hits / look-ups
local function miss(component, hits, lookups)
    return function(r)
        return 1 - share(r.c(component, hits), r.c(component, lookups))
    end
end

--- Of a level of uTLBs, where there is such a one.
local function level_miss(name)
    local missed = miss(name, "hits", "requests")
    return function(r)
        if (tonumber(r.config[name .. ".entries"]) or 0) == 0 then
            error(ABSENT, 0)
        end
        return missed(r)
    end
end

-- ---- far faults -----------------------------------------------------------

local MB = 1e6

--- A metric of far faults: only of machines whose pages fault.
local function far(fn)
    return function(r)
        if r.config["vm.paging"] ~= "fault" then
            error(ABSENT, 0)
        end
        return fn(r)
    end
end

local function count_of(component, counter)
    return far(function(r) return r.c(component, counter) end)
end

local function driven(r)
    return r.config["uvm.mode"] == "driver"
end

local function batches(r)
    return r.c(driven(r) and "uvm" or "fault", "batches")
end

--- Faults for pages that already had one pending.  The driver sees them as
-- entries of its batches.
local function duplicates(r)
    return driven(r) and r.c("uvm", "duplicates") or r.c("fault", "merges")
end

--- Those of the driver are of no application; in the papers' mode what has
-- arrived together is replayed together.
local function replays(r)
    if driven(r) then
        return r.alone and r.all("uvm", "replays") or error(ABSENT, 0)
    end
    return r.c("fault", r.config["fault.replay"] == "page" and "faults"
        or "batches")
end

--- A statistic of the time of faults.
local function service(stat)
    return far(function(r)
        local h = r.h("fault", "latency")
        if h.n == 0 then
            error(ABSENT, 0)
        end
        return stat == "mean" and h.sum / h.n or h[stat]
    end)
end

local LIST = {
    -- Work.
    { "work", "instructions", "warp instructions", "instructions issued",
        function(r) return r.instructions end },
    { "work", "cycles", "core cycles",
        "to the first completion, or so far",
        function(r) return r.cycles end },
    { "work", "ipc", "warp instructions a cycle", "IPC",
        function(r) return ratio(r.instructions, r.cycles) end },
    { "work", "thread_ipc", "instructions a cycle",
        "IPC of threads",
        function(r) return ratio(r.thread_instructions, r.cycles) end },
    { "work", "memory_share", "", "share of memory instructions",
        share_of("core", "mem_instructions", "instructions") },
    { "work", "lines_per_access", "lines",
        "lines per memory instruction",
        rate("core", "lines", "mem_instructions") },
    { "work", "pages_per_access", "base pages",
        "pages per memory instruction (page divergence)",
        rate("core", "pages", "mem_instructions") },
    { "work", "threads_per_formed_warp", "threads",
        "threads of a warp that core.compact formed",
        rate("core", "formed_threads", "formed_warps") },
    { "work", "pages_per_formed_access", "base pages",
        "pages per memory instruction of such a warp",
        rate("core", "formed_pages", "formed_mem_instructions") },
    -- Translation.
    { "translation", "l1tlb_miss_rate", "", "L1 TLB misses per look-up",
        miss("l1tlb", "hits", "lookups") },
    { "translation", "l2tlb_miss_rate", "",
        "L2 TLB misses per look-up, merged ones included (MASK figure 7)",
        function(r)
            if r.config["l2tlb.mode"] == "off" then
                error(ABSENT, 0)
            end
            local misses = r.c("mmu", "misses")
            return ratio(misses, misses + r.c("mmu", "hits"))
        end },
    { "translation", "utlb1_miss_rate", "",
        "misses of the first level of uTLBs per request, merged ones included",
        level_miss "utlb1" },
    { "translation", "utlb2_miss_rate", "", "likewise of the second level",
        level_miss "utlb2" },
    { "translation", "utlb3_miss_rate", "", "likewise of the third level",
        level_miss "utlb3" },
    { "translation", "bypass_hit_rate", "",
        "bypass cache hits, of the L2 TLB's requests",
        share_of("mmu", "bypass_hits", "requests") },
    { "translation", "tlb_prefetch_accuracy", "",
        "translations that policies started: used before they were evicted, of "
            .. "all that were filled",
        share_of("prefetch", "useful", "filled") },
    { "translation", "tlb_prefetch_coverage", "",
        "of them: used, of the sum of these and the L2 TLB's misses",
        function(r)
            local useful = r.c("prefetch", "useful")
            return r.c("prefetch", "filled") > 0
                and useful / (useful + r.c("mmu", "misses")) or error(ABSENT, 0)
        end },
    { "translation", "tlb_prefetch_lateness", "",
        "of them: missed while in flight, of the sum of these and the used",
        function(r)
            local late = r.c("prefetch", "late")
            return share(late, late + r.c("prefetch", "useful"))
        end },
    -- Page walks.
    { "walks", "walks", "walks", "page walks",
        function(r) return r.c("walk", "walks") end },
    { "walks", "references_per_walk", "reads", "memory reads per walk",
        rate("walk", "references", "walks") },
    { "walks", "concurrent_walks", "walks",
        "walks at once, mean (MASK figure 5)",
        function(r) return ratio(r.c("walk", "busy_cycles"), r.cycles) end },
    { "walks", "concurrent_walks_peak", "walks", "walks at once, most",
        function(r) return r.c("walk", "concurrent_peak") end },
    { "walks", "warps_per_miss", "warps",
        "warps stalled by one miss, those held behind an L1 TLB included "
            .. "(MASK figure 6)",
        function(r)
            return ratio(r.c("walk", "warps") + r.c("l1tlb", "held"),
                r.c("walk", "walks"))
        end },
    { "walks", "walk_latency", "core cycles", "a walk, from start to answer",
        rate("walk", "busy_cycles", "walks") },
    { "walks", "walk_wait_cycles", "core cycles", "wait for a walker",
        rate("walk", "queue_cycles", "walks") },
    -- Prefetched pages.
    { "paging", "page_prefetch_accuracy", "",
        "prefetched pages that a walk has found, of all prefetched",
        function(r)
            return share(r.c("evict", "used"), r.c("fault", "prefetched"))
        end },
    { "paging", "page_prefetch_coverage", "",
        "prefetched pages that a walk has found, of the sum of these and the faults",
        function(r)
            local used = r.c("evict", "used")
            return ratio(used, used + r.c("fault", "faults"))
        end },
    { "paging", "page_prefetch_lateness", "",
        "prefetched pages that were touched while in flight, of all prefetched",
        function(r)
            return share(r.c("fault", "late"), r.c("fault", "prefetched"))
        end },
    -- Far faults.
    { "faults", "far_faults", "faults", "far faults",
        count_of("fault", "faults") },
    { "faults", "fault_batches", "batches",
        "batches in which the host served them", far(batches) },
    { "faults", "faults_per_batch", "faults", "far faults per batch",
        far(function(r) return ratio(r.c("fault", "faults"), batches(r)) end) },
    { "faults", "fault_duplicates", "faults",
        "requests that joined a pending fault; with uvm.mode=driver, faults of "
            .. "a batch that already has one for the same page",
        far(duplicates) },
    { "faults", "fault_duplicate_share", "",
        "fault_duplicates, of the sum of these and the far faults",
        far(function(r)
            local n = duplicates(r)
            return share(n, n + r.c("fault", "faults"))
        end) },
    { "faults", "fault_replays", "replays",
        "replays of waiting requests; with uvm.mode=driver the machine's, which "
            .. "belong to no application",
        far(replays) },
    { "faults", "fault_cycles", "core cycles",
        "service time of a far fault, until its requests are replayed: mean",
        service "mean" },
    { "faults", "fault_cycles_p50", "core cycles",
        "service time of a far fault: median", service "p50" },
    { "faults", "fault_cycles_p95", "core cycles",
        "service time of a far fault: 95th percentile", service "p95" },
    { "faults", "evictions", "units", "evictions, of evict.unit",
        count_of("evict", "evictions") },
    { "faults", "refaults", "pages",
        "base pages that migrated again after they had been evicted",
        count_of("evict", "refaults") },
    { "faults", "refault_share", "", "refaults, of all base pages that migrated",
        far(function(r)
            return math.min(1.0, ratio(r.c("evict", "refaults"),
                r.c("fault", "pages")))
        end) },
    { "faults", "paged_in", "MB", "memory of the pages that migrated to the GPU",
        far(function(r) return r.c("fault", "pages") * 4096 / MB end) },
    { "faults", "paged_out", "MB", "memory written back to the host",
        far(function(r) return r.c("evict", "bytes") / MB end) },
    { "faults", "link_share", "",
        "time that the link was busy, mean of its two directions",
        far(function(r)
            -- a transfer counts when it ends, and may have begun before
            return math.min(1.0, ratio(r.c("link", "busy_cycles"),
                2 * r.cycles))
        end) },
    -- Data.
    { "data", "l1_hit_rate", "", "L1 cache hits per line of loads",
        share_of("l1cache", "read_hits", "reads") },
    { "data", "l2_hit_rate", "", "L2 cache hits per data read",
        share_of("l2cache", "read_hits", "read_lookups") },
    -- DRAM.
    { "dram", "dram_row_hit_rate", "", "row hits per request",
        function(r)
            return share(r.c("dram", "row_hits"), r.c("dram", "reads")
                + r.c("dram", "writes") + r.c("dram", "walk_reads"))
        end },
    { "dram", "dram_walk_share", "",
        "share of page walks in used bandwidth (MASK figure 8)",
        function(r)
            local walks = r.c("dram", "walk_bursts")
            return ratio(walks, walks + r.c("dram", "data_bursts"))
        end },
}

-- Where the time of the driver's batches goes (driverloop.c); it belongs to no
-- application.
local function of_batches(counter, unit)
    return far(function(r)
        if not driven(r) or not r.alone then
            error(ABSENT, 0)
        end
        return ratio(r.all("uvm", counter .. "_cycles"),
            r.all("uvm", unit or "batch_cycles"))
    end)
end
LIST[#LIST + 1] = { "faults", "batch_latency", "core cycles",
    "with uvm.mode=driver, time of a batch: mean", of_batches("batch", "batches") }
for _, term in ipairs { "base", "block", "unmap", "dma_map", "room", "page",
    "evict", "copy" } do
    LIST[#LIST + 1] = { "faults", "batch_" .. term .. "_share", "",
        ("uvm.%s_cycles, of the time of batches"):format(term), of_batches(term) }
end

for level = 1, 4 do
    LIST[#LIST + 1] = {
        "walks", "walk_hit_rate_" .. level, "",
        ("L2 cache hits of walk reads, level %d%s"):format(level,
            level == 1 and " (root)" or level == 4 and " (leaf)" or ""),
        share_of("l2cache", ("walk%d_hits"):format(level),
            ("walk%d_lookups"):format(level)),
    }
end
for level = 1, 6 do
    LIST[#LIST + 1] = {
        "walks", "pwc_hit_rate_" .. level, "",
        ("walk cache hits, level %d"):format(level),
        function(r)
            local hits = r.c("pwc", "hits_level" .. level)
            return ratio(hits, hits + r.c("pwc", "misses_level" .. level))
        end,
    }
end

--- DRAM cycles of all channels that a reader's counters cover: those of an
-- application begin with its work and end with its first completion.
local function dram_cycles(r)
    if r.config["dram.mode"] ~= "full" then
        error(ABSENT, 0) -- any other has no limit of bandwidth
    end
    -- as a float: the product of long runs is more than an integer holds
    return ratio(1.0 * r.all("dram", "cycles") * r.cycles, r.all_cycles)
end

--- Bandwidth by class: bytes a second, and the share of the peak.
for _, class in ipairs { { "data", "data" }, { "walk", "page walks" } } do
    local counter = class[1] .. "_bursts"
    LIST[#LIST + 1] = {
        "dram", "dram_peak_share_" .. class[1], "",
        "share of peak bandwidth: " .. class[2],
        function(r)
            return share(r.c("dram", counter) * tonumber(r.config["dram.bl"]),
                dram_cycles(r))
        end,
    }
    LIST[#LIST + 1] = {
        "dram", "dram_gbps_" .. class[1], "GB/s",
        "bandwidth used: " .. class[2],
        function(r)
            -- dram.cycles is a sum over channels, so this is the mean of one
            -- channel times their number.
            local seconds = dram_cycles(r)
                / tonumber(r.config["dram.channels"])
                / tonumber(r.config["clock.dram"])
            return ratio(r.c("dram", counter)
                * tonumber(r.config["dram.bus_bytes"]), seconds) / 1e9
        end,
    }
end

--- A field of a run's energy (energy.lua), where all coefficients are known.
local function energy_of(field)
    return function(r)
        local e = r.c("l1tlb", "lookups") > 0
            and require("heddle.energy").count(r, r.cycles
            / tonumber(r.config["clock.core"]))
        return e and e[field] or error(ABSENT, 0)
    end
end

for _, row in ipairs {
    { "translation_energy", "pJ", "dynamic energy of translation, with DRAM at "
        .. "16.3 nJ per reference (heddle explain energy)", "total" },
    { "translation_energy_dram", "", "share of DRAM in it", "dram_share" },
    { "translation_energy_low", "pJ", "the same with DRAM at 174 pJ per reference",
        "total_low" },
    { "translation_leakage", "pJ", "static energy of the structures of "
        .. "translation over the time passed", "static" },
} do
    LIST[#LIST + 1] = { "energy", row[1], row[2], row[3], energy_of(row[4]) }
end

--- Adds a metric: { section, name, unit, meaning, function(reader) }.
function metrics.add(row)
    LIST[#LIST + 1] = row
end

--- The parts of the cores' warp time, in the order that is shown.
metrics.TIME = {
    { "issue", "issuing" }, { "ready", "ready, another warp issued" },
    { "alu", "waiting for the ALU" },
    { "lsu", "waiting for the load/store unit" },
    { "tlb", "waiting for a TLB" }, { "walk", "waiting for a page walk" },
    { "fault", "waiting for pages from the host" },
    { "data", "waiting for data" }, { "barrier", "at a barrier" },
    { "meeting", "at a construct, with core.compact" },
    { "idle", "no warp" },
}

for _, part in ipairs(metrics.TIME) do
    LIST[#LIST + 1] = {
        "time", "time_" .. part[1], "", "share of warp time: " .. part[2],
        function(r)
            local sum = 0
            for _, other in ipairs(metrics.TIME) do
                sum = sum + r.c("core", "time_" .. other[1])
            end
            return ratio(r.c("core", "time_" .. part[1]), sum)
        end,
    }
end

--- Names that metrics had while they were those of counters that mean something
-- else, or of other metrics but for a word.
local FORMER = {
    walk_cycles = "walk_latency", batch_cycles = "batch_latency",
    prefetch_accuracy = "page_prefetch_accuracy",
    prefetch_coverage = "page_prefetch_coverage",
    prefetch_late = "page_prefetch_lateness",
    formed_threads = "threads_per_formed_warp",
    formed_pages = "pages_per_formed_access",
}

--- The name of a metric today.
function metrics.now(name)
    return FORMER[name] or name
end

--- The description of all metrics, for documentation.
function metrics.list()
    return LIST
end

local function get(values, component, counter)
    local v = values[component] and values[component][counter]
    if v == nil then
        error(ABSENT, 0)
    end
    return v
end

--- A reader of a scope: values[component][counter], `work` (instructions,
-- thread_instructions, and cycles, which counters cover), hist(component, name),
-- if it has histograms, and alone: what belongs to no application is its, too.
local function reader(scope, all)
    local values, work = scope.values, scope.work
    return {
        alone = scope.alone,
        instructions = work.instructions,
        thread_instructions = work.thread_instructions,
        cycles = work.cycles,
        all_cycles = all.cycles,
        config = all.config,
        c = function(component, counter)
            return get(values, component, counter)
        end,
        all = function(component, counter)
            return get(all.values, component, counter)
        end,
        h = function(component, name)
            return scope.hist and scope.hist(component, name)
                or error(ABSENT, 0)
        end,
    }
end

--- Whether there is a metric of that name, or was.
function metrics.known(name)
    name = metrics.now(name)
    for _, row in ipairs(LIST) do
        if row[2] == name then
            return true
        end
    end
    return false
end

--- A metric of one reader, or nothing.
local function value_of(row, r)
    local ok, v = pcall(row[5], r)
    if not ok and v ~= ABSENT then
        error(core.error(-9, ("%s: %s"):format(row[2], v)), 0)
    end
    return ok and v or nil
end

--- One metric of one scope, as for compute(), as is `all`.  Nil: it cannot be
-- had.
function metrics.one(name, scope, all)
    name = metrics.now(name)
    for _, row in ipairs(LIST) do
        if row[2] == name then
            return value_of(row, reader(scope, all))
        end
    end
end

--- Computes all metrics.  `scopes` is a list of { values, work, hist, alone }
-- (reader): one for each application, and one for all.  Returns { section=,
-- name=, unit=, meaning=, values = { [scope] = number or nil } } for those that
-- any scope has.
function metrics.compute(scopes, all)
    local readers, out = {}, {}
    for i, s in ipairs(scopes) do
        readers[i] = reader(s, all)
    end
    for _, row in ipairs(LIST) do
        local m = {
            section = row[1], name = row[2], unit = row[3], meaning = row[4],
            values = {},
        }
        for i, r in ipairs(readers) do
            m.values[i] = value_of(row, r)
        end
        if next(m.values) then
            out[#out + 1] = m
        end
    end
    return out
end

-- ---- comparisons of runs --------------------------------------------------

--- The comparisons: name, unit, meaning.
metrics.COMPARISONS = {
    { "weighted_speedup", "applications",
        "the sum over applications of IPC shared / IPC alone" },
    { "unfairness", "times", "the largest IPC alone / IPC shared" },
    { "ipc_throughput", "warp instructions a cycle",
        "the sum of the applications' IPC" },
}

--- What sim:results() gave; `what` is who wants it.
function metrics.result(result, what)
    if type(result) ~= "table" or not result.apps then
        error(core.error(-2, ("%s: what sim:results() returns is expected, not "
            .. "%s"):format(what, type(result) == "table" and "another table"
            or "a " .. type(result))), 0)
    end
    return result
end

--- Place of application i (from 0) in the lists of a result.
function metrics.place_of(result, i)
    metrics.result(result, "H.report")
    return math.type(i) == "integer" and result.apps[i + 1] and i + 1
        or error(core.error(-2, ("there is no application %s in this result; "
            .. "they count from 0 to %d"):format(tostring(i),
            #result.apps - 1)), 0)
end

--- IPC of application i (from 0) of a result.
function metrics.ipc(result, i)
    local app = result.apps[metrics.place_of(result, i or 0)]
    return app.cycles > 0 and app.instructions / app.cycles or 0.0
end

--- IPC of application i of a result, and of its run alone: of each of them.
local function pairs_of(shared, alone, what)
    local out = {}
    for i, app in ipairs(shared.apps) do
        local one = type(alone) == "table" and alone[i]
        if type(one) ~= "table" or not one.apps then
            error(core.error(-2, ("%s: %s has no result alone: one for each "
                .. "application is expected, in the same order"):format(what,
                app.label or "application " .. i)), 0)
        end
        out[i] = { metrics.ipc(shared, i - 1), metrics.ipc(one) }
    end
    return out
end

--- Sum of IPC shared / IPC alone.  `alone` has one result an application, in
-- the same order (Mosaic 5, MASK 6).
function metrics.weighted_speedup(shared, alone)
    local sum = 0
    for _, p in ipairs(pairs_of(shared, alone, "weighted_speedup")) do
        sum = sum + p[1] / p[2]
    end
    return sum
end

--- Largest IPC alone / IPC shared (maximum slowdown).
function metrics.unfairness(shared, alone)
    local worst = 0
    for _, p in ipairs(pairs_of(shared, alone, "unfairness")) do
        worst = math.max(worst, p[2] / p[1])
    end
    return worst
end

--- Sum of the applications' IPC.
function metrics.ipc_throughput(shared)
    local sum = 0
    for i in ipairs(shared.apps) do
        sum = sum + metrics.ipc(shared, i - 1)
    end
    return sum
end

return metrics
