--- runner.lua - many simulations side by side, in processes.
--
--     local r = H.run({ { machine = "maxwell", apps = { H.app("ATAX") } },
--                       { machine = "mosaic",  apps = { H.app("ATAX") } } },
--                     { jobs = 2 })
--     r[1], r[2]      results, in the order of the list
--
-- A job is the options of H.sim, or a function that returns plain data.  Each
-- runs in a process of its own (jobs = 1: in this one), so results are those
-- of running one by one.  Jobs with equal options run once, and their results
-- are kept: an alone run that several tables need costs its time once.
--
-- Ctrl-C stops all simulations; the list then holds what is known (status
-- "interrupted"), and an error that the command turns into exit 130 follows.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local process = require "heddle.process"
local progress = require "heddle.progress"
local script = require "heddle.script"

local runner = { cache = {} }

-- ---- plain data through a pipe ----------------------------------------------

local function pack(out, v)
    local t = math.type(v) or type(v)
    if t == "nil" then
        out[#out + 1] = "n"
    elseif t == "boolean" then
        out[#out + 1] = v and "t" or "f"
    elseif t == "integer" then
        out[#out + 1] = ("<c1i8"):pack("i", v)
    elseif t == "float" then
        out[#out + 1] = ("<c1d"):pack("d", v)
    elseif t == "string" then
        out[#out + 1] = ("<c1s8"):pack("s", v)
    elseif t == "table" then
        out[#out + 1] = getmetatable(v) and "a" or "{"
        for k, x in pairs(v) do
            pack(out, k)
            pack(out, x)
        end
        out[#out + 1] = "n"
    else
        error("a job returned a " .. t .. ", expected plain data", 0)
    end
end

local function unpack_at(text, at)
    local t = text:sub(at, at)
    at = at + 1
    if t == "n" then
        return nil, at
    elseif t == "t" or t == "f" then
        return t == "t", at
    elseif t == "i" then
        return ("<i8"):unpack(text, at)
    elseif t == "d" then
        return ("<d"):unpack(text, at)
    elseif t == "s" then
        return ("<s8"):unpack(text, at)
    elseif t == "{" or t == "a" then
        local out = {}
        while true do
            local k, v
            k, at = unpack_at(text, at)
            if k == nil then
                if t == "a" then
                    require("heddle.json").array(out)
                end
                return out, at
            end
            v, at = unpack_at(text, at)
            out[k] = v
        end
    end
    error("a job's result is cut short", 0)
end

--- Plain data as bytes, and back.
function runner.serialize(v)
    local out = {}
    pack(out, v)
    return table.concat(out)
end

function runner.deserialize(text)
    return (unpack_at(text, 1))
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
        and io.open(p.use, "rb")
    if f then
        parts[#parts + 1] = f:read "a"
        f:close()
    end
    return table.concat(parts, " ")
end

--- A text that is equal for jobs that give equal results, or nil; with
-- `lasting`, for all time and not only in this process.
local function key_of(job, lasting)
    if type(job) ~= "table" then
        return nil
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
                    return nil
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
        elseif type(v) == "table" then
            for _, p in ipairs(v) do
                local text = plain_of(p)
                if not text then
                    return nil
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

--- Runs a job here: returns true and its result, or false, an error value as
-- plain data, and what is known.
local function perform(job, quiet)
    if type(job) == "function" then
        local ok, v = pcall(job)
        if ok then
            return true, v
        end
        return false, type(v) == "table" and
            { code = v.code, name = v.name, message = v.message,
                where = v.where, usage = v.usage }
            or { message = tostring(v) }
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
        local got, r = pcall(sim.results, sim)
        known = got and r or nil
        pcall(sim.close, sim)
    end
    if ok then
        return true, known
    end
    local plain = type(err) == "table" and
        { code = err.code, name = err.name, message = err.message,
            where = err.where } or { message = tostring(err) }
    return false, plain, known
end

--- Makes an error value of what a child sent.
local function raise(plain)
    if plain.code then
        local err = core.error(plain.code, plain.message)
        err.where = plain.where or ""
        error(err, 0)
    elseif plain.usage then
        error(plain, 0)
    end
    error(plain.message, 0)
end

-- ---- processes ------------------------------------------------------------------

--- Starts a child for a job.
local function start(job, index)
    local pid, fd = process.fork()
    if pid == 0 then
        -- The child: never returns.
        local ok, result, known = perform(job, true)
        local sent, bytes = pcall(runner.serialize,
            { ok = ok, result = result, known = known })
        if not sent then
            bytes = runner.serialize {
                ok = false, result = { message = tostring(bytes) },
            }
        end
        pcall(process.write, fd, bytes)
        process.exit(0)
    end
    return { pid = pid, fd = fd, index = index, parts = {} }
end

--- A line on a terminal: how many are done, and when all will be.
local function show(state)
    if not state.tty then
        return
    end
    local spent = process.time() - state.start
    local eta = state.done > 0
        and progress.clock(spent / state.done * (state.total - state.done))
        or "?"
    io.stderr:write(("\r\27[K%s%d of %d simulations, %s, ETA %s"):format(
        progress.before and progress.before() or "", state.done, state.total,
        progress.clock(spent), eta))
end

local function finish(child, out)
    process.close(child.fd)
    local status = process.wait(child.pid)
    local ok, message = pcall(runner.deserialize, table.concat(child.parts))
    if not ok or type(message) ~= "table" then
        message = {
            ok = false,
            result = {
                code = -6,
                message = ("a simulation's process ended early (status %d)")
                    :format(status),
            },
        }
    end
    out[child.index] = message
end

local function interrupted()
    return core.interrupted and core.interrupted()
end

--- Runs jobs[i] for i in `order` in at most n processes at a time.
local function in_processes(jobs, order, n, state)
    local out, live, next_job = {}, {}, 1
    local guard <close> = setmetatable({}, { __close = function()
        for _, child in pairs(live) do
            pcall(process.kill, child.pid)
            process.close(child.fd)
            pcall(process.wait, child.pid)
        end
    end })
    local told = false
    while next(live) or next_job <= #order and not told do
        while #order >= next_job and not told do
            local count = 0
            for _ in pairs(live) do
                count = count + 1
            end
            if count >= n then
                break
            end
            local child = start(jobs[order[next_job]], order[next_job])
            live[child.fd] = child
            next_job = next_job + 1
        end
        local fds = {}
        for fd in pairs(live) do
            fds[#fds + 1] = fd
        end
        table.sort(fds)
        local ok, ready = pcall(process.poll, fds, 0.5)
        for _, fd in ipairs(ok and ready or {}) do
            local child = live[fd]
            local text = process.read(fd)
            if text then
                child.parts[#child.parts + 1] = text
            else
                live[fd] = nil
                finish(child, out)
                state.done = state.done + 1
            end
        end
        if (not ok or interrupted()) and not told then
            told = true
            for _, child in pairs(live) do
                process.kill(child.pid)
            end
        end
        show(state)
    end
    return out, told, guard
end

--- What has to be run: its indices in order, the key of each job (false: it
-- has none), and the first index of each key.
local function plan(jobs)
    local keys, order, first = {}, {}, {}
    for i, job in ipairs(jobs) do
        -- What is wrong with a job is said when it runs.
        local ok, k = pcall(key_of, job)
        k = ok and k
        keys[i] = k or false
        if not (k and (runner.cache[k] or first[k])) then
            order[#order + 1] = i
            if k then
                first[k] = i
            end
        end
    end
    return order, keys, first
end

--- Runs jobs[i] for i in `order` one after the other in this process.
local function in_turn(jobs, order, quiet, state)
    local got = {}
    for _, i in ipairs(order) do
        local ok, result, known = perform(jobs[i], quiet)
        got[i] = { ok = ok, result = result, known = known }
        state.done = state.done + 1
        if not ok and type(result) == "table" and result.code == -130 then
            return got, true
        elseif #order > 1 then
            show(state)
        end
    end
    return got, false
end

--- An error that says which of several simulations has failed.
local function named(err, i, jobs)
    if #jobs > 1 and type(jobs[i]) == "table" and err.code then
        local label = jobs[i].label
        err.message = ("job %d%s: %s"):format(i, label and " (" ..
            tostring(label) .. ")" or "", err.message)
    end
    return err
end

local function check_jobs(jobs)
    for i, job in ipairs(type(jobs) == "table" and jobs or { jobs }) do
        if type(jobs) ~= "table" or type(job) ~= "table"
            and type(job) ~= "function" then
            error(core.error(-2, ("H.run: job %d is a %s; a list of options of "
                .. "H.sim or of functions is expected"):format(i, type(job))),
                0)
        end
    end
end

local OPTIONS = { jobs = true, keep = true, progress = true }

--- H.run(jobs [, { jobs = n, progress = false, keep = true }]): the results of
-- all jobs, in order.  The first error of a job is raised when all have
-- ended, unless keep = true: then result i is { error = ... }.
function runner.run(jobs, options)
    options = options or {}
    for k in pairs(options) do
        if not OPTIONS[k] then
            error(core.error(-2, ("H.run has no option '%s'; it takes jobs, "
                .. "keep, progress"):format(tostring(k))), 0)
        end
    end
    local n = options.jobs or process.cpus()
    if type(n) ~= "number" or n < 1 then
        error(core.error(-2, ("H.run: jobs: a number of at least 1 is expected"
            .. ", not '%s'"):format(tostring(n))), 0)
    end
    check_jobs(jobs)
    local order, keys, first = plan(jobs)
    local state = {
        start = process.time(), done = 0, total = #order,
        tty = options.progress ~= false and process.isatty(2),
    }
    local got, stopped
    if n <= 1 or #order <= 1 then
        got, stopped = in_turn(jobs, order, options.progress == false, state)
    else
        got, stopped = in_processes(jobs, order, n, state)
    end
    if state.tty and #order > 1 then
        io.stderr:write("\r\27[K")
    end
    local out, failed = {}, nil
    for i in ipairs(jobs) do
        local k = keys[i]
        local m = got[i] or k and first[k] and got[first[k]]
        if k and runner.cache[k] then
            out[i] = runner.cache[k]
        elseif m and m.ok then
            out[i] = m.result
            if k then
                runner.cache[k] = m.result
            end
        elseif m then
            out[i] = m.known or false
            if options.keep and not stopped then
                out[i] = { error = m.result.message, known = m.known }
            elseif not failed then
                failed = named(m.result, i, jobs)
            end
        end
    end
    if stopped then
        script.partial_results = out
        error(core.error(-130, "interrupted"), 0)
    elseif failed then
        raise(failed)
    end
    return out
end

return runner
