--- cmd/repl.lua - heddle repl: an interactive session (heddle/repl.lua).
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"

local repl = {
    summary = "read and run Lua, step by step",
    usage = [[
usage: heddle repl [FILE.lua]

Reads Lua from a terminal or a pipe and prints what it gives.  FILE.lua is run
first; its globals stay.  H is the module heddle; help(x) explains a setting, a
counter, a point, or a value.
]],
}

function repl.run(args)
    if #args > 1 or args[1] and args[1]:find("^%-.") then
        cli.usage("repl: expected at most one script")
    end
    return require("heddle.repl").run(args)
end

return repl
