--- common.lua - what the experiments of MASK have in common: pairs, sizes,
-- budgets, designs, and what the papers say twice.
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
-- Programs have the inputs of the released simulator (R; GUP S, at which MASK's class
-- holds): MASK's only word on sizes is that at 8,192 entries of the L2 TLB working
-- sets fit completely (7.3), 32 MB a pair, and 15 of 27 programs are below 10 MB at R.
-- Size M, 17 to 160 MB as Mosaic says of them, is a choice beside it.
--
-- What MASK leaves open, and the alternative to each choice, all from a source:
-- choices of common.open.  Figure 3 has a column for each, so that a claim that
-- matches on one of them alone says so; variant=NAME runs any experiment on it.
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

--- The inputs that are scored.
common.SIZE = "R"

--- What the text as written does not give, a line each where it is printed.
common.note = {
    gain = "+57.8 % is not to be had by sections 5.2 to 5.4 as written",
    leaf = "1.0 % is not to be had with 16 leaf entries a line",
    bandwidth = "not to be had where leaf reads hit the L2 cache (sec43)",
    walks = "more than 20 at once are not to be had where an L1 TLB walks for one "
        .. "instruction at a time",
    large = "44.5 % in this section, less than 2 % in Mosaic's figure 3: the claim is the range",
    recalled = "table 2 and the pairs are recalled, not read",
}

--- What the papers say of SharedTLB against Ideal: 40.6 % in figure 3, 51.3 by table
-- 3.  MASK's gain is 57.8 % in figure 11, and 29.3 where it is 23.2 % below Ideal and
-- SharedTLB 40.6.
common.LOSS = { from = 40.6, to = 51.3 }
common.GAIN = { from = 29.3, to = 57.8 }

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
        choices = {
            -- channels of 64 bits, burst 8: the least that MASK's own shares of
            -- the peak allow beside MAFIA's traffic
            { "bus-64", { ["dram.bus_bytes"] = 64 } },
            -- rop_latency of the release's Maxwell file
            { "partition-150", { ["l2cache.queue_latency"] = 150 } },
            -- the release's last configuration; table 1 says 10
            { "pwc-85", { ["pwc.latency"] = 85 } },
            -- two slots a cycle, as mosaic has them
            { "issue-2", { ["core.issue"] = 2 } },
            { "inputs-M", {}, arg = { size = "M" } },
            -- the 85 cycles in the crossbar, there and back: maxwell-crossbar
            { "crossbar", { ["xbar.latency"] = 50, ["walk.latency"] = 50,
                ["l2cache.queue_latency"] = 0 } },
        },
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
    local machine = H.machine(x:preset "maxwell"):with(x:settings())
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
    o.size = o.size or arg.size ~= "" and arg.size or common.SIZE
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
    x:scope(#o.sets, #H.suites.pairs(), "pairs")
    x:say("%d sets on %s, %s threads a warp, size %s, partition %s; work "
        .. "of %d cycles alone on %s after %d cycles of warm-up", #o.sets,
        o.machine.name, o.machine:get "core.lanes", o.size,
        o.partition, o.cycles, o.reference.name, o.warmup)
    if not x.full then
        x:say("%s in short runs: not comparable with means of 35 pairs",
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
        xlabel = o.head, mark = o.mark, width = common.width(#groups, #series) }
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

--- With the bypass as the released simulator has it, which is shown: levels 2 to 4
-- always go past the L2 cache (mem_fetch.cc), where 5.3 compares hit rates.
common.with_released = { "Static", "PWCache", "SharedTLB", "MASK-TLB", "MASK-Cache",
    "MASK-DRAM", "MASK", "MASK-released", "Ideal" }

--- Names of the sets.
function common.names(o)
    local out = {}
    for i, set in ipairs(o.pairs) do
        out[i] = set.name
    end
    return out
end

--- The pairs of columns beside a figure that has all of them, and how that is said;
-- nil and "" where it has not.
function common.few(x)
    if x.full and not x.sets and x.arg.pairs == "" then
        return drawn(common.FEW, x.arg.seed), (" (%d pairs)"):format(common.FEW)
    end
    return nil, ""
end

--- The columns beside a figure's: { name, options, results if they are known }.
-- At full they take few pairs, and there is one of these as in the figure.
function common.columns(x, o, results, names)
    local few, mark = common.few(x)
    local some, out = {}, {}
    if few then
        for _, set in ipairs(few) do
            some[set.name] = true
        end
        out[1] = { "these pairs" .. mark, base = true, options = o,
            results = common.some(results, o, function(set)
                return some[set.name]
            end) }
    end
    for _, c in ipairs { { "best split", partition = "oracle" },
        { "32 threads", lanes = 32,
            setting = "core.lanes=32 core.width=32 core.issue=2" },
        { "L1 TLBs block", settings = common.blocking,
            setting = "l1tlb.blocking=full" },
        { "the release's machine", machine = "released" } } do
        out[#out + 1] = { c[1] .. mark, setting = c.setting,
            options = common.options(x, { names = names, lanes = c.lanes,
            partition = c.partition, settings = c.settings, pairs = few,
            machine = c.machine and H.machine(c.machine) }) }
    end
    return out
end

--- A column for each choice that the machine leaves open; at full with few pairs
-- (common.columns): variant=NAME runs all of them.
function common.choices(x, names)
    local few, mark = common.few(x)
    local out = {}
    for i, c in ipairs(x:alternatives()) do
        out[i] = { c.name .. mark, choice = c.name, setting = c.setting,
            options = common.options(x, { names = names, pairs = few,
                settings = c.settings, size = c.arg.size }) }
    end
    return out
end

--- A claim's values in those columns, as alternatives (x:quantity): value(results).
function common.beside(x, columns, value)
    local out, before = {}, nil
    for i, c in ipairs(columns) do
        c.results = c.results or sharing.measure(x, c.options)
        out[i] = { c[1], value(c.results), setting = c.setting }
        before = c.base and out[i][2] or before
        out[i].before = before
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
        xlabel = "pairs of applications",
        series = series, width = common.width(#groups, #series) }
end

--- Figures 12 to 14, whose numbers are recalled: the pairs of one class under
-- all designs.
function common.open_class(name, where, hmr, paper)
    local x = common.open(name, where, ("pairs of %d-HMR"):format(hmr))
    x:say "The paper's number is the class's mean, of figure 11, which counts it"
    local results, o = common.measure(x, { names = common.with_released })
    results, o = common.some(results, o, function(set)
        return set.hmr == hmr
    end)
    if #results == 0 then
        error(("none of the pairs is of %d-HMR"):format(hmr), 0)
    end
    x:quantity(sharing.claim({ "MASK over SharedTLB, mean of ratios", shown = true,
        paper = paper }, results, "MASK", "SharedTLB"))
    x:quantity(sharing.claim({ "MASK-released over SharedTLB, mean of ratios",
        shown = true, paper = paper }, results, "MASK-released", "SharedTLB"))
    x:order(sharing.order({ "weighted speedup", shown = true, paper = { "Ideal",
        "MASK", "SharedTLB", "PWCache" } }, results))
    common.pairs_table(x, o, results)
    x:close()
end

--- Columns beside section 4.3 and figures 8 and 9, for common.beside: SharedTLB
-- with larger page-table entries.  98.8, 68.7 and 1.0 % of levels 2 to 4 are what
-- one entry a line and five bits of index a level give (vm.entry_bytes).  On these
-- pairs, or the experiment's; at full few of them, and those with 8 bytes.
function common.entries(x, o, results, sets)
    local out, mark, few = {}, "", sets
    if not sets and x.full and not x.sets and x.arg.pairs == "" then
        few, mark = drawn(common.FEW, x.arg.seed), (" (%d pairs)"):format(common.FEW)
        local some = {}
        for _, set in ipairs(few) do
            some[set.name] = true
        end
        out[1] = { "entries of 8 bytes" .. mark, base = true,
            results = common.some(results, o, function(set)
                return some[set.name]
            end) }
    end
    for _, bytes in ipairs { 64, 128 } do
        out[#out + 1] = { ("entries of %d bytes%s"):format(bytes, mark),
            setting = "vm.entry_bytes=" .. bytes,
            options = common.options(x, { names = { "SharedTLB" }, pairs = few,
                settings = { ["vm.entry_bytes"] = bytes } }) }
    end
    return out
end

return common
