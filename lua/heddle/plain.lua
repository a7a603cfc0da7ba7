--[[
plain.lua - plain data as bytes: the state of a policy or a host in a snapshot,
the parameters of an application, the results of a job.

    plain.write(value, what [, options])    bytes
    plain.read(bytes)                       an equal value
    plain.state(value)                      bytes of a policy's state
    plain.copy(value)                       an equal state

Plain data are numbers, texts, booleans and tables of them without metatables,
whose keys are numbers or texts.  Entries are written in order of their keys, so
that equal data are equal bytes.  What is none raises with the path that leads to
it from `what`.  Options:
    once      a table that is reached twice is refused, since the copies would
              part; without it comes back as two, a circle is refused, and so
              are tables that are in each other so often that they never end
    fail      raises a text; else it is raised as it is
    array     a metatable that is kept: that of empty arrays (json.lua)

SPDX-License-Identifier: MIT
]]
local keys_of = require("heddle.bridge").keys

local DEEPEST = 64

-- Tables that are written, and how often each on the mean, at most: a chain of 40
-- tables each of which has the next twice would be 10^12.
local MOST, OFTEN = 1000000, 100

-- Not what application code has under these names (kernel/pure.lua).
local pack, unpack, concat, format = string.pack, string.unpack, table.concat,
    string.format
local type, math_type, getmetatable, rawget = type, math.type, getmetatable,
    rawget

local M = {}

--- The path to what is wrong: the keys on the way to it.
local function refuse(w, depth, why)
    local out = w.what
    for i = 1, depth do
        if i > 8 and i < depth - 1 then
            out = out .. (i == 9 and "..." or "")
            goto next
        end
        out = out .. (type(w.path[i]) == "string" and "." .. w.path[i]
            or format("[%s]", w.path[i]))
        ::next::
    end
    local fail = w.options.fail or function(text) error(text, 0) end
    fail(out .. " " .. why)
end

--- Counts a table that is about to be written, in w.tables, w.different and
-- w.seen; true: those so far are in each other so often that there is no end.
function M.endless(w, t)
    w.tables = w.tables + 1
    if w.seen[t] == nil then
        w.different = w.different + 1
        return false
    end
    return w.tables > MOST and w.tables > OFTEN * w.different
end

--- The bytes of what is no table; nil: it is one, or no plain data.
local function leaf(v)
    local kind = math_type(v) or type(v)
    if kind == "integer" then return pack("<c1i8", "i", v) end
    if kind == "float" then return pack("<c1d", "d", v) end
    if kind == "string" then return pack("<c1s4", "s", v) end
    if kind == "boolean" then return v and "T" or "F" end
    return kind == "nil" and "n" or nil
end

local write

local function write_table(w, t, depth)
    local out, o = w.out, w.options
    local meta = getmetatable(t)
    if depth > DEEPEST then
        refuse(w, depth, "is nested too deeply")
    elseif meta ~= nil and meta ~= o.array then
        refuse(w, depth, "has a metatable, which a snapshot cannot hold")
    elseif w.seen[t] == "inside" then
        refuse(w, depth, "is a table that contains itself")
    elseif w.seen[t] then
        refuse(w, depth, "is a table that is in the state twice: a snapshot "
            .. "would make two of it")
    end
    if M.endless(w, t) then
        refuse(w, depth, "is one of the tables that contain each other so "
            .. "often that their copies would have no end")
    end
    w.seen[t] = "inside"
    local keys, names, n = keys_of(t), w.names, #out + 1
    out[n] = pack("<c1I4", meta and "a" or "t", #keys)
    for i = 1, #keys do
        local key = keys[i]
        local v, name = rawget(t, key), names[key]
        if not name then -- most keys stand in many tables
            name = leaf(key)
            names[key] = name
        end
        local text = leaf(v)
        out[n + 1], out[n + 2] = name, text
        if text then
            n = n + 2
        else
            w.path[depth + 1] = key
            write(w, v, depth + 1)
            n = #out
        end
    end
    w.seen[t] = o.once or false
end

write = function(w, v, depth)
    local text = leaf(v)
    if text then
        w.out[#w.out + 1] = text
    elseif type(v) == "table" then
        write_table(w, v, depth)
    else
        refuse(w, depth, "is a " .. type(v) .. ", which is not plain data")
    end
end

function M.write(v, what, options)
    local w = { what = what, options = options or {}, out = {}, seen = {},
        names = {}, path = {}, tables = 0, different = 0 }
    write(w, v, 0)
    return concat(w.out)
end

local function read(text, at, array)
    local kind = text:sub(at, at)
    at = at + 1
    if kind == "i" then return unpack("<i8", text, at) end
    if kind == "d" then return unpack("<d", text, at) end
    if kind == "s" then return unpack("<s4", text, at) end
    if kind == "T" or kind == "F" then return kind == "T", at end
    if kind == "n" then return nil, at end
    if kind ~= "t" and kind ~= "a" then error("the data are damaged", 0) end
    local t, n, first = {}, unpack("<I4", text, at)
    at = first
    for _ = 1, n do
        local key, value
        key, at = read(text, at, array)
        value, at = read(text, at, array)
        t[key] = value
    end
    return kind == "a" and setmetatable(t, array) or t, at
end

--- `array`: the metatable of those that had one.
function M.read(bytes, array)
    return (read(bytes, 1, array))
end

function M.state(v) return M.write(v, "state", { once = true }) end

function M.copy(v) return M.read(M.state(v)) end

return M
