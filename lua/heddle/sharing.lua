--- sharing.lua - sets of applications on one GPU under several designs, with
-- equal work, as MASK and Mosaic measure them.
--
--     local s = sharing.measure(x, {
--         machine = H.machine "maxwell", designs = { D, D, ... },
--         reference = D, sets = { { "MM", "CONS" }, ... },
--         size = "M", warmup = 100000, cycles = 1000000,
--     })
--     s[1].SharedTLB.ws        weighted speedup of the first set on SharedTLB
--
-- Alone: each application on the cores that it has in the set, the others
-- idle, on one reference design; it runs `cycles` core cycles after the
-- warm-up, and the warp instructions that it issues in them are its work.
-- Shared: all run, starting again when they end, until each has done its work;
-- its IPC is over exactly that, from the instruction on at which the alone run
-- ended its warm-up.  So every design does the same work, however far its own
-- warm-up took it, and is measured against the same alone run (alone = "same":
-- each design against itself).  Counters are those of the work, too.
--
-- Cores are split evenly, or by search (partition = "oracle"): the split with
-- the best weighted speedup on the reference design, on a grid of `grid` cores
-- (3), found once for a set and used for all designs.
--
-- A design is { name =, apply = function(machine) -> machine, policies = {} }
-- (designs.lua), with `warmup` if it warms up for longer than the others.  An
-- application is a name, or { name, size =, ... }; params by name of application
-- in `params`.
--
-- SPDX-License-Identifier: MIT
local metrics = require "heddle.metrics"
local workload = require "heddle.workload"

local sharing = {}

local function describe(o, app, budget, start)
    local name = type(app) == "table" and app[1] or app
    local options = { size = o.sizes and o.sizes[name] or o.size,
        budget = budget, start = start }
    for _, more in ipairs { o.params and o.params[name] or {},
        type(app) == "table" and app or {} } do
        for k, v in pairs(more) do
            if k ~= 1 then
                options[k] = v
            end
        end
    end
    return workload.app(name, options)
end

local function policies(design, split)
    local list = {}
    for _, p in ipairs(design.policies or {}) do
        list[#list + 1] = p
    end
    if split then
        local use = { use = "cores" }
        for i, n in ipairs(split) do
            use["app" .. i - 1] = n
        end
        list[#list + 1] = use
    end
    return list
end

local function job(o, design, cores, apps, more)
    local j = {
        machine = design.apply(o.machine):with { ["core.count"] = cores },
        apps = apps, warmup = design.warmup or o.warmup, seed = o.seed,
        label = design.name,
        policies = policies(design, more and more.split),
    }
    for k, v in pairs(more or {}) do
        if k ~= "split" then
            j[k] = v
        end
    end
    return j
end

--- Each application of each set alone, on its cores; by design if they differ.
local function alone_job(o, design, app, cores)
    return job(o, design, cores, { describe(o, app) }, {
        stop_cycles = (design.warmup or o.warmup) + o.cycles,
        budget = math.maxinteger,
    })
end

local function even(o, n)
    local cores, out = o.cores, {}
    for i = 1, n do
        out[i] = cores * i // n - cores * (i - 1) // n
    end
    return out
end

--- All splits of the cores into n parts on the grid.
local function splits(cores, n, grid)
    if n == 1 then
        return { { cores } }
    end
    local out = {}
    for first = grid, cores - grid * (n - 1), grid do
        for _, rest in ipairs(splits(cores - first, n - 1, grid)) do
            out[#out + 1] = { first, table.unpack(rest) }
        end
    end
    return out
end

local function value_of(result, alone)
    local v = { run = result, alone = alone, each = {},
        ws = metrics.weighted_speedup(result, alone),
        unfairness = metrics.unfairness(result, alone),
        ipc = metrics.ipc_throughput(result) }
    for i = 1, #alone do
        v.each[i] = metrics.ipc(result, i - 1) / metrics.ipc(alone[i])
    end
    return v
end

--- Work that is none cannot be done again.
local function check_work(o, alone)
    for _, r in ipairs(alone) do
        if r.apps[1].instructions == 0 then
            error(("sharing: %s issues nothing alone in %d cycles after a "
                .. "warm-up of %d"):format(r.apps[1].name, o.cycles,
                o.warmup), 0)
        end
    end
end

--- Where the work of an alone run began.
local function start_of(o, app)
    return o.warmup > 0 and math.max(1, app.before) or nil
end

--- Runs a list of { set, split, design }: alone first, then shared.
local function perform(x, o, list)
    local jobs, at = {}, {}
    for i, task in ipairs(list) do
        at[i] = {}
        for a, app in ipairs(task.set) do
            local design = o.alone == "same" and task.design or o.reference
            jobs[#jobs + 1] = alone_job(o, design, app, task.split[a])
            at[i][a] = #jobs
        end
    end
    local alone = x:run(jobs)
    check_work(o, alone)
    jobs = {}
    for i, task in ipairs(list) do
        local apps, of = {}, {}
        for a, app in ipairs(task.set) do
            of[a] = alone[at[i][a]]
            apps[a] = describe(o, app, of[a].apps[1].instructions,
                start_of(o, of[a].apps[1]))
        end
        at[i] = of
        jobs[i] = job(o, task.design, o.cores, apps, { split = task.split })
    end
    local out = {}
    for i, result in ipairs(x:run(jobs)) do
        out[i] = value_of(result, at[i])
    end
    return out
end

--- The best split of each set, on the reference design.
local function search(x, o)
    local list = {}
    for s, set in ipairs(o.sets) do
        for _, split in ipairs(splits(o.cores, #set, o.grid or 3)) do
            list[#list + 1] = { set = set, split = split, s = s,
                design = o.reference }
        end
    end
    local best = {}
    for i, v in ipairs(perform(x, o, list)) do
        local s = list[i].s
        if not best[s] or v.ws > best[s].ws then
            best[s] = { ws = v.ws, split = list[i].split }
        end
    end
    return best
end

--- See the head: [set][design name] = { ws, each, unfairness, ipc, run, alone,
-- split }.
function sharing.measure(x, options)
    local o = setmetatable({}, { __index = options })
    o.cores = options.cores or tonumber(
        options.machine.settings["core.count"][1])
    o.seed, o.warmup = options.seed or x.arg.seed, options.warmup or 0
    local best = o.partition == "oracle" and search(x, o) or {}
    local list = {}
    for s, set in ipairs(o.sets) do
        for _, design in ipairs(o.designs) do
            list[#list + 1] = { set = set, s = s, design = design,
                split = best[s] and best[s].split or even(o, #set) }
        end
    end
    local out = {}
    for i, v in ipairs(perform(x, o, list)) do
        local task = list[i]
        out[task.s] = out[task.s] or {}
        v.split = task.split
        out[task.s][task.design.name] = v
    end
    return out
end

--- Mean over sets of the ratio of `field` of design a to that of design b, and
-- the ratio of the means.
function sharing.gain(results, a, b, field)
    local sum, top, bottom, each = 0.0, 0.0, 0.0, {}
    for i, r in ipairs(results) do
        local va, vb = r[a][field or "ws"], r[b][field or "ws"]
        sum, top, bottom = sum + va / vb, top + va, bottom + vb
        each[i] = va / vb
    end
    return sum / #results, top / bottom, each
end

--- A claim of an experiment (x:quantity) with its value and those of its sets: design
-- a over b, or, of kind "loss", below it, in percent; of kind "part" in percent of it.
function sharing.claim(q, results, a, b, field)
    local mean, _, each = sharing.gain(results, a, b, field)
    local function value(v)
        return q.kind == "part" and 100 * v or q.kind == "loss" and 100 * (1 - v)
            or 100 * (v - 1)
    end
    for i, v in ipairs(each) do
        each[i] = value(v)
    end
    q.unit, q.kind, q.heddle, q.each = "%", q.kind or "gain", value(mean), each
    return q
end

--- An order of designs (x:order) with their means and the values of the sets.
function sharing.order(o, results, field)
    o.heddle, o.each = {}, {}
    for _, name in ipairs(o.paper) do
        local list = {}
        for i, r in ipairs(results) do
            list[i] = r[name][field or "ws"]
        end
        o.heddle[name], o.each[name] = sharing.mean(results, name, field), list
    end
    return o
end

--- Mean over sets of a field of a design.
function sharing.mean(results, design, field)
    local sum = 0.0
    for _, r in ipairs(results) do
        sum = sum + r[design][field or "ws"]
    end
    return sum / #results
end

return sharing
