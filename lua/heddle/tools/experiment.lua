--- experiment.lua - an experiment of a paper: what it says, what is measured
-- here, and whether they agree.
--
--     local x = experiment.open {
--         name = "mask/fig11", source = "MASK (ASPLOS 2018), figure 11",
--         title = "MASK over SharedTLB", arg = arg,
--     }
--     x:say("Weighted speedup on maxwell, alone runs on SharedTLB")
--     x:quantity { "mean gain over SharedTLB", paper = 57.8, heddle = 61.0,
--                  unit = "%", why = "what is known of the difference" }
--     x:order { "designs", paper = { "Ideal", "MASK", "SharedTLB" },
--               heddle = { Ideal = 1.9, MASK = 1.5, SharedTLB = 1.2 } }
--     x:table("pairs", rows)          details, below the summary
--     x:bars { groups = ..., series = ... }      a chart like the paper's; x:lines;
--                     may come before the runs, and its values after them
--     x:picture(svg)                             one that is drawn already
--     x:close()
--
-- close prints the summary first (quantity, paper, heddle, ratio; order), then
-- what differs and why, the details, and where the rest is: out/NAME.json (all
-- of it), out/NAME.svg (the charts), and a row a quantity in
-- out/results.sqlite, table `quantity`.
--
-- A quantity agrees within 20 % of the paper's value; one that is off needs a
-- `why`, or the summary says that the cause was not found.  A quantity without
-- a paper's value is shown and not counted.  An order holds where no later
-- design is better than an earlier one, by more than 0.5 %; where none is, but
-- some that the paper tells apart are equal here, it says so and is not counted.
--
-- Some can be run in more than one way: experiment.open { variants = { "literal" },
-- ... } takes the argument variant=literal, whose results are NAME-literal's and
-- stand beside those of "papers", the first way, on the page (page.lua).
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

local Experiment = {}
Experiment.__index = Experiment

local experiment = {
    FIRST = "papers", -- the variant that every experiment has
    closed = {}, -- names of those that this process has closed
}

local NEAR = 0.2

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

--- The variant that is run: nil for the first.
local function variant_of(o)
    local variant = o.variants and o.arg.variant
    if not variant or variant == experiment.FIRST then
        return nil
    end
    for _, known in ipairs(o.variants) do
        if variant == known then
            return variant
        end
    end
    error(core.error(-2, ("argument variant=%s: expected %s or %s"):format(
        variant, experiment.FIRST, table.concat(o.variants, " or "))), 0)
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
    local variant = variant_of(o)
    local id = experiment.id(o.name, variant)
    -- Said before hours of work: that their results cannot be written.
    local path = ("%s/%s.json"):format(o.arg.out, id)
    process.mkdir(path:match "^(.*)/")
    process.save(path)
    return setmetatable({
        name = o.name, variant = variant, id = id, source = o.source,
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

--- The variants of a script besides the first: those that it names, or the
-- common.lua beside it.
function experiment.variants(file)
    local out = {}
    for _, path in ipairs { file, (file:gsub("[^/]*$", "common.lua")) } do
        local list = (experiment.read(path) or ""):match
            "%f[%w]variants%s*=%s*(%b{})"
        for name in (list or ""):gmatch '"([^"]+)"' do
            out[#out + 1] = name
        end
        if list then
            break
        end
    end
    return out
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
    return experiment.id(name, self.variant)
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

function Experiment:quantity(q)
    local ratio = q.heddle and q.paper and q.paper ~= 0 and q.heddle / q.paper
        or nil
    local agrees
    if q.agrees ~= nil then
        agrees = q.agrees
    elseif q.paper and q.heddle then
        agrees = ratio ~= nil and math.abs(ratio - 1) <= NEAR
            or q.paper == q.heddle
    end
    self.quantities[#self.quantities + 1] = {
        what = q[1], unit = q.unit or "", paper = q.paper, heddle = q.heddle,
        said = q.said, ratio = ratio, agrees = agrees, why = q.why,
    }
end

--- Names by descending value; those of equal value by name.
local function sorted(values)
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
    local names, out = sorted(values), {}
    for i, name in ipairs(names) do
        out[i] = (i == 1 and "" or values[names[i - 1]] > values[name]
            * (1 + slack) and " > " or " = ") .. name
    end
    return table.concat(out)
end

--- The designs in the paper's order, best first (see the head); `slack` (0.005)
-- is what two may differ by and be equal.
function Experiment:order(o)
    local slack, broken, equal = o.slack or 0.005, {}, {}
    for i = 1, #o.paper - 1 do
        for j = i + 1, #o.paper do
            local a, b = o.paper[i], o.paper[j]
            local va, vb = o.heddle[a], o.heddle[b]
            if va and vb and vb > va * (1 + slack) then
                broken[#broken + 1] = b .. " above " .. a
            elseif va and vb and va <= vb * (1 + slack) then
                equal[#equal + 1] = b .. " = " .. a
            end
        end
    end
    local holds
    if #broken > 0 or #equal == 0 then
        holds = #broken == 0
    end
    self.orders[#self.orders + 1] = {
        what = o[1], paper = o.paper, heddle = o.heddle,
        here = sorted(o.heddle), ranked = ranked(o.heddle, slack),
        holds = holds, broken = broken, equal = equal, why = o.why,
    }
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

--- The summary of an experiment, or of what its JSON holds: a table whose first
-- row is the heading.
function experiment.summary(self)
    local rows = { { "quantity", "paper", "heddle", "ratio", "agrees" } }
    for _, q in ipairs(self.quantities) do
        rows[#rows + 1] = { q.what, q.said or value(q.paper, q.unit),
            value(q.heddle, q.unit),
            q.ratio and (("%.2f"):format(q.ratio):gsub("^%-([0.]+)$", "%1"))
                or "",
            q.agrees == nil and "" or q.agrees and "yes" or "no" }
    end
    for _, o in ipairs(self.orders) do
        rows[#rows + 1] = { "order: " .. o.what, table.concat(o.paper, " > "),
            o.ranked or table.concat(o.here, " > "), "",
            o.holds == nil and "equal here" or o.holds and "yes" or "no" }
    end
    return rows
end

--- What differs, and why as far as it is known; a line for each cause, which
-- names eight things at most (the summary marks them all).
local function differences(self)
    local out, by = {}, {}
    local function add(what, why)
        why = why or "the cause was not found"
        if not by[why] then
            by[why] = {}
            out[#out + 1] = why
        end
        table.insert(by[why], what)
    end
    for _, q in ipairs(self.quantities) do
        if q.agrees == false then
            add(q.what, q.why)
        end
    end
    for _, o in ipairs(self.orders) do
        if o.holds == false then
            add(("order of %s (%s)"):format(o.what,
                table.concat(o.broken, ", ")), o.why)
        end
    end
    for i, why in ipairs(out) do
        local list = by[why]
        local more = #list > 8 and ("; and %d more"):format(#list - 6) or ""
        out[i] = table.concat(list, "; ", 1, more ~= "" and 6 or #list)
            .. more .. ": " .. why
    end
    return out
end

--- How many of a list of quantities or orders agree, and of how many.
function experiment.count(list)
    local good, all = 0, 0
    for _, q in ipairs(list) do
        local ok = q.agrees
        if q.holds ~= nil then
            ok = q.holds
        end
        if ok ~= nil then
            good, all = good + (ok and 1 or 0), all + 1
        end
    end
    return good, all
end

function Experiment:count()
    local good, all = experiment.count(self.quantities)
    local held, orders = experiment.count(self.orders)
    return good + held, all + orders
end

local function database(self)
    local path = self.arg.out .. "/results.sqlite"
    local db <close> = require("heddle.sqlite").open(path)
    db:exec [[create table if not exists quantity (
        experiment text, quantity text, unit text, paper real, heddle real,
        ratio real, agrees integer, scale text, version text,
        primary key (experiment, quantity, scale))]]
    db:exec "begin immediate"
    db:exec("delete from quantity where experiment = ? and scale = ?",
        self.id, self.arg.scale)
    for _, q in ipairs(self.quantities) do
        db:exec("insert or replace into quantity values (?,?,?,?,?,?,?,?,?)",
            self.id, q.what, q.unit, q.paper, q.heddle, q.ratio, q.agrees,
            self.arg.scale, core.version)
    end
    for _, o in ipairs(self.orders) do
        db:exec("insert or replace into quantity values (?,?,?,?,?,?,?,?,?)",
            self.id, "order: " .. o.what, "", nil, nil, nil, o.holds,
            self.arg.scale, core.version)
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
    local good, all = self:count()
    local charts, paths = draw(self)
    local script = require "heddle.script"
    return {
        schema = "heddle-experiment", schema_version = 3, name = self.name,
        variant = self.variant,
        source = self.source, title = self.title,
        said = json.array(self.said), scale = self.arg.scale,
        seed = self.arg.seed, version = core.version, agree = good,
        counted = all, quantities = json.array(self.quantities),
        orders = json.array(self.orders), differences = json.array(why),
        notes = json.array(self.notes), tables = tables_of(self),
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
    local why = differences(self)
    local doc, paths = document(self, why, spent)
    io.write(("%s - %s\n%s\n"):format(self.source, self.title,
        table.concat(self.said, "\n")), "\n",
        report.table(experiment.summary(self)),
        ("%d of %d agree (quantities within %.0f %%)\n"):format(doc.agree,
            doc.counted, NEAR * 100))
    for _, list in ipairs { why, self.notes } do
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
