--- experiment.lua - an experiment of a paper: what it says, what is measured
-- here, and how near that is.
--
--     local x = experiment.open {
--         name = "mask/fig11", source = "MASK (ASPLOS 2018), figure 11",
--         title = "MASK over SharedTLB", arg = arg,
--     }
--     x:say("Weighted speedup on maxwell, alone runs on SharedTLB")
--     x:quantity { "mean gain over SharedTLB", kind = "gain", unit = "%",
--                  paper = 57.8, heddle = 61.0, each = { 55.1, 66.9 } }
--     x:order { "designs", paper = { "Ideal", "MASK", "SharedTLB" },
--               heddle = { Ideal = 1.9, MASK = 1.5, SharedTLB = 1.2 } }
--     x:table("pairs", rows)          details, below the summary
--     x:bars { groups = ..., series = ... }      a chart like the paper's; x:lines;
--                     may come before the runs, and its values after them
--     x:picture(svg)                             one that is drawn already
--     x:close()
--
-- close prints the summary first (what the paper says, what is found here, how far
-- the two are apart, the verdict), then what differs and why, the details, and
-- where the rest is: out/NAME.json (all of it), out/NAME.svg (the charts), and a
-- row a quantity in out/results.sqlite, table `quantity`.
--
-- Verdicts are verdict.lua's.  A quantity has
--     paper, or from and to    what the paper says; `said`: in its own words
--     kind             gain, loss, part, times, rate, count (verdict.lua)
--     each             the values of the sets whose mean `heddle` is, in its unit
--     n, of, sets      how many sets, and how many the paper has ("pairs"); scope()
--                      says it for all rows that follow
--     on               the name of the claim that this one rests on
--     calibrated       true: the paper's number was used to fit something
--     shown            true: another column, beside the machine that is scored
--     skip             why it is not compared, a text
--     also             alternatives: { name, value, setting = "l1tlb.blocking=full",
--                      before = VALUE }: before, where it is of other sets
--     note             what has to be known of the number, one line
-- Those without a paper's number are shown.  A claim that matches on one of the
-- alternatives of a choice alone is marked: depends on that one.
--
-- A cause is printed where it was measured: an alternative with a `setting` under
-- which a claim that is off is near or matches, with the value before and after.  In
-- any other case: cause not found.
--
-- Some can be run in more than one way: experiment.open { variants = { "literal" },
-- ... } takes the argument variant=literal, whose results are NAME-literal's and
-- stand beside those of "papers", the first way, on the page (page.lua).  Where a
-- paper leaves a choice open, choices = { { "bus-64", { ["dram.bus_bytes"] = 64 } } }
-- takes variant=bus-64, too: x:settings() are the settings of that run, and
-- `arg` of a choice, arguments.  Choices run
-- when they are asked for, not with all.
--
-- An experiment is named as its script, folder and file: scenarios/mask/fig11.lua
-- opens "mask/fig11", and only that.  So scenarios/reproduce.lua finds it, and
-- knows by the identity in its JSON (the program, the script and the modules
-- beside it, arguments, scale, seed) whether what is on disk is still true.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local process = require "heddle.process"
local report = require "heddle.report"
local svg = require "heddle.svg"
local verdict = require "heddle.verdict"

local Experiment = {}
Experiment.__index = Experiment

local experiment = {
    FIRST = "papers", -- the variant that every experiment has
    closed = {}, -- names of those that this process has closed
}

--- The arguments that every experiment has; more may be added.
function experiment.args(more)
    local t = {
        scale = "quick", -- quick: under a minute; full: the paper's counts
        jobs = process.cpus(), -- simulations at once
        out = "out", cache = "out/cache", seed = 1,
    }
    for k, v in pairs(more or {}) do
        t[k] = v
    end
    return t
end

--- The name of an experiment's results.
function experiment.id(name, variant)
    return variant and name .. "-" .. variant or name
end

--- The variant that is run, nil for the first, and its settings if it is a choice.
local function variant_of(o)
    local variant = (o.variants or o.choices) and o.arg.variant
    if not variant or variant == experiment.FIRST then
        return nil
    end
    local names = { experiment.FIRST }
    for _, known in ipairs(o.variants or {}) do
        names[#names + 1] = known
        if variant == known then
            return variant
        end
    end
    for _, c in ipairs(o.choices or {}) do
        names[#names + 1] = c[1]
        if variant == c[1] then
            for k, v in pairs(c.arg or {}) do
                o.arg[k] = v
            end
            return variant, c[2] or {}
        end
    end
    error(core.error(-2, ("argument variant=%s: expected %s"):format(
        variant, table.concat(names, " or "))), 0)
end

function experiment.open(o)
    if o.arg.scale ~= "quick" and o.arg.scale ~= "full" then
        error(core.error(-2, ("argument scale=%s: expected quick or full")
            :format(o.arg.scale)))
    end
    for _, name in ipairs { "name", "source", "title" } do
        if type(o[name]) ~= "string" then
            error("experiment.open: " .. name .. " is a text", 2)
        end
        core.line("experiment.open: " .. name, o[name])
    end
    local variant, settings = variant_of(o)
    local id = experiment.id(o.name, variant)
    -- Said before hours of work: that their results cannot be written.
    local path = ("%s/%s.json"):format(o.arg.out, id)
    process.mkdir(path:match "^(.*)/")
    process.save(path)
    return setmetatable({
        name = o.name, variant = variant, id = id, source = o.source,
        choice = settings, choices = o.choices or {},
        title = o.title, arg = o.arg,
        full = o.arg.scale == "full", said = {}, quantities = {}, orders = {},
        tables = {}, charts = {}, notes = {}, runs = 0,
        costs = {}, -- CPU seconds of simulations, by fingerprint
        start = process.time(),
    }, Experiment)
end

-- ---- what decides its results -------------------------------------------------------

--- Arguments that say where and how fast, not what; scale and seed are named.
local PLAIN = { jobs = true, out = true, cache = true, scale = true,
    seed = true }

--- The text of a file, or nil.
function experiment.read(path)
    local f = io.open(path, "rb")
    local text = f and f:read "a"
    if f then
        f:close()
    end
    return text
end

--- Names in a folder, in order; none where there is no folder.
function experiment.list(dir)
    local names = process.list(dir) or {}
    table.sort(names)
    return names
end

--- Whether a file of a paper's folder, of that text, is an experiment: it calls
-- experiment.open, or a function of its common.lua named open or open_... with
-- its name as the first text ("mask/fig03" or "fig03").
function experiment.is(file, text)
    local whole, base = file:match "([^/]*/([^/]*))%.lua$"
    if not whole or base == "common" then
        return false
    end
    for word in text:gmatch '%f[%w]open%f[%W][^"]*"([^"]*)"' do
        if word == whole or word == base then
            return true
        end
    end
    return text:find "experiment%.open%f[%W]" ~= nil
end

--- The names that a script, or the common.lua beside it, gives to `what`: those
-- that `pattern` finds in its list.
local function named(file, what, pattern)
    local out = {}
    for _, path in ipairs { file, (file:gsub("[^/]*$", "common.lua")) } do
        local list = (experiment.read(path) or ""):match("%f[%w]" .. what
            .. "%s*=%s*(%b{})")
        for name in (list or ""):gmatch(pattern) do
            out[#out + 1] = name
        end
        if list then
            break
        end
    end
    return out
end

--- The variants of a script besides the first.
function experiment.variants(file)
    return named(file, "variants", '"([^"]+)"')
end

--- The choices of a script, by name.
function experiment.choices(file)
    return named(file, "choices", '{%s*"([^"]+)"%s*,%s*{')
end

--- The script, and the modules beside it: files of its folder that are no
-- experiments themselves.
function experiment.sources(file)
    local dir = file:match "^(.*)/[^/]*$" or "."
    local out = { experiment.read(file) }
    for _, name in ipairs(experiment.list(dir)) do
        local text = name:find "%.lua$"
            and experiment.read(dir .. "/" .. name)
        if text and not experiment.is(dir .. "/" .. name, text) then
            out[#out + 1] = text
        end
    end
    return out
end

--- A fingerprint of what decides the results of a script with arguments
-- (words: name -> text) at a scale and with a seed.
function experiment.identity(file, words, scale, seed)
    local out = experiment.sources(file)
    for _, name in ipairs(require("heddle.config").sorted_keys(words)) do
        if not PLAIN[name] then
            out[#out + 1] = name .. "=" .. words[name]
        end
    end
    out[#out + 1] = ("%s %s %d"):format(require("heddle.build").fingerprint(), scale,
        seed)
    return core.fingerprint(table.concat(out, "\0"))
end

--- The machine that ran it: processors and their kind.
local function host()
    local kind = (experiment.read "/proc/cpuinfo" or "")
        :match "model name%s*:%s*([^\n]+)"
    return ("%d x %s"):format(process.cpus(),
        kind or "processor")
end

-- ---- what is found ------------------------------------------------------------------

--- Results of jobs (store.lua), counted; before() is called before the first
-- that has to be run.
function Experiment:run(jobs, before)
    local results, ran, costs = require("heddle.store").run(jobs, {
        jobs = self.arg.jobs, dir = self.arg.cache, before = before,
    })
    self.runs = self.runs + ran
    for id, cpu in pairs(costs) do
        self.costs[id] = cpu
    end
    return results
end

--- The machine's preset of that name, in the variant that is run.
function Experiment:preset(name)
    return experiment.id(name, not self.choice and self.variant or nil)
end

--- The settings of the choice that is run.
function Experiment:settings()
    return self.choice or {}
end

--- What the choices of the experiment are, for columns that have them beside the
-- machine as it is: { { name, settings, arg, setting = "a=1 b=2" }, ... }; none where
-- one of them is what runs.
function Experiment:alternatives()
    local out = {}
    for i, c in ipairs(self.choice and {} or self.choices) do
        local words = {}
        for _, name in ipairs(require("heddle.config").sorted_keys(c[2])) do
            words[#words + 1] = ("%s=%s"):format(name, c[2][name])
        end
        out[i] = { name = c[1], settings = c[2], arg = c.arg or {},
            setting = #words > 0 and table.concat(words, " ") or nil }
    end
    return out
end

--- How many sets there are in the rows that follow, of how many of the paper's, and
-- what they are: "pairs".
function Experiment:scope(n, of, sets)
    self.sets_here, self.sets_paper, self.sets_name = n, of, sets
end

--- A line of the heading: reference, sizes, what is truncated.
function Experiment:say(format, ...)
    self.said[#self.said + 1] = select("#", ...) > 0 and format:format(...)
        or format
end

--- A remark on the results, printed below the summary.
function Experiment:note(format, ...)
    self.notes[#self.notes + 1] = select("#", ...) > 0 and format:format(...)
        or format
end

local FIELDS = { 1, "unit", "kind", "paper", "from", "to", "said", "heddle",
    "each", "n", "of", "sets", "on", "calibrated", "shown", "skip", "also", "note",
    -- of orders
    "slack", "workloads" }
for i, name in ipairs(FIELDS) do
    FIELDS[name], FIELDS[i] = true, nil
end

--- A copy of what a row says, with the scope; a field that no row has is an error.
local function row_of(self, given)
    local q = {}
    for k, v in pairs(given) do
        if not FIELDS[k] and k ~= 1 then
            error(("a quantity or order has no field '%s'"):format(tostring(k)), 3)
        end
        q[k] = v
    end
    q.what, q[1] = core.line("a quantity", given[1]), nil
    q.n, q.of = q.n or self.sets_here, q.of or self.sets_paper
    q.sets = q.sets or self.sets_name
    return q
end

--- A claim of the paper, or a value that is shown (see the head).
function Experiment:quantity(given)
    local q = row_of(self, given)
    q.unit, q.kind = q.unit or "", verdict.kind(q)
    if q.each then
        q.low, q.high = verdict.interval(q.each)
        q.each = nil
    end
    q.ratio, q.points = verdict.ratio(q)
    q.also = q.also or {}
    for i, a in ipairs(q.also) do
        q.also[i] = { name = a[1] or a.setting, heddle = a[2],
            before = a.before, setting = a.setting }
    end
    self.quantities[#self.quantities + 1] = q
end

--- Names by descending value; those of equal value by name.
function experiment.by_value(values)
    local names = {}
    for name in pairs(values) do
        names[#names + 1] = name
    end
    table.sort(names, function(a, b)
        return values[a] ~= values[b] and values[a] > values[b]
            or values[a] == values[b] and a < b
    end)
    return names
end

--- Names by descending value, with = between those that are equal within
-- `slack` of the greater one.
local function ranked(values, slack)
    local names, out = experiment.by_value(values), {}
    for i, name in ipairs(names) do
        out[i] = (i == 1 and "" or values[names[i - 1]] > values[name]
            * (1 + slack) and " > " or " = ") .. name
    end
    return table.concat(out)
end

--- The designs in the paper's order, best first (see the head); each: by name, the
-- values of the sets whose means `heddle` has; `slack` (0.005): what two may differ
-- by and be equal where there are no sets; workloads: tau is said, too.
function Experiment:order(given)
    local o = row_of(self, given)
    o.concordant, o.pairs, o.broken, o.equal = verdict.pairs(o)
    o.tau = o.workloads and o.pairs > 0 and 2 * o.concordant / o.pairs - 1 or nil
    o.here, o.ranked = experiment.by_value(o.heddle), ranked(o.heddle, o.slack or 0.005)
    o.each = nil
    self.orders[#self.orders + 1] = o
end

--- Judges all rows, when all are known.
local function judge(self)
    local by = {}
    for _, q in ipairs(self.quantities) do
        by[q.what] = q
    end
    for _, q in ipairs(self.quantities) do
        q.verdict, q.counts = verdict.of(q, self.full, by)
        if q.counts then
            local columns = { { "the machine as it is", q.heddle } }
            for _, a in ipairs(q.also) do
                columns[#columns + 1] = { a.name, a.heddle }
            end
            q.direction = verdict.direction(q)
            q.depends = verdict.depends(q, columns)
        end
    end
    for _, o in ipairs(self.orders) do
        o.verdict, o.counts = verdict.of_order(o, self.full)
    end
end

--- A table of details: a title and rows (report.table).
function Experiment:table(title, rows)
    self.tables[#self.tables + 1] = {
        title = core.line("a table: title", title), rows = rows }
end

--- Charts, drawn at the end: given before the runs, with series whose values come
-- later, they are checked before hours of work.
for _, kind in ipairs { "bars", "lines" } do
    Experiment[kind] = function(self, o)
        svg.check(kind, o)
        self.charts[#self.charts + 1] = { kind = kind, o = o }
    end
end

--- A chart that is drawn already: SVG.
function Experiment:picture(text)
    self.charts[#self.charts + 1] = { kind = "picture", text = text }
end

-- ---- the end ---------------------------------------------------------------------

local function value(v, unit)
    if v == nil or v ~= v then
        return "-"
    end
    local text = unit ~= "%" and v == math.floor(v) and ("%.0f"):format(v)
        or math.abs(v) >= 100 and ("%.0f"):format(v)
        or ((unit == "%" or math.abs(v) >= 1) and "%.1f" or "%.3f"):format(v)
    text = text:gsub("^%-([0.]+)$", "%1") -- nothing has no sign
    return unit ~= "" and text .. " " .. unit or text
end

--- What the paper says of a quantity.
local function told(q)
    if q.said then
        return q.said
    elseif q.from and q.to then
        return ("%g to %s"):format(q.from, value(q.to, q.unit))
    elseif q.from or q.to then
        return (q.from and ">= " or "<= ") .. value(q.from or q.to, q.unit)
    end
    return value(q.paper, q.unit)
end

--- A value here, with its interval.
local function found(q)
    local text = value(q.heddle, q.unit)
    local function bare(v)
        return (value(v, "%"):gsub(" %%$", ""))
    end
    return q.low and ("%s [%s, %s]"):format(text, bare(q.low), bare(q.high))
        or text
end

--- How far it is from the paper's: a ratio, or points.
local function distance(q)
    return q.points and ("%+.1f pt"):format(q.points)
        or q.ratio and (("%.2f"):format(q.ratio):gsub("^%-([0.]+)$", "%1")) or ""
end

--- The verdict of a row in words.
local function judged(q)
    return q.depends and ("%s, depends on %s"):format(q.verdict, q.depends)
        or q.verdict
end

--- The summary of an experiment, or of what its JSON holds: a table whose first
-- row is the heading.
function experiment.summary(self)
    local rows = { { "quantity", "paper", "heddle", "apart", "direction",
        "verdict" } }
    for _, q in ipairs(self.quantities) do
        rows[#rows + 1] = { q.what, told(q), found(q), distance(q),
            q.direction or "", judged(q) }
        for _, a in ipairs(q.also or {}) do
            rows[#rows + 1] = { "  " .. a.name, "", value(a.heddle, q.unit), "", "",
                "shown" }
        end
    end
    for _, o in ipairs(self.orders) do
        rows[#rows + 1] = { "order: " .. o.what, table.concat(o.paper, " > "),
            o.ranked or table.concat(o.here, " > "),
            o.tau and ("tau %.2f"):format(o.tau) or "", "", o.verdict }
    end
    return rows
end

--- The line below the summary.
function experiment.verdict(self)
    return verdict.words(self.tally or verdict.tally(self.quantities, self.orders))
        .. (self.scale == "quick" and "; a quick run: not comparable with the "
        .. "paper" or "")
end

--- What is off, and the cause that was measured; those without one in a line, which
-- names eight things at most (the summary marks them all).
local function differences(self)
    local out, lost = {}, {}
    for _, q in ipairs(self.quantities) do
        local causes = {}
        for _, a in ipairs(q.counts and q.verdict == "off" and q.also or {}) do
            local before = a.before or q.heddle
            local grade = a.setting and verdict.grade(q, before) == "off"
                and verdict.grade(q, a.heddle)
            if grade == "match" or grade == "near" then
                causes[#causes + 1] = ("%s: %s before, %s after (%s)"):format(
                    a.setting, value(before, q.unit), value(a.heddle, q.unit),
                    grade)
            end
        end
        if #causes > 0 then
            out[#out + 1] = ("%s: %s; measured in %s, scale=%s seed=%d"):format(
                q.what, table.concat(causes, "; "), self.id, self.arg.scale,
                self.arg.seed)
        elseif q.counts and q.verdict == "off" then
            lost[#lost + 1] = q.what
        end
    end
    for _, o in ipairs(self.orders) do
        if o.counts and #o.broken > 0 then
            lost[#lost + 1] = ("order of %s (%s)"):format(o.what,
                table.concat(o.broken, ", "))
        end
    end
    if #lost > 0 then
        local more = #lost > 8 and ("; and %d more"):format(#lost - 6) or ""
        out[#out + 1] = "cause not found: " .. table.concat(lost, "; ", 1,
            more ~= "" and 6 or #lost) .. more
    end
    return out
end

--- Remarks: on rows, then those of note().
local function remarks(self)
    local out = {}
    for _, list in ipairs { self.quantities, self.orders } do
        for _, q in ipairs(list) do
            out[#out + 1] = q.note and q.what .. ": " .. q.note
        end
    end
    return table.move(self.notes, 1, #self.notes, #out + 1, out)
end

local COLUMNS = { "experiment text", "quantity text", "unit text", "paper real",
    "paper_from real", "paper_to real", "heddle real", "low real", "high real",
    "ratio real", "points real", "direction text", "verdict text",
    "counts integer", "concordant real", "pairs integer", "sets integer",
    "paper_sets integer", "scale text", "version text", "build text" }

local function database(self)
    local path = self.arg.out .. "/results.sqlite"
    local db <close> = require("heddle.sqlite").open(path)
    local known = db:exec "pragma table_info(quantity)"
    if #known > 0 and #known ~= #COLUMNS then -- of a way of counting before
        db:exec "drop table quantity"
    end
    db:exec(("create table if not exists quantity (%s, primary key (experiment, "
        .. "quantity, scale))"):format(table.concat(COLUMNS, ", ")))
    db:exec "begin immediate"
    db:exec("delete from quantity where experiment = ? and scale = ?",
        self.id, self.arg.scale)
    local insert = "insert or replace into quantity values (?"
        .. (",?"):rep(#COLUMNS - 1) .. ")"
    for _, q in ipairs(self.quantities) do
        db:exec(insert, self.id, q.what, q.unit, q.paper, q.from, q.to, q.heddle,
            q.low, q.high, q.ratio, q.points, q.direction, q.verdict, q.counts,
            nil, nil, q.n, q.of, self.arg.scale, core.version,
            require("heddle.build").fingerprint())
    end
    for _, o in ipairs(self.orders) do
        db:exec(insert, self.id, "order: " .. o.what, "", nil, nil, nil, nil, nil,
            nil, nil, nil, nil, o.verdict, o.counts, o.concordant, o.pairs, o.n,
            o.of, self.arg.scale, core.version,
            require("heddle.build").fingerprint())
    end
    db:exec "commit"
    return path
end

--- A chart as JSON can hold it: holes in its values are null.
local function plain(chart, file)
    if chart.text then
        return { kind = chart.kind, file = file, text = chart.text }
    end
    local spec = {}
    for k, v in pairs(chart.o) do
        spec[k] = v
    end
    spec.series = json.array {}
    for i, s in ipairs(chart.o.series) do
        local copy = {}
        for k, v in pairs(s) do
            copy[k] = v
        end
        for _, k in ipairs { "values", "marks" } do
            local last = 0
            for at in pairs(s[k] or {}) do
                last = math.max(last, at)
            end
            local list = s[k] and json.array {}
            for at = 1, last do
                list[at] = s[k][at] or json.null
            end
            copy[k] = list
        end
        spec.series[i] = copy
    end
    return { kind = chart.kind, file = file, spec = spec }
end

--- Tables as JSON can hold them: every row has as many cells as the heading.
local function tables_of(self)
    local out = json.array {}
    for i, t in ipairs(self.tables) do
        local rows = json.array {}
        for r, row in ipairs(t.rows) do
            rows[r] = row
            if row ~= "-" then
                rows[r] = json.array {}
                for c = 1, #t.rows[1] do
                    rows[r][c] = row[c] == nil and "" or row[c]
                end
            end
        end
        out[i] = { title = t.title, rows = rows }
    end
    return out
end

--- Writes the charts; returns them for the JSON, and their paths.
local function draw(self)
    local charts, paths = json.array {}, {}
    for i, chart in ipairs(self.charts) do
        local text = chart.text
        if not text then
            chart.o.note = chart.o.note or ("%s; heddle %s, scale=%s"):format(
                self.source, core.version, self.arg.scale)
            text = svg[chart.kind](chart.o)
        end
        local path = ("%s/%s%s.svg"):format(self.arg.out, self.id,
            i > 1 and "-" .. i or "")
        paths[i] = svg.write(path, text)
        charts[i] = plain(chart, path:match "[^/]*$")
    end
    return charts, paths
end

--- What the JSON holds, and the paths of the charts.
local function document(self, why, spent)
    local charts, paths = draw(self)
    local script = require "heddle.script"
    return {
        schema = "heddle-experiment", schema_version = 4, name = self.name,
        variant = self.variant, choice = self.choice ~= nil or nil,
        source = self.source, title = self.title,
        said = json.array(self.said), scale = self.arg.scale,
        seed = self.arg.seed, version = core.version,
        tally = verdict.tally(self.quantities, self.orders),
        quantities = json.array(self.quantities),
        orders = json.array(self.orders), differences = json.array(why),
        notes = json.array(remarks(self)), tables = tables_of(self),
        charts = charts, seconds = spent, simulations = self.runs,
        costs = self.costs,
        measured = os.date("!%Y-%m-%d %H:%M UTC"), host = host(),
        identity = script.file and experiment.identity(script.file,
            script.words(), self.arg.scale, self.arg.seed) or nil,
    }, paths
end

--- Prints and writes everything; returns what the JSON has.
function Experiment:close()
    local spent = process.time() - self.start
    judge(self)
    local why = differences(self)
    local doc, paths = document(self, why, spent)
    io.write(("%s - %s\n%s\n"):format(self.source, self.title,
        table.concat(self.said, "\n")), "\n",
        report.table(experiment.summary(self)),
        experiment.verdict(doc), "\n")
    for _, list in ipairs { why, doc.notes } do
        for _, line in ipairs(list) do
            io.write("  ", line, "\n")
        end
    end
    for _, t in ipairs(self.tables) do
        io.write("\n", t.title, "\n", report.table(t.rows))
    end
    local path = ("%s/%s.json"):format(self.arg.out, self.id)
    report.emit(json.encode(doc) .. "\n", path)
    database(self)
    experiment.closed[#experiment.closed + 1] = self.id
    table.insert(paths, 1, path)
    io.write(("\n%d simulations run, %.0f s.  Written: %s\n"):format(
        self.runs, spent, table.concat(paths, ", ")))
    return doc
end

return experiment
