--[[
state.lua - plain data as bytes: what a host function keeps between launches,
and the parameters of its application.

    state.encode { a = 1, list = { 2, 3 } }     a string
    state.decode(bytes)                         an equal table

The engine keeps a host's state as a string, so that snapshots copy it without
knowing Lua (prog/launch.c).  Plain data are numbers, strings, booleans and
tables of them without metatables, whose keys are integers or strings; entries
are written in order of their keys, so equal states are equal bytes.  A table
that stands in two places comes back as two, and one that holds itself is an
error.

SPDX-License-Identifier: MIT
]]
local fail = require("heddle.kernel.launch").fail

-- Not what application code has under this name (pure.lua).
local next = next

local M = {}

local encode_value

local function encode_table(v, depth)
    local numbers, names = {}, {}
    for key in next, v do
        local list = type(key) == "string" and names
            or math.type(key) == "integer" and numbers
        if not list then
            fail("the state of a host has a key of type %s", type(key))
        end
        list[#list + 1] = key
    end
    table.sort(numbers)
    table.sort(names)
    local parts = { "t", string.pack("<I4", #numbers + #names) }
    for _, list in ipairs { numbers, names } do
        for _, key in ipairs(list) do
            parts[#parts + 1] = encode_value(key, depth + 1)
            parts[#parts + 1] = encode_value(v[key], depth + 1)
        end
    end
    return table.concat(parts)
end

encode_value = function(v, depth)
    local kind = math.type(v) or type(v)
    if depth > 100 then fail("the state of a host is no plain data") end
    if kind == "integer" then return string.pack("<c1i8", "i", v) end
    if kind == "float" then return string.pack("<c1d", "d", v) end
    if kind == "string" then return string.pack("<c1s4", "s", v) end
    if kind == "boolean" then return v and "T" or "F" end
    if kind == "table" and not getmetatable(v) then
        return encode_table(v, depth)
    end
    fail("the state of a host has a value of type %s", kind)
end

local function decode_value(s, at)
    local kind = s:sub(at, at)
    at = at + 1
    if kind == "i" then return string.unpack("<i8", s, at) end
    if kind == "d" then return string.unpack("<d", s, at) end
    if kind == "s" then return string.unpack("<s4", s, at) end
    if kind == "T" then return true, at end
    if kind == "F" then return false, at end
    local t = {}
    local n, first = string.unpack("<I4", s, at)
    at = first
    for _ = 1, n do
        local key, value
        key, at = decode_value(s, at)
        value, at = decode_value(s, at)
        t[key] = value
    end
    return t, at
end

function M.encode(v) return encode_value(v, 0) end

function M.decode(s) return (decode_value(s, 1)) end

return M
