--- cmd/run.lua - heddle run: runs a scenario.
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local core = require "heddle.core"

local run = {
    summary = "run a scenario script",
    usage = [[
usage: heddle run [--check] [--follow app=0,warp=3] [--checkpoint PATH]
                  [--timeline PATH] [--results PATH] [--live DIR]
                  FILE.lua [name=value...]
       heddle run FILE.lua --help

Runs the script.  name=value arguments are in H.arg.name; the script declares
them, with defaults, by H.args{...}.  FILE may be - for standard input.

  --check         verify invariants while every simulation runs
  --follow WHAT   print the life of one memory instruction, stage by stage:
                  app=, warp=, core=, instruction= with numbers from 0, the
                  instruction from 1; by default the first of each
  --checkpoint PATH[,SECONDS]
                  write the state of a simulation in sim:run() to this file every
                  so many seconds (60), and resume from it when the command is
                  given again; the second simulation's is PATH.2, and so on
  --timeline PATH[,only=walk+dram][,app=0][,from=N][,to=N][,bytes=N][,every=N]
                  write what happens over time to this file, for Perfetto: of
                  these components (core, l1tlb, l2tlb, walk, fault, link,
                  evict, policy, dram) and this application, what begins in
                  these cycles, in so many bytes (20000000), with samples so
                  many cycles (1000) apart; the second simulation's is PATH.2
  --results PATH  write all results of the script to this file, as JSON
  --live DIR      once a second, write the state of a simulation (cycle, IPC,
                  what warps wait for, queues) to this folder, for
                  heddle view --follow DIR
  --help          after FILE: print the arguments that it declares
]],
}

--- Splits the arguments: options, the file, name=value pairs.  `command` is
-- the name for messages; other commands that take a script use this, too.
function run.parse(args, command)
    local o = { given = {}, order = {} }
    local options = true
    args = table.move(args, 1, #args, 1, {})
    for i, a in ipairs(args) do
        if options and a == "--" then
            options = false
        elseif options and not o.file and a == "--check" then
            o.check = true
        elseif options and not o.file and (a == "--follow"
            or a:find "^%-%-follow=") then
            o.follow = a:match "=(.*)" or table.remove(args, i + 1) or ""
        elseif options and not o.file and (a == "--checkpoint"
            or a:find "^%-%-checkpoint=") then
            local value = a:match "=(.*)" or table.remove(args, i + 1) or ""
            local path, seconds = value:match "^(.*),(%d+%.?%d*)$"
            o.checkpoint = { path = path or value, files = 0,
                seconds = tonumber(seconds) or 60 }
            if o.checkpoint.path == "" then
                cli.usage("%s: --checkpoint: a path is expected", command)
            end
        elseif options and not o.file and command == "run"
            and (a == "--timeline" or a:find "^%-%-timeline=") then
            o.timeline = a:match "=(.*)" or table.remove(args, i + 1) or ""
        elseif options and not o.file and command == "run"
            and (a == "--results" or a:find "^%-%-results=") then
            o.results = a:match "=(.*)" or table.remove(args, i + 1) or ""
            if o.results == "" then
                cli.usage("run: --results: a path is expected")
            end
        elseif options and not o.file and command == "run"
            and (a == "--live" or a:find "^%-%-live=") then
            o.live = a:match "=(.*)" or table.remove(args, i + 1) or ""
            if o.live == "" then
                cli.usage("%s: --live: a folder is expected", command)
            end
        elseif options and not o.file and a:find("^%-.") then
            cli.usage("%s: unknown option '%s'", command, a)
        elseif not o.file then
            o.file = a
        elseif options and (a == "--help" or a == "-h") then
            o.help = true
        else
            local name, value = a:match("^([%a_][%w_.]*)=(.*)$")
            if not name then
                cli.usage("%s: expected name=value, got '%s'", command, a)
            end
            o.given[name] = value
            o.order[#o.order + 1] = name
        end
    end
    return o
end

--- The chunk of a script; a script's own modules are found beside it.
function run.load(file)
    if file == "-" then
        local chunk, err = load(io.read("a"), "=stdin", "t")
        if not chunk then
            error(core.error(-4, err))
        end
        return chunk
    end
    return require("heddle.script").load(file)
end

function run.run(args)
    local o = run.parse(args, "run")
    if not o.file then
        cli.usage("run: expected a script")
    end
    if o.follow then
        local what, why = require("heddle.follow").parse(o.follow)
        if not what then
            cli.usage("run: %s", why)
        end
        o.follow = what
    end
    if o.timeline then
        local what, why = require("heddle.timeline").parse(o.timeline)
        if not what then
            cli.usage("run: --timeline: %s", why)
        end
        o.timeline = what
    end
    local chunk = run.load(o.file)
    if o.results then
        o.results = require("heddle.collected").open(o.results)
    end
    local H = require "heddle"
    H.begin(o)
    local status = H.finish(xpcall(chunk, H.traceback, o.file))
    return status
end

return run
