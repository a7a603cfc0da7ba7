--[[
433-load-large.lua - applications of 1 GB and more on a machine.

Pinned: size XL of the two programs that need no contents is built and mapped on
a machine of 3 GB, page by page, and runs with every check on; where memory or
the frames for page tables do not suffice, the error names both settings; a size
that an application lacks is an error that names those it has.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"

local function sim(name, settings)
    return H.sim { machine = H.machine "maxwell" (settings or {}),
        apps = { H.app(name, { size = "XL" }) }, check = true }
end

for _, name in ipairs { "KMEANS", "PATHFINDER" } do
    local s = sim(name)
    tap.is(s:run(2000), "ok", name .. " runs")
    local a = s:results().apps[1]
    tap.ok(a.footprint > 1e9, "on more than 1 GB", a.footprint)
    -- arrays begin at multiples of 256 bytes, one after the other
    tap.is(a.pages, (a.footprint + 4095) // 4096, "all of which are mapped")
    tap.ok(s:counters().core.instructions > 1000, "it issues instructions")
end

for setting, value in pairs { memory_bytes = 1 << 30, table_frames = 300 } do
    tap.raises(function()
        sim("KMEANS", { ["vm." .. setting] = value }):run(1)
    end, "raise vm.memory_bytes or vm.table_frames", setting .. " too small")
end

tap.raises(function() sim "ATAX" end, "no size 'XL'; it has T, S, M, L",
    "a size that is not there")

return tap.done()
