--- kernel/streams.lua - the streams and events of an application: their names,
-- what a launch says of them, and waits that could never end.
--
-- A launch waits for launches before it alone, as in CUDA, where an event has to
-- be recorded before it is waited for.  In a list what comes later is known, too,
-- so an error says whether the waits of several streams are a cycle.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

-- Not what application code has under these names (pure.lua).
local type, math_type, tostring = type, math.type, tostring

local M = {}

local MOST = { streams = 32, events = 64 }

local function fail(text, ...)
    error(core.error(-10, text:format(...)))
end

--- A name: a text, or a number that stands for one.
local function name_of(x, what)
    if math_type(x) == "integer" and x > 0 then return tostring(x) end
    if type(x) ~= "string" or x == "" then
        fail("%s: expected a name or a number from 1 on, got %s", what,
            tostring(x))
    elseif #x > 31 then
        fail("%s: %s: expected at most 31 letters", what, x)
    end
    return x
end

--- x or { x, ... } as a list of names.
local function names(x, what)
    local out = {}
    if x == nil then return out end
    for _, one in ipairs(type(x) == "table" and x or { x }) do
        out[#out + 1] = name_of(one, what)
    end
    return out
end

--- What a list entry, or what a host returned, says: a table, perhaps empty.
local function said(entry)
    return type(entry) == "table" and not entry.fn and entry or {}
end

local function add(list, name)
    if list[name] then return end
    list[#list + 1] = name
    list[name] = #list
end

--- inst.streams and inst.events: names, and their numbers by name.
function M.declare(inst)
    for _, kind in ipairs { "streams", "events" } do
        local given, list = inst.app[kind], {}
        local what = ("application %s: %s"):format(inst.name, kind)
        if math_type(given) == "integer" then
            for i = 1, given <= MOST[kind] and given or MOST[kind] + 1 do
                add(list, tostring(i))
            end
        elseif given ~= nil and type(given) ~= "table" then
            fail("%s: expected a list of names or a number, got %s", what,
                tostring(given))
        else
            for _, name in ipairs(names(given, what)) do add(list, name) end
        end
        inst[kind] = list
    end
    if not inst.host then
        for i, entry in ipairs(inst.launches) do
            local what = ("application %s: launch %d"):format(inst.name, i)
            local e = said(entry)
            for _, s in ipairs(names(e.stream, what .. ": stream")) do
                add(inst.streams, s)
            end
            for _, key in ipairs { "wait", "record" } do
                for _, s in ipairs(names(e[key], what .. ": " .. key)) do
                    add(inst.events, s)
                end
            end
        end
    end
    for kind, most in pairs(MOST) do
        if #inst[kind] > most then
            fail("application %s: more than %d %s", inst.name, most, kind)
        end
    end
end

local function number(inst, kind, name, k)
    local n = inst[kind][name]
    if not n then
        fail("launch of %s: the application %s has no %s '%s'; it has %s",
            k.name, inst.name, kind:sub(1, -2), name, inst[kind][1]
                and table.concat(inst[kind], ", ") or "none")
    end
    return n
end

local function bits(inst, x, k, field)
    local set = 0
    for _, name in ipairs(names(x, ("launch of %s: %s"):format(k.name, field))) do
        set = set | 1 << number(inst, "events", name, k) - 1
    end
    return set
end

--- The stream of a launch of kernel k, its sets of events, and whether its host
-- waits; nothing where it says nothing of it.
function M.of(inst, entry, k)
    local e = said(entry)
    if e.stream == nil and e.wait == nil and e.record == nil
        and e.sync == nil then
        return
    end
    if e.sync ~= nil and type(e.sync) ~= "boolean" then
        fail("launch of %s: sync: expected true or false, got %s", k.name,
            tostring(e.sync))
    elseif not inst.streams[1] then
        fail("launch of %s: wait, record and sync: the application %s has no "
            .. "streams", k.name, inst.name)
    end
    local stream = e.stream ~= nil and number(inst, "streams",
        name_of(e.stream, ("launch of %s: stream"):format(k.name)), k) or 0
    return stream, bits(inst, e.wait, k, "wait"),
        bits(inst, e.record, k, "record"), e.sync
end

-- ---- waits in a list -------------------------------------------------------------

local function has(list, name)
    for _, x in ipairs(list) do
        if x == name then return true end
    end
end

--- The launch that records an event for number i: the last before it, or else
-- the first from it on.
local function recorder(list, i, event)
    for j = i - 1, 1, -1 do
        if has(list[j].record, event) then return j end
    end
    for j = i, #list do
        if has(list[j].record, event) then return j end
    end
end

--- What launch i waits for: { launch, in words }.
local function waits(list, i)
    local out, me = {}, list[i]
    for _, event in ipairs(me.wait) do
        local j = recorder(list, i, event)
        if j then
            out[#out + 1] = { j, ("waits for event \"%s\", which %s records")
                :format(event, list[j].text) }
        end
    end
    for j = 1, i - 1 do
        if list[j].stream == me.stream then
            out[#out + 1] = { j, ("comes after %s"):format(list[j].text) }
        elseif not list[j].stream or not me.stream then
            out[#out + 1] = { j, ("waits for %s, as the default stream does")
                :format(list[j].text) }
        end
    end
    return out
end

--- How launch `from` comes to wait for launch `to`: a list of words, or nil.
local function path(list, from, to, seen)
    if from == to then return {} end
    if seen[from] then return end
    seen[from] = true
    for _, w in ipairs(waits(list, from)) do
        local rest = path(list, w[1], to, seen)
        if rest then
            table.insert(rest, 1, w[2])
            return rest
        end
    end
end

--- Refuses a list in which a launch waits for an event that is not recorded
-- before it.
function M.check(inst, kernel_of)
    local list = {}
    if not inst.events[1] then return end
    for i, entry in ipairs(inst.launches) do
        local e = said(entry)
        local stream = e.stream ~= nil and name_of(e.stream, "stream") or nil
        list[i] = { stream = stream, wait = names(e.wait, "wait"),
            record = names(e.record, "record"),
            text = ("launch %d (kernel %s, %s)"):format(i,
                kernel_of(inst, entry).name,
                stream and "stream " .. stream or "the default stream") }
    end
    for i, l in ipairs(list) do
        for _, event in ipairs(l.wait) do
            local j = recorder(list, i, event)
            if not j then
                fail("application %s: %s waits for event \"%s\", which no "
                    .. "launch records", inst.name, l.text, event)
            elseif j == i then
                fail("application %s: %s waits for itself: for event \"%s\", "
                    .. "which it records", inst.name, l.text, event)
            elseif j > i then
                local way = path(list, j, i, {})
                if way then
                    fail("application %s: a cycle of waits: %s waits for event "
                        .. "\"%s\", which %s records; that %s", inst.name,
                        l.text, event, list[j].text,
                        table.concat(way, "; that "))
                end
                fail("application %s: %s waits for event \"%s\", which %s "
                    .. "records later; expected that launch before it",
                    inst.name, l.text, event, list[j].text)
            end
        end
    end
end

return M
