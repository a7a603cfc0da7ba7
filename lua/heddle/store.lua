--- store.lua - results of simulations on disk, so that nothing runs twice.
--
--     local store = require "heddle.store"
--     local results = store.run(jobs, { jobs = 2, dir = "out/cache" })
--
-- Like H.run, but every job leaves its results in a file of its own as soon as
-- it ends: a series that was interrupted goes on where it was, and experiments
-- that need the same run (alone, on the reference design) share it.  The name
-- of the file is a fingerprint of all that decides the results: the job, seed
-- and settings included, and the very program that runs it.  Old files are
-- never read by a new build; delete the folder when it grows.  A file begins
-- with a fingerprint of its own, and one that is damaged is not believed.
--
-- What is kept is what tables need: applications, metrics, counters by
-- application and in all, histograms without their buckets, intervals where the
-- job has some.
--
-- A job that has no text (a policy given as a table of functions, a program of
-- the script, a trace in text) is run and not kept.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local process = require "heddle.process"
local report = require "heddle.report"
local runner = require "heddle.runner"

local store = {}

--- A fingerprint of the program: of the command, or of what lua5.4 loaded.
local program
function store.build()
    if not program then
        local text = { core.version }
        for _, path in ipairs { "/proc/self/exe",
            package.searchpath("heddle", package.cpath) or "" } do
            local f = io.open(path, "rb")
            text[#text + 1] = f and f:read "a" or ""
            if f then
                f:close()
            end
        end
        program = core.fingerprint(table.concat(text))
    end
    return program
end

local function slim(r)
    local counters, histograms = {}, {}
    for i, c in ipairs(r.counters or {}) do
        counters[i] = { component = c.component, name = c.name, apps = c.apps,
            total = c.total, none = c.none }
    end
    for i, h in ipairs(r.histograms or {}) do
        local apps = {}
        for k, a in ipairs(h.apps) do
            apps[k] = { n = a.n, sum = a.sum, min = a.min, max = a.max,
                p50 = a.p50, p90 = a.p90, p99 = a.p99 }
        end
        histograms[i] = { component = h.component, name = h.name, apps = apps }
    end
    return { status = r.status, cycles = r.cycles, seed = r.seed,
        instructions = r.instructions, apps = r.apps, metrics = r.metrics,
        machine = r.machine, counters = counters, histograms = histograms,
        intervals = r.intervals }
end

local function path_of(dir, key)
    return ("%s/%s.run"):format(dir, core.fingerprint(store.build() .. "\n" .. key))
end

--- What is kept of a job: { key, result, cpu }, or nil.
local function load(path, key)
    local f = io.open(path, "rb")
    if not f then
        return nil
    end
    local sum, text = f:read "l", f:read "a"
    f:close()
    if sum ~= core.fingerprint(text) then
        return nil
    end
    local ok, kept = pcall(runner.deserialize, text)
    return ok and type(kept) == "table" and kept.key == key and kept.result
        and kept or nil
end

local function save(path, kept)
    local text = runner.serialize(kept)
    report.emit(core.fingerprint(text) .. "\n" .. text, path)
end

--- Runs one job in this process; { key, result, cpu }.
local function perform(job, path, key)
    local options, before = {}, os.clock()
    for k, v in pairs(job) do
        options[k] = v
    end
    options.progress = false
    local sim <close> = require("heddle.sim").sim(options)
    sim:run()
    local kept = { key = key, result = slim(sim:results()) }
    kept.cpu = os.clock() - before
    if key then
        save(path, kept)
    end
    return kept
end

--- What fn() returns, plain data, kept in the same way; the key says all that
-- decides it, but for the program.
function store.keep(key, dir, fn)
    process.mkdir(dir)
    local path = path_of(dir, key)
    local kept = load(path, key)
    if not kept then
        kept = { key = key, result = fn() }
        save(path, kept)
    end
    return kept.result
end

--- Results of the jobs, in order; how many were run; and what each different
-- one that is kept has cost when it was run: CPU seconds by fingerprint.
-- options: jobs (at once), dir, quiet, before (called where one has to be run).
function store.run(jobs, options)
    local o = options or {}
    local dir = o.dir or "out/cache"
    process.mkdir(dir)
    local out, list, index, same, costs = {}, {}, {}, {}, {}
    local titles = {}
    for i, job in ipairs(jobs) do
        local key = runner.key(job, true)
        local path = key and path_of(dir, key)
        out[i] = path and load(path, key) or nil
        if not out[i] then
            local at = key and same[key]
            if not at then
                list[#list + 1] = function() return perform(job, path, key) end
                at = #list
                titles[at] = runner.title(i, job)
                if key then
                    same[key] = at
                end
            end
            index[i] = at
        end
    end
    if #list > 0 and o.before then
        o.before()
    end
    local got = runner.series(list, o.jobs or process.cpus(),
        { progress = not o.quiet, titles = titles })
    for i, at in pairs(index) do
        out[i] = got[at]
    end
    for i, kept in ipairs(out) do
        if kept.key then
            costs[core.fingerprint(kept.key)] = kept.cpu
        end
        out[i] = kept.result
    end
    return out, #list, costs
end

return store
