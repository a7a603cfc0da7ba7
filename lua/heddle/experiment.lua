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
--     x:bars { groups = ..., series = ... }      a chart like the paper's
--     x:close()
--
-- close prints the summary first (quantity, paper, heddle, ratio; order), then
-- what differs and why, the details, and where the rest is: out/NAME.json (all
-- of it), out/NAME.svg (the charts), and a row a quantity in
-- out/results.sqlite, table `quantity`.
--
-- A quantity agrees within 20 % of the paper's value; one that is off needs a
-- `why`, or the summary says that the cause was not found.  A quantity without
-- a paper's value is shown and not counted.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local report = require "heddle.report"
local svg = require "heddle.svg"

local Experiment = {}
Experiment.__index = Experiment

local experiment = {}

local NEAR = 0.2

--- The arguments that every experiment has; more may be added.
function experiment.args(more)
    local t = {
        scale = "quick", -- quick: under a minute; full: the paper's counts
        jobs = require("heddle.process").cpus(), -- simulations at once
        out = "out", cache = "out/cache", seed = 1,
    }
    for k, v in pairs(more or {}) do
        t[k] = v
    end
    return t
end

function experiment.open(o)
    if o.arg.scale ~= "quick" and o.arg.scale ~= "full" then
        error(("scale is quick or full, not '%s'"):format(o.arg.scale), 2)
    end
    return setmetatable({
        name = o.name, source = o.source, title = o.title, arg = o.arg,
        full = o.arg.scale == "full", said = {}, quantities = {}, orders = {},
        tables = {}, charts = {}, notes = {}, runs = 0,
        start = require("heddle.process").time(),
    }, Experiment)
end

--- Results of jobs (store.lua), counted.
function Experiment:run(jobs)
    local results, ran = require("heddle.store").run(jobs, {
        jobs = self.arg.jobs, dir = self.arg.cache,
    })
    self.runs = self.runs + ran
    return results
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

--- Names by descending value; those of equal value (1 in 1000) by name.
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

--- The designs in the paper's order, best first; it holds where no later one
-- is better than an earlier one by more than `slack` (0.5 %).
function Experiment:order(o)
    local slack, broken = o.slack or 0.005, {}
    for i = 1, #o.paper - 1 do
        for j = i + 1, #o.paper do
            local a, b = o.paper[i], o.paper[j]
            local va, vb = o.heddle[a], o.heddle[b]
            if va and vb and vb > va * (1 + slack) then
                broken[#broken + 1] = b .. " above " .. a
            end
        end
    end
    self.orders[#self.orders + 1] = {
        what = o[1], paper = o.paper, heddle = o.heddle,
        here = sorted(o.heddle), holds = #broken == 0, broken = broken,
        why = o.why,
    }
end

--- A table of details: a title and rows (report.table).
function Experiment:table(title, rows)
    self.tables[#self.tables + 1] = { title = title, rows = rows }
end

function Experiment:bars(o)
    self.charts[#self.charts + 1] = { kind = "bars", o = o }
end

function Experiment:lines(o)
    self.charts[#self.charts + 1] = { kind = "lines", o = o }
end

-- ---- the end ---------------------------------------------------------------------

local function value(v, unit)
    if v == nil then
        return "-"
    end
    local text = math.type(v) == "integer" and tostring(v)
        or math.abs(v) >= 100 and ("%.0f"):format(v)
        or math.abs(v) >= 1 and ("%.1f"):format(v) or ("%.3f"):format(v)
    return unit ~= "" and text .. " " .. unit or text
end

local function summary(self)
    local rows = { { "quantity", "paper", "heddle", "ratio", "agrees" } }
    for _, q in ipairs(self.quantities) do
        rows[#rows + 1] = { q.what, q.said or value(q.paper, q.unit),
            value(q.heddle, q.unit),
            q.ratio and ("%.2f"):format(q.ratio) or "",
            q.agrees == nil and "" or q.agrees and "yes" or "no" }
    end
    for _, o in ipairs(self.orders) do
        rows[#rows + 1] = { "order: " .. o.what, table.concat(o.paper, " > "),
            table.concat(o.here, " > "), "", o.holds and "yes" or "no" }
    end
    return rows
end

--- What differs, and why as far as it is known.
local function differences(self)
    local out = {}
    for _, q in ipairs(self.quantities) do
        if q.agrees == false then
            out[#out + 1] = q.what .. ": " .. (q.why
                or "the cause was not found")
        end
    end
    for _, o in ipairs(self.orders) do
        if not o.holds then
            out[#out + 1] = ("order of %s (%s): %s"):format(o.what,
                table.concat(o.broken, ", "), o.why
                or "the cause was not found")
        end
    end
    return out
end

function Experiment:count()
    local good, all = 0, 0
    for _, list in ipairs { self.quantities, self.orders } do
        for _, q in ipairs(list) do
            local ok = q.agrees
            if q.holds ~= nil then
                ok = q.holds
            end
            if ok ~= nil then
                good, all = good + (ok and 1 or 0), all + 1
            end
        end
    end
    return good, all
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
        self.name, self.arg.scale)
    for _, q in ipairs(self.quantities) do
        db:exec("insert or replace into quantity values (?,?,?,?,?,?,?,?,?)",
            self.name, q.what, q.unit, q.paper, q.heddle, q.ratio, q.agrees,
            self.arg.scale, core.version)
    end
    for _, o in ipairs(self.orders) do
        db:exec("insert or replace into quantity values (?,?,?,?,?,?,?,?,?)",
            self.name, "order: " .. o.what, "", nil, nil, nil, o.holds,
            self.arg.scale, core.version)
    end
    db:exec "commit"
    return path
end

local function draw(self)
    local paths = {}
    for i, chart in ipairs(self.charts) do
        chart.o.note = chart.o.note or ("%s; heddle %s, scale=%s"):format(
            self.source, core.version, self.arg.scale)
        local path = ("%s/%s%s.svg"):format(self.arg.out, self.name,
            i > 1 and "-" .. i or "")
        paths[i] = svg.write(path, svg[chart.kind](chart.o))
    end
    return paths
end

--- Prints and writes everything; returns what the JSON has.
function Experiment:close()
    local good, all = self:count()
    local spent = require("heddle.process").time() - self.start
    local rows, why = summary(self), differences(self)
    io.write(("%s - %s\n%s\n"):format(self.source, self.title,
        table.concat(self.said, "\n")), "\n", report.table(rows),
        ("%d of %d agree (quantities within %.0f %%)\n"):format(good, all,
            NEAR * 100))
    for _, list in ipairs { why, self.notes } do
        for _, line in ipairs(list) do
            io.write("  ", line, "\n")
        end
    end
    for _, t in ipairs(self.tables) do
        io.write("\n", t.title, "\n", report.table(t.rows))
    end
    local doc = {
        schema = "heddle-experiment", schema_version = 1, name = self.name,
        source = self.source, title = self.title, said = self.said,
        scale = self.arg.scale, seed = self.arg.seed, version = core.version,
        agree = good, counted = all, quantities = self.quantities,
        orders = self.orders, differences = why, notes = self.notes,
        tables = self.tables, charts = draw(self), seconds = spent,
        simulations = self.runs,
    }
    local path = ("%s/%s.json"):format(self.arg.out, self.name)
    report.emit(json.encode(doc) .. "\n", path)
    database(self)
    io.write(("\n%d simulations run, %.0f s.  Written: %s%s\n"):format(
        self.runs, spent, path, #doc.charts > 0
        and ", " .. table.concat(doc.charts, ", ") or ""))
    return doc
end

return experiment
