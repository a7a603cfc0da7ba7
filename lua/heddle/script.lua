--- script.lua - the frame around a scenario: its arguments, and what is said
-- when it ends early.
--
-- The command calls begin() with what was on the command line and finish()
-- with the result of the script.  A script that runs under plain Lua never
-- calls them: its arguments are name=value words of the global `arg`.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

-- Asked for where an error is, which may be in code that has no os (pure.lua).
local getenv = os.getenv

local script = {
    arg = {},       -- declared arguments and their values
    options = {},   -- of the command: check, follow, results
}

-- Of series on Slurm (slurm.lua): how many there were, the name of this run, and
-- whether this is a job of a series itself.
script.calls, script.run, script.inside = 0, nil, false

--- Runs of series so far, for warnings that compare them (warnings.lua).
script.series = {}

--- Files and folders that go when the script ends well, in this order.
script.leftover = {}

local given         -- name -> text; nil outside the command
local declared = false
-- Warnings of results (warnings.lua) that no report has shown: in order, and by text.
local pending = {}
-- Where the warnings of a job under way are listed; nil: no job is.
local of_job

--- The running simulations, for what is printed on an interrupt.
script.live = setmetatable({}, { __mode = "k" })

--- A usage error: text wherever it ends, in the command or in plain Lua.
local USAGE = { __tostring = function(err)
    return err.usage
end }

local function usage(format, ...)
    error(setmetatable({ usage = format:format(...) }, USAGE), 0)
end

local function words_of_lua()
    local out = {}
    for _, a in ipairs(_G.arg or {}) do
        local name, value = a:match("^([%a_][%w_.]*)=(.*)$")
        if name then
            out[name] = value
        end
    end
    return out
end

local function names_of(defaults)
    local names = {}
    for name in pairs(defaults) do
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

local function convert(name, text, default)
    if type(default) == "number" then
        local n = tonumber(text)
        if not n and name == "jobs" and require("heddle.slurm").options(
            "argument " .. name, text) then
            return text
        elseif not n then
            usage("argument %s=%s: expected a number%s", name, text,
                name == "jobs" and " or slurm" or "")
        end
        return n
    elseif type(default) == "boolean" then
        local words = {
            ["true"] = true, ["1"] = true, yes = true,
            ["false"] = false, ["0"] = false, no = false,
        }
        if words[text] == nil then
            usage("argument %s=%s: expected true or false", name, text)
        end
        return words[text]
    end
    return text
end

local function did_you_mean(name, names)
    return require("heddle.index").meant(name, names)
end

--- A word that is no argument of the script is an error before it runs.
local function check_words(words, defaults)
    local names, wrong = names_of(defaults), {}
    for _, name in ipairs(names_of(words)) do
        if defaults[name] == nil then
            wrong[#wrong + 1] = ("'%s'%s"):format(name,
                did_you_mean(name, names))
        end
    end
    for i, n in ipairs(names) do
        names[i] = n .. "=" .. tostring(defaults[n])
    end
    if #wrong > 0 then
        usage("the script has no argument %s; it takes %s",
            table.concat(wrong, ", "), names[1] and table.concat(names, " ")
            or "none")
    end
end

--- The script reads an argument that it has not declared.
local function undeclared(name)
    error(core.error(-2, ("H.args declares no argument '%s'%s"):format(name,
        did_you_mean(name, names_of(script.arg)))), 0)
end

--- H.args{name = default, ...}: returns the table of values.
function script.declare(defaults)
    if type(defaults) ~= "table" then
        error(core.error(-2, ("H.args: a table { name = default, ... } is "
            .. "expected, not a %s"):format(type(defaults))), 0)
    end
    for name in pairs(defaults) do
        if type(name) ~= "string" then
            error(core.error(-2, ("H.args: [%s]: arguments have names"):format(
                tostring(name))), 0)
        end
    end
    declared = true
    if script.options.help then
        for _, name in ipairs(names_of(defaults)) do
            print(name .. "=" .. tostring(defaults[name]))
        end
        error({ exit = 0 }, 0)
    end
    local words = given or words_of_lua()
    for _, name in ipairs(names_of(defaults)) do
        local default = defaults[name]
        local t = type(default)
        if t ~= "number" and t ~= "boolean" and t ~= "string" then
            error(core.error(-2, ("H.args: %s: a default is a number, a "
                .. "boolean or text, not a %s"):format(tostring(name), t)), 0)
        end
        if words[name] == nil then
            script.arg[name] = default
        else
            script.arg[name] = convert(name, words[name], default)
        end
    end
    check_words(words, defaults)
    return setmetatable(script.arg, { __index = function(_, name)
        undeclared(tostring(name))
    end })
end

--- A path beside the script, wherever the command was called: H.here("data/x").
function script.here(path)
    local dir = script.dir or (_G.arg and _G.arg[0] or ""):match("^(.*)/")
    if path:sub(1, 1) == "/" or not dir then
        return path
    end
    return dir .. "/" .. path
end

--- The chunk of a script file; a script's own modules are found beside it.
function script.load(file)
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
    local dir = file:match("^(.*)/[^/]*$") or "."
    package.path = dir .. "/?.lua;" .. dir .. "/?/init.lua;" .. package.path
    return chunk
end

--- Called before the script, by the command or by what runs several.
function script.begin(options)
    given, declared, pending, of_job = options.given, false, {}, nil
    script.calls, script.run, script.inside = 0, nil, false
    script.file, script.store, script.series = options.file, nil, {}
    setmetatable(script.arg, nil)
    for name in pairs(script.arg) do
        script.arg[name] = nil
    end
    script.dir = options.file and (options.file:match("^(.*)/[^/]*$") or ".")
    script.options.check = options.check
    script.options.follow = options.follow
    script.options.checkpoint = options.checkpoint
    script.options.live = options.live
    if options.live then
        require("heddle.publish").begin(options.live)
    end
    script.options.timeline = options.timeline
    script.options.results = options.results
    script.options.help = options.help
    if not next(given) then
        return
    end
    -- A script that reads an argument without declaring any gets the text.
    setmetatable(script.arg, {
        __index = function(_, name)
            return not declared and given[name] or nil
        end,
    })
end

-- ---- warnings ------------------------------------------------------------------

local MOST = 6 -- lines

--- The warnings of results.
local function of(results)
    local told = type(results) == "table" and results.told
    return type(told) == "table" and told or {}
end

--- The script has these results: their warnings are printed when the command ends.
function script.warn(results)
    for _, text in ipairs(of(results)) do
        if of_job then
            of_job[#of_job + 1] = text
        end
        if pending[text] == nil then
            pending[#pending + 1], pending[text] = text, true
        end
    end
end

--- Runs a job: what fn(...) returns, and a list of its warnings that no report has
-- shown; nil: there are none.
function script.with_warnings(fn, ...)
    local outer, own, seen, out = of_job, {}, {}, {}
    of_job = own
    local result = fn(...)
    of_job = outer
    for _, text in ipairs(own) do
        if pending[text] and not seen[text] then
            out[#out + 1], seen[text] = text, true
        end
    end
    return result, out[1] and out or nil
end

--- The file of --results (collected.lua); nil: there is none, or this is a job of a
-- series, which returns what it has.
function script.file_of_results()
    return not script.inside and not of_job and script.options.results or nil
end

--- The script has these results.
function script.got(results, sim)
    local to = script.file_of_results()
    if to then
        to:add(results, sim)
    end
end

--- A report has shown it.
function script.shown(results)
    for _, text in ipairs(of(results)) do
        pending[text] = false
    end
end

--- Those that are pending, by kind, in the order of each kind's first:
-- { kind =, texts = { text, ... }, about = { name, ... } }.
local function kinds()
    local out, at = {}, {}
    for _, text in ipairs(pending) do
        if pending[text] then
            local kind, about = require("heddle.warnings").kind(text)
            local k = at[kind]
            if not k then
                k = { kind = kind, texts = {}, about = {}, seen = {} }
                out[#out + 1], at[kind] = k, k
            end
            if about and not k.seen[about] then
                k.about[#k.about + 1], k.seen[about] = about, true
            end
            k.texts[#k.texts + 1] = text
        end
    end
    return out
end

local function print_pending()
    io.stdout:flush() -- it comes last
    local more = 0
    for i, k in ipairs(kinds()) do
        if i > MOST then
            more = more + #k.texts
        else
            io.stderr:write("heddle: ", k.texts[2]
                and require("heddle.warnings").together(k.kind, k.texts, k.about,
                    MOST) or k.texts[1], "\n")
        end
    end
    if more > 0 then
        io.stderr:write(("heddle: and %d more warnings, in results.told\n"):format(
            more))
    end
    pending = {}
end

--- Where in the script a text without a place comes from, or one that names a
-- place in heddle's own files; what error() says (`meant`) is left as it is.
local function placed(err, meant)
    if type(err) ~= "string" or err == core.no_memory then
        return err
    elseif err:find "%(global 'H'%)$" and rawget(_G, "H") == nil then
        return err .. "; a script begins with local H = require \"heddle\""
    end
    local own = err:find "^heddle/"
    if not own and (meant or err:find "^[^\n]-:%d+: ") then
        return err
    end
    if own and err:find "%(local 'self'%)$" then
        err = err .. "; a method is called with a colon, as in sim:run()"
    end
    return (core.error(-4, err).where or "") .. (own and "in " or "") .. err
end

function script.traceback(err)
    if getenv("HEDDLE_TRACEBACK") then
        io.stderr:write(debug.traceback(core.problem(err).text, 2), "\n")
    end
    local raised = debug.getinfo(2, "f")
    return placed(err, raised and raised.func == error)
end

--- Prints what is known of the simulations that still run.
local function partial()
    local sims = {}
    for sim in pairs(script.live) do
        sims[#sims + 1] = sim
    end
    table.sort(sims, function(a, b)
        return a.serial < b.serial
    end)
    local report = require "heddle.report"
    for _, sim in ipairs(sims) do
        local ok, results = pcall(report.collect, sim)
        if ok then
            report.text(results)
        end
    end
    for _, results in ipairs(script.partial_results or {}) do
        if type(results) == "table" and results.schema then
            report.text(results)
        end
    end
end

--- The path of the n-th checkpoint of --checkpoint.
function script.checkpoint(n)
    local path = script.options.checkpoint.path
    return n == 1 and path or ("%s.%d"):format(path, n)
end

--- The words name=value that the script was given.
function script.words()
    return given or words_of_lua()
end

--- Called where work begins, too, so that nothing runs for hours before that.
function script.begins()
    if given and next(given) and not declared then
        usage("the script declares no arguments (by H.args, before its first "
            .. "simulation), got '%s'", table.concat(names_of(given), "', '"))
    end
end

--- Called by the command after the script: returns the exit status.
function script.finish(ok, err)
    local timeline = package.loaded["heddle.timeline"]
    if script.options.live then
        require("heddle.publish").finish(script.options.live)
    end
    if timeline then
        local drawn, why = pcall(timeline.finish)
        if ok and not drawn then
            error(why, 0)
        end
    end
    if ok and core.interrupted and core.interrupted() then
        -- The script has caught it, and continued with what it had.
        ok, err = false, core.error(-130, "interrupted")
    end
    if ok then
        local c = script.options.checkpoint
        for i = 1, c and c.files or 0 do -- nothing is left to continue
            os.remove(script.checkpoint(i))
        end
        for _, path in ipairs(script.leftover) do
            os.remove(path)
        end
        for sim in pairs(script.options.follow and script.live or {}) do
            require("heddle.follow").show(sim, true)
        end
        script.begins()
        if script.options.results then
            script.options.results:finish(true)
        end
        print_pending()
        if type(err) ~= "number" then
            return 0
        elseif err % 1 ~= 0 or err < 0 or err > 255 then
            error({ code = -4, message = ("the script returned %s; an exit "
                .. "status is a whole number from 0 to 255"):format(err) }, 0)
        end
        return math.tointeger(err)
    end
    if script.options.results then
        script.options.results:finish(false)
    end
    if core.problem(err).code == -130 then
        if core.interrupted then
            core.interrupted(true)
        end
        io.stderr:write("heddle: interrupted; what is known so far:\n")
        partial()
    end
    local _, text = require("heddle.exits").describe(err)
    if text ~= core.no_memory then -- of which nothing else is the reason
        print_pending()
    end
    error(err, 0)
end

return script
