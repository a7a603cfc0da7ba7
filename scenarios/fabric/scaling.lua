--- scaling.lua - one, two and four GPUs: how much sooner a program ends on more of
-- them (strong scaling), and how much later if each has as much to do as before
-- (weak scaling).
--
--     heddle run scenarios/fabric/scaling.lua [link=nvlink3] [topology=all]
--         [placement=touch] [tables=copies] [cores=4] [blocks=64] [chart=PATH.svg]
--
-- A GPU is maxwell with so many cores.  stream reads two arrays and writes a third,
-- each block its own part, which is near it by first touch.  transpose reads along rows
-- and writes along columns: of n nodes each reads its own and writes 1 / n of it at
-- home.  random updates words all over a table with atomics, of which as many are near.
-- What is printed is how many times as much is done in a time as on one GPU (strong), the
-- share of that which would be perfect (weak), and the share of requests that cross
-- links; no paper has these.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"

local arg = H.args { link = "nvlink3", topology = "all", placement = "touch",
    tables = "copies", cores = 4, blocks = 64, chart = "" }

local THREADS = 256

--- Programs of so many blocks.
local PROGRAMS = {
    { "stream", function(blocks)
        local n = blocks * THREADS * 4
        return function() return { k.f32("a", n), k.f32("b", n), k.f32("c", n) } end,
            function(t, b)
                t:loop(4, function(j)
                    local i = t.bx * (THREADS * 4) + j * THREADS + t.tid
                    t:store(b.c, i, t:load(b.a, i) + t:load(b.b, i))
                end)
            end
    end },
    { "transpose", function(blocks)
        return function()
            return { k.f32("m", blocks, THREADS * 4), k.f32("t", THREADS * 4, blocks) }
        end, function(t, b)
            t:loop(4, function(j)
                local x = j * THREADS + t.tid
                t:store(b.t, x * blocks + t.bx,
                    t:load(b.m, t.bx * (THREADS * 4) + x))
            end)
        end
    end },
    { "random", function(blocks)
        local n = blocks * THREADS * 4
        return function() return { k.i32("m", n) } end, function(t, b)
            local x = t:var(t.gid * 2654435761 + 12345)
            t:loop(4, function()
                x:set(x * 6364136223846793005 + 1442695040888963407)
                t:atomic("add", b.m, x:lshr(33) % n)
            end)
        end
    end },
}

local function program(p, blocks)
    local buffers, body = p[2](blocks)
    return H.program(k.app { name = p[1], source = "this script", buffers = buffers,
        kernels = function(_, b)
            return { k.kernel(p[1], { grid = blocks, block = THREADS }, function(t)
                body(t, b)
            end) }
        end })
end

--- Cycles, and the share of requests that cross links.
local function run(p, blocks, gpus)
    local sim <close> = H.sim {
        machine = H.machine("maxwell") { ["core.count"] = arg.cores },
        gpus = gpus, link = arg.link, topology = arg.topology, progress = false,
        apps = { program(p, blocks) },
        settings = { ["fabric.placement"] = arg.placement, ["fabric.tables"] = arg.tables,
            ["sim.relaunch"] = false },
    }
    sim:run()
    local f = sim:counters().fabric
    local far = f and f.reads + f.writes + f.atomics + f.walks or 0
    return sim.now, f and far / (far + f["local"]) or 0
end

local rows = { { "program", "GPUs", "strong", "far", "weak", "far" } }
local series = {}
for _, p in ipairs(PROGRAMS) do
    local one, strong, weak = nil, {}, {}
    for _, n in ipairs { 1, 2, 4 } do
        local at, far = run(p, arg.blocks, n)
        local more, across = run(p, arg.blocks * n, n)
        one = one or at
        strong[#strong + 1], weak[#weak + 1] = one / at, n * one / more
        rows[#rows + 1] = { p[1], n, ("%.2f"):format(one / at),
            ("%.0f %%"):format(100 * far), ("%.2f"):format(one / more),
            ("%.0f %%"):format(100 * across) }
    end
    series[#series + 1] = { name = p[1] .. ", strong", values = strong }
    series[#series + 1] = { name = p[1] .. ", weak", values = weak }
end
io.write(H.report.table(rows))
if arg.chart ~= "" then
    H.svg.write(arg.chart, H.svg.lines { title = "Work in a time, over one GPU's",
        unit = "times", xlabel = "GPUs", groups = { 1, 2, 4 }, series = series })
end
