--[[
generator.lua - the same workload made in three ways: as a kernel program, as a
generator, whose warps are coroutines (gather.lua), and as a plug-in in C
(gather.c).

    heddle run scenarios/generator.lua
    heddle run scenarios/generator.lua plugin=./gather.so

gather.c says how it is built.  The engine cannot tell the three apart: every
number is the same, and only the time that it takes differs.  A program is the
place for real data and control flow that depends on it; a generator for what is
quickly tried; a plug-in for what must be fast and is in C already, or reads a
format of its own.

SPDX-License-Identifier: MIT
]]
local H = require "heddle"

local args = H.args { machine = "maxwell", n = 1 << 16, rounds = 16,
    plugin = "" }
local params = { n = args.n, rounds = args.rounds, alu = 2 }

local works = dofile(H.here "gather.lua")(params)
local apps = { H.program(works.program, { label = "program" }),
    H.program(works.generator, { label = "generator" }) }
if args.plugin ~= "" then
    apps[3] = H.plugin(args.plugin, { n = params.n, rounds = params.rounds,
        alu = params.alu, label = "plug-in" })
end

local rows = { { "made as", "cycles", "instructions", "IPC", "L1 TLB misses",
    "" }, "-" }
for i, app in ipairs(apps) do
    local sim <close> = H.sim { machine = args.machine, apps = { app } }
    sim:run()
    local r = sim:results()
    rows[i + 2] = { app.label, tostring(sim.now), tostring(sim.instructions),
        ("%.3f"):format(H.report.ipc(r)),
        tostring(H.report.counter(r, "l1tlb.misses")),
        "input " .. r.inputs[1].hash }
end
io.write(H.report.table(rows))
