--- cmd/diff.lua - heddle diff: two policies in lockstep.
--
-- Comparing is diff.lua's; here are the words of the command.
--
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local diff = require "heddle.diff"
local json = require "heddle.json"

local M = {
    summary = "find the first decision on which two policies differ",
    usage = [[
usage: heddle diff A B [name=value...]

Runs the same applications under policy A and under policy B, in lockstep, and
prints the first decision in which they differ: cycle, point, question, both
answers, and the states of policies in Lua.  The exit status is then 1.  If they
never differ, it reports how many decisions at which points agreed, and exits 0.

A policy is a name (heddle list policies), a FILE.lua or FILE.so, or "none";
parameters follow after colons, and @ binds it to one structure:
srrip:bits=3@l2cache.  Several are joined by commas.

  apps=GUP,CONS   what runs (GUP,CONS): applications of the library, Lua files
                  that return one, plug-ins, traces; trace=FILE: the same
  size=S          size of the applications (T)
  machine=NAME    the machine (maxwell); group.name=value changes a setting
  memory=75%      memory, as a share of what they touch (vm.paging=fault)
  cycles=N        limit in core cycles (0: to the end)
  chunk=N         core cycles between comparisons (10000)
  points=P,Q      only these points (those that A or B answers)
  seed=N          the seed (1)
  format=json     the difference as JSON
]],
}

local NUMBERS = { cycles = 0, chunk = 10000, seed = 1 }

local function number(name, text)
    local v = math.tointeger(tonumber(text))
    if not v or v < 0 or name == "chunk" and v == 0 then
        cli.usage("diff: %s: a whole number is expected, not '%s'", name, text)
    end
    return v
end

--- "srrip:bits=3@l2cache,lru@l1tlb" as policies of H.sim; a parameter's value
-- is a number or a word.
local function policies(text)
    local list = {}
    for one in text:gmatch("[^,]+") do
        local at = one:match "@([^:]*)" -- before the parameters or behind
        local parts = {}
        for part in one:gsub("@[^:]*", "", 1):gmatch("[^:]+") do
            parts[#parts + 1] = part
        end
        local use = { use = table.remove(parts, 1), at = at }
        for _, p in ipairs(parts) do
            local k, v = p:match("^([%w_]+)=(.*)$")
            if not k then
                cli.usage("diff: %s: expected parameter=value, got '%s'",
                    use.use, p)
            end
            use[k] = tonumber(v) or v
        end
        if use.use ~= "none" then
            list[#list + 1] = use
        end
    end
    return list
end

local function words(text)
    local list = {}
    for w in text:gmatch("[^,]+") do
        list[#list + 1] = w
    end
    return list
end

local function parse(args)
    local o = { apps = "GUP,CONS", machine = "maxwell",
        settings = {}, sides = {} }
    for k, v in pairs(NUMBERS) do
        o[k] = v
    end
    local known = { apps = true, size = true, machine = true, trace = true,
        memory = true, points = true, format = true }
    for _, word in ipairs(args) do
        local name, value = word:match("^([%w_.]+)=(.*)$")
        if not name and word:find "^%-." then
            cli.usage("diff: unknown option '%s'", word)
        elseif not name then
            o.sides[#o.sides + 1] = word
        elseif NUMBERS[name] then
            o[name] = number(name, value)
        elseif known[name] then
            o[name] = value
        elseif name:find(".", 1, true) then
            o.settings[name] = tonumber(value) or value
        else
            cli.usage("diff: there is no '%s='; see heddle help diff", name)
        end
    end
    if #o.sides ~= 2 then
        cli.usage("diff: expected two policies, got %d", #o.sides)
    end
    if o.format and o.format ~= "json" then
        cli.usage("diff: format: json is expected, not '%s'", o.format)
    end
    return o
end

local function simulation(H, o, side)
    local apps, named = {}, require("heddle.workload").named
    for i, name in ipairs(o.trace and { o.trace } or words(o.apps)) do
        apps[i] = named(name, not name:find "[./]"
            and { size = o.size or "T" } or { size = o.size })
    end
    return H.sim { machine = o.machine, apps = apps, settings = o.settings,
        memory = o.memory, seed = o.seed, policies = policies(side) }
end

function M.run(args)
    local o = parse(args)
    local H = require "heddle"
    local a <close> = simulation(H, o, o.sides[1])
    local b <close> = simulation(H, o, o.sides[2])
    local ok, where, heard = pcall(diff.run, a, b, {
        chunk = o.chunk, cycles = o.cycles > 0 and o.cycles or nil,
        points = o.points and words(o.points) or nil,
    })
    if not ok then
        if require("heddle.core").problem(where).code == -130 then -- Ctrl-C
            print(("no difference before cycle %d"):format(
                math.min(a.now, b.now) // o.chunk * o.chunk))
        end
        error(where, 0)
    end
    if not where then
        if heard.decisions == 0 then
            io.stderr:write("heddle: diff: nothing was asked, so that only ",
                "counters have been compared\n")
        end
        print(o.format and json.encode { agree = heard }
            or ("they agree: %d decisions%s, %d counters, %d cycles"):format(
                heard.decisions, heard.points[1] and " at "
                .. table.concat(heard.points, ", ") or "", heard.counters,
                heard.cycles))
        return 0
    end
    if o.format then
        print(json.encode(where))
    else
        local names = { o.sides[1], o.sides[2] }
        if names[1] == names[2] then
            names = { "first", "second" }
        end
        print(table.concat(diff.describe(where, names[1], names[2]), "\n"))
    end
    return 1
end

return M
