--- build.lua - time and memory that it takes to build the applications.
--
--     heddle run bench/build.lua [size=M] [only=NAME]
--
-- Graphs, trees, tables and kernels of each application are made once, in a
-- process of its own, as a simulation makes them before its first cycle.
--
-- build.NAME     processor seconds
-- build.time     the most of all applications
-- build.memory   the most bytes resident beyond those of its buffers, which
--                may have contents; what the process had before is in it
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local library = require "heddle.app"
local survey = require "heddle.survey"
local least = require "least"

local arg = H.args { size = "M", only = "" }

--- Most bytes resident, processor seconds and bytes of buffers of one.
local function build(name)
    return least.apart(function()
        local describe, t = H.app(name, { size = arg.size }), os.clock()
        local w <close> = describe.make()
        local bytes = 0
        t = os.clock() - t
        for _, b in ipairs(survey.buffers(w)) do
            bytes = bytes + b.bytes
        end
        return t, bytes
    end)
end

local slowest, most = { -1 }, { -math.huge }
for _, name in ipairs(library.names()) do
    if library.get(name).sizes[arg.size]
        and (arg.only == "" or arg.only == name) then
        local peak, t, bytes = build(name)
        local said = ("%.0f MB resident at most, %.0f MB of buffers"):format(
            peak / 1e6, bytes / 1e6)
        least.row("build." .. name, t, "s", said)
        if t > slowest[1] then
            slowest = { t, name }
        end
        if peak - bytes > most[1] then
            most = { peak - bytes, name .. ", " .. said }
        end
    end
end
least.row("build.time", slowest[1], "s", "of " .. slowest[2])
least.row("build.memory", most[1] / 1e6, "MB", "of " .. most[2])
