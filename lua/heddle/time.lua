--- time.lua - the time of a simulation: where it stops, going back, and what
-- would have been.
--
--     sim:stop_on("walk_done", function(n) return n.cycles > 2000 end)
--     sim:checkpoints()      from here on; then sim:back(1000), sim:go(31415)
--     sim:what_if { { policies = { "srrip" } }, {}, cycles = 10000 }
--
-- A stop on a note is a policy that only watches, and calls stop(): the run ends
-- with that very event.  One on a counter or on what look() shows is asked
-- between runs of a few cycles, and stops where its condition becomes true.
--
-- Going back is a snapshot and a replay.  Where checkpoints are kept, there is
-- one at every so many cycles and one after whatever a person does (policies,
-- counters set to 0, a restore), which no replay could know of; so a replay is
-- what was, to the bit.  When they outgrow their memory, the one whose absence
-- lengthens a replay least for its age goes: the older, the fewer.  One of a
-- person's deed goes last, and what followed it is then out of reach.  In a
-- replay policies that only watch are asked nothing.
--
-- heddle run --checkpoint writes a simulation's state to a file now and then, with
-- the number of the call of run() or step() and a fingerprint of the script.  When
-- the command is given again the script runs from its start, and that call of that
-- simulation continues from the file: the same script has come to it in the same
-- way.  In run_until() the script looks on, so nothing is written there.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local process = require "heddle.process"
local script = require "heddle.script"

local time = {}

--- Cycles from one checkpoint to the next, and bytes of all of them; cycles after
-- which the clock is looked at.
local EVERY, LIMIT, LOOK = 50000, 512 << 20, 10000

local function fail(format, ...)
    error(core.error(-2, format:format(...)), 0)
end

local function whole(what, v, least)
    local n = math.tointeger(v)
    if type(v) ~= "number" or not n or n < least then
        fail("%s: a whole number of at least %d is expected, not '%s'", what,
            least, tostring(v))
    end
    return n
end

--- What a new simulation has of it.
function time.new()
    local c = script.options.checkpoint
    if c then
        c.files = c.files + 1
    end
    return { stops = {}, made = 0, points = {}, reached = 0, calls = 0,
        file = c and script.checkpoint(c.files), written = process.time() }
end

-- ---- stops ------------------------------------------------------------------

local methods = {}
time.methods = methods

local NOTES = {}
for _, n in ipairs(core.notes()) do
    NOTES[n.name] = true
end

--- A function that gives what a stop is asked about: a counter, or rows.
local function looker(self, what, o)
    if o.app ~= nil and (math.type(o.app) ~= "integer" or o.app < 0
        or o.app >= #self.apps) then
        fail("stop_on: applications are 0 to %d, not '%s'", #self.apps - 1,
            tostring(o.app))
    end
    if self.core:total(what, o.app) then
        return function() return self.core:total(what, o.app) end
    end
    for _, object in ipairs(self.core:objects()) do
        if object.name == what then
            self:look(what, o.instance) -- which checks the number
            return function() return self:look(what, o.instance) end
        end
    end
    local names = require("heddle.config").sorted_keys(NOTES)
    for _, c in ipairs(self.core:counters()) do
        names[#names + 1] = c.component .. "." .. c.name
    end
    local near = require("heddle.index").nearest(tostring(what), names)
    fail("stop_on: a note, a counter or an object is expected, not '%s'%s",
        tostring(what), near and "; did you mean '" .. near .. "'?" or "")
end

--- sim:stop_on("walk_done", fn): a run stops at the event of which fn(note,
-- state) is true; fn is policy code, and { level = 2, fn } is asked only of those
-- notes whose fields have these values.  sim:stop_on("l1tlb.misses", fn [, { app =
-- 0, every = 1 }]): or where fn(value) becomes true of a counter, asked after
-- every cycle; sim:stop_on("dram", fn [, { instance = 3, every = 1 }]): or of the
-- rows of an object.  Returns the name with which sim:unuse() takes it away.
function methods:stop_on(what, fn, o)
    local t = self.time
    o = o or {}
    local filter = NOTES[what] and type(fn) == "table" and fn
    local is = fn
    if filter then
        is = filter[1]
    end
    if type(is) ~= "function" then
        fail("stop_on: a function is expected%s, not a %s", NOTES[what]
            and ", or { field = value, function }" or "", type(is))
    elseif type(o) ~= "table" then
        fail("stop_on: options are a table, as in { every = 100 }, not a %s",
            type(o))
    end
    for k in pairs(o) do
        if k ~= "every" and k ~= "app" and k ~= "instance" or NOTES[what] then
            fail("stop_on: there is no option '%s' here", tostring(k))
        end
    end
    local name = ("stop_on.%d"):format(t.made + 1)
    if NOTES[what] then
        local watch = {}
        for k, v in pairs(filter or watch) do
            watch[k] = v
        end
        watch[1] = function(note, state)
            if is(note, state) then
                stop() -- luacheck: globals stop
            end
        end
        require("heddle.policy").use(self.core,
            { name = name, watch = { [what] = watch } })
    else
        local look = looker(self, what, o)
        t.stops[#t.stops + 1] = { name = name,
            every = whole("stop_on: every", o.every or 1, 1),
            is = function() return not not is(look()) end }
    end
    t.made = t.made + 1
    return name
end

--- Takes away those that are asked here, by name (nil: all); how many.
function time.unuse(self, name)
    local t, kept = self.time, {}
    for _, s in ipairs(t.stops) do
        if name ~= nil and s.name ~= name then
            kept[#kept + 1] = s
        end
    end
    local n = #t.stops - #kept
    t.stops = kept
    return n
end

-- ---- checkpoints ------------------------------------------------------------

--- Gives up the checkpoint that is missed least; its memory, or nil.
local function thin(t)
    local best, least
    for i = 2, #t.points - 1 do
        local p = t.points[i]
        local gap = (t.points[i + 1].at - t.points[i - 1].at)
            / (t.points[#t.points].at - p.at + t.every) + (p.deed and 1e9 or 0)
        if p.snapshot and (not least or gap < least) then
            best, least = i, gap
        end
    end
    local p = best and t.points[best]
    if not p then
        return nil
    end
    local spare = p.snapshot
    t.bytes = t.bytes - p.bytes
    p.snapshot, p.bytes = nil, 0
    if not p.deed then
        table.remove(t.points, best)
    end
    return spare
end

local function take(self, deed)
    local t = self.time
    local arena, outside = self.core:memory()
    local spare
    while t.bytes + arena + outside > t.limit do
        local freed = thin(t)
        if not freed then
            break
        end
        spare = freed
    end
    local ok, snapshot = pcall(self.snapshot, self, spare)
    if ok then
        t.points[#t.points + 1] = { at = self.core:now(), deed = deed,
            bytes = arena + outside, snapshot = snapshot }
        t.bytes = t.bytes + arena + outside
    elseif core.problem(snapshot).code == -1 then
        error(snapshot, 0)
    end -- else it has failed, and nothing continues from there
end

--- sim:checkpoints([every [, bytes]]): keeps a checkpoint each so many cycles
-- (50000) in so many bytes (512 MB) from here on, for back() and go(); with
-- false, none any more.
function methods:checkpoints(every, bytes)
    local t = self.time
    if every == false then
        t.every, t.points = nil, {}
        return
    end
    t.every = whole("checkpoints: cycles", every or EVERY, 1)
    t.limit = whole("checkpoints: bytes", bytes or LIMIT, 0)
    t.points, t.bytes, t.reached = {}, 0, self.core:now()
    take(self, true)
end

--- The script has done something that a replay would not.  `other`: it is another
-- past, too, of which a timeline knows `mark`.
function time.deed(self, other, mark)
    local t, now = self.time, self.core:now()
    if self.drawing and (other or t.reached > now) then
        self.drawing.box:cut(table.unpack(mark or {}))
    end
    t.reached = now
    for i = #t.points, 1, -1 do
        if other or t.points[i].at >= now then
            t.bytes = t.bytes - t.points[i].bytes
            table.remove(t.points, i)
        end
    end
    if t.every then
        take(self, true)
    end
end

-- ---- files ------------------------------------------------------------------

--- What tells scripts apart, and what they are given.
local function fingerprint()
    local words, f = script.words(), io.open(script.file or "", "rb")
    local out = { f and f:read "a" or "" }
    if f then
        f:close()
    end
    for _, name in ipairs(require("heddle.config").sorted_keys(words)) do
        out[#out + 1] = name .. "=" .. words[name]
    end
    return core.fingerprint(table.concat(out, "\n"))
end

--- The call in which the file was written, or nil: there is none.
local function awaited(t)
    local f = io.open(t.file, "rb")
    if not f then
        return nil
    end
    local _, _, note = f:read("l", "l", "l")
    f:close()
    local call, of = tostring(note):match "^note (%d+) (%x+)$"
    if call and of ~= t.script then
        fail("%s: the checkpoint is from another script, or from one that was "
            .. "given other arguments; remove it to begin again", t.file)
    end
    return call and math.tointeger(call) or 1 -- what it is load() says
end

--- A run begins: from the file, if this is the call in which it was written.
function time.begin(self, resumes)
    local t = self.time
    t.note = nil
    if not resumes or not t.file or not script.options.checkpoint then
        return
    elseif t.calls == 0 then
        t.script = fingerprint()
        t.awaited = awaited(t)
    end
    t.calls = t.calls + 1
    if t.awaited == t.calls then
        self:load(t.file)
        io.stderr:write(("heddle: %s: continues at cycle %d\n"):format(t.file,
            self.core:now()))
    end
    if t.calls >= (t.awaited or 0) then -- else it is still needed
        t.note = ("%d %s"):format(t.calls, t.script)
    end
end

-- ---- a run ------------------------------------------------------------------

--- Cycles to run at a time, at most n.
function time.slice(self, n)
    local t, now = self.time, self.core:now()
    for _, s in ipairs(t.stops) do
        n = math.min(n, s.every - now % s.every)
    end
    if t.note then
        n = math.min(n, LOOK - now % LOOK)
    end
    return t.every and math.min(n, t.every - now % t.every) or n
end

--- After them: the word, which may now be "stopped".
function time.passed(self, word)
    local t, now = self.time, self.core:now()
    for _, s in ipairs(t.stops) do
        local is = now % s.every == 0 and s.is()
        if is and not s.was and word == "ok" and not t.replays then
            word = "stopped"
        end
        if now % s.every == 0 then
            s.was = is
        end
    end
    if t.every and word == "ok" and now % t.every == 0
        and t.points[#t.points].at < now then
        take(self)
    end
    if t.note and word == "ok" and not t.replays and script.options.checkpoint
        and process.time() - t.written >= script.options.checkpoint.seconds then
        self:save(t.file, t.note)
        t.written = process.time()
    end
    t.reached = math.max(t.reached, now)
    return word
end

--- The state is another.
function time.restored(self)
    for _, s in ipairs(self.time.stops) do
        s.was = s.is()
    end
end

--- Puts back what was at a cycle that was reached before.
local function replay(self, point, cycle)
    if point then
        self:restore(point.snapshot)
    end
    while self.core:now() < cycle do
        if self:run(cycle - self.core:now()) == "done" then
            break
        end
    end
end

--- sim:go(cycle): to what was at a cycle, or will be.
function methods:go(cycle)
    local t, now, point = self.time, self.core:now(), nil
    whole("go: the cycle", cycle, 0)
    t.reached = math.max(t.reached, now) -- an error may have ended the run
    for _, p in ipairs(t.points) do
        if p.at <= cycle and (cycle < now or p.at > now) then
            point = p
        end
    end
    if cycle < now and not point or point and not point.snapshot then
        fail("cycle %d is out of reach: %s", cycle, point
            and ("the checkpoint of cycle %d was dropped for lack of memory")
                :format(point.at)
            or not t.every and "no checkpoints are kept; see sim:checkpoints()"
            or ("checkpoints begin at cycle %d"):format(t.points[1].at))
    end
    if self.drawing then
        self.drawing.box:repeats(t.reached)
    end
    t.replays = true
    self.core:mute(true)
    local ok, err = pcall(replay, self, point, math.min(cycle, t.reached))
    self.core:mute(false)
    t.replays = nil
    if not ok then
        error(err, 0)
    end
    time.restored(self)
    now = self.core:now()
    self.status = self.status == "done" and "done" or "ok"
    return cycle > now and self.status ~= "done" and self:run(cycle - now)
        or self.status
end

--- sim:back(cycles): to what was so many cycles ago.
function methods:back(cycles)
    return self:go(math.max(0, self.core:now()
        - whole("back: cycles", cycles or 1, 0)))
end

-- ---- alternatives -----------------------------------------------------------

--- sim:what_if { { label =, policies = { ... }, unuse = { "name", ... } }, ...,
-- cycles = n }: runs each alternative n cycles on from here, with counters from
-- 0, in a process of its own, and returns their results; the simulation stays
-- as it is.  Policies replace what stands in their way; {} is what continues
-- unchanged.  H.report.compare(results) is what differs, side by side.
function methods:what_if(o)
    local runner = require "heddle.runner"
    local cycles = whole("what_if: cycles", type(o) == "table" and o.cycles, 1)
    local most = whole("what_if: jobs", o.jobs
        or require("heddle.process").cpus(), 1)
    local out, first = {}, nil
    for k, a in pairs(o) do
        if math.type(k) == "integer" and type(a) == "table" then
            for field in pairs(a) do
                if field ~= "label" and field ~= "policies"
                    and field ~= "unuse" then
                    fail("what_if: an alternative has label, policies and "
                        .. "unuse, not '%s'", tostring(field))
                end
            end
        elseif k ~= "cycles" and k ~= "jobs" then
            fail("what_if: [%s]: alternatives are tables { policies = { ... } }"
                .. ", beside cycles and jobs", tostring(k))
        end
    end
    local function alternative(i)
        self.time, self.progress, self.drawing = time.new(), false, false
        self.core:mute(true)
        self.label = core.line("what_if: label", tostring(o[i].label or i))
        for _, name in ipairs(o[i].unuse or {}) do
            if self:unuse(name) == 0 then
                fail("there is no policy '%s' to unbind", tostring(name))
            end
        end
        for _, p in ipairs(o[i].policies or {}) do
            self:use(p, { replace = true })
        end
        self:reset_counters()
        self:run(cycles)
        return require("heddle.results").collect(self)
    end
    local stopped = runner.spread(#o, most, function(i)
        return runner.perform(function() return alternative(i) end)
    end, function(i, m)
        out[i] = m.result
        first = first or not m.ok and { i, m.result } or nil
    end)
    if stopped then
        error(core.error(-130, "interrupted"), 0)
    elseif first then
        fail("what_if, alternative %d: %s", first[1], first[2].message)
    end
    return out
end

return time
