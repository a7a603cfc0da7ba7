--- store.lua - results of simulations on disk, so that nothing runs twice.
--
--     local store = require "heddle.store"
--     local results = store.run(jobs, { jobs = 2, dir = "out/cache" })
--
-- Like H.run, but every job leaves its results in a file of its own as soon as
-- it ends: an interrupted series continues where it was, and experiments
-- that need the same run (alone, on the reference design) share it.  The name
-- of the file is a fingerprint of all that decides the results: the job, seed
-- and settings included, and the very program that runs it.  Old files are
-- never read by a new build; delete the folder when it grows.  A file begins
-- with a fingerprint of its own, and a damaged one is ignored.
--
-- What is kept is all that H.run returns, some 200 KB a job.  A job that has no
-- text (a function, a policy given as a table of functions, a program of the
-- script, a trace in text) is run each time, and a warning says so.  Ctrl-C,
-- SIGTERM and SIGHUP end a series as they do that of H.run, and a line says how
-- much of it is kept.  While it runs, heddle view --follow shows how far it is
-- (series.lua).
--
-- With jobs = "slurm" the jobs run in tasks of Slurm (slurm.lua), which leave
-- their results here.  Then jobs without a text are kept, too: by the script, the
-- modules beside it, its arguments, the call and the index.  What else such a job
-- depends on, a file that it reads, is not known here.
--
-- SPDX-License-Identifier: MIT
local build = require "heddle.build"
local core = require "heddle.core"
local process = require "heddle.process"
local report = require "heddle.report"
local runner = require "heddle.runner"
local script = require "heddle.script"
local logs = require "heddle.series"
local slurm = require "heddle.slurm"

local store = {}

--- The name of the file of a job; `id` is the fingerprint of its key, by which
-- store.run tells costs.
function store.name(id)
    return core.fingerprint(build.fingerprint() .. "\n" .. id) .. ".run"
end

--- The name of the file of a job's results.
local function name_of(key)
    return store.name(core.fingerprint(key))
end

--- Arguments that say where and how jobs run, not what they are.
local WHERE = { jobs = true, out = true, cache = true }

--- A key of a job that has no text, of a call on Slurm.
local function key_of_place(series, i)
    if not series.script then
        local parts = require("heddle.experiment").sources(slurm.script())
        local words = script.words()
        for _, k in ipairs(require("heddle.config").sorted_keys(words)) do
            if not WHERE[k] then
                parts[#parts + 1] = k .. "=" .. words[k]
            end
        end
        series.script = core.fingerprint(table.concat(parts, "\0"))
    end
    return ("script %s\ncall %d\njob %d"):format(series.script, series.call, i)
end

--- The key of a job, or nil and why it has none; series: of a call on Slurm, where
-- all have one, and what is wrong with a job is said when it runs.
local function key_of(job, series, i)
    if not series then
        return runner.key(job, true)
    end
    local ok, key = pcall(runner.key, job, true)
    return ok and key or key_of_place(series, i)
end

local function path_of(dir, key)
    return dir .. "/" .. name_of(key)
end

--- What a file of a store has: { key, build, result, cpu }, or nil.
local function kept_in(path)
    local f = io.open(path, "rb")
    if not f then
        return nil
    end
    local sum, text = f:read "l", f:read "a"
    f:close()
    if sum == nil or text == nil or sum ~= core.fingerprint(text) then
        return nil
    end
    local ok, kept = pcall(runner.deserialize, text)
    return ok and type(kept) == "table" and kept or nil
end

--- What is kept of a job, or nil.
local function load(path, key)
    local kept = kept_in(path)
    return kept and kept.key == key and kept or nil
end

--- The names of the files that a store has, in order; nil: there is no folder.
function store.names(dir)
    local all = process.list(dir)
    local out = all and {}
    for _, name in ipairs(all or {}) do
        out[#out + 1] = name:find "%.run$" and name or nil
    end
    table.sort(out or {})
    return out
end

--- The result in a file of a store, its job's key and the fingerprint of the build
-- that ran it ("": it has none); nil: it is damaged, or of no simulation
-- (store.keep).
function store.result(dir, name)
    local kept = kept_in(dir .. "/" .. name)
    if kept and type(kept.result) == "table"
        and kept.result.schema == report.SCHEMA then
        return kept.result, kept.key, kept.build or ""
    end
end

local function write(path, text)
    report.emit(core.fingerprint(text) .. "\n" .. text, path)
end

local function save(path, kept)
    write(path, runner.serialize(kept))
end

--- Runs one job in this process; { key, text }, with { key, build, result, cpu } as it
-- written in its file, which is the dearest part of a short job and is done once.
-- A job that is not kept: { result }.
local function perform(job, path, key)
    if type(job) == "function" then
        return { result = job() }
    end
    local options, before = {}, os.clock()
    for k, v in pairs(job) do
        options[k] = v
    end
    options.progress = options.progress ~= false and "series" -- not its own line
    local sim <close> = require("heddle.sim").sim(options)
    sim:run()
    local kept = { key = key, build = build.fingerprint(),
        result = report.collect(sim) }
    kept.cpu = os.clock() - before
    if not key then
        return kept
    end
    local text = runner.serialize(kept)
    write(path, text)
    return { key = key, text = text }
end

--- Performs job `at` of a series, which others may look on (series.lua).
local function watched(log, at, job, path, key)
    log:begins(at)
    local ok, kept = pcall(perform, job, path, key)
    log:ends(at, not ok and core.problem(kept).text or nil)
    if not ok then
        error(kept, 0)
    end
    return kept
end

-- ---- on Slurm -----------------------------------------------------------------

--- Where the error of a job, by the name of its result, is for this run of the
-- script.
local function error_of(series, name)
    return ("%s/%s.error"):format(series.folder, name)
end

local function save_error(series, name, result, known)
    save(error_of(series, name), { key = name,
        result = { ok = false, result = result, known = known } })
end

--- In a process of a task: runs a job and leaves what came of it.
local function leave(series, dir, job, name, key)
    local before = os.clock()
    local m = runner.perform(job, true)
    if not m.ok and m.result.code == -130 then
        return m
    end
    local ok, text = m.ok, nil
    if ok then
        ok, text = pcall(runner.serialize, { key = key, build = build.fingerprint(),
            result = m.result, cpu = os.clock() - before })
        m.result = not ok and runner.plain_error(text) or nil
    end
    if ok then
        write(dir .. "/" .. name, text)
    else
        save_error(series, name, m.result, m.known)
    end
    return { ok = true }
end

--- In a task, at its call: runs its jobs that are not kept yet, and ends.
local function work(series, jobs, dir)
    local list, failed = {}, false
    for _, at in ipairs(series.mine) do
        local job = jobs[at.index]
        local key = key_of(job, series, at.index)
        if not job or name_of(key) ~= at.name then
            save_error(series, at.name, { code = -2, message = "in its task the "
                .. "script has a different job in this place, or heddle is a "
                .. "different build; the jobs must follow from the arguments" })
        elseif not load(dir .. "/" .. at.name, key) then
            list[#list + 1] = { at = at, job = job, key = key }
        end
    end
    local stopped = runner.spread(#list, slurm.cpus(), function(k)
        return leave(series, dir, list[k].job, list[k].at.name, list[k].key)
    end, function(k, m)
        if not m.ok then
            failed = true
            io.stderr:write(("heddle: %s: %s\n"):format(runner.title(
                list[k].at.index, list[k].job), core.problem(m.result).text))
        end
    end)
    io.stdout:flush()
    os.exit((stopped or failed) and 75 or 0) -- EX_TEMPFAIL
end

--- How runner.series runs list[at] on Slurm: entries { key, name, title }.  Who
-- looks on hears of a job when it has ended.
local function elsewhere(series, dir, list, log, quiet)
    local function look(one)
        local kept = load(dir .. "/" .. one.name, one.key)
        if kept then
            return { ok = true, result = kept }
        end
        kept = load(error_of(series, one.name), one.name)
        return kept and kept.result
    end
    return function(order, ended, tick)
        return slurm.spread(series, dir, list, order, look, function(at, m)
            log:begins(at)
            log:ends(at, not m.ok and core.problem(m.result).text or nil)
            ended(at, m)
        end, tick, quiet)
    end
end

-- ---- a series -----------------------------------------------------------------

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

local OPTIONS = { jobs = true, dir = true, quiet = true, keep = true,
    before = true }

--- Says to people what happened to a series.
local function say(format, ...)
    io.stderr:write("heddle: ", format:format(...), "\n")
end

--- The jobs that are not kept, and why.
local function warn(loose, dir)
    if #loose > 0 then
        say("not kept in %s, but run each time: %s", dir,
            table.concat(loose, "; "))
    end
end

--- Of a series that was interrupted: how many of n results another call finds.
local function interrupted(err, n, found, dir)
    if core.problem(err).code == -130 then
        for _, kept in ipairs(script.partial_results or {}) do
            found = found + (kept and kept.key and 1 or 0)
        end
        say("%d of %d results are kept in %s; the next run continues from there",
            found, n, dir)
    end
    error(err, 0)
end

--- Results of the jobs, as H.run returns them; how many were run; and what each
-- different one that is kept has cost when it was run: CPU seconds by
-- fingerprint.  options: jobs (at once, or Slurm), keep (as of H.run), dir, quiet
-- (no line on the terminal and no warning), before (called where one has to be
-- run).
function store.run(jobs, options)
    local o = options or {}
    local dir, most = o.dir or "out/cache",
        runner.check("store.run", jobs, o, OPTIONS)
    process.mkdir(dir)
    script.store = dir
    local series = type(most) == "table" and slurm.begin(most, dir)
    if series and series.mine then
        work(series, jobs, dir)
    end
    local out, list, index, same, costs = {}, {}, {}, {}, {}
    local titles, files, of, loose, found, entries = {}, {}, {}, {}, 0, {}
    local log
    for i, job in ipairs(jobs) do
        local key, why = key_of(job, series, i)
        local path = key and path_of(dir, key)
        out[i] = path and load(path, key) or nil
        found = found + (out[i] and 1 or 0)
        if not key then
            loose[#loose + 1] = runner.title(i, job) .. ", " .. why
        end
        if not out[i] then
            local at = key and same[key]
            if not at then
                at = #list + 1
                list[at] = function() return watched(log, at, job, path, key) end
                titles[at], of[at] = runner.title(i, job), job
                files[at] = key and name_of(key) or ""
                entries[at] = series and { index = i, key = key,
                    name = files[at], title = titles[at] }
                if key then
                    same[key] = at
                end
            end
            index[i] = at
        end
    end
    if not o.quiet then
        warn(loose, dir)
    end
    if #list > 0 and o.before then
        o.before()
    end
    log = #list > 0 and logs.open(dir, titles, files, found) or nil
    local ok, got = pcall(runner.series, list, series and 1 or most,
        { progress = not o.quiet, titles = titles, keep = o.keep, of = of,
            elsewhere = series and elsewhere(series, dir, entries, log,
                o.quiet) })
    if log then
        log:close()
    end
    if not ok then
        interrupted(got, #jobs, found, dir)
    end
    for at, kept in ipairs(got) do
        got[at] = kept.text and runner.deserialize(kept.text) or kept
    end
    for i, at in pairs(index) do
        out[i] = got[at]
    end
    for i, kept in ipairs(out) do
        if kept.key then
            costs[core.fingerprint(kept.key)] = kept.cpu
        end
        if not kept.error then -- one that o.keep has
            out[i] = kept.result
        end
    end
    script.warn { told = require("heddle.warnings").series(out, script.series) }
    for _, result in ipairs(out) do
        script.got(result)
    end
    return out, #list, costs
end

return store
