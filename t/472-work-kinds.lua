--[[
472-work-kinds.lua - the engine cannot tell how a workload is made.

Two kernels, a gather and a sum, with a tail of lanes that have nothing to do,
as a kernel program, as a generator, as a plug-in (scenarios/gather.c, compiled
here), and as the trace that is recorded of each.  Pinned, for every kind: all
counters, histograms and launches are those of the program, alone and beside
another application, with a budget, over a warm-up, with a kernel selected, with
buffers paged in; a run in steps, one cut by snapshots, one restored and one
forked end in the state of the straight run; the same workload serves one
simulation after the other; traces of all are of the same instructions.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local survey = require "heddle.survey"

local dir = files.folder()
local cc = os.getenv "CC" or "cc"
assert(os.execute(("%s -shared -fPIC -Isrc/engine -Isrc/work -o %s/gather.so scenarios/gather.c")
    :format(cc, dir)))

local params = { n = 20001, rounds = 6, alu = 3 }

local works = dofile "scenarios/gather.lua" (params)

-- How each kind is described, with options of the description.
local KINDS = {
    { "program", function(o) return H.program(works.program, o) end },
    { "generator", function(o) return H.program(works.generator, o) end },
    { "plug-in", function(o)
        o = o or {}
        for name, value in pairs(params) do o[name] = value end
        return H.plugin(dir .. "/gather.so", o)
    end },
}

--- A machine small enough that every part of it is full.
local small = H.machine("fermi") { core = { count = 4 } }

--- What there is of a run that does not name the workload.
local function facts(sim)
    local r = sim:results()
    local launches = {}
    for i, l in ipairs(r.kernels) do
        launches[i] = { l.name, l.start, l["end"], l.instructions, l.blocks }
    end
    return H.json.encode { r.counters, r.histograms or {}, launches, sim.now,
        sim.instructions, r.apps and r.apps[1] and r.apps[1].pages or 0 }
end

local SETUPS = {
    { "alone", {} },
    { "beside another", { other = "GUP" } },
    { "with a budget", { of = { budget = 9000 } } },
    { "over a warm-up", { options = { warmup = 2000, budget = 6000 } } },
    { "with a kernel selected", { settings = { ["sim.first_kernel"] = 2 } } },
    { "paged in", { settings = { ["vm.paging"] = "fault" } } },
    { "on 64 lanes", { machine = H.machine("maxwell") { core = { count = 2 } } } },
    { "checked", { options = { check = true } } },
}

local function simulation(kind, setup)
    local of = {}
    for name, value in pairs(setup.of or {}) do of[name] = value end
    local options = { machine = setup.machine or small,
        settings = setup.settings, apps = { kind[2](of) } }
    if setup.other then
        options.apps[2] = H.app(setup.other, { size = "T" })
    end
    for name, value in pairs(setup.options or {}) do options[name] = value end
    return H.sim(options)
end

for _, setup in ipairs(SETUPS) do
    local expected
    for _, kind in ipairs(KINDS) do
        local sim <close> = simulation(kind, setup[2])
        sim:run()
        local got = facts(sim)
        expected = expected or got
        if kind ~= KINDS[1] then
            tap.ok(got == expected,
                kind[1] .. " " .. setup[1] .. ": as the program")
        else
            tap.ok(sim.instructions > 3000 and #got > 1000,
                setup[1] .. ": something runs", sim.instructions)
        end
    end
end

-- ---- snapshots ----------------------------------------------------------------

for _, kind in ipairs(KINDS) do
    local setup = { other = "GUP" }
    local name = kind[1]
    local straight <close> = simulation(kind, setup)
    straight:run()
    local now, hash = straight.now, straight:state_hash()
    local s <close> = simulation(kind, setup)
    s:run(1777)
    local early, then_ = s:snapshot(), s:state_hash()
    s:run(9001)
    local late = s:snapshot()
    s:run()
    tap.is(s:state_hash(), hash, name .. ": snapshots change nothing")
    s:restore(early)
    tap.is(s:state_hash(), then_, name .. ": restored")
    s:run()
    tap.is(s:state_hash(), hash, name .. ": and run again")
    s:restore(late)
    s:run()
    tap.is(s:state_hash(), hash, name .. ": from the later one")
    local fork <close> = simulation(kind, setup)
    fork:restore(early)
    s:restore(late)
    for _ = 1, 20 do -- side by side
        fork:run(500)
        s:run(500)
    end
    fork:run()
    s:run()
    tap.is(fork:state_hash(), hash, name .. ": a fork")
    tap.is(s:state_hash(), hash, name .. ": and what it ran beside")
    s:restore(early)
    while s.now + 41 <= now do s:step(41) end
    s:run()
    tap.is(s:state_hash(), hash, name .. ": in steps of 41 cycles")
end

-- ---- traces -----------------------------------------------------------------------

--- Every instruction as a line, without its pc and what else the kind decides.
local function instructions(w, lanes)
    local out = {}
    survey.each(w, function(op)
        local at = {}
        for lane = 0, lanes - 1 do
            at[#at + 1] = op.addr and op.addr[lane] or nil
        end
        out[#out + 1] = ("%s %s %d %d %d %x %s"):format(op.kind, op.kernel,
            op.block, op.warp, op.n, op.mask, table.concat(at, " "))
    end, { lanes = lanes })
    return table.concat(out, "\n")
end

local trace = require "heddle.trace"
for _, lanes in ipairs { 32, 64 } do
    local first, timed
    for i, kind in ipairs(KINDS) do
        local path = ("%s/%d-%d.hdt"):format(dir, i, lanes)
        trace.record((kind[2]().make()), path, lanes)
        local listed = instructions(trace.open(path), lanes)
        local own = instructions((kind[2]().make()), lanes)
        first = first or own
        tap.ok(own == first and listed == first, ("%s, %d lanes: the trace of "
            .. "it has its instructions"):format(kind[1], lanes))
        local sim <close> = H.sim { machine = small, apps = { H.trace(path) },
            settings = { ["core.lanes"] = lanes } }
        sim:run()
        timed = timed or facts(sim)
        tap.ok(facts(sim) == timed, kind[1] .. ": and runs as the others'")
    end
end

-- ---- hashes -------------------------------------------------------------------------

local seen = {}
for _, kind in ipairs(KINDS) do
    local function hash(o)
        local sim <close> = H.sim { machine = small, apps = { kind[2](o) } }
        return sim:results().inputs[1].hash
    end
    local own = hash()
    tap.is(hash(), own, kind[1] .. ": its hash is the same each time")
    tap.ok(not seen[own], kind[1] .. ": and its own")
    seen[own] = true
    local n = params.n
    params.n = 19999
    tap.ok(hash { n = 19999 } ~= own, kind[1] .. ": and follows parameters")
    params.n = n
end

-- ---- plug-ins that are named wrongly --------------------------------------------------

local function refused(what, code, want, path, o)
    local ok, err = pcall(function()
        H.sim { machine = small, apps = { H.plugin(path, o) } }
    end)
    tap.ok(not ok and err.code == code and tostring(err):find(want, 1, true),
        what, err)
end

local so = dir .. "/gather.so"
refused("no such file", -5, "cannot load plug-in", dir .. "/none.so")
refused("a path without a slash", -5, 'write "./gather.so"', "gather.so")
refused("a file that is none", -10, "cannot load plug-in", "./README.md")
refused("a parameter of nothing", -3, 'no parameter "rouns"; did you mean '
    .. '"rounds"?', so, { rouns = 1 })
refused("one out of range", -3, "n = 0 is out of range, expected 1 to", so,
    { n = 0 })
refused("one that is no number", -3, "n: expected an integer of 0 or more",
    so, { n = "many" })
refused("a path that is none", -2, "a path is expected, not a number", 5)
local lines = require("heddle.index").explain(so)
tap.is(lines[1], "gather (workload, a plug-in in C)", "explained by its path")
tap.ok(table.concat(lines, "\n"):find("n = 65536 elements: of the table", 1,
    true), "with its parameters", table.concat(lines, "\n"))

os.execute("rm -r " .. dir)
return tap.done()
