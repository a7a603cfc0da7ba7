-- 119-halves.lua - pins: an L2 of two halves in a whole machine.  Runs under
-- checks lose nothing and continue from snapshots, with sectors, policies, hashes
-- and pages that move; one core's chase is near up to half the capacity and a
-- mixture beyond, as the scenario prints it; an odd number of slices is refused.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local files = require "lib.files"

local HALVES = { ["l2cache.halves"] = 2, ["l2cache.far_latency"] = 40,
    ["sim.relaunch"] = false }
local SECTORS = { ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32,
    ["l1cache.write"] = "through" }

for _, run in ipairs {
    { "maxwell", {} },
    { "maxwell", SECTORS },
    { "maxwell", { ["l2cache.slices"] = 20, ["l2cache.slice_hash"] = "ipoly" } },
    { "maxwell", { ["l2cache.far_copies"] = false, ["l2cache.write"] = "through" } },
    { "maxwell", { ["vm.paging"] = "fault" } },
    { "mosaic", {}, "mosaic" },
} do
    local machine, settings, policy = table.unpack(run, 1, 3)
    local sim <close> = whole.sim({ "GUP", "HS" },
        whole.join(whole.SMALL, whole.join(HALVES, settings)),
        { machine = machine, check = true, policies = policy and { policy } or nil })
    sim:run(5000)
    local snap = sim:snapshot()
    sim:run()
    sim:check()
    local c, of = sim:counters(), {}
    for name, v in pairs(settings) do
        of[#of + 1] = ("%s=%s"):format(name, v)
    end
    table.sort(of)
    local title = machine .. " " .. table.concat(of, " ")
    tap.ok(c.l2cache.dram_reads > 0 and c.l2cache.dram_reads
        == c.dram.reads + c.dram.walk_reads or policy, title
        .. ": what the L2 reads is read from DRAM")
    if settings["l2cache.far_copies"] == false then
        tap.is(c.l2half.copies, 0, title .. ": no copies")
    else
        tap.ok(c.l2half.near_hits > 0 and c.l2half.far_reads >= c.l2half.copies
            + c.l2half.no_room and c.l2half.copies > 0, title .. ": copies")
    end
    tap.is(whole.again(sim, snap, 777), nil, title .. ": from a snapshot")
end

local text = files.output(files.HEDDLE
    .. " run scenarios/characterise/halves.lua scale=64")
local function cycles(mb)
    return tonumber(text:match("\n%s*" .. mb .. "%s+(%d+)"))
end
tap.ok(cycles(9) == cycles(19) and cycles(9) < 210, "near up to half the capacity",
    text)
tap.ok(cycles(23) > 380 and cycles(38) < 415, "a mixture beyond")
tap.ok(cycles(47) > 500, "and DRAM beyond all of it")

tap.raises(function()
    whole.sim({ "GUP" }, { ["l2cache.halves"] = 2, ["l2cache.slices"] = 9,
        ["dram.channels"] = 9 })
end, "l2cache.halves: 9 slices (l2cache.slices) do not have two halves",
    "an odd number of slices")

tap.done()
