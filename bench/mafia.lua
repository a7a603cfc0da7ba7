--- mafia.lua - how near programs are to MAFIA's run of them: memory traffic and
-- IPC, not speed.
--
--     heddle run bench/mafia.lua [build=build/release]
--
-- Runs scenarios/characterise/mafia.lua at full length on the chosen core.ilp alone,
-- 24 programs (some forty seconds of processor time; results in out/bench, simulations
-- kept in out/cache), since shorter runs are not comparable, and prints of it
--
-- mafia.ipc       IPC over MAFIA's, geometric mean
-- mafia.lines     DRAM lines an instruction over MAFIA's, median
-- mafia.l2        L2 accesses an instruction over MAFIA's, median of the programs for
--                 which MAFIA's can be known
-- mafia.dram      DRAM's share of its peak, mean; MAFIA's in the remark
--
-- No row has a goal: what a change of the machine or of programs moves is read here.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local json = require "heddle.json"
local least = require "least"

local arg = H.args { build = "build/release" }

local OUT = "out/bench"
local ILP = H.machine "released":get "core.ilp"

local ROWS = {
    { "ipc", ("geometric mean of IPC over MAFIA's, ilp %s"):format(ILP) },
    { "lines", "DRAM lines an instruction over MAFIA's, median" },
    { "l2", "L2 accesses an instruction over MAFIA's, median" },
    { "dram", "DRAM's share of its peak, mean" },
}

assert(os.execute(("%s/heddle run scenarios/characterise/mafia.lua scale=full "
    .. "ilp=%s out=%s cache=out/cache >/dev/null"):format(arg.build, ILP, OUT)))
local f <close> = assert(io.open(OUT .. "/characterise/mafia.json", "rb"))
local found = {}
for _, q in ipairs(json.decode(f:read "a").quantities) do
    found[q.what] = q
end
for _, r in ipairs(ROWS) do
    local q = assert(found[r[2]], r[2])
    least.row("mafia." .. r[1], q.heddle, q.unit, r[1] == "dram"
        and ("MAFIA %.1f %%"):format(q.paper) or q.note or "24 programs")
end
