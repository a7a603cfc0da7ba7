--[[
summary.lua - `make bench`: everything that is promised about speed and memory,
measured, beside what was promised.

    heddle run bench/summary.lua [only=NAME] [json=out/bench.json]

Each row names the command that prints it alone.  Ratios count: both sides are
measured in the same run, in slices that take turns.  Absolute numbers are for
orientation; they are of processor time on one core of whatever machine this is,
the least of several turns.  What the rows mean:

  floor.*       host time of the timing simulation over that of a replay of the
                same accesses through the look-ups alone (floor.c)
  vecadd.*      million warp instructions a second of the two Accel-Sim traces on
  gather.*      least.machine, opening and reading the file included: .xz the text
                under xz, .box heddle's container (traces.lua)
  parse.*       MB of trace text parsed and packed in a second (trace.c)
  program       vecadd as a kernel program on the same machine (vecadd.lua)
  app.COLOR     million warp instructions a second of an irregular application
                of the library, after its set-up, to its end (apps.lua)
  app.MM        the same of one that is arithmetic for the most part
  *.maxwell     the same on maxwell as it is: its arithmetic has dependences, and
                the ways to its memory are long
  arena         all mutable state of the default machine (memory.lua)
  growth.*      peak resident memory of a run four times as long over the
                shorter one's; 1 is no growth (memory.lua)
  build.*       the application of size M that takes most time, and the one that
                takes most memory beside its buffers, to build (build.lua)
  ask.lua       one question to a Lua policy that reads four fields, with the
                budget hook on (ask.c)
  *.asked       a run with a Lua tlb_fill asked on each miss of the L2 TLB, over
                the run without; cold: with a policy on cold points (policy.lua)
  twin.*        MASK, steered, and Mosaic in Lua over the same in C (twins.lua)
  faults.*      processor seconds of a million far faults, and of programs that
                touch 1 GB in memory for two thirds of it (faults.lua)
  snapshot      into the memory of an old snapshot, and back (snapshot.lua)
  restore
  mafia.*       no speed: memory traffic and IPC of 24 programs beside MAFIA's run of
                them (mafia.lua)

SPDX-License-Identifier: MIT
]]
local H = require "heddle"
local process = require "heddle.process"

local arg = H.args {
    only = "", json = "out/bench.json", build = "build/release",
}

--- In what a preset differs from the machine of the other rows, as words of a
-- command.
local function apart(name)
    local has, base, words = H.machine(name), H.machine "aggressive", {}
    for key in pairs(has.settings) do
        local value = has:get(key)
        if value ~= base:get(key) then
            words[#words + 1] = (" %s=%s"):format(key, value)
        end
    end
    table.sort(words)
    return table.concat(words)
end

--- Commands, their rows, and the goals: a comparison and a number.
local COMMANDS = {
    { "%/bench/floor stream", { "floor.stream", "<=", 8 } },
    { "%/bench/floor column", { "floor.column", "<=", 4 } },
    { "%/bench/floor random", { "floor.random", "<=", 8 } },
    { "%/bench/floor column16k", { "floor.column16k" } },
    { "%/bench/floor stream suffix=.maxwell" .. apart "maxwell",
        { "floor.stream.maxwell" } },
    { "%/bench/floor random suffix=.maxwell" .. apart "maxwell",
        { "floor.random.maxwell" } },
    { "%/heddle run bench/traces.lua only=vecadd",
        { "vecadd.xz", ">=", 3 }, { "vecadd.box" } },
    { "%/heddle run bench/traces.lua only=gather",
        { "gather.xz", ">=", 0.25 }, { "gather.box", ">=", 0.4 } },
    { "%/bench/trace build/bench/vecadd/kernel-1.traceg.xz",
        { "parse.vecadd", ">=", 500 } },
    { "%/bench/trace build/bench/gather/kernel-1.traceg.xz",
        { "parse.gather", ">=", 500 } },
    { "%/heddle run bench/vecadd.lua",
        { "program", ">=", 10 }, { "program.64" } },
    { "%/heddle run bench/apps.lua", { "app.COLOR", ">=", 1 } },
    { "%/heddle run bench/apps.lua machine=maxwell", { "app.COLOR.maxwell" } },
    { "%/heddle run bench/apps.lua app=MM", { "app.MM" } },
    { "%/heddle run bench/apps.lua app=MM machine=maxwell",
        { "app.MM.maxwell" } },
    { "%/heddle run bench/traces.lua only=vecadd.box machine=maxwell",
        { "vecadd.box.maxwell" } },
    { "%/heddle run bench/memory.lua only=arena", { "arena", "<", 32 } },
    { "%/heddle run bench/memory.lua only=growth",
        { "growth.text.blocks", "<=", 1.05 },
        { "growth.text.kernels", "<=", 1.05 },
        { "growth.box.blocks", "<=", 1.05 },
        { "growth.box.kernels", "<=", 1.05 },
        { "growth.program.blocks", "<=", 1.05 },
        { "growth.program.kernels", "<=", 1.05 } },
    { "%/heddle run bench/build.lua",
        { "build.time", "<", 2 }, { "build.memory", "<", 200 } },
    { "%/bench/ask", { "ask.default" }, { "ask.c" },
        { "ask.lua", "<=", 250 } },
    { "%/heddle run bench/policy.lua",
        { "gather.asked", "<=", 1.4 }, { "demo.asked", "<=", 1.1 },
        { "cold", "<=", 1.02 } },
    { "%/heddle run bench/twins.lua",
        { "twin.mask", "<=", 1.3 }, { "twin.mosaic", "<=", 1.3 } },
    { "%/heddle run bench/faults.lua", { "faults.million", "<", 10 },
        { "faults.ATAX", "<", 300 }, { "faults.BFS2", "<", 300 },
        { "faults.FDTD", "<", 300 } },
    { "%/heddle run bench/snapshot.lua",
        { "snapshot", "<", 20 }, { "restore", "<", 20 } },
    { "%/heddle run bench/mafia.lua build=%", { "mafia.ipc" },
        { "mafia.lines" }, { "mafia.l2" }, { "mafia.dram" } },
}

local COMPARE = {
    ["<"] = function(a, b) return a < b end,
    ["<="] = function(a, b) return a <= b end,
    [">="] = function(a, b) return a >= b end,
}

local function load_average()
    local f = io.open("/proc/loadavg", "r")
    local text = f and f:read "a" or ""
    if f then
        f:close()
    end
    return tonumber(text:match "^[%d.]+") or 0
end

--- What a command prints, as { [row] = { value =, unit =, remark = } }.
local function rows_of(command)
    local pipe = assert(io.popen(command, "r"))
    local out = {}
    for line in pipe:lines() do
        local name, value, rest = line:match "^(%S+)%s+(%-?[%d.]+)  (.*)$"
        if name then
            local unit, remark = rest:match "^(.-)%s%s+(.*)$"
            out[name] = {
                value = tonumber(value), unit = unit or rest,
                remark = remark or "",
            }
        end
    end
    if not pipe:close() then
        error("failed: " .. command, 0)
    end
    return out
end

local function wanted(c)
    for i = 2, #c do
        if arg.only == "" or c[i][1] == arg.only then
            return true
        end
    end
    return false
end

--- only=NAME has to be a row.
local function check()
    local names = {}
    for _, c in ipairs(COMMANDS) do
        for i = 2, #c do
            names[#names + 1] = c[i][1]
        end
        if wanted(c) then
            return
        end
    end
    local near = require("heddle.index").nearest(arg.only, names)
    error({ usage = ("only=%s: no such row%s"):format(arg.only, near
        and (" (did you mean '%s'?)"):format(near) or "") }, 0)
end
check()

local function show(v)
    return (v >= 100 and "%.0f" or v >= 10 and "%.1f" or "%.3f"):format(v)
end

local busy = load_average()
local t0 = os.time()
local list = {}
-- The text of the traces, once, before anything is timed.
assert(os.execute(arg.build .. "/heddle run bench/text.lua >/dev/null"))
for _, c in ipairs(COMMANDS) do
    if wanted(c) then
        local command = c[1]:gsub("%%", arg.build)
        io.stderr:write("  ", command, "\n")
        local rows = rows_of(command)
        busy = math.max(busy, load_average())
        for i = 2, #c do
            local name, compare, goal = table.unpack(c[i])
            local r = rows[name]
            if not r then
                error(("%s: no row '%s'"):format(command, name), 0)
            end
            if arg.only == "" or arg.only == name then
                list[#list + 1] = {
                    name = name, value = r.value, unit = r.unit,
                    remark = r.remark, command = command, compare = compare,
                    goal = goal,
                    met = compare and COMPARE[compare](r.value, goal),
                }
            end
        end
    end
end

local out = { { "what", "measured", "unit", "goal", "", "command" } }
local goals, missed = 0, 0
for i, r in ipairs(list) do
    local same = list[i - 1] and list[i - 1].command == r.command
    goals = goals + (r.goal and 1 or 0)
    missed = missed + (r.met == false and 1 or 0)
    out[#out + 1] = {
        r.name, show(r.value), r.unit,
        r.goal and r.compare .. " " .. r.goal or "",
        r.met == nil and "" or r.met and "met" or "MISSED",
        same and "" or r.command,
    }
end
io.write(H.report.table(out))
io.write(("\n%d of %d goals met; %d s\n"):format(goals - missed, goals,
    os.time() - t0))
if busy > 1.5 then
    io.write(("The machine was busy (load average %.1f): absolute numbers "
        .. "are too low.\n"):format(busy))
end
if arg.json ~= "" then
    process.mkdir(arg.json:match "^(.+)/" or ".")
    H.report.json({
        heddle = H.version, load_average = busy, rows = list,
    }, arg.json)
    io.write("written: ", arg.json, "\n")
end
