--- metrics.lua - what is derived from counters: rates, shares, speedups.
--
-- A metric is a row of the table below: a name, a unit, a meaning, and a
-- function of a reader.  The reader's c(component, counter) is the counter's
-- value for one application, or for all; it raises a private mark where the
-- machine has no such counter, and the metric is left out.  Ratios of nothing
-- (no look-up, no walk) are left out, too.
--
-- Comparisons between runs (weighted speedup, unfairness) are functions of
-- results; which runs are "alone" is the scenario's to say.
--
-- SPDX-License-Identifier: MIT
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

local function rate(component, part, whole)
    return function(r)
        return ratio(r.c(component, part), r.c(component, whole))
    end
end

--- 1 - hits / look-ups
local function miss(component, hits, lookups)
    return function(r)
        return 1 - ratio(r.c(component, hits), r.c(component, lookups))
    end
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
        rate("core", "mem_instructions", "instructions") },
    { "work", "lines_per_access", "lines",
        "lines a memory instruction",
        rate("core", "lines", "mem_instructions") },
    { "work", "pages_per_access", "base pages",
        "pages a memory instruction (page divergence)",
        rate("core", "pages", "mem_instructions") },
    -- Translation.
    { "translation", "l1tlb_miss_rate", "", "L1 TLB misses a look-up",
        miss("core", "l1tlb_hits", "l1tlb_lookups") },
    { "translation", "l2tlb_miss_rate", "", "L2 TLB misses a look-up",
        miss("l2tlb", "hits", "lookups") },
    -- Data.
    { "data", "l1_hit_rate", "", "L1 cache hits a load line",
        rate("core", "l1_read_hits", "l1_reads") },
}

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
    { "data", "waiting for data" }, { "barrier", "at a barrier" },
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

--- The description of all metrics, for documentation.
function metrics.list()
    return LIST
end

--- A reader over `values`[component][counter]; `work` has instructions,
-- thread_instructions and cycles.
local function reader(values, work, all)
    return {
        instructions = work.instructions,
        thread_instructions = work.thread_instructions,
        cycles = work.cycles,
        clock = all.clock,
        config = all.config,
        has = function(component, counter)
            return values[component] ~= nil
                and values[component][counter] ~= nil
        end,
        c = function(component, counter)
            local v = values[component] and values[component][counter]
            if v == nil then
                error(ABSENT, 0)
            end
            return v
        end,
    }
end

--- Computes all metrics.  `scopes` is a list of { values, work }: one for each
-- application, and one for all.  Returns { section=, name=, unit=, meaning=,
-- values = { [scope] = number or nil } } for those that any scope has.
function metrics.compute(scopes, all)
    local readers, out = {}, {}
    for i, s in ipairs(scopes) do
        readers[i] = reader(s.values, s.work, all)
    end
    for _, row in ipairs(LIST) do
        local m = {
            section = row[1], name = row[2], unit = row[3], meaning = row[4],
            values = {},
        }
        for i, r in ipairs(readers) do
            local ok, v = pcall(row[5], r)
            if ok then
                m.values[i] = v
            elseif v ~= ABSENT then
                error(v, 0)
            end
        end
        if next(m.values) then
            out[#out + 1] = m
        end
    end
    return out
end

-- ---- comparisons of runs --------------------------------------------------

--- IPC of application i (from 1) of a result.
function metrics.ipc(result, i)
    local app = result.apps[i or 1]
    return app.instructions / app.cycles
end

--- Sum of IPC shared / IPC alone.  `alone` has one result an application, in
-- the same order (Mosaic 5, MASK 6).
function metrics.weighted_speedup(shared, alone)
    local sum = 0
    for i in ipairs(shared.apps) do
        sum = sum + metrics.ipc(shared, i) / metrics.ipc(alone[i])
    end
    return sum
end

--- Largest IPC alone / IPC shared (maximum slowdown).
function metrics.unfairness(shared, alone)
    local worst = 0
    for i in ipairs(shared.apps) do
        worst = math.max(worst,
            metrics.ipc(alone[i]) / metrics.ipc(shared, i))
    end
    return worst
end

--- Sum of the applications' IPC.
function metrics.ipc_throughput(shared)
    local sum = 0
    for i in ipairs(shared.apps) do
        sum = sum + metrics.ipc(shared, i)
    end
    return sum
end

return metrics
