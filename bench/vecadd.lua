--- vecadd.lua - a kernel program that does nothing but miss.
--
--     heddle run bench/vecadd.lua [turns=4] [n=2293760]
--
-- c[i] = a[i] + b[i]: 14 instructions a warp, two loads and a store, and every
-- line misses the L1 cache.  On the machine of least.lua with full translation, from building
-- the machine to the last instruction.  The program is that of the trace
-- vecadd, and so are its size and its warps of 32 lanes; program.64 has the
-- warps of the machine, of 64 lanes, which touch two lines at a time.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"
local least = require "least"

local arg = H.args { turns = 4, n = 8960 * 256 }

local vecadd = k.app {
    name = "vecadd", source = "benchmark",
    params = { n = arg.n },
    buffers = function(p)
        return { k.f32("a", p.n), k.f32("b", p.n), k.f32("c", p.n) }
    end,
    kernels = function(p, b)
        return { k.kernel("vecadd", { grid = k.ceil(p.n, 256), block = 256 },
            function(t)
                local i = t.gid
                t:alu(8)
                t:when(i:lt(p.n), function()
                    local x, y = t:load(b.a, i), t:load(b.b, i)
                    t:alu(2, { uses = { x, y } })
                    t:store(b.c, i, x + y)
                end)
            end) }
    end,
}

for _, lanes in ipairs { 32, 64 } do
    local v = {
        slice = 10000, whole = true,
        make = function()
            return H.sim { machine = least.machine, apps = { H.program(vecadd) },
                settings = { ["core.lanes"] = lanes, ["core.width"] = lanes } }
        end,
        done = function(sim)
            local c = sim:counters()
            return { sim.instructions, c.core.lines, c.l1cache.read_hits }
        end,
    }
    local t, _, facts = least.runs({ v }, arg.turns)
    local n, lines, hits = table.unpack(facts[1])
    assert(n == arg.n // lanes * 14 and hits == 0, "another program than said")
    least.row(lanes == 32 and "program" or "program.64", n / t[1] * 1e-6,
        "M warp instr/s", ("%d lanes, %.0f ms, %.0f ns a line"):format(lanes,
            t[1] * 1e3, t[1] * 1e9 / lines))
end
