--- slurm.lua - a series of jobs as tasks of Slurm instead of processes.
--
--     H.run(jobs, { jobs = "slurm" })
--     H.run(jobs, { jobs = "slurm:partition=main,time=30,per_task=10" })
--     H.run(jobs, { jobs = { "slurm", time = 30, sbatch = "--account=a" } })
--
-- The script runs on where it was called and waits; the jobs run in array tasks
-- (sbatch --array).  A task runs the very same script with the same arguments.
-- In it, calls before the one that has submitted it find their results in the
-- store; in that call it runs only its own jobs, each in a process of its own,
-- leaves what comes of them and ends.  So a job may be a function or a policy of
-- functions: nothing of it has to be text.  A job that has a text is kept in the
-- store by it, others by script, arguments, call and index (store.lua).
--
-- The store alone says what is done.  Slurm is asked (squeue, rarely: every
-- second at first, every 30 in the end) only for what will not come any more: a
-- task that failed, that was lost with its node, or that Slurm forgot.  Its jobs
-- are submitted again, each alone, at most three times; so two copies of one may
-- run at a time, which write equal results, atomically.  Slurm's own requeueing is
-- off (--no-requeue): it would hold tasks back for two minutes.  A job that raises
-- an error is no failure of its task, and is not run again.  Tasks that
-- are cancelled are not submitted again.
--
-- What a run hands to its tasks is in STORE/slurm/RUN: for the a-th array of
-- the n-th call n-a.plan (which jobs are whose), n-a.sh, the output of task t,
-- n-a-t.out, and the errors of jobs.  It goes when the call ends well, errors when
-- the script does.  Every file system involved (the script's, the store's) has to
-- be one that the nodes share, in the same place.
--
-- Ctrl-C cancels the tasks: nothing of heddle's continues by itself.  Where the
-- script dies instead, or is ended by SIGTERM or SIGHUP (its own time limit, a lost
-- connection), they continue and leave their results; what still waits when the same
-- command is given again finds those and ends at once.
--
-- Left out: Slurm's accounting (sacct), which needs a database; claims on jobs,
-- which would have to be taken back from the dead; other schedulers.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local process = require "heddle.process"
local report = require "heddle.report"
local script = require "heddle.script"

local slurm = {}

--- Times that a job is submitted again.
local AGAIN = 3
--- Seconds that results of a task that ended well may take to be seen here, as
-- long as NFS believes an old folder.
local LATE = 60
--- Tasks of a call at most, unless per_task says otherwise.
local TASKS = 1000

local VARIABLE = "HEDDLE_SLURM"

local function fail(code, format, ...)
    error(core.error(code, format:format(...)), 0)
end

--- A text as one word of the shell.
local function quote(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- ---- options --------------------------------------------------------------------

local function whole(v)
    local n = math.tointeger(tonumber(v))
    return n and n >= 1 and n or nil
end

local function word(v)
    return type(v) == "string" and v:find "^[%w_.,:/@+-]+$" and v or nil
end

--- Each option: what its value is, as a function and in words, and sbatch's.
local OPTIONS = {
    partition = { word, "a name", "--partition=%s" },
    time = { whole, "whole minutes, at least 1", "--time=%d" },
    memory = { function(v)
        v = tostring(v)
        return v:find "^[1-9]%d*[KMGT]?$" and v or nil
    end, "megabytes, or a number with K, M, G or T", "--mem=%s" },
    cpus = { whole, "a whole number, at least 1", "--cpus-per-task=%d" },
    per_task = { whole, "a whole number, at least 1" },
    tasks = { whole, "a whole number, at least 1" },
    sbatch = { function(v)
        return type(v) == "string" and not v:find "%c" and v or nil
    end, "more options of sbatch, a text" },
}

--- The options that a value of `jobs` has: nil where it is not about Slurm.
function slurm.options(who, value)
    local given = {}
    if type(value) == "table" and value[1] == "slurm" then
        for k, v in pairs(value) do
            given[k] = v
        end
        given[1] = nil
    elseif type(value) == "string" and value:find "^slurm:" then
        for part in value:sub(7):gmatch "[^,]+" do
            local k, v = part:match "^([%w_]+)=(.+)$"
            if not k then
                fail(-2, "%s: jobs: %s: name=value is expected after slurm:, "
                    .. "not '%s'", who, value, part)
            end
            given[k] = v
        end
    elseif value ~= "slurm" then
        return nil
    end
    local known = require("heddle.config").sorted_keys(OPTIONS)
    local out = {}
    for _, k in ipairs(core.keys(given)) do
        local o = OPTIONS[k]
        if not o then
            fail(-2, "%s: jobs: slurm has no option '%s'%s; it takes %s", who,
                tostring(k), require("heddle.index").meant(tostring(k), known),
                table.concat(known, ", "))
        end
        out[k] = o[1](given[k])
        if not out[k] then
            fail(-2, "%s: jobs: slurm: %s: %s expected, not '%s'", who, k, o[2],
                tostring(given[k]))
        end
    end
    return out
end

-- ---- the calls of a script --------------------------------------------------------

--- The file of the script, in the command or in plain Lua; nil: it has none.
local function file_of()
    local file = script.file or not core.interrupted and _G.arg and _G.arg[0]
    return file ~= "-" and file or nil
end

slurm.script = file_of

--- Of a task: { run, call, jobs = { { index, name } ... } }; false elsewhere.
local task

--- Lines of a plan: a heading, then task, index of the job and name of its result.
local function read_plan(path)
    local own = os.getenv "SLURM_ARRAY_TASK_ID"
    local f <close> = io.open(path, "r")
    if not f or not own then
        fail(-5, "%s: %s: the plan of a task of Slurm cannot be read", VARIABLE,
            path)
    end
    local call, file = (f:read "l" or ""):match "^heddle call (%d+) of (.*)$"
    if file ~= file_of() then
        return false -- a script that a job of a task has started
    end
    local out = { call = tonumber(call), jobs = {},
        run = path:match "([^/]*)/[^/]*$" }
    for line in f:lines() do
        local t, i, name = line:match "^(%d+) (%d+) (%S+)$"
        if t == own then
            out.jobs[#out.jobs + 1] = { index = tonumber(i), name = name }
        end
    end
    return out
end

--- A name of this run that no other has.
local function name_of_run()
    local f <close> = assert(io.open "/proc/self/stat")
    local h <close> = io.open "/proc/sys/kernel/hostname"
    return ("%s-%d-%d"):format((h and h:read "l" or "host"):gsub("[^%w.-]", "_"),
        f:read "n", os.time())
end

--- The next call on Slurm, of a store in `dir`: { call, folder, o (options) };
-- in a task it has `task`, and if the call is its own `mine`, its jobs.
function slurm.begin(o, dir)
    if not file_of() then
        fail(-2, "jobs = slurm: its tasks run the script's file, and this one "
            .. "has none")
    end
    if task == nil then
        local path = os.getenv(VARIABLE)
        task = path and path ~= "" and read_plan(path) or false
    end
    script.calls = script.calls + 1
    script.run = script.run or task and task.run or name_of_run()
    return { call = script.calls, o = o, task = task and true,
        folder = ("%s/slurm/%s"):format(dir, script.run),
        mine = task and task.call == script.calls and task.jobs or nil }
end

--- How many jobs a task runs at once.
function slurm.cpus()
    return whole(os.getenv "SLURM_CPUS_PER_TASK") or 1
end

-- ---- Slurm's commands ---------------------------------------------------------------

--- What a command line prints, errors too, and whether it ended well.
local function shell(line)
    local f = assert(io.popen("{ " .. line .. "\n} 2>&1 </dev/null"))
    local text = f:read "a"
    local ok = f:close()
    return text, ok
end

--- Slurm's words in one line, without the names of its commands.
local function said(text)
    return (("\n" .. text):gsub("%s+$", ""):gsub("\n%l+: error: ", "\n")
        :gsub("^%s+", ""):gsub("%s*\n%s*", "; "))
end

--- The command that a task runs, as words of the shell.
local function command()
    local exe = said(shell "readlink \"/proc/$PPID/exe\"")
    local words = { (exe:gsub(" %(deleted%)$", "")) }
    if script.file then
        table.move({ "run", script.options.check and "--check" or nil }, 1, 2, 2,
            words)
        words[#words + 1] = "--"
        words[#words + 1] = script.file
        local given = script.words()
        for _, k in ipairs(require("heddle.config").sorted_keys(given)) do
            words[#words + 1] = k .. "=" .. given[k]
        end
    else -- of lua5.4
        local f <close> = assert(io.open("/proc/self/cmdline", "rb"))
        for w in f:read "a":gmatch "(%Z*)%z" do
            words[#words + 1] = w
        end
        table.remove(words, 2)
    end
    for i, w in ipairs(words) do
        words[i] = quote(w)
    end
    return table.concat(words, " ")
end

--- The most tasks of an array.
local function most_of_array()
    local n = shell "scontrol show config":match "MaxArraySize%s*=%s*(%d+)"
    return math.max(1, (tonumber(n) or 1001) - 1)
end

--- A squeue of all tasks of this run, printed with its status at the end.
local function query(run)
    return ("squeue --noheader --array --states=all --user=$(id -u) --name=%s "
        .. "-O 'JobArrayID:|,State:|,exit_code:|,Reason:|'; echo \"status $?\"")
        :format(run)
end

--- What a squeue has printed: task -> { state, code, reason }; or nil and why.
local function rows_of(text)
    local words, status = text:match "^(.-)status (%d+)%s*$"
    if status ~= "0" then
        return nil, said(words or text)
    end
    local out = {}
    for line in words:gmatch "[^\n]+" do
        local id, state, code, reason =
            line:match "^(%d+_%d+)|([%u_]+)|(%d+)|(.-)|"
        if id then
            out[id] = { state = state, code = tonumber(code), reason = reason }
        end
    end
    return out
end

--- States in which a task has ended.
local ENDED = { COMPLETED = true, FAILED = true, CANCELLED = true,
    TIMEOUT = true, NODE_FAIL = true, PREEMPTED = true, BOOT_FAIL = true,
    DEADLINE = true, OUT_OF_MEMORY = true }

--- What Slurm says of a task, in its words; code is that of wait(2).
local function words_of(row)
    local out = row.state
    if row.code and row.code & 127 ~= 0 then
        out = ("%s, signal %d"):format(out, row.code & 127)
    elseif row.code and row.code > 0 then
        out = ("%s, exit status %d"):format(out, row.code >> 8)
    end
    local reason = row.reason
    if reason and reason ~= "None" and reason ~= "NonZeroExitCode" then
        out = ("%s (%s)"):format(out, reason)
    end
    return out
end

--- The last words of a file: three lines at most.
local function tail(path)
    local f <close> = io.open(path, "rb")
    if not f then
        return nil
    end
    f:seek("set", math.max(0, f:seek "end" - 400))
    local lines = {}
    for line in f:read "a":gmatch "[^\n]*%S[^\n]*" do
        lines[#lines + 1] = line
    end
    return #lines > 0 and table.concat(lines, "; ", math.max(1, #lines - 2))
        or nil
end

-- ---- a series -----------------------------------------------------------------------

local Series = {}
Series.__index = Series

function Series:say(format, ...)
    if not self.quiet then
        io.stderr:write(self.tty and "\r\27[K" or "", "heddle: ",
            format:format(...), "\n")
    end
end

--- Submits jobs (places in self.list), per_task in a task, as one array; returns
-- what sbatch says where it does not do so.
function Series:array(places, per_task)
    self.arrays = self.arrays + 1
    local stem = ("%s/%d-%d"):format(self.folder, self.call, self.arrays)
    local lines, tasks = { ("heddle call %d of %s"):format(self.call,
        file_of()) }, {}
    for k, at in ipairs(places) do
        local t = (k - 1) // per_task + 1
        lines[k + 1] = ("%d %d %s"):format(t, self.list[at].index,
            self.list[at].name)
        tasks[t] = tasks[t] or { places = {},
            output = ("%s-%d.out"):format(stem, t) }
        table.insert(tasks[t].places, at)
    end
    report.emit(table.concat(lines, "\n") .. "\n", stem .. ".plan")
    report.emit(("#!/bin/sh\n%s=%s\nexport %s\nexec %s\n"):format(VARIABLE,
        quote(stem .. ".plan"), VARIABLE, command()), stem .. ".sh")
    local o = self.o
    local words = { "sbatch --parsable --no-requeue --ntasks=1",
        "--job-name=" .. self.name,
        ("--array=1-%d%s"):format(#tasks, o.tasks and "%" .. o.tasks or ""),
        "--output=" .. quote((stem:gsub("%%", "%%%%")) .. "-%a.out") }
    for _, k in ipairs { "partition", "time", "memory", "cpus" } do
        words[#words + 1] = o[k] and quote(OPTIONS[k][3]:format(o[k]))
    end
    for w in (o.sbatch or ""):gmatch "%S+" do
        words[#words + 1] = quote(w)
    end
    words[#words + 1] = quote(stem .. ".sh")
    local text, ok = shell(table.concat(words, " "))
    local id = ok and (("\n" .. text):match "\n(%d+)%s*$"
        or ("\n" .. text):match "\n(%d+);[^\n]*%s*$")
    self.stems[#self.stems + 1] = { stem, #tasks }
    if not id then
        return said(text)
    end
    for t, one in ipairs(tasks) do
        one.id = ("%s_%d"):format(id, t)
        self.tasks[one.id] = one
    end
    self.ids[#self.ids + 1] = id
    self.changed = process.time()
    return nil
end

--- Submits jobs as so many arrays as Slurm's longest wants; returns those that
-- could not be, and why.
function Series:submit(places, per_task)
    local step = per_task * self.most
    for from = 1, #places, step do
        local part = table.move(places, from, math.min(from + step - 1, #places),
            1, {})
        local why = self:array(part, per_task)
        if why then
            return table.move(places, from, #places, 1, {}), why
        end
    end
    return {}
end

--- Hands on what has come: results in the store, errors of jobs in the run's
-- folder.
function Series:collect()
    local there = {}
    for _, dir in ipairs { self.dir, self.folder } do
        for _, name in ipairs(process.list(dir) or {}) do
            there[name] = true
        end
    end
    for at in pairs(self.missing) do
        local name = self.list[at].name
        local m = (there[name] or there[name .. ".error"])
            and self.look(self.list[at])
        if m then
            self.missing[at] = nil
            self.done[#self.done + 1] = at
            self.changed = process.time()
            self.ended(at, m)
        end
    end
    for id, one in pairs(self.tasks) do
        local open = false
        for _, at in ipairs(one.places) do
            open = open or self.missing[at]
        end
        if not open then
            self.tasks[id] = nil
        end
    end
end

--- A list of jobs in words.
function Series:titles(places)
    local more = #places > 3 and (" and %d more"):format(#places - 2) or ""
    local out = {}
    for k = 1, more ~= "" and 2 or #places do
        out[k] = self.list[places[k]].title
    end
    return table.concat(out, ", ") .. more
end

--- One task will bring nothing more: its jobs are submitted again, or given up.
function Series:failed(one, row, gone, again)
    local words = words_of(row)
    if row.state == "COMPLETED" then
        words = ("%s, but its results are not in %s, which the nodes have to "
            .. "share"):format(words, self.dir)
    end
    local last = tail(one.output)
    local why = ("Slurm says of task %s: %s%s"):format(one.id, words, last
        and ("; %s ends: %s"):format(one.output, last)
        or ("; it has written nothing to %s"):format(one.output))
    self.tasks[one.id] = nil
    for _, at in ipairs(one.places) do
        if self.missing[at] then
            local n = (self.again[at] or 0) + 1
            self.again[at] = n
            if n > AGAIN or row.state == "CANCELLED" then
                gone[#gone + 1] = { at, why }
            else
                again[words] = again[words] or { why = why, places = {} }
                table.insert(again[words].places, at)
            end
        end
    end
end

--- What Slurm has said of the tasks: which of them will bring nothing more.
function Series:told(text)
    local rows, why = rows_of(text)
    if not rows then
        if why ~= self.words then
            self:say("waiting for Slurm, which says: %s", why)
        end
        self.words = why
        return
    end
    self.words = nil
    self:collect() -- what a task has left before its end
    local now, gone, again = process.time(), {}, {}
    self.running, self.waiting = 0, 0
    for _, id in ipairs(require("heddle.config").sorted_keys(self.tasks)) do
        local one, row = self.tasks[id], rows[id]
        local held = row and row.state == "PENDING"
            and row.reason:lower():find "requeued.*held"
        one.unknown = not row and (one.unknown or 0) + 1 or nil
        one.over = row and row.state == "COMPLETED" and (one.over or now)
        if held then
            shell("scancel " .. id)
        end
        if held or row and ENDED[row.state] and row.state ~= "COMPLETED"
            or one.over and now - one.over > LATE then
            self:failed(one, row, gone, again)
        elseif one.unknown and one.unknown > 1 then
            self:failed(one, { state = "it no longer knows this task" }, gone,
                again)
        elseif row and row.state == "PENDING" then
            self.waiting = self.waiting + 1
        elseif row and not one.over then
            self.running = self.running + 1
        end
    end
    for _, words in ipairs(require("heddle.config").sorted_keys(again)) do
        local a = again[words]
        self:say("%s.  Submitted again: %s", a.why, self:titles(a.places))
        table.move(a.places, 1, #a.places, #self.late + 1, self.late)
    end
    self:give_up(gone)
end

--- Jobs that will not come, with why.
function Series:give_up(gone)
    for _, g in ipairs(gone) do
        local at, n = g[1], self.again[g[1]] or 1
        self.missing[at] = nil
        self.ended(at, { ok = false, result = { code = -6, message = (n > AGAIN
            and ("its tasks on Slurm failed %d times: "):format(n) or "")
            .. g[2] } })
    end
end

--- Words of an sbatch that may go otherwise in a while.
local function passing(words)
    words = words:lower()
    return words:find "contact" or words:find "timed out"
        or words:find "zero bytes" or words:find "temporarily"
end

--- Submits what has failed.
function Series:resubmit()
    local why
    self.late, why = self:submit(self.late, 1)
    if why and passing(why) then
        if why ~= self.words then
            self:say("sbatch: %s; tried again later", why)
        end
        self.words = why
    elseif why then
        local gone = {}
        for k, at in ipairs(self.late) do
            gone[k] = { at, "sbatch: " .. why }
        end
        self.late = {}
        self:give_up(gone)
    end
end

function Series:cancel()
    if #self.ids == 0 then
        return
    end
    local text, ok = shell(("scancel --user=$(id -u) --name=%s"):format(self.name))
    if ok then
        self:say("the tasks on Slurm (%s) are cancelled", table.concat(self.ids,
            ", "))
    else
        self:say("scancel: %s; its tasks (%s) may continue", said(text),
            table.concat(self.ids, ", "))
    end
end

--- The first submission, whose refusal is the caller's error.
function Series:first(places)
    self.most = most_of_array()
    local per_task = self.o.per_task
        or (#places - 1) // math.min(TASKS, self.most) + 1
    local left, why = self:submit(places, per_task)
    if #left > 0 then
        fail(-6, "sbatch: %s", why)
    end
end

--- Waits in slices until nothing is missing; returns whether it was interrupted.
function Series:wait(group, tick)
    local asked, asking = process.time(), false
    while next(self.missing) do
        local since = process.time() - self.changed
        local what, _, text = group:wait(math.min(5, math.max(0.1, since / 20)))
        if what == "interrupted" then
            return true
        elseif what == "ended" then
            asking = false
            self:told(text)
            if #self.late > 0 then
                self:resubmit()
            end
        end
        self:collect()
        local now = process.time()
        if not asking and now - asked >= math.min(30, math.max(1,
            (now - self.changed) / 10)) then
            asked, asking = now, true
            group:start(1, function()
                return (shell(query(self.name)))
            end)
        end
        tick((", Slurm %s: %d running, %d waiting"):format(self.ids[#self.ids],
            self.running, self.waiting))
    end
    return false
end

--- What the tasks were given goes, but for the errors of jobs, which those of later
-- calls are told.
function Series:clean()
    for _, s in ipairs(self.stems) do
        os.remove(s[1] .. ".plan")
        os.remove(s[1] .. ".sh")
        for t = 1, s[2] do
            os.remove(("%s-%d.out"):format(s[1], t))
        end
    end
    for _, name in ipairs(process.list(self.folder) or {}) do
        if name:find "%.error$" then
            table.insert(script.leftover, 1, self.folder .. "/" .. name)
        end
    end
    table.insert(script.leftover, self.folder)
    table.insert(script.leftover, (self.folder:match "^(.*)/"))
    os.remove(self.folder)
    os.remove((self.folder:match "^(.*)/"))
end

--- Whether what has interrupted the script is a person's wish.
local function by_ctrl_c()
    return not core.interrupted or select(2, core.interrupted()) == 2
end

--- Runs list[at] for at in `order` on Slurm: { index, name (of its result in
-- dir), title }.  look(list[at]) is how it went, or nil; the rest is as of
-- runner.spread.  In a task it only looks.
function slurm.spread(series, dir, list, order, look, ended, tick, quiet)
    if series.task then
        for _, at in ipairs(order) do
            ended(at, look(list[at]) or { ok = false, result = { code = -6,
                message = ("its result is not in %s, where it was when this "
                .. "task was submitted"):format(dir) } })
        end
        return false
    end
    local s = setmetatable({ call = series.call, folder = series.folder,
        o = series.o, dir = dir, list = list, look = look, ended = ended,
        quiet = quiet, tty = not quiet and process.isatty(2),
        name = "heddle-" .. script.run, arrays = 0, stems = {}, ids = {},
        tasks = {}, missing = {}, done = {}, again = {}, late = {}, running = 0,
        waiting = #order, changed = process.time() }, Series)
    for _, at in ipairs(order) do
        s.missing[at] = true
    end
    process.mkdir(s.folder)
    local stopped
    local ok, err = pcall(process.children, function(group)
        s:first(order)
        stopped = s:wait(group, tick)
    end)
    local cancelled = not ok or stopped and by_ctrl_c()
    if cancelled then
        s:cancel()
        s:collect()
    elseif stopped then
        s:say("the tasks on Slurm (%s) continue; scancel --name=%s ends them",
            table.concat(s.ids, ", "), s.name)
    end
    if not ok then
        error(err, 0)
    elseif not stopped and next(s.again) then -- second copies
        shell(("scancel --user=$(id -u) --name=%s"):format(s.name))
    end
    if cancelled or #s.done == #order then
        s:clean()
    end
    return stopped
end

return slurm
