--- results.lua - what a simulation has measured, as one table: its metrics and
-- counters, and both over intervals.
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
--   memory      where it was given as a share: share, touched (bytes), for_pages,
--               bytes (vm.memory_bytes; the rest is page tables)
--   told        warnings, in words, if there are any (warnings.lua)
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
--               counters that changed: counters["component.name"]; of a launch
--               in a stream, that and overlap, cycles in which others of its
--               application ran: then its counters are those of parts that
--               count by launch (src/engine/core/streams.c)
--   counters    component, name, unit, meaning, peak, level (true where it is a
--               value as it is: a policy's series), total, apps (one number each),
--               none (belongs to no application), instances (one each)
--   histograms  component, name, unit, meaning, apps: { n, sum, min, max, p50,
--               p90, p95, p99, buckets = { { low, high, count }, ... } }
--   metrics     section, name, unit, meaning, apps, total: what metrics.lua
--               derives; a number that cannot be had is absent
--   batches     with the option `batches`: what each batch of the driver was, and
--               took (batches.lua)
--   intervals   from, to, and counters["component.name"] by application
--
-- Nothing here depends on the wall clock, so equal runs give equal bytes.  How
-- results are shown, written and read is report.lua, which has these functions too.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local metrics = require "heddle.metrics"

local M = {
    SCHEMA = "heddle-results",
    SCHEMA_VERSION = 1,
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
            if used[i].name:find "^%(" then -- heddle's, which change nothing
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
        if (k.stream or 0) == 0 then k.stream, k.overlap = nil, nil end
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

--- A percentile of the buckets of a histogram, as the engine takes it (kit/hist.c):
-- nearest rank, the upper edge of its bucket.
local function percentile(h, p)
    local rank, seen = math.max(1, math.ceil(p / 100 * h.n)), 0
    for _, b in ipairs(h.buckets) do
        seen = seen + b[3]
        if seen >= rank then
            return math.min(b[2], h.max)
        end
    end
    return h.max
end

--- Histograms of all applications together, and of what belongs to none.
local function merged(h)
    local out, by_low = { n = 0, sum = 0, max = 0, buckets = {} }, {}
    for _, a in ipairs(table.move(h.apps, 1, #h.apps, 2, { h.none })) do
        out.n, out.sum = out.n + a.n, out.sum + a.sum
        out.max = math.max(out.max, a.n > 0 and a.max or 0)
        for _, b in ipairs(a.buckets) do
            local to = by_low[b[1]] or { b[1], b[2], 0 }
            out.buckets[#out.buckets + 1] = not by_low[b[1]] and to or nil
            by_low[b[1]], to[3] = to, to[3] + b[3]
        end
    end
    table.sort(out.buckets, function(a, b) return a[1] < b[1] end)
    out.p50, out.p95 = percentile(out, 50), percentile(out, 95)
    return out
end

--- What finds a histogram by its name: of application i, or of all (app nil).
local function hist_of(list, app)
    return function(component, name)
        for _, h in ipairs(list) do
            if h.component == component and h.name == name then
                return app and h.apps[app] or merged(h)
            end
        end
    end
end

local function metrics_of(results)
    local scopes, work = {}, { instructions = 0, thread_instructions = 0 }
    for i, a in ipairs(results.apps) do
        scopes[i] = { values = nested(results.counters, i), work = a,
            hist = hist_of(results.histograms, i),
            alone = #results.apps == 1 }
        work.instructions = work.instructions + a.instructions
        work.thread_instructions = work.thread_instructions
            + a.thread_instructions
    end
    work.cycles = results.counted
    local all = nested(results.counters)
    scopes[#scopes + 1] = { values = all, work = work, alone = true,
        hist = hist_of(results.histograms) }
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

--- Whether counters began again at 0 between two samples: those of application a, or
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
        local counters, reset, instructions = {}, {}, {}
        for a = 1, #now.apps + 1 do
            reset[a] = begun(before, now, a)
        end
        for i, c in ipairs(list) do
            local by_app, any = {}, false
            for a, v in ipairs(now.values[i]) do
                local d = (c.peak or c.level or reset[a]) and v
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
                - (reset[a] and 0 or before.apps[a].instructions)
        end
        out[n - 1] = {
            from = before.cycle, to = now.cycle, counters = counters,
            instructions = instructions,
        }
    end
    return out
end

--- Everything that a simulation has measured so far.
function M.collect(sim)
    local list = sim.core:counters()
    local apps, inputs = apps_of(sim)
    local config = config_of(sim)
    local results = {
        schema = M.SCHEMA, schema_version = M.SCHEMA_VERSION,
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
    results.memory = sim.memory or nil
    results.batches = sim.batched and require("heddle.batches").of(sim) or nil
    local warnings = require("heddle.warnings").of(results, sim)
    if #warnings > 0 then
        results.told = json.array(warnings)
    end
    return results
end

--- Looks a metric up: of application i (from 0), or of all.  Nil: it cannot be
-- had here; a name that no metric has raises.  Former names are known, and those in
-- results that an earlier heddle wrote.
function M.metric(results, name, i)
    metrics.result(results, "H.report.metric")
    local names, at = {}, i and metrics.place_of(results, i)
    local now = metrics.now(name)
    for k, m in ipairs(results.metrics) do
        if metrics.now(m.name) == now then
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
function M.counter(results, name, i)
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
    return { values = values, work = work,
        alone = a == nil or #results.apps == 1 }
end

local function whole_of(results, i)
    local scope = scope_of(results, i)
    return { config = results.config, values = scope.values,
        cycles = i.to - i.from }, scope
end

--- The metrics of an interval, a list as results.metrics; applications that have
-- finished before it have none.
function M.interval(results, n)
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
function M.series(results, name, app)
    metrics.result(results, "H.report.series")
    if not results.intervals or #results.intervals == 0 then
        error(core.error(-2, "H.report.series: these results have no intervals;"
            .. " H.sim { interval = 10000 } keeps them"), 0)
    end
    local a = app and metrics.place_of(results, app)
    local counter = tostring(name):find(".", 1, true) ~= nil
    local find = counter and M.counter or M.metric
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

return M
