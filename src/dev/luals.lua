--- luals.lua - writes what lua-language-server reads to complete, explain and
-- check scripts and policies: one file of definitions, share/heddle/luals/heddle.lua.
--
--     heddle run src/dev/luals.lua > heddle.lua
--
-- Nothing is described a second time.  Names, parameters and comments of functions
-- are those of the modules themselves; points, notes, settings, tables and facts
-- the engine's; functions in C have what heddle_lua(3) says they take; fields of
-- results are those of a small run.  What Lua cannot say of itself is here: the
-- type of a parameter, by its name, since one name means one thing everywhere,
-- and what a few functions return.  A field of options without a type is an error,
-- so that a new one gets one.  t/767 loads the file and looks every name up.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local core = require "heddle.core"
local help = require "heddle.help"
local policy = require "heddle.policy"
local sim_module = require "heddle.sim"
local sorted = require("heddle.config").sorted_keys

-- ---- what Lua does not say ---------------------------------------------------

--- Types of parameters by name; others are any.
local PARAMS = {
    path = "string", name = "string", text = "string", names = "string[]",
    title = "string", format = "string", word = "string", file = "string",
    n = "integer", i = "integer", app = "integer|string", instance = "integer",
    cycles = "integer", cycle = "integer", every = "integer", bytes = "integer",
    seed = "integer", va = "integer", level = "integer", object = "string",
    at = "string", note = "string", kind = "string", fn = "function",
    result = "heddle.results", results = "heddle.results",
    shared = "heddle.results", alone = "heddle.results[]",
    list = "heddle.results[]", machine = "heddle.machine",
    jobs = "heddle.options[]", options = "table", settings = "heddle.settings",
    policy = "heddle.policy|string", snapshot = "heddle.snapshot",
    old = "heddle.snapshot", to = "string|file*", rows = "table[]",
    defaults = "table", source = "string", changes = "heddle.settings",
}

--- Types of the arguments of one function, and what functions return.
local OF = {
    ["H.sim"] = { o = "heddle.options", returns = "heddle.sim" },
    ["H.machine"] = { what = "string|heddle.settings|heddle.machine",
        returns = "heddle.machine" },
    ["H.app"] = { returns = "heddle.app" },
    ["H.program"] = { application = "table", returns = "heddle.app" },
    ["H.plugin"] = { returns = "heddle.app" },
    ["H.trace"] = { returns = "heddle.app" },
    ["H.generator"] = { a = "table", returns = "table" },
    ["H.args"] = { returns = "table" },
    ["H.here"] = { returns = "string" },
    ["H.config_read"] = { returns = "heddle.machine" },
    ["H.config_write"] = { what = "heddle.machine|heddle.sim" },
    ["H.run"] = { returns = "heddle.results[]" },
    ["H.report.table"] = { returns = "string" },
    ["H.report.compare"] = { returns = "string" },
    ["H.report.batches"] = { returns = "string" },
    ["H.report.metric"] = { returns = "number?" },
    ["H.report.counter"] = { returns = "integer" },
    ["H.report.ipc"] = { returns = "number?" },
    ["H.report.weighted_speedup"] = { returns = "number" },
    ["H.report.unfairness"] = { returns = "number" },
    ["H.report.ipc_throughput"] = { returns = "number" },
    ["H.report.series"] = { what = "string", returns = "table" },
    ["H.report.number"] = { v = "number?", returns = "string" },
    ["H.report.percent"] = { v = "number?", returns = "string" },
    ["H.json.encode"] = { returns = "string" },
    ["H.json.decode"] = { returns = "any" },
    ["H.report.collect"] = { sim = "heddle.sim", returns = "heddle.results" },
    ["H.characterise.all"] = { jobs = "integer" },
    ["machine.with"] = { returns = "heddle.machine" },
    ["machine.get"] = { returns = "string" },
    ["sim.run"] = { returns = '"done"|"stopped"|"ok"' },
    ["sim.step"] = { returns = '"done"|"stopped"|"ok"' },
    ["sim.run_until"] = { fn = "fun(sim: heddle.sim): boolean?",
        returns = '"done"|"stopped"|"ok"' },
    ["sim.results"] = { returns = "heddle.results" },
    ["sim.counters"] = { of = "{ app?: integer|string, instance?: integer }",
        returns = "table<string, table<string, integer>>" },
    ["sim.look"] = { returns = "table[]" },
    ["sim.objects"] = { returns = "table[]" },
    ["sim.stuck"] = { returns = "table[]" },
    ["sim.wait_graph"] = { returns = "string" },
    ["sim.plot"] = { what = "string", returns = "table" },
    ["sim.snapshot"] = { returns = "heddle.snapshot" },
    ["sim.stop_on"] = { what = "string", o = "table", returns = "string" },
    ["sim.what_if"] = { o = "table", returns = "heddle.results[]" },
    ["sim.translate"] = { app = "integer", returns = "integer?; integer?" },
    ["sim.state_hash"] = { returns = "integer" },
    ["sim.used"] = { returns = "table[]" },
    ["sim.unuse"] = { returns = "integer" },
    ["sim.use"] = { policy = "heddle.policy|string|table", returns = "any" },
    ["sim.save"] = { note = "string" },
}

--- Options of H.sim, and fields of a simulation.
local OPTIONS = {
    machine = "string|heddle.machine|heddle.settings",
    apps = "heddle.app[]", policies = "(string|heddle.policy|table)[]",
    settings = "heddle.settings", interval = 'integer|"auto"',
    label = "string|number", progress = "boolean", seed = "integer",
    check = "boolean", budget = "integer", warmup = "integer",
    stop_cycles = "integer", translation = "string", relaunch = "boolean",
    sample = "table", timeline = "string|table", memory = "string",
    batches = "boolean",
    gpus = "integer", link = "string", topology = "string|integer[][]",
}
local FIELDS = {
    now = "integer", cycles = "integer", instructions = "integer",
    status = "string", apps = "heddle.app[]", machine = "heddle.machine",
    label = "string?", interval = "integer?",
}

-- ---- writing -----------------------------------------------------------------

local out = {}
local function add(s, ...)
    out[#out + 1] = select("#", ...) > 0 and s:format(...) or s
end

local function say(text)
    for line in ((text or "") .. "\n"):gmatch "([^\n]*)\n" do
        add("---%s", line)
    end
end

local function class(name, text)
    add ""
    say(text)
    add("---@class %s", name)
end

local function field(name, kind, meaning)
    add("---@field %s %s%s", name, kind, meaning and " " .. meaning or "")
end

local function words(list)
    return (list:gsub("[^|]+", '"%0"'))
end

local function type_of(types, what, name)
    return types[name] or error(("luals.lua: %s '%s' has no type here")
        :format(what, name), 0)
end

--- What heddle_lua(3) says that functions take, by their last name.
local manual = {}
do
    local f <close> = assert(io.open "man/heddle_lua.3")
    for line in f:lines() do
        local name, rest = line:match "^%.I?t? ?Fn ([%w_.:]+) (.*)"
        if name then
            local list, short = {}, name:match "([%w_]+)$"
            for quoted, word in rest:gsub('"([^"]*)"', function(s)
                return s:gsub(" ", "\0")
            end):gmatch "()([^ ]+)" do
                word = word:gsub("\0", " ")
                if #word > 1 and quoted then
                    list[#list + 1] = word
                end
            end
            manual[short] = manual[short] or list
            local key = name:gsub(":", ".")
            manual[key] = manual[key] or list
        end
    end
end

--- Parameters of a function in C: names, and their types.
local function of_manual(key, short)
    local names, types = {}, {}
    for i, word in ipairs(manual[key] or manual[short] or {}) do
        local fields = word:match "^%[?{ (.*) }"
        if fields then
            names[i], types[i] = "o", "{ " .. fields:gsub("%s*=", "")
                :gsub("([%w_]+)", "%1?: number") .. " }"
        else
            names[i] = word:match "[%a_][%w_]*" or "x" .. i
            types[i] = PARAMS[names[i]] or "any"
        end
    end
    if #names == 0 then
        names, types = { "..." }, { "any" }
    end
    return names, types
end

--- A function: its comment, parameters and what it returns.
local function definition(owner, name, f, joint, typed_as)
    local info = debug.getinfo(f, "Su")
    local key = (typed_as or owner) .. "." .. name
    local of, names, types = OF[key] or {}, {}, {}
    local lines = help.comment(f)
    add ""
    if info.what == "C" then
        names, types = of_manual(key, name)
        say "In C; see heddle_lua(3)."
    else
        say(table.concat(lines or { key }, "\n"))
        for i = 1, info.nparams do
            local p = debug.getlocal(f, i)
            if p ~= "self" or i > 1 or joint ~= ":" then
                names[#names + 1] = p
                types[#types + 1] = of[p] or PARAMS[p] or "any"
            end
        end
    end
    local said = manual[key] or manual[(key:gsub("^H%.(%w+%.)", "%1"))]
    for i, p in ipairs(names) do
        local optional = i > 1
        if said and said[i] then
            optional = said[i]:find "^%[" ~= nil
        end
        add("---@param %s%s %s", p,
            optional and p ~= "..." and "?" or "", types[i])
    end
    if info.isvararg and info.what ~= "C" then
        add "---@param ... any"
        names[#names + 1] = "..."
    end
    if of.returns then
        for kind in of.returns:gmatch "[^;]+" do
            add("---@return %s", (kind:gsub("^ ", "")))
        end
    elseif lines or info.what == "C" then
        add "---@return any ..."
    end
    add("function %s%s%s(%s) end", owner, joint, name, table.concat(names, ", "))
end

-- ---- the engine's ------------------------------------------------------------

add "---@meta heddle"
add "-- heddle %s, for lua-language-server; written by src/dev/luals.lua."
out[#out] = out[#out]:format(H.version)
add "-- luacheck: ignore"

local SETTING = { integer = "integer", boolean = "boolean", mode = "string" }
local groups = {}
class("heddle.settings", "Settings by name, or nested: l2tlb = { entries = 512 }.\n"
    .. "A value may be { value, \"its source\" }.")
for _, s in ipairs(core.settings()) do
    local kind = s.choices ~= "" and words(s.choices) or SETTING[s.type] or "string"
    local group, name = s.name:match "^([^.]+)%.(.+)$"
    groups[group] = groups[group] or {}
    table.insert(groups[group], { name, kind, s })
    field(('["%s"]?'):format(s.name), kind .. "|table", s.meaning)
end
for _, group in ipairs(sorted(groups)) do
    field(group .. "?", "heddle.settings." .. group)
end
for _, group in ipairs(sorted(groups)) do
    class("heddle.settings." .. group, "The settings of " .. group .. ".")
    for _, g in ipairs(groups[group]) do
        local s = g[3]
        field(g[1]:find "%." and ('["%s"]?'):format(g[1]) or g[1] .. "?",
            g[2] .. "|table", ("%s; %s%s"):format(s.meaning, s.default,
            s.unit ~= "" and " " .. s.unit or ""))
    end
end

local ANSWERS = { INDEX = "integer", BOOL = "boolean", VALUE = "integer",
    SUBSET = "integer", MEMBER = "integer" }
local function question(prefix, p)
    class(prefix .. p.name, p.when)
    for _, f in ipairs(p.fields) do
        local kind = f.words and words(f.words) or "integer"
        field(f.name, f.count and f.count ~= "" and "(" .. kind .. ")[]" or kind,
            f.meaning)
    end
end
for _, p in ipairs(core.points()) do
    question("heddle.question.", p)
end
for _, n in ipairs(core.notes()) do
    question("heddle.note.", n)
end

class("heddle.watch", "What a policy watches.")
for _, n in ipairs(core.notes()) do
    field(n.name .. "?",
        ("table|fun(note: heddle.note.%s, state: table, params: table)"):format(n.name),
        "Reported when " .. n.when .. ".")
end
class("heddle.policy", "A policy, see heddle_policy(7).")
field("name", "string")
for _, name in ipairs { "summary", "source" } do
    field(name .. "?", "string")
end
for _, name in ipairs { "params", "counters", "state" } do
    field(name .. "?", "table")
end
field("init?", "fun(state: table, params: table, place: table)")
field("every?", "table", "{ cycles or the name of a parameter, "
    .. "function(cycle, state, params) }")
field("watch?", "heddle.watch")
for _, p in ipairs(core.points()) do
    local answer = p.answer == "CHOICE" and words(p.limit) or ANSWERS[p.answer]
    field(p.name .. "?", ("fun(q: heddle.question.%s, state: table, params: table)"
        .. ": %s?, boolean?"):format(p.name, "(" .. answer .. ")"),
        "Asked when " .. p.when .. ".")
end

--- What policy code has beside Lua's own.
local LANGUAGE = {
    steer = { "name", "i", "j", "value" }, recent = { "name", "i", returns = "integer" },
    counter = { "name", "app", returns = "integer" }, tally = { "name", "n" },
    now = { returns = "integer" }, setting = { "name", returns = "any" },
    translate = { "...", returns = "any" }, fill = { "..." }, renew = { "..." }, stop = {},
    every = { "...", returns = "any" },
}
local NAMES = { steer = {}, recent = {} }
for _, t in ipairs(policy.tables()) do
    table.insert(NAMES.steer, ('"%s"'):format(t.name))
end
for _, f in ipairs(policy.facts()) do
    table.insert(NAMES.recent, ('"%s"'):format(f.name))
end
for _, g in ipairs(policy.reach()) do
    if g.library == "" and g.what:find "The language" then
        local params = type_of(LANGUAGE, "policy code's", g.name)
        add ""
        say "Of policy code; see The language in heddle_policy(7)."
        for _, p in ipairs(params) do
            add("---@param %s %s", p, p == "name" and NAMES[g.name]
                and table.concat(NAMES[g.name], "|") or PARAMS[p] or "any")
        end
        if params.returns then
            add("---@return %s", params.returns)
        end
        add("function %s(%s) end", g.name, table.concat(params, ", "))
    end
end

-- ---- results -----------------------------------------------------------------

--- The type of a value; tables become classes, lists of them one for all rows.
local function shape(v, name)
    if type(v) ~= "table" then
        return math.type(v) or type(v)
    elseif #v > 0 and type(v[1]) ~= "table" then
        return "(" .. shape(v[1], name) .. ")[]"
    elseif #v > 0 and type(v[1][1]) == "number" then
        return "number[][]"
    end
    local rows, kinds, counts = #v > 0 and v or { v }, {}, {}
    for _, row in ipairs(rows) do
        for k, x in pairs(row) do
            if type(k) ~= "string" or k:find "%W" and not k:find "^[%w_]+$" then
                return "table<string, any>"
            end
            if kinds[k] == nil or type(x) == "table" and next(x) then
                kinds[k] = x
            end
            counts[k] = (counts[k] or 0) + 1
        end
    end
    if next(kinds) == nil then
        return "table"
    end
    local lines = {}
    for _, k in ipairs(sorted(kinds)) do
        lines[#lines + 1] = { k .. (counts[k] < #rows and "?" or ""),
            shape(kinds[k], name .. "." .. k) }
    end
    class(name, "See heddle_results(5).")
    for _, l in ipairs(lines) do
        field(l[1], l[2])
    end
    return name .. (#v > 0 and "[]" or "")
end

local run = H.sim { machine = "maxwell", interval = 1000, progress = false,
    label = "x", apps = { H.app("NN", { size = "T" }) } }
run:run()
shape(run:results(), "heddle.results")
run:close()
field("rounded?", "table[]", "Sizes that are not as they were set.")
field("told?", "string[]", "What a reader of the results should know.")
field("error?", "string", "With keep = true: why there is nothing else.")

-- ---- machines, applications, simulations ---------------------------------------

class("heddle.snapshot", "A copy of the state of a simulation.")

class("heddle.machine", "A table of settings; called with others, one that derives.")
field("name", "string")
add "---@operator call(heddle.settings): heddle.machine"
add "local machine = {}"
local Machine = getmetatable(H.machine "maxwell").__index
for _, name in ipairs(sorted(Machine)) do
    if not name:find "^__" then
        definition("machine", name, Machine[name], ":")
    end
end

class("heddle.app", "The description of an application, for any number of simulations.")
for _, name in ipairs { "key", "id" } do
    field(name, "string")
end
field("label?", "string")
field("budget?", "integer")
field("start?", "integer")
field("cut?", "string", "What its size leaves out.")
field("make", "fun(): any, integer", "A workload, and the blocks of its launches.")

class("heddle.options", "What H.sim takes.")
for _, name in ipairs(sim_module.options) do
    field(name .. "?", type_of(OPTIONS, "H.sim's option", name))
end

class("heddle.sim", table.concat(help.comment(H.sim) or {}, "\n"))
for _, name in ipairs(sim_module.Sim.__names()) do
    if not sim_module.methods[name] then
        field(name, type_of(FIELDS, "a simulation's field", name))
    end
end
add "local sim = {}"
for _, name in ipairs(sorted(sim_module.methods)) do
    definition("sim", name, sim_module.methods[name], ":")
end

-- ---- H and its parts ---------------------------------------------------------

local parts = {}
for _, name in ipairs(getmetatable(H).__names()) do
    if type(H[name]) == "table" and name ~= "arg" then
        parts[#parts + 1] = name
        class("heddle.part." .. name, "H." .. name)
        add("local %s = {}", "part_" .. name)
        for _, key in ipairs(sorted(H[name])) do
            local v = H[name][key]
            if key:find "^_" or key:find "%W" and not key:find "^[%w_]+$" then
                goto continue
            elseif type(v) == "function" then
                definition("part_" .. name, key, v, ".", "H." .. name)
            else
                add ""
                add("---@type %s", shape(type(v) == "table" and {} or v, ""))
                add("part_%s.%s = nil", name, key)
            end
            ::continue::
        end
    end
end
class("heddle.H", "What `require \"heddle\"` returns.")
field("arg", "table", "The script's arguments, once H.args was called.")
field("version", "string")
for _, name in ipairs(parts) do
    field(name, "heddle.part." .. name)
end
add "local H = {}"
for _, name in ipairs(getmetatable(H).__names()) do
    if type(H[name]) == "function" then
        definition("H", name, H[name], ".")
    end
end
add ""
add "return H"
print(table.concat(out, "\n"))
