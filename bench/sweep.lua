--[[
sweep.lua - what a series on Slurm costs the store and the scheduler.

    heddle run bench/sweep.lua [n=1000] [per_task=1,10] [cpus=2]

Runs n small simulations in processes, and on a Slurm of its own on this machine
(src/dev/slurm, two nodes of `cpus`) with each number of jobs a task, and prints:

  store     files, bytes of a job's results; processor seconds to find them all
            again (a series whose jobs are all kept), and to list their folder
  array     seconds of sbatch for an array of as many tasks as jobs, of squeue
            for it while it waits, and of scancel
  start     seconds from a task's start to its own jobs in a list of n, and 10 n
  run       seconds of the whole series; processor seconds of slurmctld for each
            task; results that differ from those of processes

These are of one machine, on which jobs, nodes and scheduler share processors with
whatever else runs there; processor seconds are the steadier ones.

SPDX-License-Identifier: MIT
]]
local H = require "heddle"
local process = require "heddle.process"
package.path = "t/?.lua;" .. package.path
local files = require "lib.files"
local loopback = require "lib.loopback"

local arg = H.args { n = 1000, per_task = "1,10", cpus = 2 }

local SWEEP = [[
local H = require "heddle"
local arg = H.args { n = 1000, jobs = 2, cache = "cache" }
local jobs = {}
for i = 1, arg.n do
    jobs[i] = { machine = "maxwell", seed = i, apps = { H.app("GUP",
        { size = "T" }) }, settings = { ["sim.stop_cycles"] = 500 } }
end
local start = os.clock()
local results = require("heddle.store").run(jobs, { jobs = arg.jobs,
    dir = arg.cache })
io.stderr:write(("own %.3f\n"):format(os.clock() - start))
local parts = {}
for i, r in ipairs(results) do
    parts[i] = H.runner.serialize(r)
end
print(require("heddle.core").fingerprint(table.concat(parts)))
]]

if not loopback.installed() then
    print "no Slurm here (slurmctld, slurmd, slurm-client, munge)"
    return 69
end
local dir = files.folder()
files.write(dir .. "/sweep.lua", SWEEP)
local root = files.output("pwd"):gsub("\n", "")
local heddle = files.quote((os.getenv "HEDDLE" or "build/release/heddle")
    :gsub("^[^/]", root .. "/%0"))
local slurm = loopback.start(dir .. "/slurm", arg.cpus)

--- Runs a command line there; its output and seconds.
local function timed(line)
    local start = process.time()
    local good, text = files.command(("cd '%s' && %s; %s"):format(dir,
        "export " .. slurm.env, line))
    if not good then
        error(text, 0)
    end
    return text, process.time() - start
end

--- Runs the sweep; what it prints, its seconds, and processor seconds of the call.
local function sweep(words)
    local text, spent = timed(("%s run sweep.lua n=%d %s"):format(heddle, arg.n,
        words))
    return text:match "%x+\n$" or text, spent, tonumber(text:match "own ([%d.]+)")
end

--- Processor seconds of slurmctld so far.
local function controller()
    local pid = files.read(dir .. "/slurm/slurmctld.pid"):match "%d+"
    local user, system = files.read(("/proc/%s/stat"):format(pid))
        :match "%) %a %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ %S+ (%d+) (%d+)"
    return (tonumber(user) + tonumber(system)) / 100
end

local function say(format, ...)
    print(format:format(...))
    io.stdout:flush()
end

local expected, spent = sweep("jobs=2 cache=cache")
say("processes  %d jobs, 2 at once: %.1f s", arg.n, spent)
local bytes = files.output(("cat '%s'/cache/*.run | wc -c"):format(dir))
local _, _, again = sweep("jobs=2 cache=cache")
local start = process.time()
local count = #process.list(dir .. "/cache")
local listed = process.time() - start
say("store      %d files, %.0f KB each; all found again in %.2f s, listed in "
    .. "%.4f s", count, tonumber(bytes) / count / 1000, again, listed)

local text, submitted = timed(("sbatch --parsable --hold --array=1-%d "
    .. "--output=/dev/null --wrap=true"):format(arg.n))
local _, asked = timed("squeue --noheader --array --states=all "
    .. "--user=$(id -u) -O 'JobArrayID:|,State:|,exit_code:|,Reason:|' >/dev/null")
local _, cancelled = timed("scancel " .. text:match "%d+")
say("array      %d tasks: sbatch %.2f s, squeue %.2f s, scancel %.2f s", arg.n,
    submitted, asked, cancelled)

files.write(dir .. "/x.plan", "heddle call 1 of sweep.lua\n")
local function first(n)
    return select(2, timed(("HEDDLE_SLURM=x.plan SLURM_ARRAY_TASK_ID=1 %s run "
        .. "sweep.lua n=%d jobs=slurm"):format(heddle, n)))
end
say("start      %.2f s in a list of %d jobs, %.2f s in one of %d", first(arg.n),
    arg.n, first(10 * arg.n), 10 * arg.n)

for per_task in arg.per_task:gmatch "%d+" do
    local before = controller()
    text, spent = sweep(("jobs=slurm:memory=200,per_task=%s cache=s%s"):format(
        per_task, per_task))
    local tasks = (arg.n - 1) // tonumber(per_task) + 1
    say("run        %d tasks of %s: %.1f s, slurmctld %.1f ms a task, %s", tasks,
        per_task, spent, (controller() - before) * 1000 / tasks,
        text == expected and "equal" or "DIFFERENT: " .. text:sub(1, 200))
end
slurm.stop()
files.output("rm -rf " .. files.quote(dir))
