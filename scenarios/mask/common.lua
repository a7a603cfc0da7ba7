--- common.lua - what the experiments of MASK have in common: pairs, sizes,
-- budgets, designs, and what is known of the differences.
--
-- quick: three pairs (the first of each class, n-HMR has n applications whose
-- L1 and L2 TLB miss rates are both high), size S, short runs; for tests and a
-- first look.  full: the 35 pairs, size M, an epoch of warm-up and a million
-- cycles of work.  Work is what an application does alone on SharedTLB, on as
-- many cores as it has in the pair.
--
-- lanes=32 is the second column of mechanisms: warps of 32 threads and two
-- issue slots a cycle, which keeps lanes a cycle equal and is what the released
-- code ran.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"

local common = {}

--- Why numbers differ from the paper's, where experiments have shown it.
common.why = {
    loss = "sixteen leaf entries share a line, and neighbouring blocks walk "
        .. "together: leaf reads hit the L2 cache far more often than the 1 % "
        .. "of MASK's section 4.3, so walks are short",
}

--- The pairs of a scale: all 35, or the first of each class.
function common.pairs(full)
    local list, seen = {}, {}
    for _, set in ipairs(H.suites.pairs()) do
        if full or not seen[set.hmr] then
            seen[set.hmr] = true
            list[#list + 1] = set
        end
    end
    table.sort(list, function(a, b)
        return a.hmr ~= b.hmr and a.hmr < b.hmr
            or a.hmr == b.hmr and a.name < b.name
    end)
    return list
end

--- Options of sharing.measure; `more` overrides.
function common.options(x, more)
    local machine = H.machine "maxwell"
    if x.arg.lanes == 32 then
        machine = machine:with { ["core.lanes"] = 32, ["core.width"] = 32,
            ["core.issue"] = 2 }
    end
    local o = {
        machine = machine, reference = { name = "SharedTLB",
            apply = H.designs.sharedtlb },
        size = x.full and "M" or "S", partition = x.arg.partition,
        warmup = x.full and 100000 or 20000,
        cycles = x.full and 1000000 or 40000,
        pairs = common.pairs(x.full),
        --- GUP keeps the size at which MASK's class holds: a table of 4 MB.
        sizes = { GUP = "S" },
    }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    o.sets = {}
    for i, set in ipairs(o.pairs) do
        o.sets[i] = set.apps
    end
    return o
end

--- The heading: machine, reference, sizes, budgets.
function common.say(x, o)
    x:say("%d pairs on maxwell, %d threads a warp, size %s, partition %s; work "
        .. "of %d cycles alone on %s after %d cycles of warm-up", #o.sets,
        x.arg.lanes or 64, o.size, o.partition or "even", o.cycles,
        o.reference.name, o.warmup)
    if not x.full then
        x:say("scale=quick: one pair of each class in short runs; the paper's "
            .. "numbers are means of 35 pairs")
    end
end

--- A row a pair: weighted speedups, losses against the first design.
function common.pairs_table(x, o, results)
    local head = { "pair", "n-HMR" }
    for _, d in ipairs(o.designs) do
        head[#head + 1] = d.name
    end
    for i = 2, #o.designs do
        head[#head + 1] = o.designs[i].name .. " loss"
    end
    local rows, chart = { head }, { title = x.title, unit = "weighted speedup",
        groups = {}, series = {} }
    for i, d in ipairs(o.designs) do
        chart.series[i] = { name = d.name, values = {} }
    end
    for p, r in ipairs(results) do
        local row = { o.pairs[p].name, o.pairs[p].hmr }
        local first = r[o.designs[1].name].ws
        for i, d in ipairs(o.designs) do
            row[#row + 1] = ("%.3f"):format(r[d.name].ws)
            chart.series[i].values[p] = r[d.name].ws
        end
        for i = 2, #o.designs do
            row[#row + 1] = report.percent(1 - r[o.designs[i].name].ws / first)
        end
        rows[#rows + 1] = row
        chart.groups[p] = (o.pairs[p].name:gsub("_", "+"))
    end
    x:table("Weighted speedup of each pair", rows)
    x:bars(chart)
end

return common
