--- gather.lua - random reads of a table, made twice: as a kernel program and as
-- a generator, whose warps are coroutines.  To copy; gather.c is the same in C.
--
--     local works = dofile(H.here "gather.lua")(params)
--     works.program, works.generator      for H.program
--
-- params = { n = elements, rounds = reads of a thread, alu = instructions that
-- use each }.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = H.kernel

local function buffers(p)
    return { k.f32("table", p.n), k.f32("out", p.n) }
end

local function kernels_of_program(p, b)
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
end

local function kernels_of_generator(p, b)
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
end

return function(params)
    return {
        program = k.app { name = "gather", source = "an example",
            params = params, buffers = buffers, kernels = kernels_of_program },
        generator = H.generator { name = "gather", source = "an example",
            params = params, buffers = buffers,
            kernels = kernels_of_generator },
    }
end
