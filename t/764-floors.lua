--[[
764-floors.lua - the source is the house that CONTRIBUTING.md says it is.

Pinned: every folder of src/ with C in it has a row in the table of floors; no
file includes what lies on a floor above its own, but for what is named there;
the Lua binding and the command see nothing of the engine but public headers, and
a built-in policy nothing but policy.h.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"

local text = files.read "CONTRIBUTING.md"

local floor, n = {}, 0
for row in text:gmatch "\n| (`[%w/`, ]+) |" do
    n = n + 1
    for name in row:gmatch "`(%w+)/`" do
        floor[name] = n
    end
end
local above = floor.lua
tap.ok(n >= 9 and above == n, "the table has its floors, the binding on top")

local function public(path)
    return path:find "^heddle[%w_]*%.h$" or path == "policy.h"
        or path:find "^tool[%w_]*%.h$" -- not installed
        or path:find "^%w+%.def$"
end

--- What every floor sees, and who borrows what.
local SEEN = { ["machine.h"] = true, ["policy/slots.h"] = true }
local BORROWED = { ["load/survey.c gpu/coalesce.h"] = true }
for name in pairs(SEEN) do
    tap.ok(text:find("`" .. name .. "`", 1, true), name .. " is named there")
end
tap.ok(text:find("`load/survey.c` borrows", 1, true), "so is what is borrowed")

local function allowed(file, own, path)
    local of = path:match "^(%w+)/"
    if public(path) or BORROWED[file .. " " .. path] then
        return true
    elseif floor[own] == above then
        return of ~= nil and floor[of] == above
    elseif SEEN[path] then
        return true
    elseif of then
        return floor[of] ~= nil and floor[of] <= floor[own]
    end
    return path == "sim.h" and floor[own] >= floor.policy
end

local bad, seen = {}, 0
for file in files.output "ls src/*/*.[ch]":gmatch "src/(%S+)" do
    local own = file:match "^%w+"
    if not floor[own] then bad[#bad + 1] = own .. "/ has no floor" end
    for line in files.read("src/" .. file):gmatch "[^\n]+" do
        local path = line:match '^#include "%.%./([^"]+)"'
        if path then
            seen = seen + 1
            if not allowed(file, own, path) then
                bad[#bad + 1] = file .. " includes " .. path
            end
        end
    end
end
tap.ok(seen > 150 and #bad == 0, "nothing is included from above",
    seen .. " includes; " .. table.concat(bad, "\n"))

-- Built-in policies are written as plug-ins are.
local builtin = {}
for name in files.read "src/policy/find.c":gmatch "hd_policy_([%w_]+)" do
    builtin[name] = true
end
for file in files.output "grep -l 'struct heddle_policy hd_policy_' src/policy/*.c"
    :gmatch "%S+" do
    local code, other = files.read(file), {}
    for name in code:gmatch "\nconst struct heddle_policy hd_policy_([%w_]+) =" do
        builtin[name] = nil
    end
    for what in code:gmatch '#include "([^"]+)"' do
        other[#other + 1] = what ~= "../policy.h" and what or nil
    end
    tap.ok(file:find "/find%.c$" or #other == 0,
        file .. " sees policy.h alone", table.concat(other, " "))
end
tap.is(next(builtin), nil, "all built-in policies were seen")

tap.done()
