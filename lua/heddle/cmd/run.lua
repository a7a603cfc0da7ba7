--- cmd/run.lua - heddle run: runs a scenario.
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local core = require "heddle.core"

local run = {
    summary = "run a scenario script",
    usage = [[
usage: heddle run [--check] FILE.lua [name=value...]

Runs the script.  name=value arguments are in H.arg.name; the script declares
them, with defaults, by H.args{...}.  FILE may be - for standard input.

  --check   verify invariants while every simulation runs
]],
}

--- Splits the arguments: options, the file, name=value pairs.
local function parse(args)
    local o = { given = {}, order = {} }
    local options = true
    for _, a in ipairs(args) do
        if options and a == "--" then
            options = false
        elseif options and not o.file and a == "--check" then
            o.check = true
        elseif options and not o.file and a:find("^%-.") then
            cli.usage("run: unknown option '%s'", a)
        elseif not o.file then
            o.file = a
        else
            local name, value = a:match("^([%a_][%w_.]*)=(.*)$")
            if not name then
                cli.usage("run: expected name=value, got '%s'", a)
            end
            o.given[name] = value
            o.order[#o.order + 1] = name
        end
    end
    if not o.file then
        cli.usage("run: expected a script")
    end
    return o
end

local function load_script(file)
    if file == "-" then
        local chunk, err = load(io.read("a"), "=stdin", "t")
        if not chunk then
            error(core.error(-4, err))
        end
        return chunk
    end
    local f, err = io.open(file, "r")
    local first = f and f:read(0)
    if not f or (not first and f:seek("end") ~= 0) then
        error({ code = -5, message = err or file .. ": cannot be read" }, 0)
    end
    f:close()
    local chunk
    chunk, err = loadfile(file, "t")
    if not chunk then
        error(err, 0)
    end
    return chunk
end

function run.run(args)
    local o = parse(args)
    local chunk = load_script(o.file)
    local dir = o.file:match("^(.*)/[^/]*$") or "."
    package.path = dir .. "/?.lua;" .. dir .. "/?/init.lua;" .. package.path
    local H = require "heddle"
    H.begin(o)
    local status = H.finish(xpcall(chunk, H.traceback, o.file))
    return status
end

return run
