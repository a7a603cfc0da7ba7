--- textbook.lua - kernels of a textbook (Kirk and Hwu, Programming Massively Parallel
-- Processors) that were timed on an RTX 2060, as kernel programs: one thread an element
-- or a row.
--
-- add       c = a + b, floats, blocks of 16 x 16; swap = 1: x is the row, so a warp
--           touches 16 rows of two elements
-- gray      three bytes of a pixel become one
-- matmul    an element of the product a thread, whole numbers; tiles = 1: in tiles of
--           the block's 16 x 16 in shared memory
-- matvec    a row a thread, blocks of 512; shared = 1: pieces of the vector in shared
--           memory
-- hist      every thread adds 1 to one and the same bin, as all values are 0
--
-- How many instructions stand between accesses was not measured: they are what nvcc
-- makes of such loops, unrolled four times, counted by hand, and a guess.
--
-- SPDX-License-Identifier: MIT
local k = require "heddle.kernel"
local kernels = require "kernels"

local textbook = {}

local LARGE = 2 << 20

--- An application of one kernel, launched `times` times.
local function app(name, params, buffers, make)
    params.times = 1
    return k.app { name = name, source = "github.com/R100001/"
        .. "Programming-Massively-Parallel-Processors a972fb5", params = params,
        align = LARGE, buffers = buffers, kernels = function(p, b)
            local kernel, out = make(p, b), {}
            for i = 1, p.times do
                out[i] = kernel
            end
            return out
        end }
end

--- A grid of 16 x 16 threads over n x n elements.
local function square(name, n, options, fn)
    options.grid, options.block = { n // 16, n // 16 }, { 16, 16 }
    return k.kernel(name, options, fn)
end

local apps = {}

apps.add = app("add", { n = 1024, swap = 0 }, function(p)
    return { k.f32("a", p.n, p.n), k.f32("b", p.n, p.n), k.f32("c", p.n, p.n) }
end, function(p, b)
    return square("add", p.n, { regs = 12 }, function(t)
        local at = p.swap == 1 and t.gx * p.n + t.gy or t.gy * p.n + t.gx
        t:alu(12, { class = "int" })
        local x, y = t:load(b.a, at), t:load(b.b, at)
        t:alu(1, { uses = { x, y }, class = "fp32" })
        t:store(b.c, at)
    end)
end)

apps.gray = app("gray", { n = 1024 }, function(p)
    return { k.u8("rgb", p.n, p.n, 3), k.u8("gray", p.n, p.n) }
end, function(p, b)
    return square("gray", p.n, { regs = 16 }, function(t)
        local at = t.gy * p.n + t.gx
        t:alu(14, { class = "int" })
        local x, y, z = t:load(b.rgb, at * 3), t:load(b.rgb, at * 3 + 1),
            t:load(b.rgb, at * 3 + 2)
        t:alu(3, { uses = { x, y, z }, class = "int" })
        t:alu(4, { uses = {}, class = "fp32" })
        t:store(b.gray, at)
    end)
end)

apps.matmul = app("matmul", { n = 512, tiles = 0 }, function(p)
    return { k.u32("a", p.n, p.n), k.u32("b", p.n, p.n), k.u32("c", p.n, p.n) }
end, function(p, b)
    local n = p.n
    if p.tiles == 0 then
        return square("matmul", n, { regs = 32 }, function(t)
            t:alu(16, { class = "int" })
            t:loop(0, n, 4, function(i)
                local uses = {}
                for j = 0, 3 do
                    uses[#uses + 1] = t:load(b.a, t.gy * n + i + j)
                    uses[#uses + 1] = t:load(b.b, (i + j) * n + t.gx)
                end
                t:alu(10, { uses = uses, class = "int" })
            end)
            t:store(b.c, t.gy * n + t.gx)
        end)
    end
    return square("matmul_tiles", n, { regs = 32, shared = 2 * 16 * 16 * 4 },
        function(t)
            local row = t.ty * 64
            t:alu(20, { class = "int" })
            t:loop(n // 16, function(i)
                local x = t:load(b.a, t.gy * n + i * 16 + t.tx)
                local y = t:load(b.b, (i * 16 + t.ty) * n + t.gx)
                t:alu(6, { uses = {}, class = "int" })
                t:shared(row + t.tx * 4, { uses = { x } })
                t:shared(1024 + row + t.tx * 4, { uses = { y } })
                t:sync()
                for j = 0, 15 do
                    if j % 4 == 0 then
                        t:shared(row + j * 4, { bytes = 16 })
                    end
                    t:shared(1024 + j * 64 + t.tx * 4)
                end
                t:alu(16, { class = "int", dependent = true })
                t:sync()
            end)
            t:store(b.c, t.gy * n + t.gx)
        end)
end)

apps.matvec = app("matvec", { n = 1024, shared = 0 }, function(p)
    return { k.u32("a", p.n, p.n), k.u32("x", p.n), k.u32("y", p.n) }
end, function(p, b)
    local n = p.n
    local options = { grid = n // 512, block = 512, regs = 32,
        shared = p.shared == 1 and 2048 or 0 }
    return k.kernel("matvec", options, function(t)
        local function four(from, to, vector)
            t:loop(from, to, 4, function(i)
                local uses = {}
                for j = 0, 3 do
                    uses[#uses + 1] = t:load(b.a, t.gid * n + i + j)
                    uses[#uses + 1] = vector(i + j)
                end
                t:alu(8, { uses = uses, class = "int" })
            end)
        end
        t:alu(14, { class = "int" })
        if p.shared == 0 then
            four(0, n, function(i) return t:load(b.x, i) end)
        else
            t:loop(0, n, 512, function(i)
                t:shared(t.tid * 4, { uses = { t:load(b.x, i + t.tid) } })
                t:sync()
                four(i, i + 512, function(j)
                    t:shared((j - i) * 4)
                end)
                t:sync()
            end)
        end
        t:store(b.y, t.gid)
    end)
end)

apps.hist = app("hist", { n = 131072 }, function(p)
    return { k.u32("a", p.n), k.u32("bins", 512) }
end, function(p, b)
    return k.kernel("hist", { grid = p.n // 512, block = 512, regs = 10 },
        function(t)
            t:alu(10, { class = "int" })
            t:alu(2, { uses = { t:load(b.a, t.gid) }, class = "int" })
            t:atomic("add", b.bins, 0, 1)
        end)
end)

--- A kernel with its parameters, as an application of a job.
function textbook.of(name, params)
    return kernels.job(apps[name], params, "textbook.lua")
end

return textbook
