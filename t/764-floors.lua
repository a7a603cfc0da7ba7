--[[
764-floors.lua - the source is the house that CONTRIBUTING.md says it is.

Pinned: every folder of src/ with C in it stands in the tables there; the engine
includes nothing outside itself, and in it no file what lies on a floor above its
own; works see the engine; the Lua binding and the command see nothing of either
but public headers, and a built-in policy nothing but policy.h; the Lua library
loads nothing of lua/heddle/tools/ but where a script asks for it; how many lines
each library, the ten plain stations, the files that a load passes and a file of
the engine have at most, and that each of these begins with an essay.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"

local text = files.read "CONTRIBUTING.md"

-- The floors of the engine, and the folders of the others, as they are listed.
local floor, n, listed = {}, 0, {}
for row in text:gmatch "\n| (`[^|]+) |" do
    local of = {}
    for name in row:gmatch "`(%w+)/`" do
        of[#of + 1] = name
    end
    for name in row:gmatch "`(%w+/%w+)/`" do
        listed[name] = true
    end
    n = n + (#of > 0 and 1 or 0)
    for _, name in ipairs(of) do
        floor[name] = n
    end
end
tap.ok(n == 5, "the table has the floors of the engine", n)

--- What every floor sees.
local SEEN = { ["machine.h"] = true, ["points/slots.h"] = true,
    ["points/source.h"] = true, ["sim.h"] = true }
for name in pairs(SEEN) do
    tap.ok(text:find(name:match "[^/]+$", 1, true), name .. " is named there")
end

local function public(path)
    return path:find "^heddle[%w_]*%.h$" or path == "policy.h"
        or path == "points.h"
        or path:find "^[%w/]*tool[%w_]*%.h$" -- not installed
        or path:find "^%w+%.def$"
end

local function exists(path)
    local f = io.open(path)
    return f ~= nil and f:close()
end

--- The file that an include of one in `folder` names, below src/, among libraries
-- that it sees.
local function found(folder, path, libraries)
    for _, at in ipairs { folder, table.unpack(libraries) } do
        if exists("src/" .. at .. "/" .. path) then
            return at .. "/" .. path
        end
    end
end

local SEES = { engine = { "engine" }, policies = { "engine" },
    work = { "engine", "work" }, shell = { "engine", "work", "shell" } }

--- What is wrong with an include, or nil.
local function wrong(folder, path)
    local library = folder:match "^%w+"
    local to = found(folder, path, SEES[library])
    if not to then
        return "is not seen from there"
    end
    local name = to:match "^engine/(.+)$"
    local own = folder:match "^engine/(%w+)"
    if library == "engine" and own then
        local of = name:match "^(%w+)/"
        if not (public(name) or SEEN[name] or of and floor[of] <= floor[own]) then
            return "lies above"
        end
    elseif (folder == "shell/lua" or folder == "shell/command") and not
        (to:find "^shell/lua/" or to:find "^shell/command/"
            or public(to:match "^%w+/(.+)$")) then
        return "is not public"
    end
end

local bad, seen = {}, 0
for file in files.output "find src -name '*.[ch]' -not -path 'src/dev/*'"
    :gmatch "src/(%S+)" do
    local folder = file:match "^(.*)/"
    local own = folder:match "^engine/(%w+)"
    if own and not floor[own] or folder:find "^[ws]%w+/%w+" and not listed[folder] then
        bad[#bad + 1] = folder .. "/ stands in no table"
    end
    for line in files.read("src/" .. file):gmatch "[^\n]+" do
        local path = line:match '^#include "([^"]+)"'
        if path then
            seen = seen + 1
            local why = wrong(folder, path)
            if why then
                bad[#bad + 1] = ("%s includes %s, which %s"):format(file, path, why)
            end
        end
    end
end
tap.ok(seen > 500 and #bad == 0, "nothing is included from above",
    seen .. " includes; " .. table.concat(bad, "\n"))

-- Built-in policies are written as plug-ins are.
local builtin = {}
for name in files.read "src/engine/points/find.c":gmatch "hd_policy_([%w_]+)" do
    builtin[name] = true
end
for file in files.output "ls src/policies/*.c":gmatch "%S+" do
    local code, other = files.read(file), {}
    for name in code:gmatch "\nconst struct heddle_policy hd_policy_([%w_]+) =" do
        builtin[name] = nil
    end
    for what in code:gmatch '#include "([^"]+)"' do
        other[#other + 1] = what ~= "policy.h" and what or nil
    end
    tap.ok(#other == 0, file .. " sees policy.h alone", table.concat(other, " "))
end
tap.is(next(builtin), nil, "all built-in policies were seen")

-- ---- Lua ------------------------------------------------------------------------

-- Where the library loads a tool, when a script first asks for what it does: by
-- file and module.
local LOADS = {
    ["init.lua report"] = "H.report",
    ["init.lua svg"] = "H.svg",
    ["init.lua characterise"] = "H.characterise",
    ["sim.lua follow"] = "heddle run --follow",
    ["sim.lua plot"] = "sim:plot",
    ["sim.lua publish"] = "heddle run --live",
    ["script.lua publish"] = "heddle run --live, at its begin and end",
    ["sim.lua touched"] = "H.sim { memory = }",
    ["sim.lua timeline"] = "H.sim { timeline = }",
    ["script.lua follow"] = "heddle run --follow, at the end",
    ["script.lua report"] = "what is known at an interrupt is printed",
    ["script.lua slurm"] = "an argument jobs=slurm",
    ["script.lua timeline"] = "H.sim { timeline = }, at the end",
    ["runner.lua slurm"] = "H.run with jobs = 'slurm'",
    ["runner.lua touched"] = "H.run of jobs with memory =",
    ["runner.lua store"] = "H.run with jobs = 'slurm'",
    ["config.lua report"] = "H.config_write to standard output",
    ["energy.lua report"] = "H.energy.text",
    ["energy.lua svg"] = "H.energy.chart",
    ["index.lua characterise"] = "heddle list metrics",
}

--- The code of a script, its comments blanked line by line.
local function code_of(path)
    return (files.read(path):gsub("%-%-%[%[.-%]%]", ""):gsub("%-%-[^\n]*", ""))
end

local tools, library, at_once, unknown = {}, {}, {}, {}
for path in files.output "find lua/heddle -name '*.lua'":gmatch "lua/heddle/(%S+)" do
    local module = path:match "^tools/(.*)%.lua$"
    if module then
        tools[module:gsub("/", ".")] = true
    else
        library[#library + 1] = path
    end
end
table.sort(library)
for _, path in ipairs(library) do
    local code = code_of("lua/heddle/" .. path)
    for line in code:gmatch "[^\n]+" do
        local module = line:match '"heddle%.([%w_.]+)"'
        if module and tools[module] then
            local what = path .. " " .. module
            if line:find "^local .*require" then
                at_once[#at_once + 1] = what
            elseif LOADS[what] == nil then
                unknown[#unknown + 1] = what
            else
                LOADS[what] = false
            end
        end
    end
end
local unused = {}
for what, still in pairs(LOADS) do
    unused[#unused + 1] = still and what or nil
end
tap.ok(#library > 50 and tools.report and tools["cmd.run"], "the library and its tools",
    #library)
tap.is(table.concat(at_once, "; "), "", "the library begins without its tools")
tap.is(table.concat(unknown, "; "), "", "and loads them where it is known to")
tap.is(table.concat(unused, "; "), "", "each such place is still there")

-- Of a run and its results no tool has a part but the command's own.
local H = require "heddle"
local sim = H.sim { machine = "maxwell", apps = { H.app("GUP", { size = "T" }) },
    progress = false }
sim:run()
sim:results()
local loaded = {}
for name in pairs(tools) do
    loaded[#loaded + 1] = package.loaded["heddle." .. name] and name or nil
end
table.sort(loaded)
tap.is(table.concat(loaded, " "), "cli cmd.run", "a run loads no tool")

-- ---- lines ------------------------------------------------------------------------

-- Limits are what is reached, rounded up: who adds lines takes others out, or says
-- in the commit that moves a limit what they are worth.

--- How many lines files of the engine have, and those that there are not.
local function lines_of(list)
    local sum, none = 0, {}
    for path in list:gmatch "%S+" do
        local code = files.read("src/engine/" .. path)
        none[#none + 1] = not code and path or nil
        sum = sum + (code and select(2, code:gsub("\n", "")) or 0)
    end
    tap.is(table.concat(none, " "), "", "the files of the list are there")
    return sum
end

local function fewer(lines, most, what)
    print(("# %d lines: %s"):format(lines, what))
    tap.ok(lines < most, ("%s: fewer than %d lines"):format(what, most), lines)
end

-- Libraries, the essays too, but not points.h, which a script writes; mechanisms of
-- later proposals, and several nodes, are counted apart.
for folder, most in pairs { engine = 57100, ["engine/variants"] = 1100,
    ["engine/fabric"] = 1000,
    policies = 3600, work = 19950, shell = 14060 } do
    fewer(tonumber(files.output(("find src/%s -name '*.[ch]' -o -path "
        .. "'src/%s/*.def' | grep -v '%s' | xargs cat | wc -l")
        :format(folder, folder, folder == "engine" and "points\\.h\\|/variants/\\|/fabric/"
            or "points\\.h"))), most, folder)
end

-- The ten plain stations, which are read in an evening: issue, coalescer,
-- load/store unit, L1 TLB, L1 cache, L2 TLB, walker, L2 slice, DRAM, far faults.
-- What a proposal adds is in other files, "off" by default.  7,500 lines are the
-- budget of both lists together, 8,830 what is reached: 6,028, and 2,802 of headers
-- that the stations share with the files of their mechanisms.
local stations = lines_of [[
    core/warp.c core/coalesce.c core/lsu.c core/l1tlb.c core/l1d.c
    translation/l2tlb.c translation/tlb.c translation/ptw.c memory/l2.c
    memory/dram.c memory/dramsched.c paging/fault.c ]]
local private = lines_of [[
    core/issue.h core/l1tlbstate.h core/l1dstate.h translation/unit.h
    translation/tlbstate.h memory/l2slice.h memory/dramchan.h
    paging/faultstate.h ]]
fewer(stations, 6030, "the ten plain stations")
fewer(stations + private, 8840, "the ten plain stations and their private headers")

-- The files that a cold load passes: those with a function that runs.  make path
-- finds them with gcc's counters and compares them with this list.  10,000 lines
-- are the budget, 21,127 what is reached: the whole of each file counts, however
-- little of it runs.
local PATH = [[
core/coalesce.h core/core.c core/core.h core/dispatch.c core/dispatch.h
core/functional.c core/hostmem.c core/issue.h core/l1d.c core/l1dstate.h
core/l1tlb.c core/l1tlbstate.h core/launches.c core/limit.c core/lsu.c
core/marks.c core/records.c core/throttle.c core/waits.c core/warp.c kit/arena.h
kit/base.h kit/bits.h kit/bytes.h kit/diag.h kit/env.h kit/event.c kit/event.h
kit/hist.h kit/numbers.h kit/places.h kit/recip.h kit/stat.c kit/stat.h
kit/time.h memory/assoc.c memory/assoc.h memory/cache.h memory/dram.c
memory/dramchan.h memory/dramsched.c memory/dramspec.h memory/fast/dram.c
memory/fast/l2.c memory/l2.c memory/l2slice.h memory/mshr.h memory/request.h
pages/contig.c pages/frame.c pages/manage.c pages/managestate.h pages/ptable.c
pages/ptstate.h paging/fault.h points.def points/registry.c points/source.h
run.c translation/l2tlb.c translation/ptw.c translation/pwc.h
translation/requesters.c translation/tlb.c translation/tlb.h
translation/tlbstate.h translation/translate.h translation/unit.h
translation/walk.h
]]
fewer(lines_of(PATH), 21150, "the files of a cold load")

-- A file is one idea, and says at its head which.
local long, silent = {}, {}
for path in files.output "find src/engine -name '*.[ch]' -o -name '*.def'"
    :gmatch "%S+" do
    local code = files.read(path)
    local _, lines = code:gsub("\n", "")
    long[#long + 1] = lines > 1500 and path .. " " .. lines or nil
    local essay = code:match "^/%*\n %* (.-)%*/" or ""
    local name = path:match "[^/]+$"
    silent[#silent + 1] = path:find "%.c$"
        and not essay:match "^[^\n]*":find(name .. " - ", 1, true) and path or nil
end
tap.is(table.concat(long, "; "), "", "no file of the engine has 1500 lines")
tap.is(table.concat(silent, "; "), "", "a source begins with an essay, by name")

tap.done()
