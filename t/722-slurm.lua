--[[
722-slurm.lua - pins: a series on Slurm gives what it gives in processes, byte for
byte, with jobs that have a text and jobs that have none, with a job that is killed
and a node that is lost on the way; what is kept is not run again; a job that
never comes through is an error in Slurm's words; errors of jobs are those of
processes; limits reach Slurm; Ctrl-C leaves no task; reproduce.lua and plain
lua5.4 run there, too.

Everything runs on a slurmctld and two slurmds of its own (src/dev/slurm).

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local loopback = require "lib.loopback"
local H = require "heddle"
local slurm = require "heddle.slurm"

-- ---- what is said without one -------------------------------------------------------

local function none()
    return {}
end

for _, t in ipairs {
    { "slurm:tmie=3", "slurm has no option 'tmie' (did you mean 'time'?)" },
    { "slurm:time", "name=value is expected after slurm:, not 'time'" },
    { "slurm:time=0", "time: whole minutes, at least 1 expected, not '0'" },
    { "slurm:time=1.5", "whole minutes, at least 1 expected, not '1.5'" },
    { "slurm:memory=2GB", "megabytes, or a number with K, M, G or T expected" },
    { "slurm:partition=a b", "a name expected, not 'a b'" },
    { { "slurm", per_task = true }, "per_task: a whole number, at least 1" },
    { "slrum", "a number of at least 1 or 'slurm' is expected, not 'slrum'" },
} do
    tap.raises(function() H.run({ none }, { jobs = t[1] }) end, t[2],
        "refused: " .. t[2])
end
tap.same(slurm.options("t", "slurm:time=30,memory=2G,partition=a"),
    { time = 30, memory = "2G", partition = "a" }, "options as a text")
tap.same(slurm.options("t", { "slurm", time = 30, sbatch = "-A x" }),
    { time = 30, sbatch = "-A x" }, "or as a table")
tap.is(slurm.options("t", 2), nil, "a number is about processes")
tap.is(H.run({ function()
    return H.run({ function() return 7 end }, { jobs = "slurm" })[1]
end }, { jobs = 1 })[1], 7, "inside a job, slurm means here")

local DIR = files.folder()
local ROOT = files.output("pwd"):gsub("\n", "")
local HEDDLE = files.quote((os.getenv "HEDDLE" or "build/release/heddle")
    :gsub("^[^/]", ROOT .. "/%0"))

local function finish()
    files.output("rm -rf " .. files.quote(DIR))
    return tap.done()
end

files.write(DIR .. "/one.lua", [[
local H = require "heddle"
local arg = H.args { jobs = 2 }
print(#H.run({ function() return 1 end }, { jobs = arg.jobs }))]])
local _, text, status = files.command(("cd '%s' && %s run one.lua jobs=slrum")
    :format(DIR, HEDDLE))
tap.ok(status == 64 and text:find "jobs=slrum: expected a number or slurm",
    "an argument jobs is a number or slurm", text)
_, text, status = files.command(("cd '%s' && %s run - jobs=slurm <one.lua")
    :format(DIR, HEDDLE))
tap.ok(status == 64 and text:find "run the script's file, and this one has none",
    "a script without a file", text)

text = files.output(("echo 'H.run({ function() end }, { jobs = \"slurm\" })' "
    .. "| %s repl"):format(HEDDLE))
tap.ok(text:find "this one has none", "so is the REPL", text)

if not os.getenv "SLURM_TESTS" then
    tap.skip("jobs on Slurm", "make check-slurm runs them: two minutes of waiting")
    return finish()
elseif not loopback.installed() then
    tap.skip("jobs on Slurm", "no slurmctld, slurmd, slurm-client, munge here, "
        .. "or no address but loopback")
    return finish()
end

-- ---- the sweep ------------------------------------------------------------------------

local cluster = loopback.start(DIR .. "/slurm", 4)

--- The command line of a script in DIR.
local function line(script, more)
    return ("cd '%s' && %s exec %s run %s %s"):format(DIR, cluster.env, HEDDLE,
        script, more or "")
end

local function run(script, more)
    return files.command(line(script, more))
end

--- What it prints without what heddle says.
local function results(printed)
    return (printed:gsub("heddle: [^\n]*\n", ""))
end

--- Starts one in the background; its process.
local function background(script, more, output)
    return tonumber(files.output(("(%s) >'%s/%s' 2>&1 & echo $!"):format(line(
        script, more), DIR, output)))
end

local function ended(pid)
    return not (files.read(("/proc/%d/stat"):format(pid)) or "Z")
        :find "^%d+ %b() [^Z]"
end

local function exists(name)
    return os.rename(DIR .. "/" .. name, DIR .. "/" .. name) ~= nil
end

--- How many results a store has.
local function kept(store)
    return tonumber(files.output(("ls '%s/%s' 2>/dev/null | grep -c 'run$'")
        :format(DIR, store)))
end

local function squeue(more)
    return files.output(("%s squeue -h %s"):format(cluster.env, more or ""))
end

files.write(DIR .. "/sweep.lua", [[
local H = require "heddle"
local arg = H.args { n = 40, seed = 1, jobs = 2, cache = "out/cache" }
local wait = tonumber(os.getenv "SWEEP_WAIT") or 0
local function count(i)
    local f <close> = assert(io.open("ran", "a"))
    f:write(i, "\n")
    if wait > 0 then
        io.popen(("exec sleep %g"):format(i == 4 and 4 * wait or wait)):close()
    end
end
local function sim(i, policies)
    return { machine = "maxwell", seed = arg.seed + i, label = "seed " .. i,
        apps = { H.app("GUP", { size = "T" }) }, policies = policies,
        settings = { ["sim.stop_cycles"] = 2000, ["core.count"] = 2 } }
end
local jobs = {}
for i = 1, arg.n do
    local kind = i % 4
    if kind == 0 then
        jobs[i] = function()
            count(i)
            return { i = i, half = i / 2, text = ("x"):rep(i) }
        end
    elseif kind == 1 then
        jobs[i] = sim(i)
    elseif kind == 2 then
        local asked = i
        jobs[i] = sim(i, { { name = "own", tlb_fill = function(q)
            return (q.vpn + asked) % 3 > 0 and "l2tlb" or "none"
        end } })
    else
        jobs[i] = function()
            count(i)
            local s <close> = H.sim(sim(i))
            s:run()
            return s:results()
        end
    end
end
local r = H.run(jobs, { jobs = arg.jobs, dir = arg.cache })
local sum = H.run({ function()
    local all = 0
    for i = 4, arg.n, 4 do
        all = all + r[i].half
    end
    return { all = all }
end }, { jobs = arg.jobs, dir = arg.cache })
print(H.json.encode { r, sum })
]])
local ok, expected = run("sweep.lua", "jobs=2")
tap.ok(ok and #expected > 100000, "in processes", expected:sub(1, 500))
os.remove(DIR .. "/ran")

--- A process of a job of a node: below its step, the last in its line.
local function a_job(node)
    for pid in files.output "ls /proc":gmatch "%f[%d]%d+%f[%s]" do
        local env = files.read(("/proc/%s/environ"):format(pid)) or ""
        local words = files.read(("/proc/%s/cmdline"):format(pid)) or ""
        if env:find("SLURMD_NODENAME=" .. node, 1, true)
            and env:find(DIR .. "/slurm/slurm.conf", 1, true)
            and words:find "^sleep%z" then
            local up = (files.read(("/proc/%s/stat"):format(pid)) or "")
                :match "%) %a (%d+)"
            return tonumber(up or "") -- nil: it has just ended
        end
    end
end

local before = cluster.env
cluster.env = "SWEEP_WAIT=2 " .. before
local pid = background("sweep.lua", "jobs=slurm:time=5,memory=400", "on-slurm")
cluster.env = before
tap.ok(loopback.wait(60, function() return kept "out/cache" >= 6 end),
    "results come, one by one", files.read(DIR .. "/on-slurm"))
local job = loopback.wait(20, function() return a_job "n1" end)
tap.ok(job, "a job runs on n1")
if job then -- kill 0 would be the end of whoever runs this
    os.execute(("kill -9 %d"):format(job))
end
tap.ok(loopback.wait(20, function() return a_job "n2" end), "and one on n2")
cluster.lose "n2"
local done = kept "out/cache"
tap.ok(done < 40, "a node is lost on the way", done)
tap.ok(loopback.wait(120, function() return ended(pid) end), "it ends")
local printed = files.read(DIR .. "/on-slurm")
tap.is(results(printed), results(expected),
    "to the byte what processes give")
tap.ok(printed:find "task %d+_%d+: FAILED, exit status 75;.*killed %(signal 9.*"
    .. "Submitted again: job %d+", "of the job that was killed it is told",
    printed:sub(1, 2000))
tap.ok(printed:find "task %d+_%d+: NODE_FAIL[^\n]*Submitted again: job",
    "and of the node", printed:sub(1, 2000))
local twice, times = {}, 0
for i in files.read(DIR .. "/ran"):gmatch "%d+" do
    times = times + 1
    twice[#twice + 1] = i
end
tap.ok(times > 20 and times < 36, "and only what was lost ran again",
    table.concat(twice, " "))
tap.is(kept "out/cache", 41, "every result is kept")
tap.is(exists "out/cache/slurm", false, "and nothing of the tasks")
os.remove(DIR .. "/ran")
ok, text = run("sweep.lua", "jobs=slurm:per_task=4")
tap.ok(ok and text == expected and not exists "ran",
    "nothing runs again; how it runs decides nothing", text:sub(1, 500))
ok, text = run("sweep.lua", "jobs=slurm seed=2 n=8")
tap.ok(ok and text ~= expected and exists "ran",
    "other arguments are other jobs", text:sub(1, 500))
tap.is(text, (select(2, run("sweep.lua", "seed=2 n=8"))), "with their results")

-- ---- errors ---------------------------------------------------------------------------

cluster.start "n2"
files.write(DIR .. "/errors.lua", [[
local H = require "heddle"
local arg = H.args { jobs = 2, keep = true }
local function sim(machine)
    return { machine = machine, label = "on " .. machine, apps = { H.app("GUP",
        { size = "T" }) }, settings = { ["sim.stop_cycles"] = 100 } }
end
local r = H.run({ sim "maxwell", sim "maxwel", function() error("no good", 0) end,
    function() return print end, function() end, function() return { 1 } end },
    { jobs = arg.jobs, keep = arg.keep })
r[1] = r[1].cycles
local later = H.run({ function() return r[3].error .. "!" end },
    { jobs = arg.jobs, dir = "later" })
print(H.json.encode { r, later })
]])
ok, expected = run("errors.lua", "jobs=1")
tap.is(run("errors.lua", "jobs=slurm:per_task=3") and ok, true, "errors are kept")
tap.is((select(2, run("errors.lua", "jobs=slurm:per_task=3"))), expected,
    "and are those of processes, in later calls, too")
tap.ok(not exists "out/cache/slurm" and not exists "later/slurm",
    "nothing of them is left, either")
_, expected, status = run("errors.lua", "jobs=1 keep=false")
_, text = run("errors.lua", "jobs=slurm keep=false")
tap.is(text, expected, "or the first is raised")
tap.is(select(3, run("errors.lua", "jobs=slurm keep=false")), status,
    "with its exit status")

files.write(DIR .. "/other.lua", [[
local H = require "heddle"
H.run({ function() return 1 end, { machine = "maxwell",
    seed = os.getenv "SLURM_JOB_ID" and 2 or 1, apps = { H.app("GUP",
    { size = "T" }) } } }, { jobs = "slurm" })]])
_, text, status = run "other.lua"
tap.ok(status == 64 and text:find "job 2: in its task the script has another job",
    "a job that does not follow from the arguments is an error", text)

files.write(DIR .. "/refused.lua", [[
local H = require "heddle"
H.run({ function() return 1 end }, { jobs = { "slurm",
    partition = H.args { partition = "nowhere" }.partition } })]])
_, text, status = run "refused.lua"
tap.ok(status == 74 and text:find ": sbatch: invalid partition specified: nowhere",
    "what sbatch refuses is told in its words", text)

files.write(DIR .. "/memory.lua", [[
local H = require "heddle"
H.run({ function() return 1 end, function()
    local x = ("x"):rep(700 << 20)
    io.popen "sleep 5":read "a"
    return #x
end }, { jobs = "slurm:memory=300,time=7" })]])
_, text, status = run "memory.lua"
tap.ok(status == 74 and text:find "job 2: its tasks on Slurm failed 4 times: "
    and text:find "[Mm]emory" and select(2, text:gsub("Submitted again", "")) == 3,
    "a job that never comes through is one, after three more times", text)

files.write(DIR .. "/limits.lua", [[
local H = require "heddle"
local function told()
    local f <close> = io.popen "scontrol -o show job $SLURM_JOB_ID"
    local text = f:read "a"
    return { time = text:match "TimeLimit=(%S+)", name = text:match "JobName=(%S+)",
        memory = text:match "MinMemoryNode=(%S+)", cpus = text:match "NumCPUs=(%S+)",
        at_once = text:match "ArrayTaskThrottle=(%d+)",
        comment = text:match "Comment=(%S+)", task = os.getenv "SLURM_ARRAY_TASK_ID" }
end
local list = {}
for i = 1, 6 do
    list[i] = told
end
print(H.json.encode(H.run(list, { jobs = { "slurm", time = 3, memory = "300M",
    cpus = 2, per_task = 3, tasks = 1, sbatch = "--comment=mine -p main" } })))]])
ok, text = run "limits.lua"
tap.ok(ok and text:find '"time": "00:03:00"' and text:find '"memory": "300M"'
    and text:find '"cpus": "2"' and text:find '"comment": "mine"',
    "limits and options are Slurm's", text)
tap.ok(select(2, text:gsub('"task": "1"', "")) == 3
    and select(2, text:gsub('"task": "2"', "")) == 3
    and not text:find '"task": "3"', "and so many jobs are a task", text)

-- ---- Ctrl-C, and a death ---------------------------------------------------------------

local function kill_midway(signal, name)
    cluster.env = "SWEEP_WAIT=3 " .. before
    local controller = background("sweep.lua", "jobs=slurm cache=store-" .. name,
        name)
    cluster.env = before
    loopback.wait(60, function() return kept("store-" .. name) >= 8 end)
    os.execute(("kill -%s %d"):format(signal, controller))
    loopback.wait(30, function() return ended(controller) end)
    return files.read(DIR .. "/" .. name)
end

text = kill_midway("INT", "one")
tap.ok(text:find "the tasks on Slurm %(%d+%) are cancelled"
    and text:find "%d+ of 40 results are kept in store%-one; the next run continues from",
    "Ctrl-C says what is kept, and how to go on", text)
tap.ok(loopback.wait(20, function() return squeue() == "" end),
    "and nothing of it goes on", squeue())
tap.is(files.output(("find '%s/store-one' -name '*.plan'"):format(DIR)), "",
    "nor is a plan of it left")
local had = kept "store-one"
tap.ok(had >= 8 and had < 40, "it was in the middle", had)
kill_midway("KILL", "two")
tap.ok(squeue() ~= "", "after a death they go on")
text = kill_midway("TERM", "ended")
tap.ok(text:find "the tasks on Slurm %(%d+%) continue; scancel %-%-name=heddle%-"
    and text:find "%d+ of 40 results are kept in store%-ended; the next run continues",
    "SIGTERM says that they go on", text)
tap.ok(squeue() ~= "", "and they do")
_, expected = run("sweep.lua", "jobs=2")
for _, name in ipairs { "one", "two", "ended" } do
    ok, text = run("sweep.lua", "jobs=slurm cache=store-" .. name)
    tap.ok(ok and text == expected, "in each case the same command ends it: "
        .. name, text:sub(1, 500))
end

-- ---- a Slurm that forgets ------------------------------------------------------------

-- The first squeue finds no slurmctld; the next two know no task.
require("heddle.process").mkdir(DIR .. "/bin")
files.write(DIR .. "/bin/squeue", ([[#!/bin/sh
echo >>asked
case $(wc -l <asked) in
1)
    echo "slurm_load_jobs error: Unable to contact slurm controller" >&2
    exit 1
    ;;
2 | 3) exit 0 ;;
esac
PATH=${PATH#*:} exec squeue "$@"
]]))
files.output(("chmod +x '%s/bin/squeue'"):format(DIR))
cluster.env = ("PATH='%s/bin':$PATH SWEEP_WAIT=2 "):format(DIR) .. before
local _, some = run("sweep.lua", "n=4 jobs=slurm cache=store-three")
cluster.env = before
tap.ok(some:find "waiting for Slurm, which says: .-Unable to contact slurm cont"
    and some:find "it no longer knows this task", "a Slurm that does not answer, "
    .. "and one that has lost tasks", some:sub(1, 2000))
tap.is(results(some), results((select(2, run("sweep.lua", "n=4 jobs=2")))),
    "are lived through")
tap.is(squeue(), "", "and second copies end")

-- ---- more tasks than an array has -------------------------------------------------------

files.write(DIR .. "/bin/scontrol", "echo 'MaxArraySize            = 4'\n")
files.write(DIR .. "/bin/sbatch", [[echo "$*" >>sbatched
PATH=${PATH#*:} exec sbatch "$@"
]])
files.output(("chmod +x '%s/bin/'*"):format(DIR))
cluster.env = ("PATH='%s/bin':$PATH "):format(DIR) .. before
ok, text = run("sweep.lua", "n=8 jobs=slurm:per_task=2 cache=store-four")
cluster.env = before
tap.ok(ok and text == select(2, run("sweep.lua", "n=8 jobs=2")),
    "results of two arrays", text:sub(1, 500))
local arrays = {}
for a in files.read(DIR .. "/sbatched"):gmatch "%-%-array=(%S+)" do
    arrays[#arrays + 1] = a
end
tap.is(table.concat(arrays, " "), "1-3 1-1 1-1", "one behind the other")

-- ---- who else runs there ---------------------------------------------------------------

require("heddle.process").mkdir(DIR .. "/scenarios/p")
files.write(DIR .. "/scenarios/p/fig1.lua", [[
local H = require "heddle"
local experiment = require "heddle.experiment"
local x = experiment.open { name = "p/fig1", source = "P, figure 1",
    title = "of p", arg = H.args(experiment.args()) }
local jobs = { function() return { cycles = 5 } end }
for i = 1, 3 do
    jobs[i + 1] = { machine = "maxwell", seed = i, apps = { H.app("GUP",
        { size = "T" }) }, settings = { ["sim.stop_cycles"] = 500 * i } }
end
local sum = 0
for _, r in ipairs(x:run(jobs)) do
    sum = sum + r.cycles
end
x:quantity { "cycles", paper = 3005, heddle = sum }
x:say("task %s", os.getenv "SLURM_JOB_ID" or "none")
x:close()
]])
local function reproduced(out, jobs)
    local good, what = run("'" .. ROOT .. "/scenarios/reproduce.lua'",
        ("scenarios=scenarios out=%s cache=%s/cache jobs=%s"):format(out, out, jobs))
    local doc = H.json.decode(files.read(("%s/%s/p/fig1.json"):format(DIR, out))
        or "{}")
    tap.ok(good and what:find "p/fig1 +1 not scored; a quick run", "reproduce.lua jobs="
        .. jobs, what)
    return doc
end
local here, there = reproduced("a", "2"), reproduced("b", "slurm")
tap.ok(here.quantities and here.simulations == there.simulations
    and tap.differ(here.quantities, there.quantities) == nil
    and there.said[1] == "task none", "and gives the same",
    H.json.encode(there))
tap.is(kept "b/cache", 4, "from tasks of the experiment's own script")

if files.command "command -v lua5.4" then
    local plain = ("cd '%s' && %s LUA_CPATH='%s/?.so' exec lua5.4 one.lua")
        :format(DIR, cluster.env, ROOT .. "/" .. (os.getenv "HEDDLE_BUILD"
        or "build/release"))
    ok, text = files.command(plain .. " jobs=slurm")
    tap.ok(ok and text == "1\n" and kept "out/cache" > 0, "lua5.4 has it, too",
        text)
else
    tap.skip("plain Lua", "no lua5.4 here")
end
cluster.stop()
local function left()
    return files.output(("(grep -l '%s' /proc/[0-9]*/environ 2>/dev/null)"):format(
        DIR))
end
tap.ok(loopback.wait(20, function() return left() == "" end),
    "nothing is left of it all", left())
return finish()
