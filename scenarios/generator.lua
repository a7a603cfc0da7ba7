--[[
generator.lua - the same workload made in three ways: as a kernel program, as a
generator, whose warps are coroutines, and as a plug-in in C.  To copy.

    heddle run scenarios/generator.lua
    heddle run scenarios/generator.lua plugin=./gather.so

The plug-in is gather.c, which says how it is built.  The engine cannot tell
the three apart: every number is the same, and only the time that it takes
differs.  A program is the place for real data and control flow that depends on
it; a generator for what is quickly tried; a plug-in for what must be fast and
is in C already, or reads a format of its own.

SPDX-License-Identifier: MIT
]]
local H = require "heddle"
local k = H.kernel

local args = H.args { machine = "maxwell", n = 1 << 16, rounds = 16,
    plugin = "" }
local params = { n = args.n, rounds = args.rounds, alu = 2 }

local function buffers(p)
    return { k.f32("table", p.n), k.f32("out", p.n) }
end

local program = k.app { name = "gather", source = "an example",
    params = params, buffers = buffers,
    kernels = function(p, b)
        local o = { grid = k.ceil(p.n, 256), block = 256 }
        return {
            k.kernel("gather", o, function(t)
                t:when(t.gid:lt(p.n), function()
                    t:loop(p.rounds, function(r)
                        local hash = (t.gid * 2654435761 + r * 40503):lshr(7)
                        local x = t:load(b.table, hash % p.n)
                        t:alu(p.alu, { uses = { x } })
                    end)
                    t:store(b.out, t.gid)
                end)
            end),
            k.kernel("add", o, function(t)
                t:when(t.gid:lt(p.n), function()
                    local x = t:load(b.out, t.gid)
                    local y = t:load(b.table, t.gid)
                    t:alu(1, { uses = { x, y } })
                    t:store(b.out, t.gid)
                end)
            end),
        }
    end }

local generator = H.generator { name = "gather", source = "an example",
    params = params, buffers = buffers,
    kernels = function(p, b)
        local grid = k.ceil(p.n, 256)
        return {
            { name = "gather", grid = grid, block = 256, warp = function(t)
                local mask = t:first(p.n - t.gid)
                for r = 0, p.rounds - 1 do
                    local x = t:load(b.table, function(lane)
                        return ((t.gid + lane) * 2654435761 + r * 40503 >> 7)
                            % p.n
                    end, { mask = mask })
                    t:alu(p.alu, { uses = { x }, mask = mask })
                end
                t:store(b.out, t.gid, { mask = mask })
            end },
            { name = "add", grid = grid, block = 256, warp = function(t)
                local mask = t:first(p.n - t.gid)
                local x = t:load(b.out, t.gid, { mask = mask })
                local y = t:load(b.table, t.gid, { mask = mask })
                t:alu(1, { uses = { x, y }, mask = mask })
                t:store(b.out, t.gid, { mask = mask })
            end },
        }
    end }

local apps = { H.program(program, { label = "program" }),
    H.program(generator, { label = "generator" }) }
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
