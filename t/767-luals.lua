--[[
767-luals.lua - the definitions for lua-language-server have everything that a
script can name.

Pinned: what src/dev/luals.lua writes is Lua, is marked as definitions, and
returns an H with H's functions, which do nothing; each part of H has each of its
functions and values, a simulation each method, field and option, a machine its
methods; each setting, point, note, steering table and fact is there with its
words; fields of results are those of a run; whatever is named as a type is one;
functions have the comment above them.  All names are asked from the modules, so
that what is added tomorrow is wanted here tomorrow.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local core = require "heddle.core"
local policy = require "heddle.policy"
local simulation = require "heddle.sim"
local sorted = require("heddle.config").sorted_keys

local ok, text = files.command(files.HEDDLE .. " run src/dev/luals.lua")
tap.ok(ok and text:find "^%-%-%-@meta heddle\n", "it is written", text:sub(1, 300))
local chunk, err = load(text, "=luals")
tap.ok(chunk, "it is Lua", err)
local defined = chunk and chunk() or {}

local lines = {}
for line in text:gmatch "[^\n]+" do
    lines[line:gsub("%(.*", "")] = true
end

local function none(bad, what, least, of)
    tap.is(table.concat(bad, ", "), "", what)
    tap.ok(of >= least, "there are many", of)
end

-- ---- functions and values ------------------------------------------------------

local bad, n = {}, 0
local function want(line, name)
    n = n + 1
    if not lines[line] then
        bad[#bad + 1] = name
    end
end
for _, name in ipairs(getmetatable(H).__names()) do
    local v = H[name]
    if type(v) == "function" then
        want("function H." .. name, "H." .. name)
        if type(defined[name]) ~= "function" or defined[name]() ~= nil then
            bad[#bad + 1] = name .. " is not returned"
        end
    elseif type(v) == "table" and name ~= "arg" then
        want("---@field " .. name .. " heddle.part." .. name, "H." .. name)
        for key, x in pairs(v) do
            if not key:find "^_" then
                want(type(x) == "function" and ("function part_%s.%s"):format(name, key)
                    or ("part_%s.%s = nil"):format(name, key),
                    ("H.%s.%s"):format(name, key))
            end
        end
    else
        n = n + 1
        if not text:find("\n---@field " .. name .. " ", 1, true) then
            bad[#bad + 1] = "H." .. name
        end
    end
end
for _, name in ipairs(sorted(simulation.methods)) do
    want("function sim:" .. name, "sim:" .. name)
end
for _, name in ipairs { "with", "get" } do
    want("function machine:" .. name, "machine:" .. name)
end
none(bad, "every function and value of H and its parts, and every method", 150, n)
tap.ok(text:find("---Runs n cycles (1).\n---@param n? integer\n", 1, true),
    "with its comment and its parameters")

-- ---- fields of classes ---------------------------------------------------------

local classes, class = {}, nil
for line in text:gmatch "[^\n]+" do
    local name = line:match "^%-%-%-@class (%S+)"
    local field, kind = line:match "^%-%-%-@field (%S-)%??%s(.+)"
    if name then
        class, classes[name] = name, {}
    elseif field then
        classes[class][field] = kind
    end
end

bad, n = {}, 0
local function has(name, field, kind)
    n = n + 1
    local got = classes[name] and classes[name][field]
    if not got or kind and not got:find(kind, 1, true) then
        bad[#bad + 1] = ("%s.%s"):format(name, field)
    end
end
for _, name in ipairs(simulation.options) do
    has("heddle.options", name)
end
for _, name in ipairs(simulation.Sim.__names()) do
    if not simulation.methods[name] then
        has("heddle.sim", name)
    end
end
for _, s in ipairs(core.settings()) do
    has("heddle.settings", ('["%s"]'):format(s.name), s.meaning)
    local group = s.name:match "^[^.]+"
    has("heddle.settings", group, "heddle.settings." .. group)
end
local function fields(class_name, p)
    for _, f in ipairs(p.fields) do
        has(class_name .. p.name, f.name,
            f.words and '"' .. f.words:match "[^|]+" .. '"' or f.meaning)
    end
end
for _, p in ipairs(core.points()) do
    fields("heddle.question.", p)
    has("heddle.policy", p.name, "heddle.question." .. p.name)
    if p.answer == "CHOICE" then
        has("heddle.policy", p.name, '"' .. p.limit:gsub("|", '"|"') .. '"')
    end
end
for _, note in ipairs(core.notes()) do
    fields("heddle.note.", note)
    has("heddle.watch", note.name, "heddle.note." .. note.name)
end
local sim <close> = H.sim { machine = "maxwell", interval = 500, progress = false,
    apps = { H.app("GUP", { size = "T" }) } }
sim:run(2000)
local results = sim:results()
for field in pairs(results) do
    has("heddle.results", field)
end
for field in pairs(results.counters[1]) do
    has("heddle.results.counters", field)
end
none(bad, "every option, field, setting, question, note and result", 800, n)

bad, n = {}, 0
for name in text:gmatch "%f[%w]heddle%.[%w_.]*[%w_]" do
    if text:find("%-%-%-@%a+ [^\n]*" .. name:gsub("%p", "%%%0")) and not classes[name]
        and not name:find "%.lua$" then
        bad[#bad + 1] = name
    end
    n = n + 1
end
none(bad, "every type that is named is a class", 300, n)
for what, list in pairs { steer = policy.tables(), recent = policy.facts() } do
    local all = true
    for _, t in ipairs(list) do
        all = all and text:find(('"%s"'):format(t.name), 1, true)
    end
    tap.ok(all and lines["function " .. what], what .. " and its names")
end

return tap.done()
