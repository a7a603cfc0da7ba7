--- exits.lua - the exit status and the text of an error value.
--
-- Errors are values of heddle.core (with a code), tables { usage = } and { exit = },
-- or Lua strings; the status is one of sysexits.h, 128 and the signal where one
-- ended the run.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local exits = {}

--- sysexits by status code of heddle.h.
local EXIT = {
    [-1] = 71, [-2] = 64, [-3] = 78, [-4] = 65, [-5] = 66, [-6] = 74,
    [-7] = 70, [-8] = 70, [-9] = 70, [-10] = 65, [-11] = 73,
}

local SIGINT = 2

--- Whether memory was short: Lua and heddle say it in one text, a file that
-- cannot be opened for want of it ends with the system's.
local function no_memory(p)
    local last = core.no_memory_of_system
    return p.code == -1 or p.text:sub(-#last) == last
end

--- The exit status by the signal that came last; that of Ctrl-C where none has.
function exits.signalled()
    local signal = core.interrupted and select(2, core.interrupted()) or 0
    return 128 + (signal > 0 and signal or SIGINT)
end

--- The exit status for an error value, and its text.
function exits.describe(err)
    local p = core.problem(err)
    local text = p.text
    if no_memory(p) then
        return EXIT[-1], core.no_memory
    elseif p.exit then
        return p.exit, nil
    elseif p.usage then
        return 64, text
    elseif p.code == -130 then
        return exits.signalled(), text
    elseif p.code then
        return EXIT[p.code] or 70, text
    end
    -- An error raised in heddle's own scripts is a fault of heddle's, or of a
    -- value that they should have refused (script.lua says where it was given).
    return (text:find("^heddle/") or text:find("^[^\n]-:%d+: in heddle/"))
        and 70 or 65, text
end

return exits
