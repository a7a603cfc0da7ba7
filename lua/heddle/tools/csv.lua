--- csv.lua - results as comma-separated values, or as rows of a database.
--
--     local text = csv.long(results)   a value a line
--     local text = csv.wide(results)   an application a line
--     csv.database(results, path)      what long() has, in SQLite
--
-- Results are those of one run or a list of them (report.lua, which writes
-- files).  A cell is quoted where it has to be; numbers read back as they were.
--
-- SPDX-License-Identifier: MIT
local json = require "heddle.json"
local sorted = require("heddle.config").sorted_keys

local csv = {}

local function cell(v)
    if v == nil then
        return ""
    end
    local text = type(v) == "number" and json.number(v) or tostring(v)
    if text:find('[",\r\n]') then
        text = '"' .. text:gsub('"', '""') .. '"'
    end
    return text
end

--- Adds a row: as a line, or to who takes rows (out.row).
local function line(out, ...)
    if out.row then
        return out.row(...)
    end
    local cells = table.pack(...)
    for i = 1, cells.n do
        cells[i] = cell(cells[i])
    end
    out[#out + 1] = table.concat(cells, ",", 1, cells.n)
end

--- One result or a list of them, as a list of { run name, result }.
local function runs_of(results)
    if type(results) ~= "table" then
        error(require("heddle.core").error(-2, ("H.report.csv: results, or a "
            .. "list of them, are expected, not a %s"):format(type(results))),
            0)
    elseif results.schema then
        return { { results.label or "1", results } }
    end
    local out = {}
    for i, r in ipairs(results) do
        out[i] = { r.label or tostring(i), r }
    end
    return out
end

-- ---- a value a line ---------------------------------------------------------

local LONG = {
    "run", "interval", "app", "kernel", "component", "instance", "stat",
    "unit", "value",
}

local function unit_of(results)
    local units = {}
    for _, c in ipairs(results.counters) do
        units[c.component .. "." .. c.name] = c.unit
    end
    return units
end

--- What was run, and on what: the component is sim, app or config.
local function origin_rows(out, run, r)
    local function sim(stat, unit, v)
        line(out, run, nil, nil, nil, "sim", nil, stat, unit, v)
    end
    sim("version", nil, r.version)
    sim("machine", nil, r.machine)
    sim("seed", nil, r.seed)
    sim("status", nil, r.status)
    for _, p in ipairs(r.policies) do
        sim("policy", nil, p)
    end
    if r.memory then
        sim("memory_share", nil, r.memory.share)
        sim("memory_touched", "bytes", r.memory.touched)
    end
    sim("cycles", "core cycles", r.cycles)
    sim("counted", "core cycles", r.counted)
    sim("instructions", "warp instructions", r.instructions)
    for i, a in ipairs(r.apps) do
        for _, row in ipairs { { "label", a.label },
            { "key", r.inputs[i].key }, { "hash", a.hash },
            { "finished", a.finished } } do
            line(out, run, nil, a.app, nil, "app", nil, row[1], nil, row[2])
        end
    end
    for _, name in ipairs(sorted(r.config)) do
        line(out, run, nil, nil, nil, "config", nil, name, nil,
            r.config[name])
    end
end

local function counter_rows(out, run, r)
    for _, c in ipairs(r.counters) do
        for a, v in ipairs(c.apps) do
            line(out, run, nil, a - 1, nil, c.component, nil, c.name, c.unit,
                v)
        end
        if c.none ~= 0 then
            line(out, run, nil, "none", nil, c.component, nil, c.name, c.unit,
                c.none)
        end
        for i, v in ipairs(c.instances) do
            line(out, run, nil, nil, nil, c.component, i - 1, c.name, c.unit,
                v)
        end
    end
end

local function metric_rows(out, run, r)
    for _, m in ipairs(r.metrics) do
        for _, a in ipairs(m.apps) do
            line(out, run, nil, a.app, nil, "metric", nil, m.name, m.unit,
                a.value)
        end
        line(out, run, nil, nil, nil, "metric", nil, m.name, m.unit, m.total)
    end
end

local function hist_rows(out, run, r)
    for _, h in ipairs(r.histograms) do
        for a, v in ipairs(h.apps) do
            for _, stat in ipairs { "n", "sum", "min", "max", "p50", "p90",
                "p95", "p99" } do
                line(out, run, nil, a - 1, nil, h.component, nil,
                    h.name .. "." .. stat, h.unit, v[stat])
            end
        end
    end
end

local function kernel_rows(out, run, r, units)
    for _, k in ipairs(r.kernels) do
        local name = ("%d.%d"):format(k.id, k.run)
        line(out, run, nil, k.app, name, "kernel", nil, "start",
            "core cycles", k.start)
        line(out, run, nil, k.app, name, "kernel", nil, "end", "core cycles",
            k["end"])
        line(out, run, nil, k.app, name, "kernel", nil, "instructions",
            "warp instructions", k.instructions)
        for _, c in ipairs(sorted(k.counters)) do
            local component, stat = c:match("^([^.]*)%.(.*)$")
            line(out, run, nil, k.app, name, component, nil, stat, units[c],
                k.counters[c])
        end
    end
end

local function interval_rows(out, run, r, units)
    for n, i in ipairs(r.intervals) do
        line(out, run, n, nil, nil, "interval", nil, "from", "core cycles",
            i.from)
        line(out, run, n, nil, nil, "interval", nil, "to", "core cycles",
            i.to)
        for a, v in ipairs(i.instructions) do
            line(out, run, n, a - 1, nil, "interval", nil, "instructions",
                "warp instructions", v)
        end
        for _, c in ipairs(sorted(i.counters)) do
            local component, stat = c:match("^([^.]*)%.(.*)$")
            for a, v in ipairs(i.counters[c]) do
                line(out, run, n, a <= #r.apps and a - 1 or "none", nil,
                    component, nil, stat, units[c], v)
            end
        end
        for _, m in ipairs(require("heddle.report").interval(r, n)) do
            for _, a in ipairs(m.apps) do
                line(out, run, n, a.app, nil, "metric", nil, m.name, m.unit,
                    a.value)
            end
            line(out, run, n, nil, nil, "metric", nil, m.name, m.unit, m.total)
        end
    end
end

--- All rows of a run.
local function rows(out, run, r)
    local units = unit_of(r)
    origin_rows(out, run, r)
    counter_rows(out, run, r)
    metric_rows(out, run, r)
    hist_rows(out, run, r)
    kernel_rows(out, run, r, units)
    interval_rows(out, run, r, units)
end

--- An empty app or instance means all of them.
function csv.long(results)
    local out = {}
    line(out, table.unpack(LONG))
    for _, pair in ipairs(runs_of(results)) do
        rows(out, pair[1], pair[2])
    end
    return table.concat(out, "\n") .. "\n"
end

--- The rows of csv.long in the table `result` of a database; an empty cell is
-- NULL.  A value keeps its type.
function csv.database(results, path)
    local runs = runs_of(results)
    local db <close> = require("heddle.sqlite").open(path)
    db:exec [[create table if not exists result (
        run text, interval integer, app, kernel text, component text,
        instance integer, stat text, unit text, value)]]
    db:exec "create index if not exists result_of on result (run, component, stat)"
    local fields = require("heddle.batches").FIELDS
    local batches = false
    for _, pair in ipairs(runs) do
        batches = batches or pair[2].batches ~= nil
    end
    if batches then
        db:exec(("create table if not exists batch (run text, %s, primary key "
            .. "(run, number))"):format(table.concat(fields, " integer, ")
            .. " integer"))
    end
    local function batch_rows(run, list)
        db:exec("delete from batch where run = ?", run)
        for _, b in ipairs(list or {}) do
            local row = { run }
            for i, field in ipairs(fields) do
                row[i + 1] = b[field]
            end
            db:exec("insert into batch values (?" .. (",?"):rep(#fields) .. ")",
                table.unpack(row))
        end
    end
    db:exec "begin immediate"
    local ok, err = pcall(function()
        for _, pair in ipairs(runs) do
            local run = tostring(pair[1])
            if batches then
                batch_rows(run, pair[2].batches)
            end
            db:exec("delete from result where run = ?", run)
            rows({ row = function(...)
                db:exec("insert into result values (?,?,?,?,?,?,?,?,?)", run,
                    select(2, ...))
            end }, run, pair[2])
        end
    end)
    db:exec(ok and "commit" or "rollback")
    if not ok then
        error(err, 0)
    end
end

-- ---- an application a line ---------------------------------------------------

--- The names that any run has, in the order of the first that has each.
local function union(runs, names_of)
    local out, seen = {}, {}
    for _, run in ipairs(runs) do
        for _, name in ipairs(names_of(run[2])) do
            if not seen[name] then
                seen[name] = true
                out[#out + 1] = name
            end
        end
    end
    return out
end

--- The names of a list, after those of their components if they have any.
local function names_of(list)
    local out = {}
    for i, x in ipairs(list) do
        out[i] = (x.component and x.component .. "." or "") .. x.name
    end
    return out
end

--- The columns are those of all results; what a run does not have is empty.
function csv.wide(results)
    local report = require "heddle.report"
    local out, runs = {}, runs_of(results)
    local head = { "run", "machine", "seed", "app", "label", "status",
        "instructions", "cycles", "ipc" }
    local counters = union(runs, function(r)
        return names_of(r.counters)
    end)
    local derived = union(runs, function(r) return names_of(r.metrics) end)
    local settings = union(runs, function(r) return sorted(r.config) end)
    table.move(counters, 1, #counters, #head + 1, head)
    for _, m in ipairs(derived) do
        head[#head + 1] = "metric." .. m
    end
    table.move({ "version", "key", "hash", "policies" }, 1, 4, #head + 1, head)
    for _, name in ipairs(settings) do
        head[#head + 1] = "config." .. name
    end
    line(out, table.unpack(head))
    for _, run in ipairs(runs) do
        local r = run[2]
        for i, a in ipairs(r.apps) do
            local row = { run[1], r.machine, r.seed, a.app, a.label, r.status,
                a.instructions, a.cycles, a.ipc }
            local n = #row
            for _, c in ipairs(counters) do
                n = n + 1
                row[n] = report.counter(r, c, i - 1)
            end
            for _, m in ipairs(derived) do
                n = n + 1
                row[n] = report.metric(r, m, i - 1)
            end
            table.move({ r.version, r.inputs[i].key, a.hash,
                table.concat(r.policies, "; ") }, 1, 4, n + 1, row)
            n = n + 4
            for _, name in ipairs(settings) do
                n = n + 1
                row[n] = r.config[name]
            end
            line(out, table.unpack(row, 1, n))
        end
    end
    return table.concat(out, "\n") .. "\n"
end

return csv
