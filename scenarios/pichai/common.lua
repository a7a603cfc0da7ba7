--- common.lua - what the experiments of Pichai et al. have in common: programs,
-- the part of them that is run, and the designs.
--
-- Pichai, Hsu, Bhattacharjee (ASPLOS 2014): six programs on a GPU with a TLB and
-- a walker in each core (preset pichai), from the launch with the most memory
-- instructions on; what comes before runs without time, once.  full: size XL, 3 million
-- warp instructions.  quick: two programs of size S, 40,000 warp instructions on 4 of
-- the 30 cores, so that warps get far enough into that launch for their lanes to
-- diverge; for tests and a first look.
--
-- Designs are settings of the preset: how addresses are translated, who is
-- scheduled how.  Performance is thread instructions a cycle: warps get ahead of
-- one another in other ways, so the same number of warp instructions is not
-- always the same work.  A design whose thread instructions are not those of the
-- first one of a figure, within 2 %, runs again with another budget: compaction
-- needs fewer warp instructions.  Where the first one ends before its budget (MEMC),
-- all run to their end.  A program is built once, and every design starts there.
--
-- What the paper leaves open is in columns beside (common.figure):
--     short         a path to the L2 as short as maxwell-literal's: a hit of 57 shader
--                   cycles instead of 225, which are 56 of the paper's (the preset's
--                   source says why those are scored);
--     levels        the walker has the entries of levels 1 and 2 from walks before
--                   (levels.lua: section 6.3, read widely);
--     short-levels  both.
-- The columns have some programs of those (quick: one); variant=short and so on runs
-- all of them.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local store = require "heddle.store"
local suites = require "heddle.suites"

local common = {}

local SUITE = suites.get "pichai"
local QUICK = { "BFS", "MUM" }
local QUICK_CORES = 4
-- Programs of the columns.
local FEW = { full = { BFS = true, MUM = true, STREAMCLUSTER = true },
    quick = { BFS = true } }
local NEAR = 0.02 -- by which the work of two designs may differ

--- The short path's latency, that of maxwell-literal.
local SHORT = tonumber(H.machine "maxwell-literal":get "xbar.latency")

-- ---- designs --------------------------------------------------------------------

--- Two designs together, of which one may have policies.
function common.both(a, b)
    local d = { name = a.name .. ", " .. b.name, settings = {},
        policies = a.policies or b.policies }
    for _, of in ipairs { a, b } do
        for k, v in pairs(of.settings or {}) do
            d.settings[k] = v
        end
    end
    return d
end

--- A design with more settings, and a name of its own.
function common.with(design, name, settings)
    local d = common.both(design, { name = name, settings = settings })
    d.name = name
    return d
end

--- How addresses are translated; each has one mechanism more than that before
-- (the preset's own are naive).
local with = common.with
local NAIVE = { name = "naive", settings = { ["l1tlb.blocking"] = "full",
    ["l1tlb.overlap"] = "off", ["walk.batch"] = 1 } }
local HITS = with(NAIVE, "hits under a miss", { ["l1tlb.blocking"] = "hits" })
local OVERLAP = with(HITS, "overlap", { ["l1tlb.overlap"] = "ahead" })
common.tlb = {
    ideal = { name = "no TLB", settings = { ["sim.translation"] = "off" } },
    three = with(NAIVE, "naive, 3 ports", { ["l1tlb.ports"] = 3 }),
    naive = NAIVE, hits = HITS, overlap = OVERLAP,
    augmented = with(OVERLAP, "augmented", { ["walk.batch"] = 32 }),
}

--- A design with a TLB of so many entries and ports.  Its access takes as long
-- as that of 128 entries with 4 ports, or, grown, a cycle more for each doubling
-- of either: a guess, since CACTI puts 512 entries in the shadow of the L1.
function common.sized(tlb, entries, ports, grown)
    local function doublings(n, base)
        return n > base and math.ceil(math.log(n / base, 2)) or 0
    end
    return with(tlb, ("%s %d x %d%s"):format(tlb.name, entries, ports,
        grown and " grown" or ""), { ["l1tlb.entries"] = entries,
        ["l1tlb.ports"] = ports, ["l1tlb.latency"] = grown
            and doublings(entries, 128) + doublings(ports, 4) or 0 })
end

--- Who is scheduled how: loose round robin is the paper's reference, CCWS has
-- greedy then oldest underneath.
common.LRR = { name = "LRR", settings = { ["core.scheduler"] = "lrr" } }
common.GTO = { name = "GTO", settings = { ["core.scheduler"] = "gto" } }

local function over_gto(name, policy)
    return { name = name, settings = common.GTO.settings,
        policies = { policy } }
end

common.CCWS = over_gto("CCWS", { use = "ccws" })

--- TA-CCWS x:1.
function common.TA(x)
    return over_gto(("TA-CCWS %d:1"):format(x),
        { use = "ccws", tlb_weight = x })
end

--- TCWS with so many victim tags a warp, and points by depth.
function common.TCWS(entries, lru)
    return over_gto(("TCWS %d%s"):format(entries, lru > 0
        and " LRU(" .. tostring(lru):gsub(".", "%0,"):sub(1, -2) .. ")" or ""),
        { use = "tcws", vta_entries = entries, lru = lru })
end

--- Thread block compaction; with so many bits a counter, TLB-aware.
function common.TBC(bits)
    return { name = bits and ("TBC %d bit"):format(bits) or "TBC",
        settings = { ["core.compact"] = true },
        policies = bits and { { use = "cpm", bits = bits } } or nil }
end

-- ---- runs -----------------------------------------------------------------------

--- An experiment, open; `more`: arguments beside those of all; `plain`: it has no
-- choices.
function common.open(figure, title, more, plain)
    local arg = {
        programs = "", -- names, separated by commas; "": those of the scale
        size = "", budget = 0, -- "", 0: those of the scale
        launch = 0, -- where to begin; 0: that with the most memory instructions
        cores = 0, -- 0: those of the scale
        levels = false, -- the walker remembers levels 1 and 2
        variant = experiment.FIRST,
    }
    for k, v in pairs(more or {}) do
        arg[k] = v
    end
    arg = H.args(experiment.args(arg))
    local choices = {
        { "short", { ["xbar.latency"] = SHORT } },
        { "levels", {}, arg = { levels = true } },
        { "short-levels", { ["xbar.latency"] = SHORT }, arg = { levels = true } },
    }
    local x = experiment.open { name = "pichai/" .. figure, arg = arg,
        source = "Pichai et al. (ASPLOS 2014), "
            .. figure:gsub("fig0?", "figure "), title = title,
        choices = not plain and choices or nil }
    x.programs, x.machine = {}, "pichai"
    x.way = { settings = x:settings(), levels = arg.levels }
    for name in arg.programs:gmatch "[^,]+" do
        x.programs[#x.programs + 1] = name
    end
    if #x.programs == 0 then
        x.programs = x.full and SUITE.apps or QUICK
    end
    x:scope(#x.programs, #SUITE.apps, "programs")
    x.size = arg.size ~= "" and arg.size or x.full and SUITE.size or "S"
    x.budget = arg.budget > 0 and arg.budget or x.full and 3000000 or 40000
    x.cores = arg.cores > 0 and arg.cores or not x.full and QUICK_CORES or nil
    x:say("%s of size %s, %d warp instructions%s",
        table.concat(x.programs, ", "), x.size, x.budget,
        x.cores and (", %d cores"):format(x.cores) or "")
    return x
end

local counter = H.report.counter

local function threads(r)
    return counter(r, "core.thread_instructions")
end

--- The description of a program that is built once, when it is needed, with what
-- the launches before the measured one leave; and the number of that.
function common.program(x, name)
    local app = H.app(name, { size = x.size })
    local make, built = app.make, nil
    local lanes = tonumber(H.machine(x.machine):get "core.lanes")
    local function build()
        built = built or table.pack(make())
        return built[1]
    end
    function app.make()
        build()
        return table.unpack(built, 1, built.n)
    end
    local first = x.arg.launch > 0 and x.arg.launch
        or common.keep(x, ("busiest %s %d"):format(name, lanes), function()
            return H.survey.ahead(build(), 0, lanes)
        end)
    return app, first, function()
        H.survey.ahead(build(), first, lanes)
    end
end

--- The policies of a design, and that of the way it is run where it has walks.
local function policies_of(x, d)
    if not x.way.levels or d.settings["sim.translation"] == "off" then
        return d.policies
    end
    local list = table.move(d.policies or {}, 1, #(d.policies or {}), 1, {})
    list[#list + 1] = { use = H.here "levels.lua" }
    return list
end

--- Runs a program under each design: { program =, [design name] = result }.
local function measured(x, designs, name)
    local app, first, ready = common.program(x, name)
    local function job(d, budget)
        local settings = { ["sim.first_kernel"] = first,
            ["core.count"] = x.cores }
        for _, list in ipairs { x.way.settings, d.settings or {} } do
            for k, v in pairs(list) do
                settings[k] = v
            end
        end
        return { machine = x.machine, seed = x.arg.seed, apps = { app },
            budget = budget, policies = policies_of(x, d), settings = settings }
    end
    local jobs, budgets = {}, {}
    for k, d in ipairs(designs) do
        jobs[k], budgets[k] = job(d, x.budget), x.budget
    end
    local results = x:run(jobs, ready)
    local whole = not results[1].apps[1].truncated
    for _ = 1, 3 do
        local again, of = {}, {}
        for k, r in ipairs(results) do
            local done = threads(r) / threads(results[1])
            if r.apps[1].truncated
                and (whole or math.abs(done - 1) > NEAR) then
                budgets[k] = not whole and math.ceil(budgets[k] / done)
                    or nil
                again[#again + 1], of[#of + 1] = job(designs[k],
                    budgets[k]), k
            end
        end
        for n, r in ipairs(#again > 0 and x:run(again, ready) or {}) do
            results[of[n]] = r
        end
    end
    local row = { program = name }
    for k, r in ipairs(results) do
        r.work = whole and 1 or threads(r)
        row[designs[k].name] = r
    end
    collectgarbage() -- a program is up to 1.2 GB
    return row
end

--- Runs each program under each design: a list of { program =, [design name] =
-- result }.  A result's `work` is that which its cycles have done: thread
-- instructions, or 1 of all where the first design ended within the budget.
function common.measure(x, designs)
    local out, jobs = {}, x.arg.jobs
    if jobs ~= 1 and #x.programs > 1 then
        -- Building one takes as long as running it under several designs, so
        -- programs run side by side, and what they leave in the cache is read.
        local fill = {}
        for i, name in ipairs(x.programs) do
            fill[i] = function()
                local before = x.runs
                measured(x, designs, name)
                return x.runs - before
            end
        end
        for _, ran in ipairs(H.run(fill, { jobs = jobs, dir = x.arg.cache })) do
            x.runs = x.runs + ran
        end
    end
    for i, name in ipairs(x.programs) do
        out[i] = measured(x, designs, name)
    end
    return out
end

-- ---- figures and their columns ----------------------------------------------------

--- A page that keeps the values that a figure gives it, and its tables.
local function values(x)
    local v = { of = {}, tables = {} }
    local function nothing() end
    function v.quantity(_, q) v.of[q[1]] = q.heddle end
    function v.order(_, o) v.of[o[1]] = o.heddle end
    function v.table(_, title, rows) table.insert(v.tables, { title, rows }) end
    v.bars, v.lines, v.note, v.say = nothing, nothing, nothing, nothing
    return setmetatable(v, { __index = x })
end

--- The page of an experiment, whose rows have the values of the columns beside.
local function beside(x, columns, before)
    local page = {}
    function page.quantity(_, q)
        q.also = q.also or {}
        for _, c in ipairs(columns) do
            q.also[#q.also + 1] = c.of[q[1]] and { c.name, c.of[q[1]],
                setting = c.setting, before = before.of[q[1]] } or nil
        end
        x:quantity(q)
    end
    function page.order(_, o)
        local notes = {}
        for i, c in ipairs(columns) do
            notes[i] = ("%s: %s"):format(c.name, table.concat(
                experiment.by_value(c.of[o[1]]), " > "))
        end
        o.note = o.note or #notes > 0 and table.concat(notes, "; ") or nil
        x:order(o)
    end
    for _, name in ipairs { "table", "bars", "lines", "note", "say" } do
        page[name] = function(_, ...) return x[name](x, ...) end
    end
    return setmetatable(page, { __index = x })
end

--- Measures the designs, and writes a figure from it: body(page, all), with `all` as
-- common.measure has it.  What the choices give stands beside each value, and their
-- tables below the others.
function common.figure(x, designs, body)
    local all, columns, few = common.measure(x, designs), {}, {}
    local scored, programs = x.way, x.programs
    for _, row in ipairs(all) do
        few[#few + 1] = FEW[x.full and "full" or "quick"][row.program] and row or nil
    end
    local names = {}
    for i, row in ipairs(few) do
        names[i] = row.program
    end
    local mark = #few < #all and " (" .. table.concat(names, ", ") .. ")" or ""
    local before = values(x)
    local alternatives = #few > 0 and x:alternatives() or {}
    if #alternatives > 0 then
        body(before, few)
    end
    for i, c in ipairs(alternatives) do
        x.programs, x.way = names, { settings = c.settings, levels = c.arg.levels }
        columns[i] = values(x)
        columns[i].name = c.name .. mark
        columns[i].setting = not c.arg.levels and c.setting
            or (c.setting and c.setting .. " " or "") .. "levels=true"
        body(columns[i], common.measure(x, designs))
    end
    x.programs, x.way = programs, scored
    body(beside(x, columns, before), all)
    for _, c in ipairs(columns) do
        for _, t in ipairs(c.tables) do
            x:table(t[1] .. ", " .. c.name, t[2])
        end
    end
end

-- ---- values --------------------------------------------------------------------------

--- Work a cycle.
function common.performance(r)
    return r.work / r.cycles
end

--- A counter over another one, or over a number of them.
function common.ratio(r, part, whole)
    return counter(r, part) / math.max(1, counter(r, whole))
end

--- A histogram of a result, of all programs in it: { n =, mean =, max = }.
function common.histogram(r, name)
    for _, h in ipairs(r.histograms) do
        if h.component .. "." .. h.name == name then
            local a = h.apps[1]
            return { n = a.n, mean = a.sum / math.max(1, a.n), max = a.max }
        end
    end
    error("no histogram " .. name)
end

--- Core cycles from a slice of the L2 cache back to a core.
function common.way_back(x)
    local m = H.machine "pichai":with(x.way.settings)
    return tonumber(m:get "xbar.latency") * tonumber(m:get "clock.core")
        / tonumber(m:get "clock.l2")
end

--- What fn() finds out, kept as results are.
function common.keep(x, what, fn)
    return store.keep(what .. " " .. x.size, x.arg.cache, fn)
end

--- Cores of a result.
function common.cores(r)
    return tonumber(r.config["core.count"])
end

--- How much better one result is than another, in percent.
function common.gain(r, base)
    return 100 * (common.performance(r) / common.performance(base) - 1)
end

--- The mean of f(row) over the rows, and the values; `only`: a set of programs.
function common.mean(all, f, only)
    local sum, each = 0.0, {}
    for _, row in ipairs(all) do
        if not only or only[row.program] then
            each[#each + 1] = f(row)
            sum = sum + each[#each]
        end
    end
    return #each > 0 and sum / #each or nil, each
end

--- How far a design is below another one, in percent, mean.
function common.below(all, a, b, only)
    return common.mean(all, function(row)
        return -common.gain(row[a.name], row[b.name])
    end, only)
end

--- A claim whose value is a mean over programs: common.mean's two.
function common.claim(x, q, mean, each)
    q.heddle, q.each = mean, each
    x:quantity(q)
end

--- A claim of how far design a is below b, or, of kind "gain", above it, in percent.
function common.compare(x, q, all, a, b)
    local sign = q.kind == "gain" and 1 or -1
    q.unit, q.kind = "%", q.kind or "loss"
    common.claim(x, q, common.mean(all, function(row)
        return sign * common.gain(row[a.name], row[b.name])
    end))
end

--- An order of designs, by their mean performance over that of the first one of
-- `paper`, which is the best there.
function common.order(x, all, what, paper)
    local mean, each = {}, {}
    for _, name in ipairs(paper) do
        mean[name], each[name] = common.mean(all, function(row)
            return common.performance(row[name])
                / common.performance(row[paper[1]])
        end)
    end
    x:order { what, paper = paper, heddle = mean, each = each }
end

--- The table and the chart of performance over that of the design `base`.
function common.show(x, all, designs, base, title)
    local rows = { { "program" } }
    local chart = { groups = {}, series = {}, title = title, unit = "times",
        xlabel = "program" }
    for i, d in ipairs(designs) do
        rows[1][i + 1] = d.name
        chart.series[i] = { name = d.name, values = {} }
    end
    for g, row in ipairs(all) do
        rows[g + 1], chart.groups[g] = { row.program }, row.program
        for i, d in ipairs(designs) do
            local v = common.performance(row[d.name])
                / common.performance(row[base.name])
            rows[g + 1][i + 1] = ("%.3f"):format(v)
            chart.series[i].values[g] = v
        end
    end
    x:table(title, rows)
    x:bars(chart)
end

return common
