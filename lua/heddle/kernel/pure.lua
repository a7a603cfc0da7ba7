--[[
pure.lua - application code gives the same in every run.

What an application does depends on its parameters and on nothing else, a host
besides on its state and on the buffers.  Plain Lua has more: pairs walks in an
order that differs from run to run (Debian's Lua seeds its hashes from
addresses and the clock), so do the numbers of math.random, table.sort chooses
pivots by the clock, and os tells it.  Buffers laid out in the order of pairs
would lie elsewhere in each run.

    local open <close> = pure.open()    globals of application code, to the
                                        end of the block, also by an error

While they are open
  pairs, next       walk numbers, then strings, in order; a key of another
                    type raises
  table.sort        is stable
  math.random, randomseed, os.ANYTHING   raise, and say what to use
  tostring          shows no addresses
  setmetatable      refuses weak tables
  require           loads a module with the globals of before
The functions of the globals are exchanged, not those that somebody holds in a
local: this is a fence around mistakes, as that of policies (lsandbox.c), which
is stricter, since it can be: a policy is a file or a table of its own, an
application stands in the middle of a script.

Left out: locals of a script that a host changes.  What it reads there again is
lost by a snapshot and kept by a relaunch (kernel.lua, HOST), but a script may
well take results of the device out in this way.

SPDX-License-Identifier: MIT
]]
local M = {}

-- The functions of before; modules of this library use these.
local next, tostring, setmetatable, require = next, tostring, setmetatable,
    require
local type = type

-- An error at the place that called the function which calls this.
local function refuse(text, ...)
    error("application code: " .. text:format(...), 3)
end

-- ---- iteration in order ---------------------------------------------------

local function in_order(t)
    local numbers, names = {}, {}
    for key in next, t do
        local list = type(key) == "number" and numbers
            or type(key) == "string" and names
        if not list then
            error("application code: the order of keys of type " .. type(key)
                .. " differs from run to run; use a list", 3)
        end
        list[#list + 1] = key
    end
    table.sort(numbers)
    table.sort(names)
    return table.move(names, 1, #names, #numbers + 1, numbers)
end

local function ordered_pairs(t)
    local meta = getmetatable(t)
    if type(meta) == "table" and meta.__pairs then return meta.__pairs(t) end
    if type(t) ~= "table" then
        error("bad argument #1 to 'pairs' (table expected, got " .. type(t)
            .. ")", 2)
    end
    local keys, i = in_order(t), 0
    return function()
        local key
        repeat
            i = i + 1
            key = keys[i]
        until key == nil or rawget(t, key) ~= nil
        return key, rawget(t, key)
    end, t, nil
end

-- One walk by next is remembered, so that it costs no sorting a step.
local walk = {}

local function ordered_next(t, key)
    if type(t) ~= "table" then
        error("bad argument #1 to 'next' (table expected, got " .. type(t)
            .. ")", 2)
    end
    if key == nil or walk.t ~= t or walk.keys[walk.i] ~= key then
        walk = { t = t, keys = in_order(t), i = 0 }
        while key ~= nil and walk.keys[walk.i] ~= key do
            walk.i = walk.i + 1
            if walk.i > #walk.keys then error("invalid key to 'next'", 2) end
        end
    end
    repeat
        walk.i = walk.i + 1
        key = walk.keys[walk.i]
    until key == nil or rawget(t, key) ~= nil
    return key, rawget(t, key)
end

-- By merging runs of 1, 2, 4, ... elements.
local function stable_sort(list, before)
    local n, from, to, width = #list, list, {}, 1
    while width < n do
        for low = 1, n, 2 * width do
            local a, middle = low, math.min(low + width, n + 1)
            local b, high = middle, math.min(low + 2 * width, n + 1)
            for i = low, high - 1 do
                local right = a == middle
                if not right and b < high then
                    if before then
                        right = before(from[b], from[a])
                    else
                        right = from[b] < from[a]
                    end
                end
                if right then
                    to[i], b = from[b], b + 1
                else
                    to[i], a = from[a], a + 1
                end
            end
        end
        from, to, width = to, from, 2 * width
    end
    if from ~= list then table.move(from, 1, n, 1, list) end
end

-- ---- the globals ------------------------------------------------------------

local ADDRESSED = { table = true, ["function"] = true, userdata = true,
    thread = true }

local function plain_tostring(...)
    local v = ...
    if ADDRESSED[type(v)] then
        local meta = getmetatable(v)
        if type(meta) ~= "table" or not meta.__tostring then return type(v) end
    end
    return tostring(...)
end

local function strong(t, meta)
    if type(meta) == "table" and meta.__mode ~= nil then
        refuse "weak tables lose elements when memory happens to be collected"
    end
    return setmetatable(t, meta)
end

local function no_random(name)
    return function()
        refuse("math.%s differs from run to run; heddle.generate makes random "
            .. "data from a seed", name)
    end
end

local no_os = setmetatable({}, { __index = function(_, name)
    refuse("os.%s is not available: what an application does depends on its "
        .. "parameters only", tostring(name))
end })

local opened = 0
local saved -- { table, name, value of before, value while open }, ...

local function exchange(which)
    for _, s in ipairs(saved) do s[1][s[2]] = s[which] end
end

local resumed = setmetatable({}, { __close = function() exchange(4) end })

-- With the globals of before: a module may keep them.
local function plain_require(name)
    if not saved then return require(name) end
    exchange(3)
    local _ <close> = resumed
    return require(name)
end

local REPLACED = {
    { _G, "pairs", ordered_pairs }, { _G, "next", ordered_next },
    { _G, "tostring", plain_tostring }, { _G, "setmetatable", strong },
    { _G, "require", plain_require }, { _G, "os", no_os },
    { table, "sort", stable_sort }, { math, "random", no_random "random" },
    { math, "randomseed", no_random "randomseed" },
}

local closer = setmetatable({}, { __close = function()
    opened = opened - 1
    if opened == 0 then
        exchange(3)
        saved, walk = nil, {}
    end
end })

--- The globals of application code until the value is closed.
function M.open()
    opened = opened + 1
    if opened == 1 then
        saved = {}
        for i, r in ipairs(REPLACED) do
            saved[i] = { r[1], r[2], r[1][r[2]], r[3] }
        end
        exchange(4)
    end
    return closer
end

return M
