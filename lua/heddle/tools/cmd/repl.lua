--- cmd/repl.lua - heddle repl: an interactive session.
-- SPDX-License-Identifier: MIT
local repl = {
    summary = "an interactive session: run and inspect simulations",
    usage = [[
usage: heddle repl [--check] [FILE.lua] [name=value...]

Runs FILE.lua first; its globals stay.  Then reads Lua from the terminal, with
editing, history and completion, or from a pipe.  help() says more; Ctrl-C ends
a command, Ctrl-D the session.  From a pipe, the exit status is 1 if a command
failed.

  --check   verify invariants while every simulation runs
]],
}

--- name=value in the place of the file: there is none.
local function without_file(o)
    local name, value = (o.file or ""):match("^([%a_][%w_.]*)=(.*)$")
    if name then
        o.given[name], o.file = value, nil
    end
end

function repl.run(args)
    local run = require "heddle.cmd.run"
    local o = run.parse(args, "repl")
    without_file(o)
    local chunk = o.file and run.load(o.file)
    return require("heddle.repl").run(chunk, o)
end

return repl
