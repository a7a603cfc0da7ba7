--- common.lua - what the experiments of Mosaic have in common: sets of
-- applications, sizes, budgets, designs.
--
-- quick: three programs that feel their TLBs at once (MUM, NW, 3DS) and the two
-- sets that Mosaic's figure 10 names; short runs; for tests and a first look.
-- full: 27 programs, 1 to 5 copies, and 25 sets each of 2 to 5 programs; an epoch
-- of warm-up and a million cycles of work.  In between: scale=full
-- cycles=100000 sets=9.  Programs have size M, 17 to 160 MB.
--
-- Work is what an application does alone on GPU-MMU with pages of 4 KB, on as
-- many cores as it has in the set.
--
-- Pages are there before cycle 0: Mosaic's figures 8 to 16 copy buffers when a
-- kernel starts, which takes the same time in all designs and is left out of
-- what is compared.  Figures that have demand paging say so.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local generate = require "heddle.generate"
local library = require "heddle.app"
local report = require "heddle.report"
local sharing = require "heddle.sharing"

local common = {}

-- ---- designs ------------------------------------------------------------------

local function keep(machine)
    return machine
end

common.gpummu = { name = "GPU-MMU", apply = keep }
common.ideal = { name = "Ideal", apply = H.designs.ideal }

--- Large pages alone; the edges of buffers get whole ones, too.
common.large = {
    name = "GPU-MMU 2 MB",
    apply = function(machine)
        return machine:with({ ["vm.page"] = "2M", ["vm.round"] = true },
            "design GPU-MMU 2 MB: Mosaic 3.2")
    end,
}

--- Frames of 2 MB for one application each, coalesced in place, compacted.
common.mosaic = { name = "Mosaic", apply = keep, policies = { "mosaic" } }

--- A design with other settings: another name, no other policies.
function common.variant(design, name, settings)
    return {
        name = name, policies = design.policies,
        apply = function(machine)
            return design.apply(machine):with(settings, name)
        end,
    }
end

--- Designs on the machine of the simulator that Mosaic's authors released (heddle
-- explain released), by the same names.
function common.released(designs)
    local out = {}
    for i, d in ipairs(designs) do
        out[i] = { name = d.name, policies = d.policies, apply = function()
            return d.apply(H.machine "released")
        end }
    end
    return out
end

-- ---- arguments and sets ---------------------------------------------------------

--- An experiment of the suite, open; `where`: figure, table or section.  The
-- arguments of all, and `more`; 0 and "" stand for what the scale says.
-- with=l1tlb.mshrs=1,walk.mode=fixed:500 changes the machine for all designs, the
-- reference included: one parameter at a time, to find out why.
function common.open(name, where, title, more)
    local arg = { cycles = 0, warmup = 0, size = "", sets = 0, with = "",
        variant = experiment.FIRST }
    for k, v in pairs(more or {}) do
        arg[k] = v
    end
    return experiment.open {
        name = "mosaic/" .. name, source = "Mosaic (MICRO 2017), " .. where,
        title = title, arg = H.args(experiment.args(arg)),
        variants = { "literal" },
        choices = {
            -- as in MASK's experiments, where each is explained
            { "bus-64", { ["dram.bus_bytes"] = 64 } },
            { "partition-150", { ["l2cache.queue_latency"] = 150 } },
            { "issue-1", { ["core.issue"] = 1 } },
            { "inputs-R", {}, arg = { size = "R" } },
            { "crossbar", { ["xbar.latency"] = 50, ["walk.latency"] = 50,
                ["l2cache.queue_latency"] = 0 } },
        },
    }
end

--- How many of a long list are measured: sets=N takes a seeded choice.
local function some(x, list, least)
    local n = x.arg.sets > 0 and x.arg.sets or least
    if not n or n >= #list then
        return list
    end
    local order, at, out = generate.permutation { n = #list,
        seed = x.arg.seed }, {}, {}
    for i = 0, n - 1 do
        at[i + 1] = order[i] + 1
    end
    table.sort(at)
    for i, k in ipairs(at) do
        out[i] = list[k]
    end
    return out
end

--- Not GUP, which makes one round of its loop in quick's runs: so many instructions
-- are then not so much work.
local QUICK = { "MUM", "NW", "3DS" }

local function quick_sets(kind, n)
    local lists = {}
    if kind == "homogeneous" then
        for i, name in ipairs(QUICK) do
            lists[i] = {}
            for k = 1, n do
                lists[i][k] = name
            end
        end
    elseif n == 2 then
        lists = { { "HS", "CONS" }, { "NW", "HISTO" } }
    else
        lists = { { table.unpack({ "HS", "CONS", "NW", "HISTO", "3DS" },
            1, n) } }
    end
    for i, apps in ipairs(lists) do
        lists[i] = { name = table.concat(apps, "-"), apps = apps }
    end
    return lists
end

--- Sets of n applications.  kind: homogeneous or heterogeneous; `subset`: how
-- many of them a sensitivity study takes.
function common.sets(x, kind, n, subset)
    if not x.full then
        return quick_sets(kind, n)
    end
    return some(x, H.suites[kind](n), subset)
end

--- Numbers of applications that are measured.
function common.counts(x, kind)
    if kind == "homogeneous" then
        return x.full and { 1, 2, 3, 4, 5 } or { 1, 2 }
    end
    return x.full and { 2, 3, 4, 5 } or { 2, 5 }
end

--- How many sets the paper has of a kind: of n applications, or of all numbers.
function common.count(kind, n)
    if n then
        return #H.suites[kind](n)
    end
    local all = 0
    for k = kind == "homogeneous" and 1 or 2, 5 do
        all = all + #H.suites[kind](k)
    end
    return all
end

--- A set's name for charts: 3DS x 5, HS-CONS.
function common.label(set)
    for _, name in ipairs(set.apps) do
        if name ~= set.apps[1] then
            return set.name
        end
    end
    return #set.apps == 1 and set.apps[1]
        or ("%s x %d"):format(set.apps[1], #set.apps)
end

-- ---- measuring ------------------------------------------------------------------

local function pick(given, otherwise)
    return given ~= 0 and given ~= "" and given or otherwise
end

--- The machine, with what `with` changes.
function common.machine(x, settings)
    local machine = H.machine(x:preset "mosaic"):with(x:settings())
    if settings then
        machine = machine:with(settings)
    end
    for word in x.arg.with:gmatch "[^,]+" do
        local name, value = word:match "^([^=]+)=(.+)$"
        if not name then
            error(("argument with=%s: expected setting=value, with commas "
                .. "between"):format(x.arg.with), 0)
        end
        machine = machine:with({ [name] = tonumber(value) or value },
            "argument with")
    end
    return machine
end

--- Options of sharing.measure; `more` overrides.
function common.options(x, sets, designs, more)
    local o = {
        machine = common.machine(x), reference = common.gpummu,
        designs = designs, sets = {},
        size = pick(x.arg.size, H.suites.get("mosaic").size),
        warmup = pick(x.arg.warmup, x.full and 100000 or 15000),
        cycles = pick(x.arg.cycles, x.full and 1000000 or 15000),
    }
    for i, set in ipairs(sets) do
        o.sets[i] = set.apps
    end
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return o
end

--- [set][design name], as sharing.measure has it.
function common.measure(x, sets, designs, more)
    local o = common.options(x, sets, designs, more)
    x.options = o
    return sharing.measure(x, o)
end

--- With an alternative to a choice (x:alternatives).
function common.with(x, sets, designs, alternative)
    local o = common.options(x, sets, designs, {
        machine = common.machine(x, alternative.settings) })
    o.size = alternative.arg.size or o.size
    return sharing.measure(x, o)
end

--- The bytes of a set's buffers.
function common.footprint(set, size)
    local bytes = 0
    for _, name in ipairs(set.apps) do
        bytes = bytes + library.size(library.get(name), size).footprint
    end
    return bytes
end

--- Memory shrinks with what is in it: Mosaic has 3 GB for sets of 217 MB on
-- average.  Whole frames of 2 MB.
function common.memory(set, size)
    local bytes = common.footprint(set, size) * 3221225472.0 / 217e6
    return math.ceil(bytes / 2097152) * 2097152
end

-- ---- sums -------------------------------------------------------------------------

--- Mean of f(item) over a list, nil left out; nil of nothing.
function common.mean(list, f)
    local sum, n = 0.0, 0
    for i, v in ipairs(list) do
        local y = f(v, i)
        if y then
            sum, n = sum + y, n + 1
        end
    end
    return n > 0 and sum / n or nil
end

--- Hits of all look-ups of a TLB, or nil: level is "l1tlb" or "l2tlb".  Of the
-- L2 TLB as a metric has it: what was merged with a miss in flight has missed.
function common.hit_rate(result, level)
    local miss = report.metric(result, level .. "_miss_rate")
    return miss and 1 - miss
end

-- ---- printing ----------------------------------------------------------------------

--- The heading.
function common.say(x, what, o)
    o = o or x.options
    x:say("%s; machine mosaic, size %s, cores split evenly; work of %d cycles "
        .. "alone on GPU-MMU (4 KB) after %d cycles of warm-up", what, o.size,
        o.cycles, o.warmup)
    if x.arg.with ~= "" then
        x:say("machine changed: %s", x.arg.with)
    end
    if not x.full then
        x:say("scale=quick: few sets in short runs, not comparable with the "
            .. "paper's means of many")
    elseif x.arg.sets > 0 then
        x:say("sets=%d: a choice by seed %d of the paper's sets",
            x.arg.sets, x.arg.seed)
    end
end

--- A row a set: weighted speedups and what each design has of the last one.
function common.sets_table(x, title, sets, designs, results)
    local rows = { { "set" } }
    local last = designs[#designs].name
    for _, d in ipairs(designs) do
        table.insert(rows[1], d.name)
    end
    for i = 1, #designs - 1 do
        table.insert(rows[1], designs[i].name .. " of " .. last)
    end
    for s, r in ipairs(results) do
        local row = { common.label(sets[s]) }
        for _, d in ipairs(designs) do
            row[#row + 1] = ("%.3f"):format(r[d.name].ws)
        end
        for i = 1, #designs - 1 do
            row[#row + 1] = report.percent(r[designs[i].name].ws / r[last].ws)
        end
        rows[s + 1] = row
    end
    x:table(title, rows)
end

--- Bars: a group each of `groups`, a series a design, value(g, design's name).
function common.chart(x, title, unit, groups, designs, value)
    local chart = { title = title, unit = unit, groups = groups, series = {},
        xlabel = "applications" }
    for d, design in ipairs(designs) do
        chart.series[d] = { name = design.name, values = {} }
        for g = 1, #groups do
            chart.series[d].values[g] = value(g, design.name)
        end
    end
    x:bars(chart)
end

--- Bars: a group a set; `of`: values are shares of that design's.
function common.sets_chart(x, unit, sets, designs, results, of)
    local groups = {}
    for i, set in ipairs(sets) do
        groups[i] = set.name
    end
    common.chart(x, x.title, unit, groups, designs, function(g, name)
        return results[g][name].ws / (of and results[g][of].ws or 1)
    end)
end

return common
