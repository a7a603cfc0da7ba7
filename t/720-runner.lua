-- 720-runner.lua - pins: jobs in processes give what they give one by one, in
-- order; plain data crosses exactly; the first error of a job is raised, or
-- kept; a job that ends its process is an error, not a hang; progress in a log is
-- a line now and then, also from within one that runs alone.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local json = require "heddle.json"
local runner = H.runner

local data = {
    1, -1, math.maxinteger, math.mininteger, 0.1, -0.0, 1e308, math.huge,
    "text\0with\nbytes\255", true, false, {}, { a = { b = { c = 1 } } },
    x = 2.0, ["a key"] = "v",
}
tap.same(runner.deserialize(runner.serialize(data)), data,
    "plain data crosses as it is")
tap.is(math.type(runner.deserialize(runner.serialize(2.0))), "float",
    "a float stays a float")
tap.is(json.encode(runner.deserialize(runner.serialize(json.array {}))), "[]",
    "an empty array stays an array")
tap.raises(function()
    runner.serialize { print }
end, "plain data", "a function does not cross")

local function work(i)
    return function()
        local sum = 0.0
        for k = 1, 1000 * (8 - i) do
            sum = sum + k / i
        end
        return { i = i, sum = sum, list = { i, i * 2 } }
    end
end

local jobs = {}
for i = 1, 7 do
    jobs[i] = work(i)
end
local one = H.run(jobs, { jobs = 1 })
local two = H.run(jobs, { jobs = 2 })
local many = H.run(jobs, { jobs = 7 })
tap.same(two, one, "two processes give what one gives")
tap.same(many, one, "so do seven")
tap.is(one[5].i, 5, "results are in the order of the jobs")

local function big()
    local parts = {}
    for i = 1, 20000 do
        parts[i] = ("%d"):format(i)
    end
    return { text = table.concat(parts, ",") }
end
two = H.run({ big, big }, { jobs = 2 })
tap.ok(#two[1].text > 65536 and two[1].text == two[2].text,
    "more than a pipe holds")

local function fails()
    error("no good", 0)
end
for _, n in ipairs { 1, 2 } do
    tap.raises(function()
        H.run({ work(1), fails, work(2) }, { jobs = n })
    end, "no good", ("jobs = %d: an error is raised"):format(n))
    local kept = H.run({ work(1), fails, work(2) }, { jobs = n, keep = true })
    tap.is(kept[2].error, "no good", "or kept")
    tap.is(kept[3].i, 2, "and the others are there")
end
tap.raises(function()
    H.run({ work(1), function()
        os.exit(3)
    end }, { jobs = 2 })
end, "status 3", "a process that ends early is an error")
tap.raises(function()
    H.run({ work(1), function()
        io.popen("kill -KILL " .. io.open("/proc/self/stat"):read "n"):close()
    end }, { jobs = 2 })
end, "job 2: its process was killed (signal 9", "a signal is told by its name")
do
    local kept = H.run({ work(1), function() os.exit(0) end }, { jobs = 2,
        keep = true })
    tap.is(kept[2].error, "its process ended without a result",
        "and so is an end that looks well")
    local machines = { "maxwell", "maxwell", "fermi" }
    local jobs_of = {}
    for i, machine in ipairs(machines) do
        jobs_of[i] = { machine = machine, label = "the " .. i,
            apps = { H.app("GUP", { size = "T" }) },
            settings = { ["sim.stop_cycles"] = i == 3 and -1 or 100 } }
    end
    local dir = os.tmpname()
    os.remove(dir)
    tap.raises(function()
        require("heddle.store").run(jobs_of, { jobs = 2, dir = dir,
            quiet = true })
    end, "job 3 (the 3): ", "a series on disk names the caller's job")
    os.execute(("rm -rf '%s'"):format(dir))
end
tap.is(#H.run((function()
    local list = {}
    for i = 1, 300 do
        list[i] = function() return io.popen("sleep 0.2"):read "a" end
    end
    return list
end)(), { jobs = 300 }), 300, "300 at once")
tap.is(H.run({ function() return io.read "a" end, work(1) }, { jobs = 2 })[1],
    "", "a job has nothing to read")
do
    -- Each job says what it holds: standard files, what the test was started
    -- with, and one pipe.
    local function open_files()
        collectgarbage() -- files that were left to it
        return #require("heddle.process").list "/proc/self/fd"
    end
    local own = open_files()
    local held = {}
    for i = 1, 12 do
        held[i] = function()
            io.popen("sleep 0.1"):close()
            return open_files()
        end
    end
    local most = math.max(table.unpack(H.run(held, { jobs = 12 })))
    tap.ok(most <= own + 1, "a child holds no pipe but its own", most - own)
end
for n = 1, 2 do
    local function refused(value, text)
        tap.raises(function()
            H.run({ function() return value end, work(1) }, { jobs = n })
        end, text, ("jobs = %d: %s"):format(n, text))
    end
    local own = { a = {} }
    own.a.b = own
    refused(print, "job.result is a function, which is not plain data")
    refused(own, "job.result.a.b is a table that contains itself")
    refused({ x = setmetatable({}, {}) }, "job.result.x has a metatable")
    local chain = {}
    for _ = 1, 60 do
        chain = { chain, chain }
    end
    refused(chain, "often that their copies would have no end")
    local list = {}
    tap.same(H.run({ function() return { list, list } end }, { jobs = n })[1],
        { {}, {} }, "a table in two places is two")
end
tap.raises(function()
    H.run({ function()
        H.machine("maxwell") { ["l2tlb.entires"] = 1 }
    end, work(1) }, { jobs = 2 })
end, "l2tlb.entries", "errors of the engine cross with their text")
do
    local function sim(machine)
        return { machine = machine, label = "on " .. machine,
            apps = { H.app("GUP", { size = "T" }) } }
    end
    local pair = { sim "maxwell", sim "maxwel" }
    tap.raises(function() H.run(pair, { jobs = 1 }) end,
        "job 2 (on maxwel): there is no machine", "which job has failed")
    local kept = H.run(pair, { jobs = 1, keep = true })
    tap.ok(kept[1].schema and kept[2].error:find "no machine",
        "and one that cannot be built is kept, too")
end
do -- what several jobs begin with is made before the first of them begins
    local app = require("heddle.app").get "BFS2"
    local instance, made = app.instance, {}
    function app.instance(self, o)
        made[#made + 1] = o.size .. (o.n or "")
        return instance(self, o)
    end
    local function sim(machine, o)
        return { machine = machine, apps = { H.app("BFS2", o) }, stop_cycles =
            3000 }
    end
    local T = { size = "T" }
    local list = { sim("maxwell", T), sim("mosaic", T),
        sim("maxwell", { size = "T", n = 3000 }), function() return 1 end,
        { machine = "maxwell", apps = { "BFS2", 5 } } }
    local far = H.run(list, { jobs = 2, keep = true })
    tap.is(table.concat(made, " "), "T", "once, here, and nothing else")
    made = {}
    H.run({ sim("maxwell-tu104", T), list[2], list[1] }, { jobs = 1 })
    tap.is(#made, 1, "with one process each job makes its own")
    runner.cache = {}
    local near = H.run({ list[1], list[2], list[3] }, { jobs = 1 })
    for i = 1, 3 do
        tap.same(near[i].counters, far[i].counters,
            "job " .. i .. " gives what it gives alone")
    end
    tap.ok(far[5].error, "what is wrong with a job is said when it runs")
    app.instance = instance
end
do -- progress, where standard error is no terminal
    local path = os.tmpname()
    files.write(path, [[
local H = require "heddle"
local function job() return 1 end
H.run({ job, job, job }, { jobs = H.args { jobs = 1 }.jobs })]])
    local function say(first, n)
        return files.output(("HEDDLE_PROGRESS=%s %s run %s jobs=%d"):format(first,
            files.HEDDLE, path, n))
    end
    for n = 1, 2 do
        tap.ok(say("1e-9", n):find "^heddle: %d of 3 simulations, 0:00, ETA ",
            n .. " at once say how far they are", say("1e-9", n))
        tap.is(say("1e9", n) .. say("0", n), "", "not before its time, or never")
    end
    -- Simulations one by one say how far they are before the first has ended: the
    -- first slice of its cycles is long enough for a line that is due at once.
    files.write(path, [[
local H = require "heddle"
local a = H.args { jobs = 1, how = "run" }
local function sim(label, seed)
    return { machine = "maxwell", label = label, seed = seed,
        apps = { H.app("GUP", { size = "T" }) } }
end
local two, r = { sim("A", 1), sim("B", 2) }, nil
if a.how == "run" then
    r = H.run(two, { jobs = a.jobs })
elseif a.how == "one" then
    r = H.run({ two[1] }, { jobs = a.jobs })
elseif a.how == "quiet" then
    r = H.run(two, { jobs = a.jobs, progress = false })
elseif a.how == "store" then
    r = require("heddle.store").run(two, { jobs = a.jobs, dir = H.here "kept" })
elseif a.how == "function" then
    r = H.run({ function()
        local s <close> = H.sim(two[1])
        s:run()
        return s:results()
    end, function() return false end }, { jobs = a.jobs })
elseif a.how == "nested" then
    local function job() return H.run({ two[1] }, { jobs = 1 })[1] end
    r = H.run({ job, job }, { jobs = a.jobs })
end
io.stdout:write(require("heddle.core").fingerprint(require("heddle.json").encode(
    r[1])))]])
    local dir = path:match "^(.*)/[^/]*$"
    local sum
    local function lines(first, n, how)
        os.execute(("rm -rf %s"):format(files.quote(dir .. "/kept")))
        local out = files.output(("(HEDDLE_PROGRESS=%s %s run %s jobs=%d how=%s "
            .. "2>%s/err)"):format(first, files.HEDDLE, path, n, how,
            files.quote(dir)))
        sum = sum or out
        tap.is(out, sum, how .. ": the results are those of a silent run")
        return files.read(dir .. "/err")
    end
    tap.is(lines("0", 1, "run"), "", "never")
    local line = "^heddle: 0 of %s, %%d:%%d%%d, ETA %%?; job 1%s: [^\n]*cycle %%d+  "
        .. "GUP k%%d[^\n]*\n"
    for how, of in pairs { run = { "2 simulations", " %(A%)" }, one = {
        "1 simulation", " %(A%)" }, store = { "2 simulations", " %(A%)" },
        ["function"] = { "2 simulations", "" },
        nested = { "2 simulations", "" } } do
        local text = lines("1e-9", 1, how)
        -- Of series in a series the inner one comes first.
        local want = how == "nested" and line:format("1 simulation", " %(A%)")
            or line:format(of[1], of[2])
        tap.ok(text:find(want), how .. ": a job says how far it is", text)
        tap.is(lines("1e9", 1, how), "", how .. ": not before its time")
    end
    tap.is(lines("1e-9", 1, "quiet"), "", "nothing where it is not wanted")
    tap.ok(not lines("1e-9", 2, "run"):find "cycle", "nor of several at once")
    tap.ok(not lines("1e-9", 2, "nested"):find "cycle", "nor of what those run")
    os.execute(("rm -rf %s"):format(files.quote(dir .. "/kept")))
    os.remove(dir .. "/err")
    os.remove(path)
end
do -- a function that runs in this process leaves it as it was
    local script = require "heddle.script"
    script.options.timeline = "x"
    H.run({ work(1), work(2) }, { jobs = 1 })
    tap.is(script.inside, false, "a series of functions, one by one, ends")
    tap.is(script.options.timeline, "x", "and later simulations have their options")
    script.options.timeline = nil
end
tap.raises(function() H.run({ work(1) }, { jobs = 0 }) end, "at least 1",
    "no process is not enough")
tap.raises(function() H.run({ work(1) }, { jbos = 2 }) end, "'jbos'",
    "an unknown option raises")
tap.raises(function() H.run({ work(1) }, { jobs = "pair" }) end, "'pair'",
    "and one that is no number")

return tap.done()
