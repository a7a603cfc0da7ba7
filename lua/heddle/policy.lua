--[=[
policy.lua - the module heddle.policy: find, bind and list policies.

    policy.use(sim, what [, options])
        what: a policy table, the name of a policy that is compiled in (the
        C form where there are two), "file.lua" or "./plugin.so".
        Options: at = "l2cache", replace = true (unbind who stands in the
        way), instructions and memory (budget of a call of a Lua policy:
        1000000, 64 MB), check = true (look for changed locals after every
        call); everything else is a parameter.
        Returns the name.
    policy.unuse(sim [, name [, at]])   returns how many were unbound
    policy.used(sim)                    {{name=, at=, params={...}}, ...}
    policy.offered(sim)                 {point = {"l1tlb", ...}, ...}
    policy.list()                       the policies compiled in, described
    policy.describe(what)               one, as for use, described
    policy.tables()                     the steering tables, described
    policy.facts()                      the facts, described
    policy.load("file.lua")             the table that the file returns
    policy.env([extra])                 the globals of policy code, a copy
    policy.enter(f)                     makes f see those globals
    policy.every(cycles, f)             for the field `every`
    policy.reach()                      the functions behind the fence:
                                        { { library, name, what }, ... }

A policy is a table:

    {
        name = "tokens", summary = "...", source = "MASK, 5.2",
        params = { warps = { default = 24, min = 0, max = 64,
                             unit = "warps", meaning = "...",
                             source = "guess" } },
        state = { kept = 0 },
        init = function(state, params, place) ... end,
        tlb_fill = function(q, state, params) return "bypass" end,
        watch = { walk_done = function(note, state, params) ... end },
        every = { 100000, function(cycle, state, params) ... end },
    }

All fields but the name are optional; a field that is none of these is an error
that names the nearest one.  `every` may name a parameter instead of a number of
cycles.  A parameter is an integer; `name = 5` is short for `name = { default =
5 }`.  What is checked here becomes a struct heddle_policy in lpolicy.c.

SPDX-License-Identifier: MIT
]=]
local bridge = require "heddle.bridge"
local values = require "heddle.params"

local whole = values.whole

local EINVAL, ECONFIG, ENOINPUT, EPOLICY = -2, -3, -5, -7
local POLICIES = "heddle.policies." -- scripts compiled in

local M = {
    unuse = bridge.unuse, used = bridge.used, offered = bridge.offered,
    tables = bridge.tables, facts = bridge.facts, env = bridge.env,
    enter = bridge.enter, reach = bridge.reach, every = bridge.env().every,
}

-- Those of the script may be others, or in order.
local loadfile, load, next, tostring = loadfile, load, next, tostring

local function fail(code, text, ...)
    bridge.raise(code, text:format(...))
end

local function meant(name, names)
    local near = bridge.nearest(name, names)
    return near and (" (did you mean '%s'?)"):format(near) or ""
end

--- A set of words, and themselves in order.
local function words(text)
    local set, list = {}, {}
    for word in text:gmatch "%S+" do
        list[#list + 1] = word
        set[word] = true
    end
    return set, list
end

-- ---- the table that is a policy -----------------------------------------------

local OWN, FIELDS = words "name summary source params state init every watch counters"
local IS_PARAM, PARAM = words "default min max unit meaning source choices"
-- Options of sim:use, which would hide a parameter of their names.
local OPTIONS = words "use at replace instructions memory check"

local POINT_LIST, NOTE_LIST = bridge.points(), bridge.notes()
local POINTS, NOTES, NOTE_NAMES = {}, {}, {}
for _, p in ipairs(POINT_LIST) do
    POINTS[p.name] = true
    FIELDS[#FIELDS + 1] = p.name
end
for i, n in ipairs(NOTE_LIST) do
    NOTES[n.name], NOTE_NAMES[i] = true, n.name
end

--- The value of a field, of that type if it is there.
local function text_field(refuse, t, field, otherwise)
    local v = t[field]
    if v == nil then return otherwise end
    if type(v) ~= "string" then
        refuse("%s must be a string, not a %s", field, type(v))
    end
    return v
end

--- The keys of what has named fields, in order.
local function names_in(refuse, what, t)
    for key in next, t do
        if type(key) ~= "string" then
            refuse("%s: its fields have names, not %ss", what, type(key))
        end
    end
    return bridge.keys(t)
end

--- What is wrong with the fields, by their names and in order; the tables of
-- watch, params and counters, empty where there is none.
local function check_fields(attempt, add, t)
    local parts = {}
    for _, key in ipairs(attempt(names_in, "the policy", t) or {}) do
        if (POINTS[key] or key == "init") and type(t[key]) ~= "function" then
            add("%s must be a function, not a %s", key, type(t[key]))
        elseif not POINTS[key] and NOTES[key] then
            add("%s is a note: write watch = { %s = ... }", key, key)
        elseif not POINTS[key] and not OWN[key] then
            add("'%s' is neither a point nor a field of a policy%s", key,
                meant(key, FIELDS))
        end
    end
    for _, field in ipairs { "watch", "params", "counters", "state" } do
        parts[field] = type(t[field]) == "table" and t[field] or {}
        if t[field] ~= nil and t[field] ~= parts[field] then
            add("%s must be a table, not a %s", field, type(t[field]))
        end
    end
    for _, key in ipairs(attempt(names_in, "watch", parts.watch) or {}) do
        if not NOTES[key] then
            add("there is no note '%s'%s", key, meant(key, NOTE_NAMES))
        else
            local f = parts.watch[key]
            if type(f) == "table" then f = f[1] end
            if type(f) ~= "function" then
                add("watch.%s must be a function, or { field = value, function }"
                    .. ", not a %s", key, type(parts.watch[key]))
            end
        end
    end
    for _, name in ipairs(attempt(names_in, "params", parts.params) or {}) do
        local d = parts.params[name]
        if OPTIONS[name] then
            add("a parameter cannot be called '%s', which is an option where "
                .. "a policy is bound", name)
        end
        for _, key in ipairs(type(d) == "table"
            and attempt(names_in, "params." .. name, d) or {}) do
            if not IS_PARAM[key] then
                add("params.%s has no field '%s'%s", name, key,
                    meant(key, PARAM))
            end
        end
    end
    return parts
end

local KINDS = { count = 0, peak = 1, histogram = 2, series = 3 }

--- A counter of its own, as bridge.class takes it.
local function read_counter(refuse, name, d)
    if type(d) ~= "table" then
        refuse("counters.%s must be a table with unit and meaning, not a %s",
            name, type(d))
    elseif #name > 30 then
        refuse("counters.%s: a name of at most 30 bytes is expected, not of %d",
            name, #name)
    elseif not name:find "^[%a][%w_]*$" then
        refuse("counters.%s: a name of letters, digits and _ is expected, a "
            .. "letter first", name)
    end
    for _, key in ipairs(names_in(refuse, "counters." .. name, d)) do
        if key ~= "kind" and key ~= "unit" and key ~= "meaning" then
            refuse("counters.%s has no field '%s'%s", name, key,
                meant(key, { "kind", "unit", "meaning" }))
        end
    end
    local kind = KINDS[d.kind or "count"]
    if not kind then
        refuse("counters.%s.kind is one of count, peak, histogram, series, not "
            .. "'%s'", name, tostring(d.kind))
    end
    for _, field in ipairs { "unit", "meaning" } do
        if type(d[field]) ~= "string" then
            refuse("counters.%s.%s: a text is expected, not a %s", name, field,
                type(d[field]))
        end
    end
    return { name = name, unit = d.unit, meaning = d.meaning, kind = kind }
end

local function read_own(attempt, add, counters)
    local out = {}
    for _, name in ipairs(attempt(names_in, "counters", counters) or {}) do
        out[#out + 1] = attempt(read_counter, name, counters[name])
    end
    if #out > bridge.max_own then
        add("%d counters; %d at most", #out, bridge.max_own)
    end
    return out
end

--- The value that a filter compares a field with: a number, or that of a word.
local function filter_value(refuse, note, field, v)
    for i, word in ipairs(field.words and select(2, words(field.words:gsub("|",
        " "))) or {}) do
        if word == v then return i - 1 end
    end
    return not field.words and whole(v)
        or refuse("watch.%s: %s is %s, not %s", note, field.name,
            field.words and "one of " .. field.words
            or "an integer of 0 or more", tostring(v))
end

--- The functions of notes, by number, and the filters of those that have some:
-- { number from 0, field, value }.
local function read_watch(attempt, add, watch)
    local functions, filters = {}, {}
    for i, note in ipairs(NOTE_LIST) do
        local f, fields, names = watch[note.name] or false, {}, {}
        for k, field in ipairs(note.fields) do
            fields[field.name], names[k] = field, field.name
        end
        functions[i] = type(f) == "table" and f[1] or f
        local count = 0
        for _, key in ipairs(type(f) == "table" and bridge.keys(f) or {}) do
            local field = fields[key]
            if key ~= 1 and not field then
                key = tostring(key)
                add("watch.%s has no field '%s'%s", note.name, key,
                    meant(key, names))
            elseif field then
                count = count + 1
                filters[#filters + 1] = { i - 1, key,
                    attempt(filter_value, note.name, field, f[key]) }
            end
        end
        if count > 4 or #filters > bridge.max_filters then
            add("watch.%s: at most four filters a note, %d in all", note.name,
                bridge.max_filters)
        end
    end
    return functions, filters
end

--- A parameter as bridge.class takes it.
local function read_param(refuse, name, d)
    if math.type(d) == "integer" then d = { default = d } end
    if type(d) ~= "table" then
        refuse("params.%s must be a table or an integer, not a %s", name,
            math.type(d) or type(d))
    end
    if d.default == nil then refuse("params.%s needs a default", name) end
    local p = { name = name, meaning = text_field(refuse, d, "meaning", ""),
        source = text_field(refuse, d, "source", "guess") }
    if d.choices ~= nil then
        if type(d.choices) ~= "table" then
            refuse("params.%s.choices must be a list of names, not a %s", name,
                type(d.choices))
        end
        for i, word in ipairs(d.choices) do
            if type(word) ~= "string" or word:find("|", 1, true) then
                refuse("params.%s.choices are names", name)
            elseif word == d.default then
                p.default = i - 1
            end
        end
        if #d.choices < 2 then
            refuse("params.%s.choices: two names at least", name)
        end
        p.unit, p.min, p.max = table.concat(d.choices, "|"), 0, #d.choices - 1
        if not p.default then
            refuse("params.%s.default is one of %s", name, p.unit)
        end
        return p
    end
    for _, field in ipairs { "default", "min", "max" } do
        local v = d[field]
        p[field] = v == nil and (field == "max" and math.maxinteger or 0)
            or type(v) ~= "boolean" and whole(v)
            or refuse("params.%s.%s must be an integer of 0 or more", name,
                field)
    end
    p.unit = text_field(refuse, d, "unit", "")
    return p
end

local function read_params(attempt, add, params)
    local out = {}
    for _, name in ipairs(attempt(names_in, "params", params) or {}) do
        out[#out + 1] = attempt(read_param, name, params[name])
    end
    if #out > bridge.max_params then
        add("%d parameters; %d at most", #out, bridge.max_params)
    end
    return out
end

--- Cycles, or the number of the parameter that has them, from 0.
local function read_every(refuse, every, params)
    if every == nil then return 0 end
    if type(every) ~= "table" or type(every[2]) ~= "function" then
        refuse "every must be { cycles, function }"
    end
    local cycles = every[1]
    if type(cycles) == "string" then
        for i, p in ipairs(params) do
            if p.name == cycles then return 0, i - 1 end
        end
        refuse("every names '%s', which is not a parameter", cycles)
    end
    cycles = type(cycles) == "number" and whole(cycles)
    if not cycles or cycles < 1 then
        refuse("every needs a number of cycles, 1 or more, or the name of a "
            .. "parameter, not %s", tostring(every[1]))
    end
    return cycles
end

--- Names of the functions of the system's libraries, by function.
local function system_names()
    local out = {}
    for _, name in ipairs { "", "math", "string", "table", "utf8" } do
        for _, globals in ipairs { _G, bridge.env() } do
            local library = name == "" and globals or globals[name]
            for k, v in next, type(library) == "table" and library or {} do
                if type(v) == "function" then out[v] = name .. "." .. k end
            end
        end
    end
    return out
end

--- The code of its functions and all that they hold in locals, functions and
-- data, by which a snapshot distinguishes policies of one name.  It is the same in
-- every process.
local function code_of(t)
    local out, seen, n, names = {}, {}, 0, nil
    local put

    local function put_function(f)
        local info = debug.getinfo(f, "S")
        names = names or system_names()
        if names[f] or info.what == "C" then
            out[#out + 1] = names[f] or "C"
            return
        elseif info.source:find "^=heddle/"
            and not info.source:find "^=heddle/policies/" then
            out[#out + 1] = info.source .. info.linedefined
            return
        end
        out[#out + 1] = string.dump(f, true)
        for i = 1, math.maxinteger do
            local name, v = debug.getupvalue(f, i)
            if not name then return end
            if name ~= "_ENV" then put(v) end
        end
    end

    local function put_table(v)
        for _, module in next, package.loaded do
            if rawequal(module, v) then
                out[#out + 1] = "module" -- which the fence refuses
                return
            end
        end
        local keys = {}
        for key in next, v do
            local kind = type(key)
            if kind == "number" or kind == "string" or kind == "boolean" then
                keys[#keys + 1] = { kind .. ("%q"):format(key), key }
            end
        end
        table.sort(keys, function(a, b) return a[1] < b[1] end)
        for _, key in ipairs(keys) do
            out[#out + 1] = key[1]
            put(rawget(v, key[2]))
        end
        put(debug.getmetatable(v))
    end

    function put(v)
        local kind = type(v)
        out[#out + 1] = kind
        if kind == "number" or kind == "string" or kind == "boolean" then
            out[#out + 1] = ("%q"):format(v)
        elseif kind == "function" or kind == "table" then
            if not seen[v] then
                n = n + 1
                seen[v] = n;
                (kind == "table" and put_table or put_function)(v)
            end
            out[#out + 1] = "#" .. seen[v]
        end
    end

    for _, list in ipairs { t, t.watch or {}, t.every or {} } do
        for _, key in ipairs(bridge.keys(list)) do
            local v = list[key]
            if type(v) == "function" or list ~= t then
                out[#out + 1] = tostring(key)
                put(v)
            end
        end
    end
    return table.concat(out, "\0")
end

--- The functions of points, by number.
local function answers_of(t)
    local out = {}
    for i, p in ipairs(POINT_LIST) do
        out[i] = t[p.name] or false
    end
    return out
end

--- The class of a table: what bridge.use takes.
local function class_of(t, limits)
    local name = t.name
    if type(name) ~= "string" then
        fail(EPOLICY, "a policy needs a name: { name = \"...\", ... }; an "
            .. "existing one with options is { use = \"...\", ... }")
    elseif #name < 1 or #name > 31 then
        fail(EPOLICY, "policy name '%s': 1 to 31 bytes are expected, not %d",
            name, #name)
    elseif name:find "[ ,/\"]" then
        fail(EPOLICY, "policy name '%s': letters, digits and signs are expected, "
            .. "not '%s'", name, name:match "[ ,/\"]")
    end
    -- All errors are reported together.
    local wrong, REFUSED = {}, {}
    local function add(text, ...)
        local told = text:format(...)
        for _, other in ipairs(wrong) do
            if other == told then return end
        end
        wrong[#wrong + 1] = told
    end
    local function refuse(text, ...)
        add(text, ...)
        error(REFUSED, 0)
    end
    local function attempt(f, ...)
        local ok, a, b = pcall(f, refuse, ...)
        if ok then return a, b end
        if a ~= REFUSED then error(a, 0) end
    end
    local parts = check_fields(attempt, add, t)
    local spec = { name = name, params = read_params(attempt, add, parts.params),
        summary = attempt(text_field, t, "summary", ""),
        source = attempt(text_field, t, "source", ""),
        instructions = limits.instructions, memory = limits.memory,
        check = limits.check, state = parts.state, init = t.init,
        points = answers_of(t),
        own = read_own(attempt, add, parts.counters) }
    spec.notes, spec.filters = read_watch(attempt, add, parts.watch)
    spec.cycles, spec.cycle_param = attempt(read_every, t.every, spec.params)
    if #wrong > 0 then
        fail(EPOLICY, "policy %s: %s", name, table.concat(wrong, "; "))
    end
    spec.epoch = t.every and t.every[2]
    spec.code = code_of(t)
    local called = t.init or t.every or next(t.watch or {})
    for key in next, t do called = called or POINTS[key] end
    if not called then
        fail(EPOLICY, "policy %s has no function for a point or a note, no "
            .. "every and no init: it would do nothing", name)
    end
    return bridge.class(spec)
end

-- ---- finding ----------------------------------------------------------------

--- What a chunk behind the fence returns.
local function run(f, path)
    local t = bridge.run(f)
    if type(t) ~= "table" then
        fail(EPOLICY, "%s: a policy file returns a table, this one returned a "
            .. "%s", path, type(t))
    end
    return t
end

local function can_read(path)
    local f = io.open(path)
    return f and f:close()
end

--- policy.load(path)
function M.load(path)
    local f, err = loadfile(bridge.path(path), "t", bridge.sandbox())
    if not f then fail(can_read(path) and EPOLICY or ENOINPUT, "%s", err) end
    return run(f, path)
end

--- The table of a script that is compiled in, or nil.
local function embedded(name)
    local chunk = "=heddle/policies/" .. name .. ".lua"
    local text = package.preload[POLICIES .. name]
        and require "heddle.sources" (chunk)
    return text and run(assert(load(text, chunk, "t",
        bridge.sandbox())), POLICIES .. name)
end

--- The class of a policy: a table, a name or the path of a file.
function M.find(what, limits)
    limits = limits or {}
    if type(what) == "table" then return class_of(what, limits) end
    if type(what) ~= "string" then
        fail(EINVAL, "a policy is a table, a name, or the path of a file, not "
            .. "a %s", type(what))
    elseif what:find ".%.lua$" then
        local t = M.load(what)
        local ok, class = pcall(class_of, t, limits)
        if not ok and type(class) == "table" then
            class.message = what .. ": " .. class.message
        end
        return ok and class or error(class, 0)
    elseif what:find ".%.so$" then
        local class, err = bridge.plugin(what)
        return class or fail(can_read(what) and EPOLICY or ENOINPUT, "%s", err)
    end
    local class, near = bridge.builtin(what)
    local t = not class and embedded(what)
    if class or t then return class or class_of(t, limits) end
    if what:find "[./]" then
        fail(ECONFIG, "policy '%s': a file's name ends in .lua, a plug-in's in "
            .. ".so", what)
    end
    fail(ECONFIG, "there is no policy '%s'%s; a file is named \"%s.lua\", a "
        .. "plug-in \"./%s.so\"", what, near and (" (did you mean '%s'?)")
        :format(near) or "", what, what)
end

-- ---- binding ----------------------------------------------------------------

--- The options of a binding: where, what its calls may use, and parameters in
-- order: name, value, name, value.
local function read_options(options)
    local o, given = { at = "" }, {}
    if type(options) ~= "table" then
        fail(EINVAL, "a policy's options are a table, as in { at = \"l2tlb\" }"
            .. ", not a %s", type(options))
    end
    for _, key in ipairs(bridge.keys(options)) do
        local v = options[key]
        if type(key) ~= "string" then
            fail(EPOLICY, "options have names: { at = \"l2tlb\", ... }")
        elseif key == "at" and type(v) ~= "string" then
            fail(EPOLICY, "option at: expected the name of a structure")
        elseif key == "at" or key == "replace" or key == "check" then
            o[key] = v
        elseif not whole(v) and (type(v) ~= "string" or OPTIONS[key]) then
            fail(EPOLICY, "option %s: expected an integer of 0 or more, not %s",
                key, tostring(v))
        elseif key == "instructions" or key == "memory" then
            v = whole(v)
            o[key] = v > 0 and v or nil
        else
            given[#given + 1] = key
            given[#given + 1] = v
        end
    end
    if #given > 2 * bridge.max_params then
        fail(EPOLICY, "too many options")
    end
    return o, given
end

function M.use(sim, what, options)
    local o, given = read_options(options == nil and {} or options)
    local class = M.find(what, o)
    local p, script = bridge.describe(class)
    if not script and (o.instructions or o.memory or o.check) then
        error(("options instructions, memory and check are for Lua policies, "
            .. "%s is not one"):format(p.name), 2)
    end
    bridge.use(sim, class, o.at, values.values("policy " .. p.name, EPOLICY,
        p.params, given), o.replace)
    return p.name
end

--- What describes a policy, which may be given as for use: name, summary, source,
-- points and params.
function M.describe(what)
    return (bridge.describe(M.find(what)))
end

--- The policies compiled in: those in C, and those that are Lua alone.
function M.list()
    local out, i, in_c = {}, 0, {}
    local class = bridge.builtin(0)
    while class do
        i = i + 1
        out[i] = (bridge.describe(class))
        in_c[out[i].name] = true
        out[i].kind = package.preload[POLICIES .. out[i].name] and "C, Lua"
            or "C"
        class = bridge.builtin(i)
    end
    for _, module in ipairs(bridge.keys(package.preload)) do
        local name = module:match "^heddle%.policies%.(.*)"
        if name and not in_c[name] then
            out[#out + 1] = (bridge.describe(class_of(embedded(name), {})))
            out[#out].kind = "Lua"
        end
    end
    return out
end

return M
