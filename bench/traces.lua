--- traces.lua - warp instructions a second of the two Accel-Sim traces.
--
--     heddle run bench/traces.lua [turns=4] [only=NAME] [machine=maxwell]
--
-- On the machine of least.lua, or a preset, with full translation, whole runs:
-- opening the trace, reading it, decompression and parsing, mapping pages,
-- simulating, to the last instruction.  vecadd.xz and gather.xz read text under
-- xz (text.lua writes it), which a second thread unpacks: theirs is the time on
-- the wall.  vecadd.box and gather.box read heddle's containers.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local process = require "heddle.process"
local least = require "least"

local arg = H.args { turns = 4, only = "", out = "build/bench", machine = "" }

local text = require("text").make(arg.out)

local RUNS = {
    { "vecadd.xz", text.vecadd },
    { "gather.xz", text.gather },
    { "vecadd.box", "scenarios/data/vecadd.hdt" },
    { "gather.box", "scenarios/data/gather.hdt" },
}

for _, run in ipairs(RUNS) do
    if arg.only == "" or run[1]:find(arg.only, 1, true) == 1 then
        local v = {
            slice = 10000, whole = true,
            clock = run[1]:find "xz" and process.time,
            make = function()
                return H.sim { machine = arg.machine ~= "" and arg.machine
                    or least.machine, apps = { H.trace(run[2]) } }
            end,
            done = function(sim)
                return { sim.instructions, sim.now, sim.core:memory() }
            end,
        }
        local t, _, facts = least.runs({ v }, arg.turns)
        local f = facts[1]
        least.row(run[1] .. (arg.machine ~= "" and "." .. arg.machine or ""),
            f[1] / t[1] * 1e-6, "M warp instr/s",
            ("%.0f ms, %d cycles, arena %.1f MB"):format(t[1] * 1e3, f[2],
                f[3] / 2^20))
    end
end
