--- publish.lua - heddle run --live DIR: where a simulation is, for others to see.
--
-- While a simulation runs, its state is a file, DIR/PROCESS.now, once a second: the
-- cycle, instructions and IPC of each application, what warps wait for, rates and
-- queues.  heddle view --follow DIR shows it (live.lua).  A process that runs several
-- has the file of the one that ran last; the file goes with the command, and what a
-- killed one has left goes when another begins.
--
-- Rates and shares are of the cycles since the state before, queues are what is in
-- them at that cycle.  The wall clock is used here, and nothing of it reaches a
-- result; the state of a run is the same however it is cut.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local metrics = require "heddle.metrics"
local process = require "heddle.process"
local series = require "heddle.series"

local publish = { SCHEMA = "heddle-now" }

--- Seconds between two states; points of the curve of IPC.
local PERIOD, POINTS = 1.0, 120

--- What is counted of objects that can be looked into: object, kind, the state of
-- the entry (! for any other), name, unit.
local QUEUES = {
    { "l2tlb", "input", nil, "requests at the L2 TLB's input", "requests" },
    { "walks", "walk", "waits", "walks that wait for a walker", "walks" },
    { "walks", "walk", "!waits", "walkers in use", "walks" },
    { "fault", "fault", nil, "pages that faulted and have not arrived", "faults" },
    { "link", "transfer", nil, "transfers on the link or waiting", "transfers" },
    { "dram", "request", nil, "requests in DRAM's queues", "requests" },
}

--- Rates: name, unit, a counter, and what it is over: another one, or 1000 cycles.
local RATES = {
    { "L1 TLB misses", "share", "l1tlb.misses", "l1tlb.lookups" },
    { "L2 TLB misses", "share", "mmu.misses", "mmu.requests" },
    { "page walks", "in 1,000 cycles", "walk.walks" },
    { "latency of a walk", "core cycles", "walk.busy_cycles", "walk.walks" },
    { "far faults", "in 1,000 cycles", "fault.faults" },
    { "DRAM reads", "in 1,000 cycles", "dram.reads" },
}

--- Counters by component and name, summed over instances and applications.
local function totals(sim)
    local out = {}
    local list, values = sim.core:counters(), sim.core:counter_values()
    for i, c in ipairs(list) do
        local sum = 0
        for _, by in ipairs(values[i]) do
            for _, v in ipairs(type(by) == "table" and by or { by }) do
                sum = sum + v
            end
        end
        out[c.component .. "." .. c.name] = sum
    end
    return out
end

local function queues_of(sim, most)
    local out, there = json.array {}, {}
    for _, o in ipairs(sim.core:objects()) do
        there[o.name] = o.instances
    end
    for _, q in ipairs(QUEUES) do
        local object, kind, state, name, unit = q[1], q[2], q[3], q[4], q[5]
        local n = 0
        for i = 0, (there[object] or 0) - 1 do
            for _, e in ipairs(sim.core:look(object, i)) do
                local is = not state or (e.state == state:gsub("^!", ""))
                    ~= (state:sub(1, 1) == "!")
                n = n + (e.kind == kind and is and 1 or 0)
            end
        end
        most[name] = math.max(most[name] or 0, n)
        out[#out + 1] = there[object] and { name = name, unit = unit, now = n,
            most = most[name] } or nil
    end
    return out
end

local function growth(now, before, name)
    return now[name] and now[name] - (before[name] or 0)
end

local function rates_of(now, before, cycles)
    local out = json.array {}
    for _, r in ipairs(RATES) do
        local part = growth(now, before, r[3])
        local whole = r[4] and growth(now, before, r[4]) or not r[4] and cycles / 1000
        if part and whole and whole > 0 and (part > 0 or now[r[3]] > 0) then
            out[#out + 1] = { name = r[1], unit = r[2], value = part / whole }
        end
    end
    return out
end

--- What warps waited for since the state before: shares of their time.
local function stages_of(now, before)
    local out, sum = json.array {}, 0
    for _, part in ipairs(metrics.TIME) do
        if part[1] ~= "idle" then
            sum = sum + (growth(now, before, "core.time_" .. part[1]) or 0)
        end
    end
    for _, part in ipairs(metrics.TIME) do
        local v = growth(now, before, "core.time_" .. part[1]) or 0
        if part[1] ~= "idle" and v > 0 and sum > 0 then
            out[#out + 1] = { name = part[1], meaning = part[2], share = v / sum }
        end
    end
    return out
end

local function apps_of(sim)
    local out = json.array {}
    for i, a in ipairs(sim.core:apps()) do
        out[i] = { name = sim.apps[i].label or a.name, kernel = a.kernel,
            instructions = a.instructions, blocks = a.blocks,
            blocks_done = a.blocks_done, finished = a.finished or false,
            budget = sim.apps[i].budget }
    end
    return out
end

local function write(sim, status)
    local p = sim.published
    local cycle, now, counted = sim.core:now(), process.time(), totals(sim)
    local cycles = cycle - p.cycle
    local instructions = counted["core.instructions"] or 0
    local issued = instructions - p.instructions
    if cycles > 0 then
        p.ipc = issued / cycles
        p.points[#p.points + 1] = p.begun and { cycle, p.ipc } or nil
        p.begun = true -- what is before the first state is a beginning alone
        if #p.points > POINTS then
            table.remove(p.points, 1)
        end
        p.rates, p.stages = rates_of(counted, p.counted, cycles),
            stages_of(counted, p.counted)
        p.speed = now > p.written and cycles / (now - p.written) or nil
    end
    local pid, begun = series.who()
    local ok, err = pcall(process.save, ("%s/%d.now"):format(p.dir, pid or 0),
        json.encode { schema = publish.SCHEMA, schema_version = 1, pid = pid,
            begun = begun, at = p.at, seen = os.time(), status = status,
            label = rawget(sim, "label"), machine = sim.machine.name, apps = apps_of(sim),
            cycle = cycle, ipc = p.ipc, mean_ipc = cycle > 0
            and instructions / cycle or nil, speed = p.speed,
            points = json.array(p.points), rates = p.rates or json.array {},
            stages = p.stages or json.array {}, queues = queues_of(sim, p.most) }
        .. "\n")
    if not ok and not p.complained then -- who looks on harms nothing
        p.complained = true
        io.stderr:write("heddle: --live: ", core.problem(err).text, "\n")
    end
    p.cycle, p.written, p.counted, p.instructions = cycle, now, counted,
        instructions
end

--- A simulation is made in a process that was told to.
function publish.attach(sim, dir)
    sim.published = { dir = dir, at = os.time(), written = 0, cycle = 0,
        instructions = 0, counted = {}, points = {}, most = {}, slice = 2000,
        before = process.time() }
end

--- Cycles to run at a time, at most n.
function publish.slice(sim, n)
    return math.min(n, sim.published.slice)
end

--- After a slice; `status`: how the run stands.
function publish.passed(sim, status)
    local p, now = sim.published, process.time()
    local took = now - p.before
    p.before = now
    if took < PERIOD / 8 then
        p.slice = math.min(p.slice * 2, 1 << 40)
    elseif took > PERIOD / 2 then
        p.slice = math.max(p.slice // 2, 100)
    end
    if status ~= "ok" or now - p.written >= PERIOD then
        write(sim, status == "ok" and "running" or status)
        p.before = process.time()
    end
end

--- The folder is there; what killed processes have left in it is not.
function publish.begin(dir)
    process.mkdir(dir)
    series.sweep(publish.list(dir))
end

--- The process ends.
function publish.finish(dir)
    os.remove(("%s/%d.now"):format(dir, series.who() or 0))
    series.sweep(publish.list(dir)) -- jobs of series had processes of their own
end

-- ---- reading ------------------------------------------------------------------------

--- The states in a folder, by their processes; runs: whether the process does.
function publish.list(dir)
    local out = {}
    for _, name in ipairs(process.list(dir) or {}) do
        local f <close> = name:find "^%d+%.now$" and io.open(dir .. "/" .. name, "rb")
            or nil
        local ok, s = pcall(json.decode, f and f:read "a" or "")
        if ok and type(s) == "table" and s.schema == publish.SCHEMA
            and s.schema_version == 1 then
            s.path, s.runs = dir .. "/" .. name, series.lives(s.pid, s.begun)
            out[#out + 1] = s
        end
    end
    table.sort(out, function(a, b) return a.path < b.path end)
    return out
end

return publish
