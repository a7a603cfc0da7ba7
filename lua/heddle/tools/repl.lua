--- repl.lua - heddle repl: Lua by the line, with a machine to look into.
--
--     heddle repl [--check] [FILE.lua] [name=value...]
--
-- Runs FILE first, if there is one; its globals are there afterwards, and
-- name=value words are its arguments (H.args).  Then lines are read:
--
--   - An expression shows its value, without `=` or `return`; `_` is the last
--     one shown.  Strings are shown as they are, tables with sorted keys, a
--     list of rows as an aligned table (pretty.lua).  show(x, options) shows
--     a value in full: rows, items, depth, inside.
--   - An incomplete chunk continues on the next line, after `>> `.  It
--     is not complete while Lua's parser wants more at its end.
--   - A local variable is gone when its chunk ends, as in lua5.4.
--   - An error is printed with the user's part of the traceback and ends the
--     command.  So does Ctrl-C: it stops a run at its next event, which can
--     continue from there, and a script at its next instruction (a coroutine or
--     a pcall in a loop keeps going; a second Ctrl-C then ends the process).
--     At the prompt it clears the line.  Ctrl-D, exit or quit leaves.
--
-- Globals: H = require "heddle"; help, show; sim, the last simulation made,
-- until the user assigns another; step(n), run(n), run_until(fn, every), back(n),
-- go(cycle) and look(name, instance), which act on it.  All but look return the
-- status word and the cycle; look() lists what can be looked at.  All else is
-- a method: sim:use, sim:snapshot, sim:plot, sim:translate, sim:stuck.  What was
-- counted is sampled (interval = "auto"), so that there is something to plot.
--
-- On a terminal: editing with the keys of Emacs or of ~/.editrc, Ctrl-R
-- searches, Tab completes (complete.lua), and chunks are kept whole, of however
-- many lines, in $XDG_STATE_HOME/heddle/history (~/.local/state/heddle/history):
-- there the lines after a chunk's first begin with ">> ", as no Lua does.  What is
-- longer than the screen goes through $PAGER (less).  NO_COLOR turns colours off.
-- The exit status is 0.
--
-- Not on a terminal: no prompt, no editing, no colour, and errors name the
-- line of the input.  An error or an interrupted command does not end the
-- session; the exit status is then 1 at its end.  Ctrl-C while nothing runs
-- ends it with 130; SIGTERM and SIGHUP always end it, with 143 and 129.  That
-- FILE cannot be read or parsed, or was called with arguments that it does not
-- have, ends the command as in heddle run.
--
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local complete = require "heddle.complete"
local core = require "heddle.core"
local help = require "heddle.help"
local pretty = require "heddle.pretty"
local process = require "heddle.process"

-- Asked for where an error is, which may be in code that has no os (pure.lua).
local getenv = os.getenv

local repl = {}

local FRAMES = 8        -- of a traceback
local KEEP = 1000       -- lines of the history file
local INTERRUPTED = -130
local CTRL_C = 130      -- the exit status

-- ---- long values -----------------------------------------------------------

--- Writes a text and an end of line; on a terminal that is too short for it,
-- through a pager, which has it in a file: one that is left early would end us.
local function write(session, text)
    local _, lines = text:gsub("\n", "")
    local pager = os.getenv "PAGER"
    if session.rows and lines + 2 > session.rows() and pager ~= "" then
        local path = os.tmpname()
        process.save(path, text .. "\n")
        io.stdout:flush()
        local shown = os.execute(("LESS=${LESS-FRX} %s %s"):format(
            pager or "less", path))
        os.remove(path)
        if shown then
            return
        end
    end
    io.write(text, "\n")
end

-- ---- the globals -----------------------------------------------------------

--- The simulation that the globals are about.
local function it()
    local sim = _G.sim
    if not sim then
        error("there is no simulation yet: sim = H.sim { machine = "
            .. "\"maxwell\", apps = { H.app(\"GUP\", { size = \"T\" }) } }", 0)
    end
    return sim
end

local function with_cycle(sim, word)
    return word, sim.now
end

--- H, whose H.sim remembers what it made last: that is `sim`, unless the
-- session sets one itself.
local function define_sim()
    local H = require "heddle"
    local make = require("heddle.sim").sim
    local last

    --- A simulation: H.sim { machine = "maxwell", apps = { H.app("ATAX") } }.
    -- Options: machine, apps, policies, settings, seed, check, budget, warmup,
    -- stop_cycles, translation, relaunch, memory, interval, label, progress.  The
    -- last one made is `sim`.  More: help(sim).
    rawset(H, "sim", function(options)
        if type(options) == "table" and options.interval == nil then
            local given = options
            options = { interval = "auto" }
            for k, v in pairs(given) do
                options[k] = v
            end
        end
        last = make(options)
        last:checkpoints()
        return last
    end)

    _G.H = H
    setmetatable(_G, { __index = function(_, name)
        if name == "sim" then
            return last
        end
    end })
end

--- Defines the globals of a session.  Returns the scope of completion.
local function globals(session)
    local scope = setmetatable({ env = _G }, { __index = function(_, key)
        if key == "sim" then
            return _G.sim
        end
    end })

    define_sim()

    --- Runs `sim` n core cycles (1).  Returns "ok", "done" or "stopped", and
    -- the cycle.
    function _G.step(n)
        return with_cycle(it(), it():step(n))
    end

    --- Runs `sim` to its end, or n core cycles.
    function _G.run(n)
        return with_cycle(it(), it():run(n))
    end

    --- Runs `sim` until fn(sim) is true, which is asked each `every` core
    -- cycles (1000).
    function _G.run_until(fn, every)
        return with_cycle(it(), it():run_until(fn, every))
    end

    --- Takes `sim` back by so many core cycles (1), and to a cycle.
    function _G.back(n)
        return with_cycle(it(), it():back(n))
    end

    function _G.go(cycle)
        return with_cycle(it(), it():go(cycle))
    end

    --- What is in an object of `sim` now, a row an entry: look("l1tlb", 3).
    -- Instances count from 0.  Without a name: the objects.
    function _G.look(name, instance)
        if name == nil then
            return it():objects()
        end
        return it():look(name, instance)
    end

    --- Prints a value in full.  Options: rows (50), items (100) and depth (4)
    -- are limits; inside = true looks into what prints itself.
    function _G.show(x, options)
        local o = { color = session.color, width = session.width() }
        for k, v in pairs(options or {}) do
            o[k] = v
        end
        write(session, pretty.text(x, o))
    end

    --- help(x): what x is: a function, a simulation, a module, or the name of
    -- a setting, counter, point, note, policy, application, machine, object.
    function _G.help(...)
        local lines = select("#", ...) == 0 and help.overview()
            or help.lines((...), scope)
        print(table.concat(lines, "\n"))
    end
    return scope
end

-- ---- errors ------------------------------------------------------------------

local function is_interrupt(err)
    return core.problem(err).code == INTERRUPTED
end

--- The frames of the user's functions, the innermost first.
local function frames()
    local out = {}
    for line in debug.traceback("", 3):gmatch("\n\t([^\n]+)") do
        if line:find("^heddle/repl%.lua") and #out > 0 then
            break
        elseif getenv("HEDDLE_TRACEBACK") or not (line:find("^heddle/")
            or line:find("^%[C%]") or line:find("^%(%.%.%.tail")) then
            out[#out + 1] = line:gsub("in local 'chunk'$", "in main chunk")
        end
    end
    return out
end

--- The handler of xpcall: an error and where it happened.
local function with_frames(err)
    if is_interrupt(err) then
        return { err = err }
    end
    return { err = err, frames = frames() }
end

local function report(session, failure)
    if type(failure) ~= "table" then -- not even the handler had the stack
        failure = { err = failure }
    end
    local err = failure.err
    io.stdout:flush()
    session.failed = true
    local say = session.color_errors and "\27[31m%s\27[0m\n" or "%s\n"
    if is_interrupt(err) then
        if core.interrupted then
            core.interrupted(true)
        end
        local ok, now = pcall(function()
            return _G.sim.now
        end)
        io.stderr:write(say:format("interrupted"
            .. (ok and "; sim is at cycle " .. tostring(now) or "")))
        return
    end
    local _, text = cli.describe(err)
    io.stderr:write(say:format(text or "exit"))
    local list = failure.frames or {}
    for i = 1, #list > 1 and math.min(#list, FRAMES) or 0 do
        io.stderr:write("    ", list[i], "\n")
    end
    if #list > FRAMES then
        io.stderr:write(("    ... %d more\n"):format(#list - FRAMES))
    end
end

-- ---- chunks ------------------------------------------------------------------

--- Compiles a text: the chunk; or nil, the error, and whether more lines
-- could make it right.  An expression is compiled as one.  `line` is the
-- number of its first line.
function repl.compile(text, line)
    local pad = ("\n"):rep((line or 1) - 1)
    local body = text:gsub("^%s*=", "")
    local chunk, why = load(pad .. "return " .. body, "=stdin", "t")
    if chunk then
        return chunk
    end
    local as_expression = why
    chunk, why = load(pad .. text, "=stdin", "t")
    if chunk then
        return chunk
    end
    if as_expression:find("<eof>$") then
        why = as_expression
    end
    return nil, why, why:find("<eof>$") ~= nil
end

--- Shows the results of a chunk.
local function echo(session, n, values)
    local options = { color = session.color, width = session.width() }
    local texts, tables = {}, false
    for i = 1, n do
        tables = tables or type(values[i]) == "table"
    end
    for i = 1, n do
        local v = values[i]
        if type(v) == "table" and rawget(v, "schema") == "heddle-results" then
            -- Thousands of lines as a table; show() has them.
            texts[i] = require("heddle.report").format(v):gsub("\n$", "")
        else
            texts[i] = type(v) == "string" and v or pretty.text(v, options)
        end
    end
    write(session, table.concat(texts, tables and "\n" or "\t"))
end

local function call_and_echo(session, chunk)
    local values = table.pack(chunk())
    if values.n > 0 then
        _G._ = values[1]
        echo(session, values.n, values)
    end
    io.stdout:flush()
end

local function evaluate(session, chunk)
    local ok, failure = xpcall(call_and_echo, with_frames, session, chunk)
    if not ok then
        report(session, failure)
    end
end

-- ---- lines -------------------------------------------------------------------

--- The history file; its directories are made.
local function history_path()
    local base = os.getenv("XDG_STATE_HOME") or ""
    if base:sub(1, 1) ~= "/" then
        local home = os.getenv("HOME") or ""
        if home:sub(1, 1) ~= "/" then
            return nil
        end
        base = home .. "/.local/state"
    end
    base = base .. "/heddle"
    for at in base:gmatch("()/") do
        if at > 1 then
            process.mkdir(base:sub(1, at - 1))
        end
    end
    process.mkdir(base)
    return base .. "/history"
end

--- The chunks of a history file.
local function chunks_of(path)
    local f = path and io.open(path, "r")
    local chunks = {}
    for line in f and f:lines() or function() end do
        local more = line:match "^>> (.*)$"
        if more and chunks[1] then
            chunks[#chunks] = chunks[#chunks] .. "\n" .. more
        else
            chunks[#chunks + 1] = line
        end
    end
    if f then
        f:close()
    end
    return chunks
end

--- A chunk as it is in the file.
local function kept(chunk)
    return chunk:gsub("\n", "\n>> ") .. "\n"
end

--- Reads the history into the editor; returns the file to add to.
local function open_history(edit)
    local path = history_path()
    local chunks = chunks_of(path)
    local first = math.max(1, #chunks - KEEP + 1)
    if #chunks > 2 * KEEP then
        local texts = {}
        for i = first, #chunks do
            texts[#texts + 1] = kept(chunks[i])
        end
        process.save(path, table.concat(texts))
    end
    for i = first, #chunks do
        edit:remember(chunks[i])
    end
    return path and assert(io.open(path, "a"))
end

local function with_editor(session, scope)
    local ok, editor = pcall(require, "heddle.edit")
    local edit = ok and editor.open(function(text)
        scope.before = session.text
        return complete.tab(text, scope, session.width())
    end)
    if not edit then
        return false
    end
    session.width = function()
        return edit:size() - 2
    end
    session.rows = function()
        return select(2, edit:size())
    end
    local fine, history = pcall(open_history, edit)
    if not fine then
        io.stderr:write("heddle: the history is not kept: ",
            tostring(history), "\n")
        history = nil
    end
    session.read = function(prompt)
        return edit:read(prompt)
    end
    session.remember = function(chunk)
        if chunk:find("%S") then
            edit:remember(chunk)
            if history then
                history:write(kept(chunk))
                history:flush()
            end
        end
    end
    session.close = function()
        edit:close()
    end
    return true
end

--- Decides how lines are read, by what standard input and output are.
local function open_lines(session, scope)
    session.width = function()
        return 78
    end
    session.close = function() end
    session.remember = function() end
    session.read = function(prompt)
        if session.terminal then
            io.write(prompt)
            io.stdout:flush()
        end
        return (io.read("l"))
    end
    local color = (os.getenv("NO_COLOR") or "") == ""
        and os.getenv("TERM") ~= "dumb"
    local input, output = process.isatty(0), process.isatty(1)
    session.input = input
    session.terminal = input and output
    session.color = color and session.terminal
    session.color_errors = color and input and process.isatty(2)
    if session.terminal then
        io.write(("heddle %s, %s.  help() tells more, Ctrl-D leaves.\n")
            :format(core.version, _VERSION))
        with_editor(session, scope)
    end
end

--- Whether a line is the word that leaves other such programs, and nothing here.
local function leaves(line)
    local word = line:match "^%s*(%a+)%s*%(?%s*%)?%s*$"
    return (word == "exit" or word == "quit") and rawget(_G, word) == nil
end

--- Reads a line and does what it asks.  Returns false at the end.
local function turn(session)
    session.busy = false
    local line = session.read(session.text and ">> " or "> ")
    if line == false then -- Ctrl-C
        session.remember(session.text or "")
        session.text = nil
        return true
    elseif line == nil and not session.text then
        if session.terminal then
            io.write("\n")
        end
        return false
    elseif not session.text and leaves(line) then
        return false
    end
    if not session.text then
        session.first = session.input and 1 or session.line + 1
    end
    session.line = session.line + 1
    local text = line and (session.text and session.text .. "\n" .. line
        or line) or session.text
    local chunk, why, more = repl.compile(text, session.first)
    if more and line then
        session.text = text
        return true
    end
    session.remember(text)
    session.text = nil
    session.busy = true
    if chunk then
        evaluate(session, chunk)
    else
        report(session, { err = why })
    end
    return line ~= nil
end

--- Reads until the end, or a signal that is not Ctrl-C; returns the exit status.
local function loop(session)
    while cli.signalled() == CTRL_C do
        local ok, go_on = pcall(turn, session)
        if not ok and is_interrupt(go_on) then
            -- Between commands, or at the moment when one ended.
            if not session.input and not session.busy then
                return cli.signalled()
            end
            session.text = nil
            core.interrupted(true)
            io.stdout:write("\n")
        elseif not ok then
            error(go_on, 0)
        elseif not go_on then
            return not session.input and session.failed and 1 or 0
        end
    end
    return cli.signalled()
end

-- ---- the command -----------------------------------------------------------------

--- Runs the script; only wrong arguments end the command.
local function run_script(session, chunk, options)
    local H = require "heddle"
    H.begin(options)
    if not chunk then
        return
    end
    local ok, failure = xpcall(chunk, with_frames, options.file)
    if ok then
        ok, failure = xpcall(H.finish, with_frames, true)
    end
    if ok then
        return
    end
    local p = core.problem(failure.err)
    if p.usage or p.exit then
        error(failure.err, 0)
    end
    report(session, failure)
end

--- A session: `chunk` is the script to run first, or nil.
function repl.run(chunk, options)
    local session = { failed = false, line = 0 }
    local scope = globals(session)
    open_lines(session, scope)
    run_script(session, chunk, options)
    local status = loop(session)
    session.close()
    return status
end

--- For tests: a scope with the globals of a session that reads nothing.
function repl.scope()
    local session = { width = function()
        return 78
    end }
    return globals(session)
end

return repl
