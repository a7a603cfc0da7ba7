--- runner.lua - many simulations side by side, in processes.
--
--     local r = H.run({ { machine = "maxwell", apps = { H.app("ATAX") } },
--                       { machine = "mosaic",  apps = { H.app("ATAX") } } },
--                     { jobs = 2 })
--     r[1], r[2]      results, in the order of the list
--     H.run(jobs, { jobs = "slurm" })     as tasks of Slurm (slurm.lua)
--
-- A job is the options of H.sim, or a function that returns plain data.  Each
-- runs in a process of its own (jobs = 1: in this one), so results are those
-- of running one by one.  Jobs with equal options run once, and their results
-- are kept: an alone run that several tables need costs its time once.
--
-- Ctrl-C stops all simulations, and so do SIGTERM and SIGHUP; what is known then
-- (status "interrupted") is in script.partial_results, and an error that the
-- command turns into exit 130, 143 or 129 follows.  How the processes are held
-- together is lprocess.c.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local plain = require "heddle.plain"
local process = require "heddle.process"
local progress = require "heddle.progress"
local script = require "heddle.script"

local runner = { cache = {} }

local ARRAY = getmetatable(require("heddle.json").array {})

-- ---- plain data through a pipe ----------------------------------------------

--- Plain data as bytes, and back.
function runner.serialize(v)
    return plain.write(v, "job", { array = ARRAY })
end

function runner.deserialize(text)
    return plain.read(text, ARRAY)
end

-- ---- jobs ---------------------------------------------------------------------

--- A policy as text: a name, or a name with numbers and words beside; a table
-- of functions has none, and a file's name stands for its contents.
local function plain_of(p)
    if type(p) == "string" then
        p = { use = p }
    elseif type(p) ~= "table" or type(p.use) ~= "string" then
        return nil
    end
    local parts = {}
    for _, k in ipairs(require("heddle.config").sorted_keys(p)) do
        if type(p[k]) == "table" or type(p[k]) == "function" then
            return nil
        end
        parts[#parts + 1] = tostring(k) .. "=" .. tostring(p[k])
    end
    local f = (p.use:find "%.lua$" or p.use:find "%.so$")
        and io.open(core.path(p.use), "rb")
    if f then
        parts[#parts + 1] = f:read "a"
        f:close()
    end
    return table.concat(parts, " ")
end

--- A text that is equal for jobs that give equal results, or nil and why there
-- is none; with `lasting`, for all time and not only in this process.
local function key_of(job, lasting)
    if type(job) ~= "table" then
        return nil, "a function"
    end
    local parts = {}
    local config = require "heddle.config"
    for _, k in ipairs(config.sorted_keys(job)) do
        local v = job[k]
        if k == "apps" then
            for _, a in ipairs(v) do
                a = require("heddle.workload").from(a)
                local id = a.id
                if lasting then
                    id = a.lasting
                end
                if not id then
                    return nil, "whose " .. a.label .. (a.key:find "^trace:"
                        and " is a trace in text" or " is of the script")
                end
                parts[#parts + 1] = "app " .. id .. " " .. a.label
            end
        elseif k == "machine" or k == "settings" then
            local m = k == "machine"
                and require("heddle.machines").machine(v).settings
                or config.flatten(v)
            for _, name in ipairs(config.sorted_keys(m)) do
                parts[#parts + 1] = k .. " " .. name .. "="
                    .. tostring(m[name][1])
            end
        elseif k == "timeline" then
            return nil, "which writes a timeline"
        elseif type(v) == "table" and k ~= "policies" then
            return nil, ("whose %s is a table"):format(k)
        elseif type(v) == "table" then
            for _, p in ipairs(v) do
                local text = plain_of(p)
                if not text then
                    return nil, ("whose %s have functions"):format(k)
                end
                parts[#parts + 1] = k .. " " .. text
            end
        else
            parts[#parts + 1] = k .. "=" .. tostring(v)
        end
    end
    return table.concat(parts, "\n")
end

runner.key = key_of

--- An error value as plain data.
local function plain_error(err)
    local p = core.problem(err)
    return p.code and { code = p.code, name = p.name, message = p.message,
        where = p.where } or { message = p.text, usage = p.usage }
end

--- Runs a job here: returns how it went, { ok =, result = } or { result = an
-- error as plain data, known = }.
local function attempt(job, quiet)
    if type(job) == "function" then
        local outer = script.inside
        script.inside = true
        local ok, v = pcall(job)
        script.inside = outer
        return { ok = ok, result = ok and v or not ok and plain_error(v) or v }
    end
    local options = {}
    for k, v in pairs(job) do
        options[k] = v
    end
    if quiet then
        options.progress = false
    end
    local sim
    local ok, err = pcall(function()
        sim = require("heddle.sim").sim(options)
        sim:run()
    end)
    local known
    if sim then
        local got, r = pcall(require("heddle.results").collect, sim)
        known = got and r or nil
        pcall(sim.close, sim)
    end
    if ok then
        return { ok = true, result = known }
    end
    return { ok = false, result = plain_error(err), known = known }
end

--- Runs a job here, and lists its warnings in `told`, however it ends.
local function perform(job, quiet)
    local m, found = script.with_warnings(attempt, job, quiet)
    m.told = found
    return m
end

runner.perform, runner.plain_error = perform, plain_error

--- Makes an error value of what a child sent.
local function raise(of)
    if of.code then
        local err = core.error(of.code, of.message)
        if type(err) == "table" then -- and no text: want of memory
            err.where = of.where or ""
        end
        error(err, 0)
    elseif of.usage then
        error(of, 0)
    end
    error(of.message, 0)
end

-- ---- processes ------------------------------------------------------------------

local CREDIT = 64 * 1024 -- KB that a child makes at least before it collects

--- What fn(i) returns, as text.
local function packed(fn, i)
    local ok, text = pcall(function()
        local value = runner.serialize(fn(i))
        process.flush()
        return value
    end)
    return ok and text
        or runner.serialize { ok = false, result = plain_error(text) }
end

--- In a child, which may be one of several at once: what fn(i) returns, as text.
local function answer(fn, i, several)
    script.options.checkpoint, script.options.timeline = nil, nil
    script.options.results = nil
    script.inside, progress.within = true, nil
    progress.several = progress.several or several
    -- Collecting touches all that is inherited, and what a child touches is
    -- copied, so it does not begin before it has made as much itself.
    collectgarbage("step", -math.max(CREDIT, math.ceil(collectgarbage "count")))
    return packed(fn, i)
end

--- Makes what several jobs begin with here, once, and not in the process of
-- each: returns a function of the place in `order` that does so.
local function ahead(jobs, order)
    local uses, of = {}, {}
    for at, i in ipairs(order) do
        of[at] = {}
        local apps = type(jobs[i]) == "table" and jobs[i].apps
        for k, a in ipairs(type(apps) == "table" and apps or {}) do
            local ok, d = pcall(require("heddle.workload").from, a)
            if ok and d.ahead then
                of[at][k] = d
                uses[d.key] = (uses[d.key] or 0) + 1
            end
        end
    end
    return function(at)
        for _, d in pairs(of[at]) do
            if uses[d.key] > 1 then
                uses[d.key] = 0
                pcall(d.ahead) -- what is wrong with it is said when it runs
            end
        end
    end
end

--- Calls fn(i) for i = 1 .. n in processes, at most `most` at once, and
-- ended(i, how it went) here as each ends; fn returns what ended gets, { ok =,
-- result = }.  Calls tick() now and then, and before(i) here before a process
-- begins.  Returns whether it was interrupted: then all were asked to stop, and
-- what they said of it was handed on.
function runner.spread(n, most, fn, ended, tick, before)
    local stopped, at = false, 1
    process.children(function(group)
        while true do
            while at <= n and not stopped and group:count() < most do
                if before then
                    before(at)
                end
                if not group:start(at, function()
                    return answer(fn, at, most > 1)
                end) then
                    break
                end
                at = at + 1
            end
            if group:count() == 0 then
                break
            end
            local word, i, text, how = group:wait(0.5)
            if word == "interrupted" then
                stopped = true
                group:stop()
            elseif word == "ended" then
                local ok, m = pcall(runner.deserialize, text)
                ended(i, ok and type(m) == "table" and m or { ok = false,
                    result = { code = -6, message = how
                        or "its process ended without a result" } })
            end
            if tick then
                tick()
            end
        end
    end)
    return stopped
end

--- Says how many are done, and when all will be.
local function show(done, total, spent, more)
    local eta = done > 0 and progress.clock(spent / done * (total - done))
        or "?"
    progress.series(("%s%d of %d simulation%s, %s, ETA %s%s"):format(
        progress.before and progress.before() or "", done, total,
        total == 1 and "" or "s", progress.clock(spent), eta, more or ""))
end

--- What has to be run: its indices in order, and for each of them those of
-- all jobs with its key; `out` gets what was run before.
local function plan(jobs, out)
    local order, same, first = {}, {}, {}
    for i, job in ipairs(jobs) do
        -- What is wrong with a job is said when it runs.
        local ok, k = pcall(key_of, job)
        k = ok and k or i
        out[i] = runner.cache[k] or false
        if first[k] then
            table.insert(same[first[k]], i)
        elseif not out[i] then
            order[#order + 1] = i
            same[i], first[k] = { i, key = k ~= i and k or nil }, i
        end
    end
    return order, same
end

--- What a job is called in messages.
function runner.title(i, job)
    local label = type(job) == "table" and job.label
    label = (type(label) == "string" or type(label) == "number") and label
    return ("job %d%s"):format(i, label and (" (%s)"):format(label) or "")
end

--- What job i is called where the list may be part of another.
local function title_of(i, jobs, o)
    return o.titles and o.titles[i] or runner.title(i, jobs[i])
end

--- Runs jobs[i] for i in `order` one after the other in this process.
local function in_turn(jobs, order, o, ended, tick)
    local quiet, outer = o.progress == false, progress.within
    for _, i in ipairs(order) do
        progress.within = not quiet and not progress.several and function(text)
            tick(("; %s: %s"):format(title_of(i, jobs, o), text))
        end or nil
        local m = perform(jobs[i], quiet)
        progress.within = outer
        if m.ok and type(jobs[i]) == "function" then -- as through a pipe
            m = runner.deserialize(packed(function() return m end))
        end
        ended(i, m)
        if not m.ok and m.result.code == -130 then
            return true
        elseif #order > 1 then
            tick()
        end
    end
    return false
end

--- What all callers of a series have to mind; returns how many run at once, or
-- the options of Slurm that run them.
function runner.check(who, jobs, options, known)
    for i, job in ipairs(type(jobs) == "table" and jobs or { jobs }) do
        if type(jobs) ~= "table" or type(job) ~= "table"
            and type(job) ~= "function" then
            error(core.error(-2, ("%s: job %d is a %s; a list of options of "
                .. "H.sim or of functions is expected"):format(who, i,
                type(job))), 0)
        end
    end
    for _, k in ipairs(core.keys(options)) do
        if not known[k] then
            error(core.error(-2, ("%s has no option '%s'; it takes %s"):format(
                who, k, table.concat(core.keys(known), ", "))), 0)
        end
    end
    local n = options.jobs or process.cpus()
    local o = type(n) ~= "number" and require("heddle.slurm").options(who, n)
    if o then
        return script.inside and 1 or o -- a job of a series has its own place
    elseif type(n) ~= "number" or n < 1 then
        error(core.error(-2, ("%s: jobs: a number of at least 1 or 'slurm' is "
            .. "expected, not '%s'"):format(who, tostring(n))), 0)
    end
    return n
end

--- Finds what jobs[i] touch, for i in `order`, where their memory is a share of
-- it, once and not in the process of each.
local function shares_ahead(jobs, order, n)
    local list = {}
    for _, i in ipairs(order) do
        list[#list + 1] = type(jobs[i]) == "table" and jobs[i].memory ~= nil
            and jobs[i] or nil
    end
    if #list > 0 then
        require("heddle.touched").ahead(list, n)
    end
end

--- Runs jobs, at most n at once: H.run without its checks.  o: keep, progress,
-- titles[i], what a job is called where the list is part of another, of[i], the
-- options for which a function stands, and elsewhere(order, ended, tick), which
-- runs jobs[i] for i in `order` not here.
function runner.series(jobs, n, o)
    script.begins()
    local out, errors, found = {}, {}, {}
    local order, same = plan(jobs, out)
    local done, start = 0, process.time()
    local function tick(more)
        if o.progress ~= false then
            show(done, #order, process.time() - start, more)
        end
    end
    local function ended(i, m)
        done, found[i] = done + 1, m.told
        for _, twin in ipairs(same[i]) do
            out[twin] = m.ok and m.result or m.known or false
            errors[twin] = not m.ok and m or nil
        end
        if m.ok and same[i].key then
            runner.cache[same[i].key] = m.result
        end
    end
    -- Known from the first on: an interrupt may come anywhere.
    script.partial_results = out
    if not o.elsewhere then
        shares_ahead(o.of or jobs, order, n)
    end
    local stopped
    if o.elsewhere and #order > 0 then
        stopped = o.elsewhere(order, ended, tick)
    elseif n <= 1 or #order <= 1 then
        stopped = in_turn(jobs, order, o, ended, tick)
    else
        stopped = runner.spread(#order, n, function(at)
            return perform(jobs[order[at]], true)
        end, function(at, m) ended(order[at], m) end, tick,
            ahead(o.of or jobs, order))
    end
    if o.progress ~= false and process.isatty(2) and #order > 1 then
        io.stderr:write("\r\27[K")
    end
    for i in ipairs(jobs) do -- in one order, whichever ended first
        script.warn { told = found[i] }
    end
    if stopped then
        error(core.error(-130, "interrupted"), 0)
    end
    script.partial_results = nil
    for i in ipairs(jobs) do
        local m = errors[i]
        if m and o.keep then
            out[i] = { error = m.result.message, known = m.known,
                told = m.told }
        elseif m then
            if m.result.code and (o.titles or #jobs > 1) then
                m.result.message = ("%s: %s"):format(title_of(i, jobs, o),
                    m.result.message)
            end
            raise(m.result)
        end
    end
    return out
end

local OPTIONS = { jobs = true, keep = true, progress = true, dir = true }
runner.options = { "dir", "jobs", "keep", "progress" }

--- H.run(jobs [, { jobs = n, progress = false, keep = true }]): the results of
-- all jobs, in order.  The first error of a job is raised when all have
-- ended, unless keep = true: then result i is { error = ... }.  jobs = "slurm"
-- runs them there and keeps their results in the store `dir`.
function runner.run(jobs, options)
    options = options or {}
    local n = runner.check("H.run", jobs, options, OPTIONS)
    local out
    if type(n) == "number" then
        out = runner.series(jobs, n, options)
    else
        out = require("heddle.store").run(jobs, { jobs = options.jobs,
            keep = options.keep, dir = options.dir, quiet = options.progress
            == false })
    end
    for i in ipairs(jobs) do
        out[i] = out[i] or false -- as from a process
    end
    require("heddle.warnings").series(out, script.series)
    for i in ipairs(jobs) do
        script.warn(out[i])
        script.got(out[i])
    end
    return out
end

return runner
