--- report.lua - results (results.lua) as text, JSON, CSV and rows of a database
-- (csv.lua), and what looks into them.
--
-- Nothing here depends on the wall clock, so equal runs give equal bytes.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local metrics = require "heddle.metrics"
local process = require "heddle.process"
local measured = require "heddle.results"

local report = {
    SCHEMA = measured.SCHEMA,
    SCHEMA_VERSION = measured.SCHEMA_VERSION,
    collect = measured.collect,
    metric = measured.metric,
    counter = measured.counter,
    interval = measured.interval,
    series = measured.series,
    weighted_speedup = metrics.weighted_speedup,
    unfairness = metrics.unfairness,
    ipc_throughput = metrics.ipc_throughput,
    ipc = metrics.ipc,
}

-- ---- text -------------------------------------------------------------------

--- A number for people: 4 digits, or all of an integer.
function report.number(v)
    if v == nil then
        return "-"
    elseif math.type(v) == "integer" then
        return ("%d"):format(v)
    elseif v ~= 0 and math.abs(v) < 0.001 then
        return ("%.2e"):format(v)
    elseif math.abs(v) >= 1000 then
        return ("%.0f"):format(v)
    end
    return ("%.3f"):format(v)
end

function report.percent(v)
    if not v then
        return "-"
    end
    return (("%.1f %%"):format(v * 100):gsub("^%-0%.0 ", "0.0 "))
end

--- Width of a text on a terminal: characters, not bytes.
local function width(s)
    return utf8.len(s) or #s
end

--- An aligned table: the first row is the heading, numbers go to the right.
-- Cells are texts or numbers; a row "-" is a rule.
function report.table(rows)
    local widths, right = {}, {}
    local cells = {}
    for r = 1, rawlen(rows) do
        local row = rows[r]
        if row == "-" then
            cells[r] = "-"
        else
            cells[r] = {}
            for c = 1, rawlen(rows[1]) do
                local v = row[c]
                if v == nil then
                    v = ""
                end
                local text = type(v) == "number" and report.number(v)
                    or core.escape(tostring(v))
                cells[r][c] = text
                widths[c] = math.max(widths[c] or 0, width(text))
                if r > 1 and (type(v) == "number"
                    or text:find("^[-+]?%d[%d.]*[ %%xkMB]*$")) then
                    right[c] = true
                end
            end
        end
    end
    local out = {}
    for r, row in ipairs(cells) do
        local parts = {}
        for c = 1, #widths do
            if row == "-" then
                parts[c] = ("-"):rep(widths[c])
            else
                local pad = (" "):rep(widths[c] - width(row[c]))
                parts[c] = right[c] and pad .. row[c] or row[c] .. pad
            end
        end
        out[r] = (table.concat(parts, "  "):gsub("%s+$", ""))
    end
    return table.concat(out, "\n") .. "\n"
end

local SECTIONS = {
    { "work", "Work" }, { "translation", "Translation" },
    { "walks", "Page walks" }, { "faults", "Far faults" },
    { "paging", "Prefetched pages" },
    { "data", "Caches" }, { "dram", "DRAM" },
    { "energy", "Energy of translation" }, { "time", "Warp time" },
}

--- A metric without a unit is a share: printed as a percentage.
local function metric_text(m, v)
    if m.unit == "" and v then
        return ("%.2f %%"):format(v * 100)
    end
    return report.number(v)
end

--- A row of a table: a cell an application, and of all where there are several.
local function row_of(name, of, cells, total)
    local row = table.move(cells, 1, #cells, 2, { "  " .. name })
    row[#row + 1] = #cells > 1 and total or nil
    row[#row + 1] = of.unit
    row[#row + 1] = of.meaning
    return row
end

local function metric_rows(results, section)
    local rows = {}
    for _, m in ipairs(results.metrics) do
        if m.section == section then
            local cells = {}
            for i, a in ipairs(m.apps) do
                cells[i] = metric_text(m, a.value)
            end
            rows[#rows + 1] = row_of(m.name, m, cells, metric_text(m, m.total))
        end
    end
    return rows
end

--- What policies have counted of their own.
local function own_rows(results)
    local rows, engine = {}, {}
    for _, p in ipairs(core.points()) do
        engine[p.name .. ".asked"], engine[p.name .. ".passed"] = true, true
    end
    for _, c in ipairs(results.counters) do
        if c.component == "policy" and not engine[c.name] then
            local cells = {}
            for i = 1, #results.apps do
                cells[i] = report.number(c.apps[i])
            end
            rows[#rows + 1] = row_of("policy." .. c.name, c, cells,
                report.number(c.total))
        end
    end
    return rows
end

local function hist_rows(results)
    local rows = {}
    for _, h in ipairs(results.histograms) do
        for i, a in ipairs(h.apps) do
            if a.n > 0 then
                rows[#rows + 1] = {
                    ("  %s.%s"):format(h.component, h.name),
                    results.apps[i].label, h.unit, a.n, a.sum / a.n, a.p50,
                    a.p90, a.p95, a.p99, a.max,
                }
            end
        end
    end
    return rows
end

--- The driver's batches of results that have them (batches.lua), as text: means,
-- percentiles and shares of the time.
function report.batches(results)
    return report.table(require("heddle.batches").summary(results))
end

local function labels(results)
    local out = {}
    for i, a in ipairs(results.apps) do
        out[i] = a.label
    end
    return out
end

--- Words in lines of 79 characters, `head` before the first.
local function wrapped(head, words)
    local lines, line = {}, head
    for _, w in ipairs(words) do
        if #line + #w > 78 and #line > 4 then
            lines[#lines + 1] = line
            line = "   "
        end
        line = line .. " " .. w
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n") .. "\n"
end

--- What was run, and on what: what another run needs to be equal.
local function origin(results)
    local out = { "\nInputs\n" }
    for i, a in ipairs(results.inputs) do
        out[#out + 1] = ("  %s  %s  %s\n"):format(a.hash,
            results.apps[i].label, a.key)
    end
    local groups, words = {}, {}
    for _, name in ipairs(require("heddle.config").sorted_keys(
        results.config)) do
        local group, setting = name:match "^([^.]*)%.(.*)$"
        if not words[group] then
            words[group] = {}
            groups[#groups + 1] = group
        end
        table.insert(words[group], setting .. "=" .. results.config[name])
    end
    out[#out + 1] = "\nSettings\n"
    for _, group in ipairs(groups) do
        out[#out + 1] = wrapped("  " .. group .. ":", words[group])
    end
    for _, r in ipairs(results.rounded or {}) do
        out[#out + 1] = "  " .. require("heddle.config").rounded_text(r)
            .. "\n"
    end
    return table.concat(out)
end

--- The text of a result.
function report.format(results)
    metrics.result(results, "H.report.text")
    local out = { ("heddle %s: %s%s on %s, seed %d: %s at cycle %d\n"):format(
        results.version, results.label and results.label .. ": " or "",
        table.concat(labels(results), " + "), results.machine, results.seed,
        results.status, results.cycles) }
    if #results.policies > 0 then
        out[#out + 1] = "policies: " .. table.concat(results.policies, ", ")
            .. "\n"
    end
    if results.memory then
        out[#out + 1] = require("heddle.touched").text(results.memory) .. "\n"
    end
    for i, a in ipairs(results.apps) do
        if a.truncated then
            out[#out + 1] = ("%s was ended by its budget after %d warp "
                .. "instructions\n"):format(labels(results)[i],
                a.instructions)
        end
        if a.cut then
            out[#out + 1] = ("%s is cut: %s\n"):format(labels(results)[i],
                a.cut)
        end
    end
    for _, text in ipairs(results.told or {}) do
        out[#out + 1] = text .. "\n"
    end
    require("heddle.script").shown(results)
    local rows = { { "", table.unpack(labels(results)) } }
    if #results.apps > 1 then
        rows[1][#rows[1] + 1] = "all"
    end
    table.move({ "", "" }, 1, 2, #rows[1] + 1, rows[1]) -- units, meanings
    local function section(title, of)
        if #of > 0 then
            rows[#rows + 1] = { title }
            table.move(of, 1, #of, #rows + 1, rows)
        end
    end
    local faults = measured.metric(results, "far_faults") or 0
    for _, s in ipairs(SECTIONS) do
        if s[1] ~= "faults" or faults > 0 then
            section(s[2], metric_rows(results, s[1]))
        end
    end
    section("Counters of policies", own_rows(results))
    out[#out + 1] = "\n" .. report.table(rows)
    local hists = hist_rows(results)
    if #hists > 0 then
        table.insert(hists, 1, {
            "Histograms", "", "unit", "n", "mean", "p50", "p90", "p95", "p99",
            "max",
        })
        out[#out + 1] = "\n" .. report.table(hists)
    end
    if results.batches then
        out[#out + 1] = "\n" .. report.batches(results)
    end
    out[#out + 1] = origin(results)
    return table.concat(out)
end

--- report.compare(list): the metrics in which results differ, side by side, as
-- text; all applications together.
function report.compare(list)
    local rows = { { "" } }
    for i, r in ipairs(list) do
        rows[1][i + 1] = r.label or tostring(i)
    end
    for _, m in ipairs(list[1].metrics) do
        local row, differs = { m.name }, false
        for i, r in ipairs(list) do
            row[i + 1] = metric_text(m, report.metric(r, m.name))
            differs = differs or row[i + 1] ~= row[2]
        end
        row[#row + 1] = m.unit
        rows[#rows + 1] = differs and row or nil
    end
    rows[1][#list + 2] = ""
    return report.table(rows)
end

-- ---- files ------------------------------------------------------------------

--- Writes to a path (a file that is there whole or not at all), "-" or nil
-- (standard output), or an open file.
local function emit(text, to)
    if to == nil or to == "-" then
        to = io.stdout
    end
    if type(to) == "string" then
        process.save(to, text)
    elseif io.type(to) == "file" then
        local ok, err = to:write(text)
        if not ok then
            error(core.error(-6, ("%s: %s"):format(to == io.stdout
                and "standard output" or "an open file", err)), 0)
        end
    else
        error(core.error(-2, ("a path or an open file is expected to write to,"
            .. " not a %s"):format(io.type(to) or type(to))), 0)
    end
end

report.emit = emit

--- The results in a file that report.json wrote: a list, of one or more.
function report.read(path)
    local f, why = io.open(core.path(path), "rb")
    local text = f and f:read "a"
    if f then
        f:close()
    end
    if not text then
        error(core.error(-5, why or path .. ": cannot be read"), 0)
    end
    local ok, list = pcall(json.decode, text)
    if ok and type(list) == "table" and list.schema then
        list = { list }
    end
    local function refuse(format, ...)
        error(core.error(-4, ("%s: %s"):format(path, format:format(...))), 0)
    end
    if not ok then
        refuse("%s", list)
    elseif type(list) ~= "table" or #list == 0 then
        refuse "not a result that H.report.json wrote"
    end
    for i, r in ipairs(list) do
        if type(r) ~= "table" or r.schema ~= report.SCHEMA then
            refuse("%snot a result that H.report.json wrote",
                i > 1 and ("number %d is "):format(i) or "")
        elseif r.schema_version ~= report.SCHEMA_VERSION then
            refuse("schema version %s, and %d is expected",
                tostring(r.schema_version), report.SCHEMA_VERSION)
        end
    end
    return list
end

--- report.text(results [, to])
function report.text(results, to)
    emit(report.format(results), to)
end

--- report.json(results [, to]); a list of results is fine, too.
function report.json(results, to)
    emit(json.encode(results) .. "\n", to)
end

--- report.csv(results [, to]): the long form, one value a line; an empty app
-- or instance means all of them.
function report.csv(results, to)
    emit(require("heddle.csv").long(results), to)
end

--- report.sqlite(results, path): the same values as rows of the table `result` of
-- a database, which is made if it is not there; rows of runs of the same names
-- are replaced.
function report.sqlite(results, path)
    if type(path) ~= "string" then
        error(core.error(-2, ("H.report.sqlite: the path of a database is "
            .. "expected, not a %s"):format(type(path))), 0)
    end
    require("heddle.csv").database(results, path)
end

--- report.csv_wide(results [, to]): one line an application, one column a
-- counter or metric that any of the results has.
function report.csv_wide(results, to)
    emit(require("heddle.csv").wide(results), to)
end

return report
