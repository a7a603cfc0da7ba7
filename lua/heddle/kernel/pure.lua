--[[
pure.lua - application code gives the same in every run.

What an application does depends on its parameters and on nothing else, a host
besides on its state and on the buffers.  Plain Lua has more: pairs walks in an
order that differs from run to run (Debian's Lua seeds its hashes from
addresses and the clock), so do the numbers of math.random, table.sort chooses
pivots by the clock, and os tells it.  Buffers laid out in the order of pairs
would be elsewhere in each run.

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
The functions of the globals are exchanged, not those that are held in a
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
local tostring, setmetatable, require, type = tostring, setmetatable, require,
    type
local fence = require("heddle.core").fence()

-- An error at the place that called the function which calls this.
local function refuse(text, ...)
    error("application code: " .. text:format(...), 3)
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
    { _G, "pairs", fence.pairs }, { _G, "next", fence.next },
    { _G, "tostring", fence.tostring }, { _G, "setmetatable", strong },
    { _G, "require", plain_require }, { _G, "os", no_os },
    { table, "sort", fence.table.sort }, { math, "random", no_random "random" },
    { math, "randomseed", no_random "randomseed" },
}

local closer = setmetatable({}, { __close = function()
    opened = opened - 1
    if opened == 0 then
        exchange(3)
        saved = nil
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
