--- builds.lua - what to say of results that several builds of heddle left in one
-- place.
--
-- A store is never read by a build that did not write it, but who looks at all of
-- it (heddle view) sees runs of both.  Between them a preset may have moved, and
-- then a run of `maxwell` is not beside another of `maxwell` what it seems.  A
-- setting has moved where, for one machine, no value that it has in runs of one
-- build is found in runs of the other: what a series varies by itself overlaps.
--
-- SPDX-License-Identifier: MIT
local sorted = require("heddle.config").sorted_keys

local builds = {}
builds.__index = builds

local SHOWN = 4 -- settings of a machine in a sentence

function builds.new()
    return setmetatable({ order = {}, runs = {}, machines = {} }, builds)
end

--- Adds a result of a build (its fingerprint; "": of one that left none).
function builds:add(build, result)
    if not self.runs[build] then
        self.runs[build] = 0
        self.order[#self.order + 1] = build
    end
    self.runs[build] = self.runs[build] + 1
    local of = self.machines[result.machine] or {}
    self.machines[result.machine] = of
    of[build] = of[build] or {}
    for name, value in pairs(result.config) do
        local values = of[build][name] or {}
        of[build][name] = values
        values[tostring(value)] = true
    end
end

--- Whether a value is found in both.
local function meet(a, b)
    for v in pairs(a) do
        if b[v] then
            return true
        end
    end
    return false
end

--- Settings of a machine that moved between any two builds, with their values.
local function moved(of)
    local out, list = {}, sorted(of)
    for i, a in ipairs(list) do
        for k = i + 1, #list do
            local b = list[k]
            for name, values in pairs(of[a]) do
                local others = of[b][name]
                if others and not meet(values, others) then
                    out[name] = out[name] or {}
                    for _, set in ipairs { values, others } do
                        for v in pairs(set) do
                            out[name][v] = true
                        end
                    end
                end
            end
        end
    end
    return out
end

--- Sentences for people; none where one build left them all.
function builds:notes(place)
    if #self.order < 2 then
        return {}
    end
    local counts, out = {}, {}
    for i, b in ipairs(self.order) do
        counts[i] = self.runs[b]
    end
    table.sort(counts, function(a, b) return a > b end)
    for _, machine in ipairs(sorted(self.machines)) do
        local settings = moved(self.machines[machine])
        local names = sorted(settings)
        for i, name in ipairs(names) do
            names[i] = i <= SHOWN and ("%s %s"):format(name,
                table.concat(sorted(settings[name]), " and ")) or nil
        end
        local more = #sorted(settings) - SHOWN
        if #names > 0 then
            out[#out + 1] = ("on %s, %s%s"):format(machine,
                table.concat(names, ", "), more > 0
                and (" and %d more"):format(more) or "")
        end
    end
    return { ("%s: runs of %d builds of heddle are mixed here (%s)%s"):format(place,
        #self.order, table.concat(counts, ", "), #out > 0
        and "; settings differ between them: " .. table.concat(out, "; ")
        or "; no setting of a machine differs between all of one and all of "
            .. "another") }
end

return builds
