--[[
775-accelsim.lua - scenarios/accelsim at scale=quick.

Pinned: what lib/scenarios.lua says of it; the bytes of the sixteen traces, which are
those that Accel-Sim's figures were measured with; the totals of these figures; and
how many of the fifteen rows the table has; and that the accesses of atomics are
those of the figures.

SPDX-License-Identifier: MIT
]]
package.path = "scenarios/accelsim/?.lua;" .. package.path
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local core = require "heddle.core"
local kernels = require "kernels"
local scenarios = require "lib.scenarios"
local trace = require "heddle.trace"

local HASH = {
    vecadd = "21e8efc0d906ffc0",
    atax = "7e069b778c19b722",
    gather = "ec4537f780d1dbac",
    fma = "44373d20dfe8d3e3",
    fmadep = "8dbf3c25c8c92c4d",
    fmalow = "f298e8d5796170b0",
    sfu = "4026c8472e5ff300",
    stride128 = "363e6261307e6681",
    stencil = "0e3862429d580b30",
    conflict = "aa5b3a60f85ac6c0",
    chase16k = "20cd3a5d6eb11495",
    chase64m = "61cc8370234e53d9",
    atomics = "268918abbdd43314",
    mixed = "adac6510b59e352c",
    stores = "167401dd9b815f79",
    l1reuse = "58547a3bcb163b62",
}
for _, name in ipairs(kernels.names) do
    tap.is(core.fingerprint(kernels.text(name)), HASH[name], name
        .. ": the trace is what it was")
end

local traces, cycles, reads = 0, 0, 0
for line in io.lines "scenarios/accelsim/accelsim-rtx2060.csv" do
    local name, n, rest = line:match "^(%l[%w]*),(%d+),(.*)$"
    if name then
        traces, cycles = traces + 1, cycles + n
        reads = reads + rest:match ",(%d+),%d+$"
        tap.ok(HASH[name], name .. " is one of the traces")
    end
end
tap.is(("%d %d %d"):format(traces, cycles, reads), "15 459583 309240",
    "figures: traces, cycles, sectors read from DRAM")

-- Accesses of atomics follow from its addresses: lanes on one word are requests one
-- after the other.
do
    local dir = files.folder()
    local path = dir .. "/atomics.hdt"
    trace.convert(kernels.write(dir, "atomics"), path, { classes = true })
    local sim <close> = H.sim { machine = "accelsim-rtx2060",
        apps = { H.trace(path) }, settings = { ["core.classes"] = true,
            ["sim.translation"] = "off" } }
    sim:run()
    local c = sim:counters()
    tap.is(("%d %d"):format(c.core.atomic_requests, c.l1sector.reads),
        "21331 3840", "atomics: requests that are split, sectors of its loads")
    tap.is(c.core.atomic_requests + c.l1sector.reads, 25171,
        "as many accesses as there")
    files.command("rm -rf " .. files.quote(dir))
end

local accelsim = scenarios.of("accelsim", { other = { kernels = true } })
accelsim:all(1)
accelsim:again "traces"
local said, rows = accelsim.said.traces, 0
for name in pairs(HASH) do
    local row = said:match("\n" .. name .. " +%d+ +%d+ +[%d.]+ +%l+ [^\n]*")
    rows = rows + (row and 1 or 0)
end
tap.is(rows, 15, "a row a trace", said)
tap.ok(said:find "%d+ of 15 within 1.3, exp%(mean |ln ratio|%) %d+%.%d+",
    "and the sum", said)
-- Accesses that follow from the addresses.
tap.is(said:match "\natomics +4173 [^\n]* (%d+) +%d+\n", "3872",
    "DRAM reads of atomics, there")
accelsim:done()
