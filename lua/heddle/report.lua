--- report.lua - results: one table, and its forms as text, JSON, CSV and rows of
-- a database (csv.lua); a metric over intervals as a series.
--
-- The table that sim:results() returns (schema_version 1):
--
--   schema, schema_version, version     "heddle-results", 1, heddle's
--   label, machine, seed, status        status: done, stopped, ok, or an error
--   config      { ["group.name"] = value }   every setting, resolved
--   sample      of a sampled run (sampling.lua): kind, cycles, low, high,
--               confidence, cpi, windows, measured, detailed, instructions, share,
--               simulated_cycles, simulated, launches, unlike; then cycles, ipc,
--               counters and what is derived from them are estimates
--   rounded     what config.rounded says, if anything: component, unit, copies,
--               sets, ways, size, set_to, ways_set_to
--   told        what would go unnoticed, in words, if anything (told.lua)
--   policies    names, in the order in which they were bound
--   inputs      { app, key, hash } of every application
--   cycles, instructions                of the whole run
--   counted     core cycles that the counters of all cover: not the warm-up, nor
--               what was before sim:reset_counters()
--   apps        name, label, instructions, thread_instructions, cycles (to
--               its first completion; its counters cover them), ipc,
--               completions, finished, truncated (its budget ended it), cut
--               (what its size leaves out, in words), footprint, pages, hash
--   kernels     name, app, id, run, start, end, instructions, blocks, and the
--               counters that changed: counters["component.name"]
--   counters    component, name, unit, meaning, peak, level (true where it is a
--               value as it is: a policy's series), total, apps (one number each),
--               none (belongs to no application), instances (one each)
--   histograms  component, name, unit, meaning, apps: { n, sum, min, max, p50,
--               p90, p95, p99, buckets = { { low, high, count }, ... } }
--   metrics     section, name, unit, meaning, apps, total: what metrics.lua
--               derives; a number that cannot be had is absent
--   intervals   from, to, and counters["component.name"] by application
--
-- Nothing here depends on the wall clock, so equal runs give equal bytes.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local metrics = require "heddle.metrics"
local process = require "heddle.process"

local report = {
    SCHEMA = "heddle-results",
    SCHEMA_VERSION = 1,
    weighted_speedup = metrics.weighted_speedup,
    unfairness = metrics.unfairness,
    ipc_throughput = metrics.ipc_throughput,
    ipc = metrics.ipc,
}

-- ---- collecting -----------------------------------------------------------

local function hex(v)
    return ("%016x"):format(v)
end

local function config_of(sim)
    local out = {}
    for _, s in ipairs(sim.resolved) do
        out[s.name] = s.value
    end
    return out
end

local function policies_of(sim)
    local out = json.array {}
    local ok, used = pcall(function()
        return require("heddle.policy").used(sim.core)
    end)
    if ok then
        for i = #used, 1, -1 do
            if used[i].name == "(timeline)" then -- changes nothing
                table.remove(used, i)
            end
        end
        for i, p in ipairs(used) do
            out[i] = p.name .. (p.at and p.at ~= "" and " at " .. p.at or "")
                .. (p.code and " [" .. p.code .. "]" or "")
            local names = {}
            for k in pairs(p.params or {}) do
                names[#names + 1] = tostring(k)
            end
            table.sort(names)
            for k, name in ipairs(names) do
                names[k] = name .. "=" .. tostring(p.params[name])
            end
            if #names > 0 then
                out[i] = out[i] .. " (" .. table.concat(names, ", ") .. ")"
            end
        end
        return out
    end
    for i, p in ipairs(sim.policies) do
        local name = type(p.policy) == "table" and p.policy.name or p.policy
        local at = p.options and p.options.at
        out[i] = tostring(name) .. (at and " at " .. at or "")
    end
    return out
end

local function apps_of(sim)
    local out, inputs = {}, {}
    for i, a in ipairs(sim.core:apps()) do
        out[i] = {
            name = a.name, label = sim.apps[i].label, app = i - 1,
            instructions = a.instructions, before = a.before,
            thread_instructions = a.thread_instructions,
            cycles = a.cycles, completions = a.completions,
            ipc = a.cycles > 0 and a.instructions / a.cycles or 0.0,
            finished = a.finished, truncated = a.truncated,
            footprint = a.footprint, pages = a.pages, hash = hex(a.hash),
            cut = sim.apps[i].cut,
        }
        inputs[i] = { app = i - 1, key = sim.apps[i].key, hash = hex(a.hash) }
    end
    return out, inputs
end

local function kernels_of(sim, list)
    local out = json.array {}
    for i, k in ipairs(sim.core:kernels()) do
        local counters, values = {}, sim.core:counter_kernel(i)
        for n, c in ipairs(list) do
            if not c.peak and not c.level and values[n] ~= 0 then
                counters[c.component .. "." .. c.name] = values[n]
            end
        end
        k.counters = counters
        out[i] = k
    end
    return out
end

--- Counters with their sums.
local function counters_of(list, values, apps)
    local out = json.array {}
    for n, c in ipairs(list) do
        local row = {
            component = c.component, name = c.name, unit = c.unit,
            meaning = c.meaning, peak = c.peak, level = c.level or nil, total = 0,
            apps = json.array {}, none = 0, instances = json.array {},
        }
        local function add(sum, v)
            return c.peak and math.max(sum, v) or sum + v
        end
        for a, instances in ipairs(values[n]) do
            local sum = 0
            for i, v in ipairs(instances) do
                sum = add(sum, v)
                row.instances[i] = add(row.instances[i] or 0, v)
            end
            if a <= apps then
                row.apps[a] = sum
            else
                row.none = sum
            end
            row.total = add(row.total, sum)
        end
        out[n] = row
    end
    return out
end

local function hists_of(sim)
    local out = json.array {}
    for i, h in ipairs(sim.core:hists()) do
        local apps = json.array {}
        for a = 1, #sim.apps do
            apps[a] = h.apps[a]
            json.array(apps[a].buckets)
        end
        out[i] = {
            component = h.component, name = h.name, unit = h.unit,
            meaning = h.meaning, apps = apps, none = h.apps[#sim.apps + 1],
        }
        json.array(out[i].none.buckets)
    end
    return out
end

--- values[component][counter] of one application, or of all (app nil).
local function nested(counters, app)
    local out = {}
    for _, c in ipairs(counters) do
        local of = out[c.component] or {}
        out[c.component] = of
        of[c.name] = app and c.apps[app] or not app and c.total or 0
    end
    return out
end

local function metrics_of(results)
    local scopes, work = {}, { instructions = 0, thread_instructions = 0 }
    for i, a in ipairs(results.apps) do
        scopes[i] = { values = nested(results.counters, i), work = a }
        work.instructions = work.instructions + a.instructions
        work.thread_instructions = work.thread_instructions
            + a.thread_instructions
    end
    work.cycles = results.counted
    local all = nested(results.counters)
    scopes[#scopes + 1] = { values = all, work = work }
    local out = json.array {}
    for n, m in ipairs(metrics.compute(scopes, {
        config = results.config, values = all, cycles = results.counted,
    })) do
        local apps = {}
        for i, a in ipairs(results.apps) do
            apps[i] = { app = a.app, value = m.values[i] }
        end
        out[n] = {
            section = m.section, name = m.name, unit = m.unit,
            meaning = m.meaning, total = m.values[#scopes], apps = apps,
        }
    end
    return out
end

--- Whether counters began anew between two samples: those of application a, or
-- (a past the last) of what belongs to none.
local function begun(before, now, a)
    local x, y = before.apps[a], now.apps[a]
    local was, is = x and x.cycles or before.counted,
        y and y.cycles or now.counted
    return is > 0 and (was == 0 or is < was
        or not (y and y.finished) and is < was + now.cycle - before.cycle)
end

local function intervals_of(sim, list)
    local out = json.array {}
    for n = 2, #sim.samples do
        local before, now = sim.samples[n - 1], sim.samples[n]
        local counters, anew, instructions = {}, {}, {}
        for a = 1, #now.apps + 1 do
            anew[a] = begun(before, now, a)
        end
        for i, c in ipairs(list) do
            local by_app, any = {}, false
            for a, v in ipairs(now.values[i]) do
                local d = (c.peak or c.level or anew[a]) and v
                    or v - before.values[i][a]
                by_app[a] = d
                any = any or d ~= 0
            end
            if any then
                counters[c.component .. "." .. c.name] = by_app
            end
        end
        for a, app in ipairs(now.apps) do
            instructions[a] = app.instructions
                - (anew[a] and 0 or before.apps[a].instructions)
        end
        out[n - 1] = {
            from = before.cycle, to = now.cycle, counters = counters,
            instructions = instructions,
        }
    end
    return out
end

--- Everything that a simulation has measured so far.
function report.collect(sim)
    local list = sim.core:counters()
    local apps, inputs = apps_of(sim)
    local config = config_of(sim)
    local results = {
        schema = report.SCHEMA, schema_version = report.SCHEMA_VERSION,
        version = core.version, machine = sim.machine.name,
        label = sim.label, seed = math.tointeger(config["sim.seed"]) or 0,
        status = sim.status, config = config, policies = policies_of(sim),
        inputs = inputs, cycles = sim.core:now(),
        counted = sim.core:counted(), instructions = sim.core:instructions(), apps = apps,
        kernels = kernels_of(sim, list),
        counters = counters_of(list, sim.core:counter_values(), #apps),
        histograms = hists_of(sim),
        intervals = intervals_of(sim, list),
    }
    require("heddle.sampling").apply(sim, results)
    results.metrics = metrics_of(results)
    if #sim.rounded > 0 then
        results.rounded = json.array(sim.rounded)
    end
    local told = require("heddle.told").of(results, sim)
    if #told > 0 then
        results.told = json.array(told)
    end
    return results
end

--- Looks a metric up: of application i (from 0), or of all.  Nil: it cannot be
-- had here; a name that no metric has raises.
function report.metric(results, name, i)
    metrics.result(results, "H.report.metric")
    local names, at = {}, i and metrics.place_of(results, i)
    for k, m in ipairs(results.metrics) do
        if m.name == name then
            if at then
                return m.apps[at] and m.apps[at].value
            end
            return m.total
        end
        names[k] = m.name
    end
    if not metrics.known(name) then
        name = tostring(name)
        error(core.error(-2, ("there is no metric '%s'%s"):format(name,
            require("heddle.index").meant(name, names))), 0)
    end
end

--- Looks a counter up: report.counter(r, "l2tlb.hits" [, application]).  Nil:
-- its component is not there, or a policy's counter; another name raises.
function report.counter(results, name, i)
    local names, component = {}, tostring(name):match "^([^.]*)%."
    metrics.result(results, "H.report.counter")
    local at = i and metrics.place_of(results, i)
    for k, c in ipairs(results.counters) do
        names[k] = c.component .. "." .. c.name
        if names[k] == name then
            if at then
                return c.apps[at]
            end
            return c.total
        end
    end
    if component ~= "policy" then
        for _, c in ipairs(core.counters()) do
            if c.component .. "." .. c.name == name then
                return nil
            end
        end
        name = tostring(name)
        error(core.error(-2, ("there is no counter '%s'%s"):format(name,
            require("heddle.index").meant(name, names))), 0)
    end
end

-- ---- intervals ----------------------------------------------------------------

--- The last interval in which each application did anything, of those that have
-- finished: what is behind it is not its own any more.
local function last_of(results)
    local last = {}
    for a, app in ipairs(results.apps) do
        for n, i in ipairs(results.intervals) do
            last[a] = (not app.finished or i.instructions[a] > 0) and n
                or last[a] or 0
        end
    end
    return last
end

--- What an application (place `a`; nil: all) did in interval i, as scope of a
-- metric.
local function scope_of(results, i, a)
    local values = {}
    for _, c in ipairs(results.counters) do
        local by, v = i.counters[c.component .. "." .. c.name], 0
        for at, grown in ipairs(by or {}) do
            if a == nil or at == a then
                v = c.peak and math.max(v, grown) or v + grown
            end
        end
        values[c.component] = values[c.component] or {}
        values[c.component][c.name] = v
    end
    local work = { instructions = 0, cycles = i.to - i.from,
        thread_instructions = values.core
            and values.core.thread_instructions or 0 }
    for at, v in ipairs(i.instructions) do
        work.instructions = work.instructions + ((a == nil or at == a) and v or 0)
    end
    return { values = values, work = work }
end

local function whole_of(results, i)
    local scope = scope_of(results, i)
    return { config = results.config, values = scope.values,
        cycles = i.to - i.from }, scope
end

--- The metrics of an interval, a list as results.metrics; applications that have
-- finished before it have none.
function report.interval(results, n)
    local i, last, scopes = results.intervals[n], last_of(results), {}
    local all, total = whole_of(results, i)
    for a in ipairs(results.apps) do
        scopes[a] = scope_of(results, i, a)
    end
    scopes[#scopes + 1] = total
    local out = json.array {}
    for k, m in ipairs(metrics.compute(scopes, all)) do
        local apps = {}
        for a, app in ipairs(results.apps) do
            apps[a] = { app = app.app, value = n <= last[a] and m.values[a]
                or nil }
        end
        out[k] = { section = m.section, name = m.name, unit = m.unit,
            meaning = m.meaning, total = m.values[#scopes], apps = apps }
    end
    return out
end

--- report.series(results, name [, application]): a metric, or the growth of a
-- counter ("walk.walks"), over the intervals, as a series of H.svg.lines: name,
-- x, the cycle at which each interval ends, and values, nil where there is none.
function report.series(results, name, app)
    metrics.result(results, "H.report.series")
    if not results.intervals or #results.intervals == 0 then
        error(core.error(-2, "H.report.series: these results have no intervals;"
            .. " H.sim { interval = 10000 } keeps them"), 0)
    end
    local a = app and metrics.place_of(results, app)
    local counter = tostring(name):find(".", 1, true) ~= nil
    local find = counter and report.counter or report.metric
    find(results, name, app) -- a name that none has raises
    local out = { name = a and ("%s, %s"):format(name, results.apps[a].label)
        or name, x = {}, values = {} }
    local last = last_of(results)
    for n, i in ipairs(results.intervals) do
        out.x[n] = i.to
        if a and n > last[a] then
            out.values[n] = nil
        elseif counter then
            local component, of = name:match "^([^.]*)%.(.*)$"
            local values = scope_of(results, i, a).values
            out.values[n] = values[component] and values[component][of]
        else
            out.values[n] = metrics.one(name, scope_of(results, i, a),
                (whole_of(results, i)))
        end
    end
    return out
end

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
    { "walks", "Page walks" }, { "paging", "Pages without a fault" },
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
    for _, s in ipairs(SECTIONS) do
        section(s[2], metric_rows(results, s[1]))
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
        refuse "no result that H.report.json wrote"
    end
    for i, r in ipairs(list) do
        if type(r) ~= "table" or r.schema ~= report.SCHEMA then
            refuse("%sno result that H.report.json wrote",
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
