--- apps.lua - an application whose accesses are irregular, from its first
-- instruction to its last.
--
--     heddle run bench/apps.lua [app=COLOR] [size=S] [turns=2] [machine=maxwell]
--
-- COLOR colours a graph (Pannotia; here a random one): a memory instruction
-- touches several lines, nearly all of them miss the L1 cache, and most look-ups
-- miss the L1 TLB.  On the machine of least.lua with full translation, or a
-- preset.  The whole run, of several seconds a turn, as its first millions of
-- instructions take longer each than the later ones; the
-- graph is made and its pages are mapped before the first cycle, and that is
-- not timed.
--
-- The other applications are measured with app=NAME.  Those whose lanes are in
-- a line each (GUP, GESUMMV, ATAX) issue fewer instructions in a second, of
-- more lines; host time a line is much the same.
--
-- app=MM is arithmetic for the most part, whose dependences cost host time, too.
--
-- app.NAME       million warp instructions in a second of processor time
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local least = require "least"

local arg = H.args { app = "COLOR", size = "S", turns = 2, machine = "" }

local options = { size = arg.size }
if arg.app == "COLOR" then
    options.graph, options.n = "random", 299067 -- as coAuthorsDBLP
end

local v = {
    slice = 100000,
    make = function()
        return H.sim { machine = arg.machine ~= "" and arg.machine
                or least.machine,
            apps = { H.app(arg.app, options) } }
    end,
    done = function(sim)
        local c = sim:counters()
        return { sim.instructions, c.core.lines, c.core.mem_instructions,
            c.l1cache.read_misses / c.l1cache.reads }
    end,
}
local t, _, facts = least.runs({ v }, arg.turns)
local n, lines, mem, missed = table.unpack(facts[1])
least.row("app." .. arg.app .. (arg.machine ~= "" and "." .. arg.machine
    or ""), n / t[1] * 1e-6, "M warp instr/s",
    ("size %s: %d instructions in %.1f s; %.1f lines a memory instruction, "
        .. "%.0f %% of reads miss the L1; %.0f ns a line"):format(arg.size, n,
        t[1], lines / mem, missed * 100, t[1] * 1e9 / lines))
