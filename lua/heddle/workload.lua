--- workload.lua - descriptions of applications: what to run, not yet built.
--
--     H.app("ATAX", { size = "S" })       an application of the library
--     H.program(A, { n = 4096 })          one that the script defines
--     H.trace("dir/kernelslist.g")        a trace, or a container of one
--     H.plugin("./gather.so", { n = 9 })  a plug-in in C (heddle_work.h)
--
-- All take `label`, the name in reports, and `budget`: the warp instructions
-- after which the application counts as finished; it starts again until it has
-- issued them (H.sim's budget, for all, ends at the first completion).  And
-- `start`: the number of the warp instruction from which on its instructions,
-- cycles and budget count, instead of from the end of the warm-up.
--
-- Each simulation builds its own workload from a description, so one can be
-- used in many of them, at once or one after the other: make() returns it, and
-- the thread blocks of each launch, if that is known before it runs.  `key` is
-- a text that says what it is, the same in every run; `id`, one that in this
-- process is equal for what gives the same workload; and `lasting`, one that
-- says so for all time, or nil: of a program, whose functions have no text, and
-- of a trace in text, which may change.  ahead(), if there is one, makes the input
-- that heddle.generate keeps, for processes that begin later.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local workload = {}

local Workload = {}
Workload.__index = Workload

function Workload:__tostring()
    return self.key
end

--- True for what the functions below return.
function workload.is(v)
    return getmetatable(v) == Workload
end

local function describe(options)
    local keys, parts = {}, {}
    for k in pairs(options) do
        keys[#keys + 1] = tostring(k)
    end
    table.sort(keys)
    for _, k in ipairs(keys) do
        parts[#parts + 1] = k .. "=" .. tostring(options[k])
    end
    return table.concat(parts, ",")
end

--- The first 64 bytes of a container, which have hashes of all of it.
local function header_of(path)
    local f = io.open(path, "rb")
    local head = f and f:read(64)
    if f then
        f:close()
    end
    return head and head:find("^\x89hdt") and head
end

local function new(own, kind, name, options, make)
    local text = describe(options)
    for _, k in ipairs { "budget", "start" } do
        local v = own[k]
        if v ~= nil and (not math.tointeger(v) or v < 0) then
            error(core.error(-2, ("%s: %s: a number of warp instructions is "
                .. "expected, not '%s'"):format(name, k, tostring(v))), 0)
        end
        own[k] = v and math.tointeger(v)
    end
    local key = kind .. ":" .. name .. (text ~= "" and "(" .. text .. ")" or "")
        .. (own.budget and " budget " .. own.budget or "")
        .. (own.start and " start " .. own.start or "")
    local head = kind == "trace" and header_of(name)
    core.line(core.escape(name) .. ": label", tostring(own.label))
    return setmetatable({
        label = own.label,
        budget = own.budget,
        start = own.start,
        key = key,
        id = key,
        lasting = kind == "app" and key or head and key .. " " .. head or nil,
        options = options,
        make = make,
    }, Workload)
end

--- Options of a description itself, beside those of its application.
workload.OWN = { label = true, budget = true, start = true }

--- Options of the application, and those of the description itself.
local function split(options, label)
    local rest, own = {}, { label = label }
    if options ~= nil and type(options) ~= "table" then
        error(core.error(-2, ("%s: options are a table, as in { size = \"S\" }"
            .. ", not a %s"):format(label, type(options))), 0)
    end
    for k, v in pairs(options or {}) do
        if workload.OWN[k] then
            own[k] = v
        else
            rest[k] = v
        end
    end
    return rest, own
end

--- H.app(name [, { size =, label =, parameter = ... }])
function workload.app(name, options)
    local app = require("heddle.app").get(name)
    local rest, own = split(options, app.name)
    local p = app:parameters(rest)
    local d = new(own, "app", app.name, rest, function()
        return app:workload(rest)
    end)
    d.cut = app.truncated and app.truncated(p)
    d.ahead = function() app:instance(rest) end
    return d
end

--- H.program(application [, options]): one made with heddle.kernel's app{} or
-- with H.generator.
function workload.program(application, options)
    if type(application) ~= "table" or not application.workload then
        error(core.error(-2, ("H.program: expected what H.kernel.app{} or "
            .. "H.generator{} made, got a %s"):format(type(application))), 0)
    end
    local name = tostring(application.name or "program")
    local rest, own = split(options, name)
    if application.parameters then
        application:parameters(rest) -- errors in them are reported here
    end
    local d = new(own, application.kind or "program", name, rest, function()
        return application:workload(rest)
    end)
    d.id = d.key .. (" %p"):format(application)
    return d
end

--- A choice of kernels or blocks as the reader takes it, a text: a list's items
-- with commas between them, two numbers of blocks as a range.
local function choice(name, v)
    if v == nil then
        return nil
    elseif type(v) ~= "table" then
        return tostring(math.tointeger(v) or v)
    end
    local parts = {}
    for i, item in ipairs(v) do
        parts[i] = tostring(math.tointeger(item) or item)
        if parts[i]:find(",", 1, true) then
            error(core.error(-2, ("H.trace: %s: '%s': items are separated by "
                .. "commas; in a pattern write . for one"):format(name,
                parts[i])), 0)
        end
    end
    if #parts == 0 then
        error(core.error(-2, ("H.trace: %s: a list of at least one is expected")
            :format(name)), 0)
    end
    return table.concat(parts, name == "blocks" and "-" or ",")
end

--- H.trace(path [, options]): a kernelslist.g, or heddle's own container.
function workload.trace(path, options)
    if type(path) ~= "string" then
        error(core.error(-2, ("H.trace: a path is expected, not a %s"):format(
            type(path))), 0)
    end
    local base = core.path(path):match("([^/]+)/[^/]*%.g$")
        or path:match("[^/]+$") or path
    local rest, own = split(options, core.escape((base:gsub("%.hdt$", ""))))
    local times = math.tointeger(rest.times) or 1
    rest.kernels = choice("kernels", rest.kernels)
    rest.blocks = choice("blocks", rest.blocks)
    return new(own, "trace", path, rest,
        function()
            local trace = require "heddle.trace"
            local w, extent = trace.open(path, rest), {}
            local kernels = trace.kernels(w)
            for i = 1, #kernels * times do
                extent[i] = kernels[(i - 1) % #kernels + 1].blocks
            end
            return w, extent
        end)
end

--- H.plugin(path [, options]): a workload of functions in C, a shared object;
-- options are its parameters, and `argument`, a text for it.
function workload.plugin(path, options)
    if type(path) ~= "string" then
        error(core.error(-2, ("H.plugin: a path is expected, not a %s"):format(
            type(path))), 0)
    end
    local rest, own = split(options, core.escape(
        ((core.path(path):match("[^/]+$") or path):gsub("%.so$", ""))))
    return new(own, "plugin", path, rest, function()
        local work, given = require "heddle.work", {}
        for _, k in ipairs(core.keys(rest)) do
            if type(k) ~= "string" then
                error(core.error(-2, "parameters have names: { n = 5 }"), 0)
            elseif k ~= "argument" then
                given[#given + 1] = k
                given[#given + 1] = rest[k]
            end
        end
        local w = work.describe(path)
        return work.plugin(path, require("heddle.params").values("workload "
            .. w.name, -3, w.params, given), rest.argument)
    end)
end

--- The description of what a word names: a Lua file that returns an application,
-- a plug-in (./x.so), a trace, or an application of the library.  Options are
-- theirs.
function workload.named(word, options)
    local index = require "heddle.index"
    if word:find "%.lua$" then
        local app = require("heddle.script").load(word)(word)
        if workload.is(app) and next(options or {}) == nil then
            return app
        elseif type(app) == "table" and app.workload then
            return workload.program(app, options)
        end
        error(core.error(-4, word .. (workload.is(app)
            and ": what it returns is described already, and takes no options"
            or ": it returns no application made with app{} or H.generator")), 0)
    elseif word:find "%.so$" then
        return workload.plugin(word, options)
    elseif not word:find "[./]" and index.app(word) then
        return workload.app(word, options)
    end
    local f, why = io.open(word, "rb")
    if f then
        f:close()
        return workload.trace(word, options)
    elseif word:find "[./]" then
        error(core.error(-5, why), 0)
    end
    error(core.error(-5, ("%s: there is neither such a file nor such an "
        .. "application%s"):format(word, index.meant(word, index.app_names()))),
        0)
end

--- The description of anything that can be one: a description, the name of an
-- application, an application made with app{}.
function workload.from(what)
    if workload.is(what) then
        return what
    elseif type(what) == "string" then
        return workload.app(what)
    elseif type(what) == "table" and what.workload then
        return workload.program(what)
    end
    error(core.error(-2,
        "expected an application: H.app, H.program, H.generator, H.trace or "
        .. "H.plugin, got a "
        .. type(what)), 0)
end

return workload
