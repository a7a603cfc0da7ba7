--- sim.lua - a simulation: build, run, look inside, results.
--
--     local sim = H.sim {
--         machine = "maxwell", apps = { H.app("ATAX") },
--         policies = { "srrip" }, seed = 1, check = false,
--         settings = { ["sim.budget"] = 100000 }, interval = 10000,
--         timeline = "run.pftrace",
--     }
--     sim:run()              to the end, or sim:run(cycles), sim:step(n)
--     sim:run_until(function(s) return s.now > 5000 end)
--     sim:stop_on(...), sim:back(1000), sim:go(5000), sim:what_if {...}
--     sim:counters().l2tlb.hits
--     sim:look("l2tlb", 0)   entries, as a list of tables
--     sim:results()          everything, as one table (results.lua)
--     sim:plot("ipc")        a curve over time, as text (plot.lua)
--
-- Fields: now (core cycle), cycles (the same), status, apps, machine.  Unknown
-- options and fields raise.  The machine's memory goes with close(), a
-- to-be-closed variable, or the garbage collector.
--
-- SPDX-License-Identifier: MIT
local config = require "heddle.config"
local core = require "heddle.core"
local machines = require "heddle.machines"
local progress = require "heddle.progress"
local script = require "heddle.script"
local time = require "heddle.time"
local warnings = require "heddle.warnings"
local workload = require "heddle.workload"

local Sim = {}

--- Options of H.sim and the setting that some of them stand for.
local OPTIONS = {
    machine = true, apps = true, policies = true, settings = true,
    interval = true, label = true, progress = true, timeline = true,
    sample = true, memory = true, batches = true,
    gpus = true, link = true, topology = true,
    seed = "sim.seed", check = "sim.check", budget = "sim.budget",
    warmup = "sim.warmup", stop_cycles = "sim.stop_cycles",
    translation = "sim.translation", relaunch = "sim.relaunch",
}

local function fail(code, format, ...)
    error(core.error(code, format:format(...)), 0)
end

local function check_options(o)
    if type(o) ~= "table" then
        fail(-2, "H.sim: a table of options is expected, not a %s", type(o))
    end
    local wrong, names = {}, config.sorted_keys(OPTIONS)
    for _, k in ipairs(core.keys(o)) do -- in order
        if not OPTIONS[k] then
            wrong[#wrong + 1] = ("'%s'%s"):format(tostring(k),
                require("heddle.index").meant(k, names))
        end
    end
    if #wrong > 0 then
        fail(-2, "H.sim has no option %s; it takes %s", table.concat(wrong,
            ", "), table.concat(names, ", "))
    end
end

--- A whole number that is not below `least`.
local function whole(what, v, least)
    local n = math.tointeger(v)
    if type(v) ~= "number" or not n or n < least then
        fail(-2, "%s: a whole number of at least %d is expected, not '%s'",
            what, least, tostring(v))
    end
    return n
end

--- A list has no gap, behind which something would be lost, and no names.
local function check_list(what, list)
    local n = 0
    for i in ipairs(list) do
        n = i
    end
    for k in pairs(list) do
        if math.type(k) ~= "integer" or k < 1 or k > n then
            fail(-2, "H.sim: %s is a list: [%s] is there, but [%d] is nil",
                what, tostring(k), n + 1)
        end
    end
end

--- What the engine does not see of the options.
local function check_values(o)
    if type(o.apps) ~= "table" or next(o.apps) == nil
        or workload.is(o.apps) then
        fail(-2, "H.sim: expected apps = { H.app(...), ... }")
    elseif o.policies ~= nil and (type(o.policies) ~= "table"
        or o.policies.use or o.policies.name) then
        fail(-2, "H.sim: policies is a list: { \"srrip\", ... }")
    elseif o.label ~= nil and type(o.label) ~= "string"
        and type(o.label) ~= "number" then
        fail(-2, "H.sim: label: a text is expected, not a %s", type(o.label))
    end
    core.line("H.sim: label", o.label or "")
    check_list("apps", o.apps)
    check_list("policies", o.policies or {})
    if o.interval ~= nil and o.interval ~= "auto" then
        whole("H.sim: interval, or \"auto\"", o.interval, 1)
    end
    if o.batches ~= nil and type(o.batches) ~= "boolean" then
        fail(-2, "H.sim: batches: true or false is expected, not %s",
            tostring(o.batches))
    end
end

--- The machine with what the options change.
local function machine_of(o)
    local m = machines.machine(o.machine)
    if o.gpus or o.link or o.topology then
        m = require("heddle.links").join(m, o)
    end
    if o.settings then
        m = m:with(o.settings)
    end
    local direct = o.sample ~= nil
        and require("heddle.sampling").settings(o.sample) or {}
    for k, setting in pairs(OPTIONS) do
        if type(setting) == "string" and o[k] ~= nil then
            direct[setting] = o[k]
        end
    end
    if script.options.check then
        direct["sim.check"] = true
    end
    return next(direct) and m:with(direct, "scenario") or m
end

local serial = 0

--- Core cycles of the first intervals, where they are "auto", and how many there
-- can be: then every second sample goes, and intervals are twice as long.
local FIRST, MOST = 250, 200

--- H.sim{...}
local function new(o)
    check_options(o)
    script.begins()
    check_values(o)
    local machine, memory = machine_of(o), nil
    if o.memory ~= nil then
        machine, memory = require("heddle.touched").machine(o, machine)
    end
    local c = config.build(machine.settings, true)
    if o.interval and (c:get "sample.every" ~= "0"
        or c:get "sample.launches" == "true") then
        fail(-2, "H.sim: interval: curves over time need a run that is "
            .. "simulated whole; neither sample.every nor sample.launches is "
            .. "expected")
    end
    local apps, workloads, extents, noted = {}, {}, {}, {}
    for i, a in ipairs(o.apps) do
        apps[i] = workload.from(a)
        workloads[i], extents[i] = apps[i].make()
        local wrong = warnings.trace(apps[i].label, workloads[i])
        table.move(wrong, 1, #wrong, #noted + 1, noted)
    end
    script.warn { told = noted } -- though the run may come to no results
    serial = serial + 1
    local self = setmetatable({
        serial = serial,
        machine = machine,
        apps = apps,
        extents = extents,
        noted = noted,
        label = o.label,
        interval = o.interval == "auto" and FIRST
            or math.tointeger(o.interval),
        auto = o.interval == "auto",
        progress = o.progress,
        core = core.sim(c, workloads),
        resolved = config.resolve(machine.settings, c),
        rounded = config.rounded(c),
        memory = memory or false,
        policies = {},
        samples = {},
        status = "ready",
        time = time.new(),
        drawing = false,
        published = false,
        batched = false,
    }, Sim)
    for i, a in ipairs(apps) do
        if a.budget then
            self.core:set_budget(i - 1, a.budget)
        end
        if a.start then
            self.core:set_start(i - 1, a.start)
        end
    end
    for _, p in ipairs(o.policies or {}) do
        self:use(p)
    end
    if script.options.follow then
        require("heddle.follow").attach(self, script.options.follow)
    end
    if script.options.live then
        require("heddle.publish").attach(self, script.options.live)
    end
    if o.batches and c:get "uvm.mode" == "driver" then
        require("heddle.batches").attach(self)
        self.batched = true
    end
    if o.timeline ~= nil or script.options.timeline then
        self.drawing = require("heddle.timeline").attach(self, o.timeline)
    end
    script.live[self] = true
    local to = script.file_of_results()
    if to then
        to:made(self)
    end
    return self
end

local methods = {}
for name, fn in pairs(time.methods) do
    methods[name] = fn
end

--- Binds a policy: sim:use("srrip", { at = "l2cache" }); names and tables as
-- in the policy module, or sim:use { use = "srrip", at = "l2cache" }.  Replaces
-- what stands in the way with replace = true.
function methods:use(policy, options)
    if type(policy) == "table" and policy.use ~= nil then
        local both = {}
        for _, t in ipairs { policy, options or {} } do
            for k, v in pairs(t) do
                both[k] = v
            end
        end
        policy, options, both.use = policy.use, both, nil
    end
    local used = require("heddle.policy").use(self.core, policy, options)
    self.policies[#self.policies + 1] = {
        policy = policy, options = options,
    }
    time.deed(self)
    return used
end

--- Unbinds policies and stops by name and place; returns how many.  A run that
-- a policy has ended by an error can then continue.
function methods:unuse(name, at)
    local stops = at == nil and time.unuse(self, name) or 0
    local n = require("heddle.policy").unuse(self.core, name, at)
    if n > 0 and not tostring(name):find "^stop_on%." then
        time.deed(self)
    end
    return stops + n
end

--- The bound policies: { { name =, at =, params = }, ... }; those in Lua with a
-- copy of their state, `state`, and of that in each of their places, `states`.
function methods:used()
    local used = require("heddle.policy").used(self.core)
    for i = #used, 1, -1 do
        if used[i].name == "follow" or used[i].name:find "^%(" then
            table.remove(used, i) -- heddle's, not the script's
        end
    end
    return used
end

-- ---- running --------------------------------------------------------------

--- Lets every second sample go, but the first and the last.
local function thin(self)
    local samples, kept = self.samples, {}
    self.interval = 2 * self.interval
    for i, s in ipairs(samples) do
        if i == 1 or i == #samples or s.cycle % self.interval == 0 then
            kept[#kept + 1] = s
        end
    end
    self.samples = kept
end

--- The counters' totals by application, for intervals.
local function sample(self)
    local values, out = self.core:counter_values(), {}
    for i, by_app in ipairs(values) do
        out[i] = {}
        for a, instances in ipairs(by_app) do
            local sum = 0
            for _, v in ipairs(instances) do
                sum = sum + v
            end
            out[i][a] = sum
        end
    end
    local samples = self.samples
    if #samples == 0 or samples[#samples].cycle < self.core:now() then
        samples[#samples + 1] = {
            cycle = self.core:now(), counted = self.core:counted(),
            values = out, apps = self.core:apps(),
        }
    end
    if self.auto and #samples > MOST then
        thin(self)
    end
end

--- Cycles to run at a time: to the next sample and, with progress shown, so
-- few that the line keeps moving.
local function slice(self, left)
    local n = left
    if self.interval then
        n = math.min(n, self.interval - self.core:now() % self.interval)
    end
    if self.meter then
        n = math.min(n, self.meter.slice)
    end
    if self.drawing then
        n = self.drawing:slice(n)
    end
    if self.published then
        n = require("heddle.publish").slice(self, n)
    end
    return time.slice(self, n)
end

--- The line on the terminal, until the block that has it ends; one that is
-- there already stays.
local function metered(self, cycles)
    local close
    if not self.meter then
        self.meter = progress.open(self, cycles)
        close = function() progress.close(self) end
    end
    return setmetatable({}, { __close = close or function() end })
end

local function run(self, cycles, resumes)
    local from = self.core:now()
    time.begin(self, resumes)
    local left = (cycles or math.maxinteger) - (self.core:now() - from)
    local word = "ok"
    local _ <close> = metered(self, cycles)
    if self.interval and #self.samples == 0 then
        sample(self)
    end
    if self.drawing then
        self.drawing:sample()
    end
    while left > 0 do
        local n = slice(self, left)
        local since = self.core:now()
        local ok, err = pcall(self.core.run, self.core, n)
        if self.interval and (self.core:now() % self.interval == 0 or not ok
            or err ~= "ok" or left <= n) then
            sample(self)
        end
        if self.drawing then
            self.drawing:sample()
        end
        if not ok then
            local p = core.problem(err)
            self.status = p.name or "error"
            if p.code == -8 then
                err.message = err.message .. "\n" .. self:wait_graph()
            end
            error(err, 0)
        end
        word = time.passed(self, err)
        if self.interval and word ~= err then
            sample(self)
        end
        left = left - n
        progress.show(self)
        if self.published then
            require("heddle.publish").passed(self, word)
        end
        if word ~= "ok" or n > 0 and self.core:now() == since then
            break
        end
    end
    self.status = word
    if script.options.follow then
        require("heddle.follow").show(self, word ~= "ok")
    end
    if word ~= "ok" then
        script.live[self] = nil
        if self.drawing then
            self.drawing:write()
        end
    end
    return word
end

--- Runs to the end, or at most so many core cycles.  Returns "done" (every
-- application has finished), "stopped" (a stop condition) or "ok".
function methods:run(cycles)
    return run(self, cycles and whole("run: cycles", cycles, 0), true)
end

--- Runs n cycles (1).
function methods:step(n)
    return run(self, whole("step: cycles", n or 1, 0), true)
end

--- Runs until fn(sim) is true; asks every `every` cycles (1000).
function methods:run_until(fn, every)
    if type(fn) ~= "function" then
        fail(-2, "run_until: expected a function, got a %s", type(fn))
    end
    every = whole("run_until: every", every or 1000, 1)
    local _ <close> = metered(self)
    local word = "ok"
    while word == "ok" and not fn(self) do
        word = run(self, every)
    end
    return word
end

--- Ends the run under way, from a function of run_until or stop_on, or the next
-- one at once; a policy calls stop().
function methods:stop()
    self.core:stop()
end

-- ---- looking --------------------------------------------------------------

--- Counters nested by component: counters().l2tlb.hits.  With { app = 0 }
-- (from 0; "none": what belongs to none) or { instance = 3 }, only those.
function methods:counters(of)
    of = of or {}
    for k in pairs(of) do
        if k ~= "app" and k ~= "instance" then
            fail(-2, "counters: no selection '%s'; there are app and instance",
                tostring(k))
        end
    end
    local list, values, out = self.core:counters(),
        self.core:counter_values(), {}
    local app = of.app
    if app == "none" then
        app = #self.apps
    elseif app ~= nil and (math.type(app) ~= "integer" or app < 0
        or app >= #self.apps) then
        fail(-2, "counters: applications are 0 to %d and \"none\", not '%s'",
            #self.apps - 1, tostring(app))
    end
    if of.instance ~= nil then
        whole("counters: instance", of.instance, 0)
    end
    for i, c in ipairs(list) do
        local sum = 0
        for a, instances in ipairs(values[i]) do
            if app == nil or a == app + 1 then
                for n, v in ipairs(instances) do
                    if of.instance == nil or n == of.instance + 1 then
                        sum = c.peak and math.max(sum, v) or sum + v
                    end
                end
            end
        end
        out[c.component] = out[c.component] or {}
        out[c.component][c.name] = sum
    end
    return out
end

--- Everything that was measured, as one table (the schema: results.lua).
function methods:results()
    local results = require("heddle.results").collect(self)
    script.warn(results)
    script.got(results, self)
    return results
end

--- sim:plot(metric [, { app =, width =, height = }]): how a metric or a counter,
-- "l1tlb.misses", went from interval to interval, as text.
function methods:plot(what, options)
    return require("heddle.plot").of(self, what, options)
end

--- The entries of an object: a list of tables; sim:objects() has the names.
function methods:look(object, instance)
    local names = {}
    for i, o in ipairs(self.core:objects()) do
        names[i] = o.name
        if o.name == object then
            local n = instance or 0
            if math.type(n) ~= "integer" or n < 0 or n >= o.instances then
                fail(-2, "%s has instances 0 to %d, not %s", object,
                    o.instances - 1, tostring(instance))
            end
            return self.core:look(object, n)
        end
    end
    fail(-2, "there is no object '%s'%s; known: %s", tostring(object),
        require("heddle.index").meant(object, names),
        table.concat(names, ", "))
end

--- Names of what can be looked at, with their numbers of instances.
function methods:objects()
    return self.core:objects()
end

--- What of a row of the graph is in its sentence.
local SAID = { kind = true, who = true, instance = true, ["for"] = true,
    why = true }

--- What waits for what, a row an edge.
function methods:stuck()
    return self.core:stuck()
end

--- What waits for what as text, a line an edge.
function methods:wait_graph()
    local out = {}
    local ok, rows = pcall(self.core.stuck, self.core)
    for _, row in ipairs(ok and rows or {}) do
        local more = {}
        for _, k in ipairs(config.sorted_keys(row)) do
            if not SAID[k] then
                more[#more + 1] = (k == "vpn" and "%s=0x%x" or "%s=%s"):format(
                    k, row[k])
            end
        end
        out[#out + 1] = ("  %s %d waits for %s%s%s"):format(row.who,
            row.instance, row["for"], row.why and ": " .. row.why or "",
            #more > 0 and " (" .. table.concat(more, ", ") .. ")" or "")
    end
    return table.concat(out, "\n")
end

--- Verifies every invariant now.
function methods:check()
    return self.core:check()
end

--- Translates as the page table does: physical address, page bytes; or nil.
function methods:translate(app, va)
    if math.type(app) ~= "integer" or app < 0 or app >= #self.apps then
        fail(-2, "translate: applications are 0 to %d, not '%s'",
            #self.apps - 1, tostring(app))
    elseif math.type(va) ~= "integer" then
        fail(-2, "translate: an address is a whole number, not '%s'",
            tostring(va))
    end
    return self.core:translate(app, va)
end

--- What the state of a simulation is beside that of the engine, of each
-- snapshot: the samples so far, and the last word.
local beside = setmetatable({}, { __mode = "k" })

--- And how much its timeline had recorded.
local drawn = setmetatable({}, { __mode = "k" })

--- A copy of the state; give an old one to use its memory again.
function methods:snapshot(old)
    local snapshot = self.core:snapshot(old)
    beside[snapshot] = {
        samples = table.move(self.samples, 1, #self.samples, 1, {}),
        status = self.status,
    }
    if self.drawing then
        drawn[snapshot] = { self.drawing.box:mark() }
    end
    return snapshot
end

--- Puts a state back.
function methods:restore(snapshot)
    if not beside[snapshot] then
        fail(-2, "restore: expected what snapshot() returned, got a %s",
            type(snapshot))
    end
    self.core:restore(snapshot)
    local samples = beside[snapshot].samples
    self.samples = table.move(samples, 1, #samples, 1, {})
    self.status = beside[snapshot].status
    script.live[self] = self.status ~= "done" and true or nil
    if not self.time.replays then
        time.restored(self)
        time.deed(self, true, drawn[snapshot])
    end
    return self
end

--- Writes the state to a file, for a simulation of the same machine, applications
-- and policies in another process.  `note`: a line that is in it.
function methods:save(path, note)
    local snapshot = self:snapshot()
    self.core:write(snapshot, path, require("heddle.build").fingerprint(), note or "",
        require("heddle.plain").write(beside[snapshot], "the samples"))
end

--- Puts back the state of such a file.
function methods:load(path)
    local snapshot, more = self.core:read(path, require("heddle.build").fingerprint())
    beside[snapshot] = require("heddle.plain").read(more)
    return self:restore(snapshot)
end

--- A number that is equal for equal states.
function methods:state_hash()
    return self.core:state_hash()
end

--- Sets all counters to 0; the machine's state stays.
function methods:reset_counters()
    self.core:reset_counters()
    self.samples = {}
    time.deed(self)
end

--- Writes the file of the option `timeline` now, with what there is so far;
-- returns what is in it: path, bytes, requests of requests_of (one of
-- requests_one), events of events_of (one of events_one), samples, every.
function methods:timeline()
    local drawing = self.drawing or fail(-2, "timeline: this simulation has "
        .. "none; H.sim { timeline = \"run.pftrace\" }")
    return drawing:write()
end

--- Gives the memory back; nothing else can be done with it then.
function methods:close()
    if self.drawing then
        self.drawing:close()
        self.drawing = false
    end
    if script.options.follow and not rawget(self, "closed") then
        require("heddle.follow").show(self, true)
    end
    if script.options.results and not rawget(self, "closed") then
        script.options.results:leave(self)
    end
    script.live[self] = nil
    self.closed = true
    self.time.points, self.time.stops = {}, {}
    self.core:close()
end

local fields = {}

function fields.now(self)
    return self.core:now()
end

fields.cycles = fields.now

function fields.instructions(self)
    return self.core:instructions()
end

Sim.__index = function(self, key)
    if rawget(self, "closed") and key ~= "close" then
        fail(-2, "%s: this simulation was closed", tostring(key))
    elseif methods[key] then
        return methods[key]
    elseif fields[key] then
        return fields[key](self)
    elseif key == "label" or key == "interval" or key == "progress"
        or key == "meter" then
        return nil
    end
    fail(-2, "a simulation has no '%s'%s", tostring(key),
        require("heddle.index").meant(key, Sim.__names()))
end

--- What the fence calls one that policy code holds in a local.
Sim.__fenced = "a simulation"

--- The names that can be used on a simulation, for completion and help; what
-- else is in the table is its own.
Sim.__names = function()
    local out = config.sorted_keys(methods)
    for _, name in ipairs(config.sorted_keys(fields)) do
        out[#out + 1] = name
    end
    return table.move({ "apps", "interval", "label", "machine", "status" }, 1, 5,
        #out + 1, out)
end
Sim.__private = true


Sim.__close = function(self)
    self:close()
end

Sim.__tostring = function(self)
    local names = {}
    for i, a in ipairs(self.apps) do
        names[i] = a.label
    end
    return ("simulation of %s on %s: %s"):format(table.concat(names, " + "),
        self.machine.name, rawget(self, "closed") and "closed"
        or ("%s at cycle %d"):format(self.status, self.now))
end

return { sim = new, machine = machine_of, methods = methods, Sim = Sim,
    options = config.sorted_keys(OPTIONS) }
