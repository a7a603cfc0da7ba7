--- cli.lua - the command line: options, commands, errors and exit status.
--
-- A command is a module heddle.cmd.NAME with `summary`, `usage` and
-- run(args) -> exit status or nil.  Errors are values of heddle.core (with a
-- code) or Lua strings; both end as `heddle: file:line: message` on standard
-- error and a status of sysexits.h.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local exits = require "heddle.exits"

-- Asked for where an error is, which may be in code that has no os (pure.lua).
local getenv = os.getenv

local cli = { describe = exits.describe, signalled = exits.signalled }

--- Commands in the order of the help page.
local COMMANDS = { "run", "list", "explain", "apps", "diff", "compare", "view",
    "trace", "part", "repl" }

--- Raises a usage error (exit 64).
function cli.usage(format, ...)
    error({ usage = format:format(...) }, 0)
end

--- A command's module, or nil.
local function command(name)
    local module = "heddle.cmd." .. name
    if not package.preload[module] and not package.loaded[module] then
        return nil
    end
    return require(module)
end

cli.command = command

local function no_command(name)
    if name:find "^%-" then
        cli.usage("unknown option '%s'; there are --help and --version", name)
    end
    local near = name:find("%.lua$") and "run " .. name
        or require("heddle.index").nearest(name, COMMANDS)
    cli.usage("no command '%s'; %s", name, near
        and "did you mean 'heddle " .. near .. "'?" or "see heddle --help")
end

local function help_page()
    local out = {
        "usage: heddle COMMAND [ARGUMENTS]",
        "",
    }
    for _, name in ipairs(COMMANDS) do
        local ok, c = pcall(command, name)
        if ok and c then
            out[#out + 1] = ("  %-8s %s"):format(name, c.summary or "")
        end
    end
    out[#out + 1] = "  help     show the usage of a command"
    out[#out + 1] = ""
    out[#out + 1] = "Options: --help, --version.  More: man heddle"
    return table.concat(out, "\n") .. "\n"
end

local function help(args)
    local name = args[1]
    if not name or name == "--help" or name == "-h" then
        io.write(help_page())
        return 0
    end
    local c = command(name)
    if not c then
        no_command(name)
    end
    io.write(c.usage)
    return 0
end

local function version()
    io.write("heddle ", core.version, "\n",
        "Licence: MIT.  ", _VERSION, ".  Built with ", core.built, ".\n")
    return 0
end

local function dispatch(args)
    local first = args[1]
    if not first then
        io.stderr:write(help_page())
        return 64
    elseif first == "--help" or first == "-h" then
        return help({})
    elseif first == "--version" or first == "-V" then
        return version()
    elseif first == "help" then
        return help({ table.unpack(args, 2) })
    end
    local c = command(first)
    if not c then
        no_command(first)
    end
    local rest = table.pack(table.unpack(args, 2))
    if rest[1] == "--help" or rest[1] == "-h" then
        return help({ first })
    end
    return c.run(rest) or 0
end

local function with_trace(err)
    if getenv("HEDDLE_TRACEBACK") then
        io.stderr:write(debug.traceback(core.problem(err).text, 2), "\n")
    end
    return err
end

--- Runs the command; returns the exit status.
function cli.main(args)
    local ok, status = xpcall(dispatch, with_trace, args)
    if ok then
        return status
    end
    local text
    status, text = cli.describe(status)
    io.stdout:flush()
    if text then
        io.stderr:write("heddle: ", core.text(text), "\n")
    end
    return status
end

return cli
