--- common.lua - what the experiments of Mosaic have in common: sets of
-- applications, sizes, budgets, designs, and what is known of the differences.
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
    local machine = H.machine(x:preset "mosaic")
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

--- Why numbers differ from the paper's, as far as experiments have shown it:
-- those of causes.lua, and others that are named.
common.why = {
    loss = "twelve programs lose 15 % over 200,000 cycles: half of them fill "
        .. "their issue slots or DRAM whatever translation costs; 3DS loses 64, TRD "
        .. "32, MUM 26 and RED 24.  With 8 cycles instead of 50 to the L2 7 % are "
        .. "lost, with misses under a miss 4, with both 3 (causes.lua scale=full "
        .. "sets=12).  Nine lose 16 %, with a DRAM bus twice as wide 26, with DRAM "
        .. "without a limit of bandwidth 44 (causes.lua scale=full)",
    large = "none found: the paper's bound holds at size M in runs of 40,000 "
        .. "cycles and more; shorter ones are all first touches",
    walkcache = "the walk cache keeps 1,024 entries of all levels, leaves too, so "
        .. "that it reaches as far as 512 L2 TLB entries and saves reads besides; on "
        .. "the release's machine it takes 85 cycles a look-up",
    gain = "Mosaic has what large pages give: it gains 27 % over twelve programs "
        .. "(causes.lua scale=full sets=12), nearly all that 4 KB pages lose; so the "
        .. "distance is the loss's (fig03)",
    released = "the sets are few, and what a set gains goes from nothing to "
        .. "several times (the table); with entries for large pages it has Ideal's "
        .. "performance, so the distance is less than the paper's",
    faults = "what a program does with a page before the next decides: of whole "
        .. "runs at size S alone, CFD and GUP lose 19 %, CONS 41 %, TRD 90 % and "
        .. "MM, whose faults hardly overlap, 92 %; the first 100,000 cycles of work "
        .. "of each at size M are all first touches and lose 93 to 98 % "
        .. "(scale=full apps=1); at size T, and in shorter windows, there is little "
        .. "but the first faults' 55 us",
    window = "both sizes move 7.8 bytes a cycle once faults overlap, so whole "
        .. "runs that use what they bring are near each other: alone at size S, "
        .. "with 2 MB GUP and CFD lose 15 and 13 % against 4 KB, CONS and TRD gain "
        .. "1 and 13 %, and MM is 10.6 times as fast, as one transfer brings what "
        .. "512 faults would; of the first 100,000 cycles of work four of them "
        .. "lose 11 to 39 % and MM is 2.6 times as fast; several programs make 2 MB "
        .. "wait for each other",
    paged = "Mosaic moves as many bytes over the link as GPU-MMU, page by page, "
        .. "and both wait for them: what a copy or far faults cost hides what "
        .. "translation does; a run without paging is not reached by one with",
    near = "little is left to lose: Mosaic regains nearly all (causes.lua)",
    order = "where DRAM is the limit, a design that holds applications back can "
        .. "be the better one: data that arrive together push each other out "
        .. "of the L2 cache",
    each = "programs that fill their issue slots or DRAM gain nothing; those that "
        .. "wait for one walk after the other gain much (causes.lua), and take DRAM "
        .. "from others of their set: of 101 that lose more than 1 % at full 94 do "
        .. "so under Ideal, too (the table)",
    named = "HS and CONS keep their issue slots full under any design, and with "
        .. "Mosaic NW and HISTO are as fast as with Ideal",
    hits = "a look-up that joins a walk in flight has missed here; counted as "
        .. "hits, the rates are those of the next row",
    calm = "misses of the L2 TLB are few, but so are the look-ups that reach "
        .. "it: what L1 TLBs miss is mostly first touches",
    entries = "a core walks for one instruction at a time, and how long that takes "
        .. "matters more than how often it is the L2 TLB that answers (causes.lua)",
    large_entries = "a core's blocks touch few pages of 2 MB at a time",
    bloat = "sizes decide: 81.5 MB a program and 40 % are 16 pages of 2 MB "
        .. "wasted, more than most programs have buffers; at size S the 27 "
        .. "waste 21 % (buffers side by side) or 141 % (apart), at most 134 or "
        .. "2004 %, at M 2 or 10 %; the paper is between the first two",
    apart = "as above",
    cac = "what compaction brings is what large pages bring (causes.lua); what "
        .. "it costs is a stall before the first instruction, so it depends "
        .. "on how long programs run (run=)",
    bulk = "with 256 bytes to a channel a page is in all channels, and copies "
        .. "inside DRAM block them all, one after the other; with a page to a "
        .. "channel they take less than a tenth of the time (last column)",
    held = "CAC empties a frame before an application's pages enter it, so "
        .. "occupancy does not matter here while memory is 15 times the "
        .. "footprint, as the paper's is (with 4.2 times and 75 %, bloat is 0: "
        .. "see the table): what is held and not used is the "
        .. "rest of frames with base pages, one or two a program, a smaller "
        .. "share of larger programs",
}

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
        x:say("scale=quick: few sets in short runs; the paper's numbers are "
            .. "means of many")
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
    local chart = { title = title, unit = unit, groups = groups, series = {} }
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
