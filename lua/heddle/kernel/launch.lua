--- kernel/launch.lua - launches of an application: which kernel, which grid,
-- and the values of its arguments, as a list or a host gives them.
--
-- An error names the application, the kernel and the field.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local streams = require "heddle.kernel.streams"

-- Not what application code has under this name (pure.lua).
local next = next

local M = {}

--- A program that is wrong; the place is that of the nearest script.
local function fail(text, ...)
    error(core.error(-10, text:format(...)))
end
M.fail = fail

--- Refuses what of t neither `has` nor `more` has: all of it, in order.
function M.known(what, t, has, more)
    local wrong, names = {}, {}
    for key in next, t do
        if not has[key] and not (more and more[key]) then
            wrong[#wrong + 1] = ("'%s'"):format(tostring(key))
        end
    end
    if not wrong[1] then return end
    for _, list in ipairs { has, more } do
        for key in next, list do
            if type(key) == "string" then names[#names + 1] = key end
        end
    end
    table.sort(wrong)
    table.sort(names)
    fail("%s %s; it has %s", what, table.concat(wrong, ", "),
        names[1] and table.concat(names, ", ") or "none")
end

--- n or {x, y, z}, each from 1 to 2^31 - 1, as {x, y, z}.
function M.triple(x, what)
    if type(x) == "number" then x = { x } end
    if type(x) ~= "table" then fail("%s: expected n or {x, y, z}", what) end
    for key in next, x do
        if key ~= 1 and key ~= 2 and key ~= 3 then
            fail("%s: expected n or {x, y, z}, got a field %s", what,
                tostring(key))
        end
    end
    local r = {}
    for i = 1, 3 do
        r[i] = math.tointeger(x[i] or 1)
        if not r[i] or r[i] < 1 or r[i] > 0x7fffffff then
            fail("%s: %s; expected positive integers", what, tostring(x[i]))
        end
    end
    return r
end

--- The kernel of a list entry or of what a host returned.
function M.kernel_of(inst, entry)
    local k = entry
    if type(entry) == "table" and not entry.fn then k = entry[1] end
    if type(k) ~= "table" then k = inst.kernels[k] end
    if type(k) ~= "table" or not k.fn then
        fail("application %s: expected a kernel or a launch, got %s",
            inst.name, tostring(entry))
    end
    return k
end

local ADVICE = { read_mostly = 1, accessed_by = 8 }
local PREFERRED = { gpu = 2, host = 4 }

--- The bits of advice on a buffer: { read_mostly =, preferred =, accessed_by = }.
function M.advice(b, a)
    local bits = 0
    if type(a) ~= "table" then
        fail("buffer %s: advise: expected a table, got %s", b.name, tostring(a))
    end
    for key, x in next, a do
        if key == "preferred" and PREFERRED[x] then
            bits = bits | PREFERRED[x]
        elseif ADVICE[key] and type(x) == "boolean" then
            bits = bits | (x and ADVICE[key] or 0)
        else
            fail("buffer %s: advise: %s = %s; expected read_mostly = true, "
                .. "preferred = \"gpu\" or \"host\", accessed_by = true",
                b.name, tostring(key), tostring(x))
        end
    end
    return bits
end

--- x, if it is one of some words.
function M.word(x, what, words)
    for _, word in ipairs(words) do
        if x == word then return x end
    end
    fail("%s: expected \"%s\", got %s", what,
        table.concat(words, '" or "'), tostring(x))
end

local LAUNCH_FIELDS = { [1] = true, grid = true, args = true, free = true }
local HOST_FIELDS = { prefetch = true, prefetch_host = true, host_reads = true,
    host_writes = true, host_wait = true, beside = true, stream = true, wait = true,
    record = true, sync = true }

--- Refuses fields that a launch of kernel k does not have; hosted: it may say
-- what the host does before it and next to it.
function M.check_fields(entry, k, hosted)
    M.known(("launch of %s: no field"):format(k.name), entry, LAUNCH_FIELDS,
        hosted and HOST_FIELDS or nil)
end

-- What a host says itself, and how, where it decides about launches.
local CALLS = { { "free", "h.free(buffer) when the launch is over" },
    { "prefetch", "h.prefetch(buffer)" },
    { "prefetch_host", 'h.prefetch(buffer, "host")' },
    { "host_reads", 'h.touch(buffer, "read")' },
    { "host_writes", 'h.touch(buffer, "write")' },
    { "host_wait", "h.wait(ns)" } }

--- Refuses fields of the launches of a list in one that a host has returned.
function M.check_hosted(entry, k)
    for _, c in ipairs(type(entry) == "table" and not entry.fn and CALLS or {}) do
        if entry[c[1]] ~= nil then
            fail("launch of %s: %s is for a list of launches; a host says %s",
                k.name, c[1], c[2])
        end
    end
end

--- What the host does next to a launch: a function, or nil.
function M.beside(entry, k)
    local fn = entry.beside
    if fn ~= nil and type(fn) ~= "function" then
        fail("launch of %s: beside: expected a function, got %s", k.name,
            tostring(fn))
    end
    return fn
end

--- The grid and the values of all arguments of a launch; and, of an application
-- that has streams, its stream, the events it waits for and records (bit sets),
-- and whether the host waits.
function M.launch_of(entry, k, declared, inst)
    local given = {}
    if entry.fn == nil and type(entry) == "table" then
        M.check_fields(entry, k, true)
        M.beside(entry, k)
        given = entry.args or {}
    end
    local values, known = {}, {}
    for i, a in ipairs(declared) do
        local x = given[a.name]
        if x == nil then x = k.args[a.name] end
        if x == nil then
            fail("launch of %s: no value for argument '%s'", k.name, a.name)
        end
        if type(x) ~= "number" then
            fail("launch of %s: argument '%s' is a %s", k.name, a.name, type(x))
        end
        known[a.name] = true
        values[i] = require("heddle.kernel.build").number_as(a.kind, x)
    end
    M.known(("launch of %s: it has no argument"):format(k.name), given, known,
        k.args)
    local grid = entry.fn == nil and entry.grid or k.grid
    return M.triple(grid, "launch of " .. k.name .. ": grid"), values,
        streams.of(inst, entry, k)
end

return M
