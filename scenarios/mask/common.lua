--- common.lua - what the experiments of MASK have in common: pairs, sizes,
-- budgets, designs, and what is known of the differences.
--
-- quick: three pairs (the first of each class, n-HMR has n applications whose
-- L1 and L2 TLB miss rates are both high; none with GUP, whose loop takes longer
-- than a short run), short runs; for tests and a first look.  full: the
-- 35 pairs, an epoch of warm-up and a million cycles of work, two where
-- tokens are studied: 20 epochs.  Work is what an application does alone on
-- SharedTLB, on as many cores as it has in the pair.
-- Epochs of MASK are 100,000 cycles, at quick 2,000, so that there are 20, too,
-- after one of warm-up.  Every design is measured over the same instructions of
-- each application, from where the alone run's warm-up ended, and so are counters.
--
-- lanes=32 is the second column of mechanisms: warps of 32 threads and two
-- issue slots a cycle, which keeps lanes a cycle equal and is what the released
-- code ran.  partition=oracle searches the split of the cores.
--
-- Figures 1, 2, 4 and 10 are not here: no quantity of theirs is known.  The list
-- of pairs is recalled from the paper's figures.
--
-- Studies of sensitivity (section 7.3, table 4, sets of three to five, with
-- Mosaic) and the columns beside those of a figure (best split, 32 threads, L1
-- TLBs that block, the release's machine) take eight pairs at full, drawn with `seed`.
--
-- Programs have size M, 17 to 160 MB: with smaller inputs some are within the
-- reach of the TLBs.
--
-- sets=N draws N pairs, pairs=3DS_BP,MM_CONS runs those; size=, cycles= and
-- warmup= override the scale's.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local report = require "heddle.report"
local sharing = require "heddle.sharing"

local common = {}
local suite = H.suites.get "mask"

--- Why numbers differ from the paper's, where experiments have shown it: those of
-- causes.lua at scale=quick (three pairs in runs of 42,000 cycles, mostly first
-- touches); in brackets twelve pairs over 200,000 cycles after 100,000 (fig03
-- scale=full sets=12 cycles=200000).
common.why = {
    loss = "how far the L2 TLB and the L2 cache are decides, how many misses an L1 "
        .. "TLB walks for at once, and what else is the limit: SharedTLB loses 54 % "
        .. "in quick runs, of three pairs, and 20 % in those of eight at scale=full; "
        .. "with 8 cycles instead of 50 to the L2 5 and 4 %, with misses under a "
        .. "miss -3 and 3 %, on the release's machine 54 and 35 %.  DRAM is the limit "
        .. "of many of the 35 pairs, whose data take 55 % of its peak (MASK: 15, "
        .. "fig08): with twice the bandwidth the eight lose 36 %, without a limit "
        .. "39 %, in runs four times as long 20 % (causes.lua)",
    pwcache = "on the release's machine the walk cache takes 85 cycles and "
        .. "PWCache loses more than SharedTLB, 68 and 54 % (scale=full: 55 and 45; "
        .. "MASK 45.0 and 40.6); with the 10 cycles and 1,024 entries of table 1 the "
        .. "two are within 4 points on maxwell, either way, as walks of neighbouring "
        .. "pages are a few look-ups; and where reads are far, a walk cache saves "
        .. "them: over the crossbar SharedTLB loses 56 and PWCache 32 % (causes.lua: "
        .. "far-walker), and so it is on the integrated GPU",
    gain = "SharedTLB loses 54 % in quick runs and 21 % of all 35 pairs, and MASK "
        .. "regains none of it (-1.3 and -1.0 %): each core walks for one instruction, "
        .. "1.2 and 12 walks are under way in all, whose reads hit the L2 cache "
        .. "(sec43), and so neither what the L2 TLB keeps nor how walk reads are "
        .. "queued is what programs wait for; if no leaf read hit the L2 cache, MASK "
        .. "would give 14 % (causes.lua scale=full: leaf).  In the released simulator "
        .. "a read sent past the L2 cache skips a queue of 85 cycles: that alone "
        .. "gives 38 % there (scale=full: 11), MASK in all 44 (24; causes.lua: "
        .. "released-skip).  +57.8 % is not to be had without it",
    order = "tokens and bypass are within 3 % of SharedTLB, 6 % with warps of 32 "
        .. "threads, as few walks are under way at once (fig05)",
    rows = "MASK and SharedTLB differ by 4 % at most, with either row policy",
    skip = "few pairs in short runs; the policy itself does not choose these "
        .. "levels, as leaf reads hit the L2 cache more often than data (sec43)",
    level3 = "a line of the third level holds 16 entries of 2 MB each, so a "
        .. "handful of lines serves an application and never leaves the L2",
    level4 = "not to be had: a line holds 16 leaf entries, those of neighbouring "
        .. "pages, which are walked soon after; the released simulator counts a "
        .. "read again in each cycle in which the L2 cannot take it, and one that "
        .. "joins a miss as none that hits",
    walks_bandwidth = "not to be had: most walk reads hit the L2 cache (sec43)",
    data_bandwidth = "the paper's pairs have more cycles a byte: here FWT, CONS, RED "
        .. "and SCAN are bound by DRAM (causes.lua: RED takes 69 and SCAN 97 % of the "
        .. "peak alone on half of the cores; at the release's sizes both would be in "
        .. "the L2 cache), and most pairs with one of them take 60 to 83 %",
    walk_latency = "few walk reads reach DRAM here, so a mean is over few; at "
        .. "scale=full data queue there for 400 cycles, and what goes first gains "
        .. "more than in the paper",
    more_bandwidth = "few walk reads reach DRAM (fig08): for most pairs there is "
        .. "nothing to make room for, and the mean is 1 % or less",
    silver = "turns follow walks, and few are under way",
    tokens = "what one warp walked for other cores' warps ask for next, and "
        .. "warps without a token do not leave it in the L2 TLB",
    bypass = "in the released simulator every access asks the bypass cache first, "
        .. "before the L1 TLB: so it would have 14 % of all accesses, 7 at "
        .. "scale=full (rows below); the rest was not found",
    walks = "an L1 TLB that lets hits pass a miss walks for one instruction at a "
        .. "time, and of its misses half or more hit the L2 TLB, so a core has no "
        .. "walk under way most of the time: 1.2 are in quick pairs and 4 in eight "
        .. "at scale=full; with misses under a miss 13 and 16, on the release's "
        .. "machine 7 and 9, with walk reads over the crossbar 4 and 7 (causes.lua)",
    warps = "warps whose misses park behind another one are held by it and "
        .. "counted, as MASK does",
    large = "not to be had: with 2 MB pages hardly anything misses; Mosaic's "
        .. "figure 3 has less than 2 % of loss, too",
}
common.why.unfair = common.why.gain

-- ---- pairs, sizes, designs ---------------------------------------------------------

--- Arguments, and the experiment: name (fig03), where in the paper, title.
-- `subset`: how many pairs a study of sensitivity takes at full.
function common.open(name, where, title, more, subset)
    local arg = { partition = "even", lanes = 64, pairs = "", size = "",
        cycles = 0, warmup = 0, sets = 0, variant = experiment.FIRST }
    for k, v in pairs(more or {}) do
        arg[k] = v
    end
    local x = experiment.open {
        name = "mask/" .. name, source = "MASK (ASPLOS 2018), " .. where,
        title = title, arg = H.args(experiment.args(arg)),
        variants = { "literal" },
    }
    x.sets = x.arg.sets > 0 and x.arg.sets or x.full and subset or nil
    return x
end

local function by_class(a, b)
    return a.hmr ~= b.hmr and a.hmr < b.hmr or a.hmr == b.hmr
        and a.name < b.name
end

--- Pairs by name.
function common.named(names)
    local list, known = {}, {}
    for _, set in ipairs(H.suites.pairs()) do
        known[set.name] = set
    end
    for _, name in ipairs(names) do
        list[#list + 1] = known[name]
            or error(("MASK has no pair '%s'"):format(name), 0)
    end
    return list
end

--- N pairs drawn with a seed.
local function drawn(n, seed)
    local all, list = H.suites.pairs(), {}
    while #list < n and #all > 0 do
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        list[#list + 1] = table.remove(all, (seed >> 16) % #all + 1)
    end
    return list
end

common.FEW = 8 -- pairs of a study of sensitivity at full

--- The pairs of a run: those asked for, drawn ones, all 35, or the first of
-- each class.
function common.pairs(x)
    local list, seen = {}, {}
    if x.arg.pairs ~= "" then
        local names = {}
        for name in x.arg.pairs:gmatch "[^,]+" do
            names[#names + 1] = name
        end
        return common.named(names)
    elseif x.sets then
        return drawn(x.sets, x.arg.seed)
    end
    for _, set in ipairs(H.suites.pairs()) do
        if x.full or not seen[set.hmr] and not set.name:find "GUP" then
            seen[set.hmr] = true
            list[#list + 1] = set
        end
    end
    table.sort(list, by_class)
    return list
end

--- maxwell, or its literal form, with warps of `lanes` threads.
function common.machine(x, lanes)
    local machine = H.machine(x:preset "maxwell")
    if lanes == 32 then
        machine = machine:with { ["core.lanes"] = 32, ["core.width"] = 32,
            ["core.issue"] = 2 }
    end
    return machine
end

--- Columns beside the machine as it is: L1 TLBs that block.  MASK's let hits
-- pass a miss (section 6: as Pichai et al.), and so do maxwell's; the released
-- simulator holds the access at the head of the memory stage, and all memory
-- instructions of the core behind it, until its walk is over.
common.blocking = { ["l1tlb.blocking"] = { "full",
    "the released simulator: a miss holds the memory stage" } }

--- A design with more settings; one of MASK's with other parameters, too.
function common.variant(d, name, settings, params)
    if params and d.policies and #d.policies > 0 then
        local options = { name = name }
        for _, from in ipairs { d.policies[1], params } do
            for k, v in pairs(from) do
                if k ~= "use" then
                    options[k] = v
                end
            end
        end
        d = H.designs.mask(options)
    end
    return { name = name, policies = d.policies, apply = function(machine)
        return d.apply(machine):with(settings or {})
    end }
end

--- The designs of those names; at quick, epochs of MASK are short.
function common.designs(x, names)
    local list = {}
    for i, name in ipairs(names) do
        local d = H.designs.get(name)
        list[i] = x.full and d or common.variant(d, name, nil,
            { epoch = 2000 })
    end
    return list
end

-- ---- runs ------------------------------------------------------------------------------

--- Options of sharing.measure; `more` overrides.  more.names: the designs;
-- more.settings: of the machine.
function common.options(x, more)
    local arg, o = x.arg, {}
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    o.designs = o.designs or common.designs(x, o.names or { "Ideal",
        "SharedTLB", "PWCache" })
    local epochs = false
    for _, d in ipairs(o.designs) do
        epochs = epochs or d.policies and #d.policies > 0
    end
    o.machine = (o.machine or common.machine(x, o.lanes or arg.lanes)):with(
        o.settings or {})
    o.reference = H.designs.get "SharedTLB"
    o.partition = o.partition or arg.partition
    o.grid = 5
    o.size = arg.size ~= "" and arg.size or suite.size
    o.warmup = arg.warmup > 0 and arg.warmup or x.full and 100000 or 2000
    o.cycles = arg.cycles > 0 and arg.cycles
        or x.full and (epochs and 2000000 or 1000000) or 40000
    --- GUP keeps the size at which MASK's class holds: a table of 4 MB.
    o.sizes = { GUP = "S" }
    o.pairs = o.pairs or common.pairs(x)
    o.sets = {}
    for i, set in ipairs(o.pairs) do
        o.sets[i] = set.apps
    end
    return o
end

--- The heading: machine, reference, sizes, budgets.
function common.say(x, o)
    x:say("%d sets on %s, %s threads a warp, size %s, partition %s; work "
        .. "of %d cycles alone on %s after %d cycles of warm-up", #o.sets,
        o.machine.name, o.machine:get "core.lanes", o.size,
        o.partition, o.cycles, o.reference.name, o.warmup)
    if not x.full then
        x:say("%s in short runs; the paper's numbers are means of 35 pairs",
            x.sets and x.sets .. " pairs" or "one pair of each class")
    elseif x.sets then
        x:say("%d pairs drawn with seed %d; the paper's numbers are means of 35",
            x.sets, x.arg.seed)
    end
end

--- Measures and says what; returns results and options.
function common.measure(x, more)
    local o = common.options(x, more)
    local results = sharing.measure(x, o)
    common.say(x, o)
    return results, o
end

-- ---- numbers ---------------------------------------------------------------------------

--- Mean of a list; nil where it has nothing.
function common.mean(list)
    local sum, n = 0.0, 0
    for _, v in pairs(list) do
        sum, n = sum + v, n + 1
    end
    return n > 0 and sum / n or nil
end

--- f(result of a set, set) of each set, as a list (with holes), and its mean.
function common.map(results, o, f)
    local out = {}
    for i, r in ipairs(results) do
        out[i] = f(r, o.pairs[i])
    end
    return out, common.mean(out)
end

--- A metric of a run: of application i, or of all.
function common.metric(run, name, i)
    return report.metric(run, name, i)
end

--- Mean of a histogram, over the applications of a run.
function common.histogram(run, component, name)
    for _, h in ipairs(run.histograms) do
        if h.component == component and h.name == name then
            local n, sum = 0, 0
            for _, a in ipairs(h.apps) do
                n, sum = n + a.n, sum + a.sum
            end
            return n > 0 and sum / n or nil
        end
    end
end

--- Each application of the sets alone, as measured in the first set that has
-- it: { { name =, run = }, ... } by name.
function common.alone(results, o, design)
    local list, seen = {}, {}
    for i, r in ipairs(results) do
        for a, name in ipairs(o.pairs[i].apps) do
            if not seen[name] then
                seen[name] = true
                list[#list + 1] = { name = name,
                    run = r[design or "SharedTLB"].alone[a] }
            end
        end
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
end

-- ---- tables and charts -----------------------------------------------------------------

local function text(v, format)
    return v and (format or "%.3f"):format(v) or "-"
end

--- Width of a chart of so many groups and series.
function common.width(groups, series)
    return math.max(720, 60 + groups * math.max(70, 12 * series))
end

--- One table and one chart: groups by name, a series a column.  o: title,
-- unit, format, scale (of the numbers), marks (by series).
function common.grouped(x, o, groups, series)
    local rows = { { o.head or "" } }
    for _, s in ipairs(series) do
        rows[1][#rows[1] + 1] = s.name
    end
    for g, name in ipairs(groups) do
        local row = { name }
        for i, s in ipairs(series) do
            row[i + 1] = text(s.values[g], o.format)
        end
        rows[g + 1] = row
    end
    x:table(o.title .. (o.unit and " (" .. o.unit .. ")" or ""), rows)
    local names = {}
    for g, name in ipairs(groups) do
        names[g] = (name:gsub("_", "+"))
    end
    x:bars { title = o.title, unit = o.unit, groups = names, series = series,
        mark = o.mark, width = common.width(#groups, #series) }
end

--- The results of some sets, and options to go with them: those that
-- keep(set) says.
function common.some(results, o, keep)
    local list, pairs_of = {}, {}
    for i, r in ipairs(results) do
        if keep(o.pairs[i]) then
            list[#list + 1], pairs_of[#pairs_of + 1] = r, o.pairs[i]
        end
    end
    return list, setmetatable({ pairs = pairs_of }, { __index = o })
end

--- What figures 11 to 15 and sections 7.1 and 7.2 compare.
common.all = { "Static", "PWCache", "SharedTLB", "MASK-TLB", "MASK-Cache",
    "MASK-DRAM", "MASK", "Ideal" }

--- Names of the sets.
function common.names(o)
    local out = {}
    for i, set in ipairs(o.pairs) do
        out[i] = set.name
    end
    return out
end

--- The columns beside a figure's: { name, options, results if they are known }.
-- At full they take few pairs, and there is one of these as in the figure.
function common.columns(x, o, results, names)
    local some, few, mark, out = {}, nil, "", {}
    if x.full and not x.sets and x.arg.pairs == "" then
        few, mark = drawn(common.FEW, x.arg.seed),
            (" (%d pairs)"):format(common.FEW)
        for _, set in ipairs(few) do
            some[set.name] = true
        end
        out[1] = { mark, options = o, results = common.some(results, o,
            function(set) return some[set.name] end) }
    end
    for _, c in ipairs { { ", best split", partition = "oracle" },
        { ", 32 threads", lanes = 32 },
        { ", L1 TLBs block", settings = common.blocking },
        { ", the release's machine", machine = "released" } } do
        out[#out + 1] = { c[1] .. mark, options = common.options(x, {
            names = names, lanes = c.lanes, partition = c.partition,
            settings = c.settings, pairs = few,
            machine = c.machine and H.machine(c.machine) }) }
    end
    return out
end

--- A row a pair: weighted speedups, losses against Ideal.
function common.pairs_table(x, o, results)
    local head, others = { "pair", "n-HMR" }, {}
    for _, d in ipairs(o.designs) do
        head[#head + 1] = d.name
        if d.name ~= "Ideal" then
            others[#others + 1] = d.name
        end
    end
    for _, name in ipairs(others) do
        head[#head + 1] = name .. " loss"
    end
    local rows, series = { head }, {}
    for i, d in ipairs(o.designs) do
        series[i] = { name = d.name, values = {} }
    end
    for p, r in ipairs(results) do
        local row = { o.pairs[p].name, o.pairs[p].hmr }
        for i, d in ipairs(o.designs) do
            row[#row + 1] = text(r[d.name].ws)
            series[i].values[p] = r[d.name].ws
        end
        for _, name in ipairs(others) do
            row[#row + 1] = report.percent(1 - r[name].ws / r.Ideal.ws)
        end
        rows[#rows + 1] = row
    end
    x:table("Weighted speedup of each pair", rows)
    local groups = common.names(o)
    for i, name in ipairs(groups) do
        groups[i] = name:gsub("_", "+")
    end
    x:bars { title = x.title, unit = "weighted speedup", groups = groups,
        series = series, width = common.width(#groups, #series) }
end

--- Figures 12 to 14, whose numbers are recalled: the pairs of one class under
-- all designs.
function common.open_class(name, where, hmr, paper)
    local x = common.open(name, where, ("pairs of %d-HMR"):format(hmr))
    x:say "The paper's number is the class's mean, of figure 11"
    local results, o = common.measure(x, { names = common.all })
    results, o = common.some(results, o, function(set)
        return set.hmr == hmr
    end)
    if #results == 0 then
        error(("none of the pairs is of %d-HMR"):format(hmr), 0)
    end
    x:quantity { "MASK over SharedTLB, mean of ratios", unit = "%",
        paper = paper, heddle = 100 * (sharing.gain(results, "MASK",
            "SharedTLB") - 1), why = common.why.loss }
    local means = {}
    for _, d in ipairs(o.designs) do
        means[d.name] = sharing.mean(results, d.name)
    end
    x:order { "weighted speedup", paper = { "Ideal", "MASK", "SharedTLB",
        "PWCache" }, heddle = means, why = common.why.pwcache }
    common.pairs_table(x, o, results)
    x:close()
end

return common
