--[[
436-load-lookback.lua - blocks that wait for the ones before them.

Pinned: RADIX with kernel = onesweep ends on a machine, where tiles run at once: each has
a number of its own whatever order blocks start in, each looks back, some more often than
where they run one after the other, and all keys are stored.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"

local TILES, PASSES = 24, 2

do
    local s <close> = H.sim { progress = false, check = true,
        machine = H.machine "maxwell" { ["core.lanes"] = 32, ["core.width"] = 32,
            ["core.count"] = 4 },
        apps = { H.app("RADIX", { n = TILES << 12, passes = PASSES, bits = 5, spread = 0,
            kernel = "onesweep" }) } }
    tap.is(s:run(), "done", "it ends")
    local c = s:counters().core
    -- histogram of two blocks, scan; a tile: keys and payloads, sums, looks
    local one = 32 * TILES + PASSES + PASSES * (64 * TILES + TILES + TILES - 1)
    tap.is(c.stores, PASSES + PASSES * (256 * TILES + 2 * TILES - 1), "all is stored")
    tap.is(c.atomics, 2 * PASSES + PASSES * TILES, "each tile has a number")
    tap.ok(c.loads > one, "tiles that are not there are looked at again",
        ("%d loads, %d of tiles in a row"):format(c.loads, one))
end

return tap.done()
