--- timeline.lua - what happens in a simulation over time, in a file for Perfetto.
--
--     H.sim { ..., timeline = "run.pftrace" }
--     H.sim { ..., timeline = { path = "run.pftrace", only = { "walk", "dram" },
--         app = 0, from = 100000, to = 200000, bytes = 5000000, every = 500 } }
--     heddle run --timeline run.pftrace,only=walk+dram,from=100000 x.lua
--
-- The other half, in C, watches and draws (src/shell/timeline); here are the
-- options, the samples between runs, and when the file is written: where a run
-- ends the simulation, when it is closed, when the script ends, and whenever
-- sim:timeline() is called.  It holds what there is by then.
--
-- A simulation has one: the script's own, or that of the command.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local script = require "heddle.script"
local timelines = require "heddle.timelines"

local timeline = {}

local NAMES = { "path", "only", "app", "from", "to", "bytes", "every" }
local LEAST = 65536 -- bytes

--- Those that are not written yet, or not all.
local open = {}

local function fail(format, ...)
    error(core.error(-2, ("timeline: " .. format):format(...)), 0)
end

local function meant(name, names)
    return require("heddle.index").meant(tostring(name), names)
end

-- ---- options ------------------------------------------------------------------

--- Components, of a list or of words with + between them, as a set of bits.
local function bits_of(only)
    local known, out, list = timelines.components(), 0, {}
    if type(only) == "string" then
        for word in (only .. "+"):gmatch "([^+]*)%+" do
            list[#list + 1] = word
        end
    elseif type(only) == "table" then
        list = only
    else
        fail("only: a list of components is expected, not a %s", type(only))
    end
    for _, name in ipairs(list) do
        local bit
        for i, k in ipairs(known) do
            bit = k == name and i - 1 or bit
        end
        if not bit then
            fail("only: there is no component '%s'%s; there are %s",
                tostring(name), meant(name, known), table.concat(known, ", "))
        end
        out = out | 1 << bit
    end
    return out ~= 0 and out or fail("only: no component; there are %s",
        table.concat(known, ", "))
end

--- The number of an application, given as such or by its label.
local function app_of(app, apps)
    local names = {}
    for i, a in ipairs(apps) do
        if a.label == app then
            return i - 1
        end
        names[i] = a.label
    end
    local n = math.tointeger(tonumber(app))
    return n and n >= 0 and n < #apps and n or fail("app: there is no "
        .. "application '%s'%s; there are 0 to %d, and %s", tostring(app),
        meant(app, names), #apps - 1, table.concat(names, ", "))
end

local function whole(o, name, least)
    local v = o[name]
    local n = v ~= nil and math.tointeger(tonumber(v)) or nil
    if v ~= nil and (not n or n < least) then
        fail("%s: a whole number of at least %d is expected, not '%s'", name,
            least, tostring(v))
    end
    return n
end

--- What the engine takes, and the path.  Without a list of applications nothing
-- is said of the one that is meant.
local function check(o, apps)
    if type(o) == "string" then
        o = { path = o }
    elseif type(o) ~= "table" then
        fail("a path or a table with one is expected, not a %s", type(o))
    end
    for _, k in ipairs(core.keys(o)) do
        local known = false
        for _, name in ipairs(NAMES) do
            known = known or k == name
        end
        if not known then
            fail("there is no option '%s'%s; there are %s", tostring(k),
                meant(k, NAMES), table.concat(NAMES, ", "))
        end
    end
    if type(o.path) ~= "string" or o.path == "" then
        fail "a path is expected: timeline = { path = \"run.pftrace\" }"
    end
    local out = { from = whole(o, "from", 0), to = whole(o, "to", 1),
        bytes = whole(o, "bytes", LEAST), every = whole(o, "every", 1),
        only = o.only ~= nil and bits_of(o.only) or nil,
        app = o.app ~= nil and apps and app_of(o.app, apps) or nil }
    if out.to and out.to <= (out.from or 0) then
        fail("to: a cycle after from=%d is expected, not %d", out.from or 0,
            out.to)
    end
    return out, o.path
end

--- "run.pftrace,only=walk+dram,from=1000" as options; nil and why not.
function timeline.parse(text)
    local out
    for word in (text .. ","):gmatch "([^,]*)," do
        local name, value = word:match "^(%a+)=(.*)$"
        if not out then
            out = { path = word }
        elseif not name or name == "path" then
            return nil, ("after the path, name=value is expected, not '%s'; "
                .. "there are %s"):format(word, table.concat(NAMES, ", ", 2))
        else
            out[name] = value
        end
    end
    if out.path == "" then
        return nil, "a path is expected"
    end
    -- Errors in the words alone are reported before the script runs.
    local ok, err = pcall(check, out)
    if not ok then
        return nil, (core.problem(err).message:gsub("^timeline: ", ""))
    end
    return out
end

-- ---- a simulation's -------------------------------------------------------------

local Drawing = {}
Drawing.__index = Drawing

--- Begins one in a simulation that is being built: its own, or (nil) the
-- command's.
function timeline.attach(sim, o)
    local n = script.options.timeline
    if o == nil then
        n.files = (n.files or 0) + 1
        o = {}
        for _, name in ipairs(NAMES) do
            o[name] = n[name]
        end
        o.path = n.files == 1 and o.path or ("%s.%d"):format(o.path, n.files)
    end
    local options, path = check(o, sim.apps)
    require("heddle.process").save(path) -- whether it can be made
    options.title = tostring(sim)
    local drawing = setmetatable({ path = path,
        box = timelines.open(sim.core, options) }, Drawing)
    open[drawing] = true
    return drawing
end

--- Cycles to run at a time, at most n.
function Drawing:slice(n)
    return math.min(n, self.box:next() or n)
end

--- Between runs.
function Drawing:sample()
    self.box:sample()
    open[self] = true
end

--- Writes the file; what is in it.
function Drawing:write()
    local info = self.box:write(self.path)
    info.path = self.path
    open[self] = nil
    if script.options.timeline and not self.told then
        self.told = true
        io.stderr:write(("heddle: %s: %d bytes, %d of %d requests%s\n"):format(
            info.path, info.bytes, info.requests, info.requests_of,
            info.requests_one > 1 and (", one of %d"):format(
                info.requests_one) or ""))
    end
    return info
end

--- The simulation is closed.
function Drawing:close()
    if open[self] then
        self:write()
    end
    self.box:close()
end

--- The script is over: writes those that wait, in the order of their paths.
function timeline.finish()
    local list = {}
    for drawing in pairs(open) do
        list[#list + 1] = drawing
    end
    table.sort(list, function(a, b) return a.path < b.path end)
    for _, drawing in ipairs(list) do
        drawing:write()
    end
end

return timeline
