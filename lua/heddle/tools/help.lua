--- help.lua - help(x) of the REPL: what a value or a name is.
--
-- A name of `heddle list` (a setting, a counter, a metric, a point, a policy,
-- an application, a machine) is explained as `heddle explain` does; "l2tlb"
-- alone lists the settings, counters and histograms of the group.  A function is
-- explained by the comment above it, read from its source: the scripts in
-- the binary through heddle.sources, others from their files.  A module is
-- explained by the essay at its head, and a simulation by that of sim.lua
-- and its methods, so nothing is written twice.
--
-- SPDX-License-Identifier: MIT
local complete = require "heddle.complete"
local index = require "heddle.index"

local help = {}

local OVERVIEW = [[
Lua 5.4 with heddle in it.  An expression shows its value, _ is the last one.

  sim = H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "T" }) } }
  step(1000)  run()  run_until(function(s) return s.now > 5000 end)
  look()  look("l2tlb")  look("l1tlb", 3)  look("pagetable", 0)  look("dram")
  sim:counters().l2tlb     sim:stuck()     sim:translate(0, address)
  back(1000)  go(5000)     k = sim:snapshot()     sim:restore(k)
  sim:stop_on("walk_done", function(n) return n.cycles > 500 end)
  sim:stop_on("l1tlb.misses", function(v) return v >= 100 end)
  list = sim:what_if { {}, { policies = { "lrr" } }, cycles = 9000 }
  sim:plot "ipc"           sim:plot("l1tlb.misses", { app = 0 })
  sim:use("srrip", { at = "l2cache" })     sim:unuse("srrip")
  show(x, { rows = 1000, depth = 9, inside = true })   x in full
  help(H.app)  help(H.generator)  help(H.trace)  help(H.plugin)   workloads

step, run, run_until, back, go and look act on `sim`: yours, or else the last one that
was made.  Tab completes names, also inside of strings.  Ctrl-C ends a command
or a run, which can continue from there; Ctrl-D leaves.

  help(H)  help(sim)  help(sim.look)  help "l2tlb"  help "tlb_fill"
  help "ATAX"  help "maxwell"]]

-- ---- sources ------------------------------------------------------------------

--- The text of the script a function is in, or nil.
local function source_of(info)
    local mark = info.source:sub(1, 1)
    if mark == "=" then
        local ok, sources = pcall(require, "heddle.sources")
        return ok and sources(info.source) or nil
    elseif mark == "@" then
        local f = io.open(info.source:sub(2), "r")
        local text = f and f:read("a")
        if f then
            f:close()
        end
        return text
    end
end

local function lines_of(text)
    local out = {}
    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        out[#out + 1] = line
    end
    return out
end

--- The comment right above line `at`, without its dashes.
local function comment_above(lines, at)
    local first = at
    while first > 1 and lines[first - 1]:find("^%s*%-%-") do
        first = first - 1
    end
    local out = {}
    for i = first, at - 1 do
        out[#out + 1] = lines[i]:gsub("^%s*%-%-+ ?", "")
    end
    return out
end

--- The essay at the head of a script, in line comments or a long one.
local function essay(text)
    local out = {}
    local _, long = text:match("^%-%-%[(=*)%[%s*(.-)%s*%]%1%]")
    if long then
        return lines_of((long:gsub("%s*SPDX[^\n]*", "")))
    end
    for _, line in ipairs(lines_of(text)) do
        if not line:find("^%-%-") or line:find("SPDX") then
            break
        end
        out[#out + 1] = line:gsub("^%-%-+ ?", "")
    end
    while out[#out] == "" do
        out[#out] = nil
    end
    return out
end

--- The first sentence of some lines, cut to one line of the terminal.
local function sentence(lines)
    local text = table.concat(lines or {}, " ")
    text = text:match("^(.-[^%.])%.%s") or text:match("^(.-)%.?$")
    if #text <= 60 then
        return text
    end
    return text:sub(1, 57):gsub("%s*%S*$", "") .. " ..."
end

-- ---- functions -------------------------------------------------------------------

--- Where a function can be found by name: { prefix, table }, best first.
local function places()
    local out = {
        { "sim:", require("heddle.sim").methods },
        { "H.", require "heddle" },
    }
    for _, name in ipairs { "report", "runner", "svg", "json", "machines",
        "part", "policy", "index", "kernel", "designs" } do
        out[#out + 1] = { "H." .. name .. ".",
            package.loaded["heddle." .. name] }
    end
    for _, name in ipairs { "string", "table", "math", "io", "os", "utf8",
        "coroutine", "debug", "package" } do
        out[#out + 1] = { name .. ".", package.loaded[name] }
    end
    out[#out + 1] = { "", _G }
    return out
end

local function name_of(f)
    for _, place in ipairs(places()) do
        local found
        if type(place[2]) == "table" then
            for k, v in next, place[2] do
                if v == f and type(k) == "string"
                    and (not found or k < found) then
                    found = k
                end
            end
        end
        if found then
            return place[1] .. found, place[1]
        end
    end
end

--- "sim:look(object, instance)"
local function signature(f, info)
    local name, prefix = name_of(f)
    local params = {}
    for i = 1, info.nparams do
        params[i] = debug.getlocal(f, i)
    end
    if prefix == "sim:" and params[1] == "self" then
        table.remove(params, 1)
    end
    if info.isvararg then
        params[#params + 1] = "..."
    end
    return (name or "function") .. "(" .. table.concat(params, ", ") .. ")"
end

--- The lines of the comment above a function, or nil.
local function comment_of(f)
    local info = debug.getinfo(f, "S")
    local text = info.what ~= "C" and source_of(info)
    if not text then
        return nil
    end
    local lines = comment_above(lines_of(text), info.linedefined)
    return #lines > 0 and lines or nil
end

local function explain_function(f)
    local info = debug.getinfo(f, "Su")
    local out = { signature(f, info) }
    if info.what == "C" then
        out[2] = "  written in C; Lua's own are in the Lua manual (lua5.4)"
        return out
    end
    for _, line in ipairs(comment_of(f) or { "no comment above it" }) do
        out[#out + 1] = "  " .. line
    end
    out[#out + 1] = ("  from %s:%d"):format(info.short_src, info.linedefined)
    return out
end

-- ---- tables ----------------------------------------------------------------------

local function module_of(t)
    for name, loaded in pairs(package.loaded) do
        if rawequal(loaded, t) and name:find("^heddle") then
            return name
        end
    end
end

--- Modules written in C.
local IN_C = {
    ["heddle.core"] = "core - the engine, as the scripts of heddle see it.",
    ["heddle.work"] = "work - workloads of functions: plug-ins, coroutines.",
    ["heddle.trace"] = "trace - traces: open, convert, record and print them.",
    ["heddle.process"] = "process - processes and pipes, for the runner.",
}

--- An essay in which the names of our files are those of parts of H, or nothing.
local function without_files(lines)
    local parts = {}
    for _, name in ipairs(complete.names(require "heddle")) do
        parts[name] = true
    end
    for i, line in ipairs(lines) do
        line = line:gsub("^([%w_]+)%.lua %- ", "%1 - ")
        lines[i] = line:gsub("%s*%(([^()]-)(%a+)%.lua%)", function(before, name)
            return parts[name] and (" (%sH.%s)"):format(before, name) or ""
        end)
    end
    return lines
end

local function module_essay(name)
    if IN_C[name] then
        return { IN_C[name] }
    end
    local ok, sources = pcall(require, "heddle.sources")
    local path = name:gsub("%.", "/")
    local text = ok and (sources("=" .. path .. ".lua")
        or sources("=" .. path .. "/init.lua"))
    return text and without_files(essay(text))
end

--- A line for each name of a value.
local function members(out, v, call)
    local names, width = {}, 0
    for _, name in ipairs(complete.names(v)) do
        if not name:find("^_") then
            names[#names + 1] = name
            width = math.max(width, #name)
        end
    end
    for _, name in ipairs(names) do
        local ok, x = pcall(function()
            return v[name]
        end)
        local module = ok and type(x) == "table" and module_of(x)
        local what
        if not ok then
            what = "(cannot be read)"
        elseif type(x) == "function" then
            what = sentence(comment_of(x))
        elseif module then
            local text = module_essay(module) or { "" }
            what = sentence { text[1]:gsub("^%S+ %- ", ""),
                table.unpack(text, 2) }
        else
            what = type(x) == "table" and "table" or tostring(x)
        end
        out[#out + 1] = ("  %s%-" .. width + 1 .. "s %s"):format(
            type(x) == "function" and call or ".", name, what or "")
            :gsub("%s+$", "")
    end
    return out
end

local function is_sim(v)
    return getmetatable(v) == require("heddle.sim").Sim
end

local function explain_table(v)
    local out = {}
    local module = is_sim(v) and "heddle.sim" or module_of(v)
    if is_sim(v) then
        out = { tostring(v), "" }
    end
    local text = module and module_essay(module)
    if text then
        table.move(text, 1, #text, #out + 1, out)
        out[#out + 1] = ""
    elseif type(rawget(v, "name")) == "string" then
        local lines = index.explain(v.name)
        if lines then
            return lines
        end
    end
    return members(out, v, is_sim(v) and ":" or ".")
end

-- ---- names -----------------------------------------------------------------------

--- What a group has, and the object of that name.
local function group(name, scope)
    local out = {}
    local ok, objects = pcall(function()
        return scope.sim:objects()
    end)
    objects = ok and type(objects) == "table" and objects or {}
    for i = 1, rawlen(objects) do
        local o = objects[i]
        if o.name == name then
            out[1] = ("%s (object): look(%q, 0 to %d) shows what is in it")
                :format(name, name, o.instances - 1)
        end
    end
    local lines = index.group(name) or {}
    out[#out + 1] = lines[1] and out[1] and "" or nil
    table.move(lines, 1, #lines, #out + 1, out)
    return #out > 0 and out or nil
end

local function explain_name(name, scope)
    local lines, more = index.explain(name), group(name, scope)
    if lines and more then -- an object that shares its name
        more[#more + 1] = ""
        table.move(lines, 1, #lines, #more + 1, more)
    end
    if lines or more then
        return more or lines
    end
    local v = complete.value(name:gsub(":", "."), scope.env)
    if v ~= nil then
        return help.lines(v, scope)
    end
    return { ("nothing is called '%s'%s"):format(name, index.near(name)) }
end

--- The lines of help(x).  `scope` is that of completion.
function help.lines(x, scope)
    if type(x) == "string" then
        return explain_name(x, scope)
    elseif type(x) == "function" then
        return explain_function(x)
    elseif type(x) == "table" then
        return explain_table(x)
    elseif type(x) == "userdata" then
        return members({ tostring(x) }, x, ":")
    end
    return { ("%s (%s)"):format(tostring(x), math.type(x) or type(x)) }
end

help.comment = comment_of

function help.overview()
    return lines_of(OVERVIEW)
end

return help
