--[[
SSSP - shortest paths from one node by Bellman and Ford, Pannotia sssp (the
version on compressed rows).

Arrays, in order: row[n+1], col[m], data[m] (lengths 1 to 10), stop, x[n],
y[n], i32.  Footprint 12 n + 8 m + 8 bytes.

Blocks of 64 threads, one a node.  After `init` (0 for the source, 99,999,999
for the rest) the host repeats three kernels until nothing has changed:
  assign   x = y
  spmv     y[v] = the least of x[v] and x[w] + length over the edges from w;
           the row of v has these, since the graph is used transposed (here a
           graph is its own transpose)
  diff     stop is set where x and y differ
There is no frontier: all nodes walk their lists in every iteration, so the
work of an iteration, and its addresses, are always the same.  Lists of a warp
are side by side, x[] is a gather by node number.

Everything is real: graph, lengths, distances; see csr.lua for the graphs.  A
random graph of 299,067 nodes needs about 20 iterations, a grid of 500 x 500
about 1000, roads more: `iterations` ends the run after that many (0: none).

Accesses and the instructions between them are those of nvcc 13's PTX, block by
block, not unrolled: alu = 9 an edge.  Approximated: with that compiler, since
the code that the papers ran is not public.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local csr = require "heddle.apps.csr"
local app, i32 = h.app, h.i32

local BLOCK, FAR = 64, 99999999

local function init(p, b)
    return csr.each(p, "init", BLOCK, 12, 11, nil, function(t, v)
        local function both(distance, alu)
            t:alu(alu)
            t:store(b.x, v, distance)
            t:alu(2)
            t:store(b.y, v, distance)
        end
        t:alu(6)
        t:when(v:eq(0), function() both(0, 1) t:alu(1) end,
            function() both(FAR, 2) end)
    end)
end

local function assign(p, b)
    return csr.each(p, "assign", BLOCK, 8, 9, nil, function(t, v)
        t:alu(3)
        local y = t:load(b.y, v)
        t:alu(2, { uses = {} })
        t:store(b.x, v, y)
    end)
end

local function spmv(p, b)
    return csr.each(p, "spmv", BLOCK, 22, 13, nil, function(t, v)
        t:alu(4)
        local first = t:load(b.row, v)
        t:alu(1, { uses = {} })
        local least = t:var(t:load(b.x, v))
        local last = t:load(b.row, v + 1)
        t:alu(2, { uses = { first, last } })
        t:when(first:lt(last), function() t:alu(5, { uses = {} }) end)
        t:loop(first, last, function(e)
            local w = t:load(b.col, e)
            t:alu(2, { uses = { w } })
            local far = t:load(b.x, w)
            local length = t:load(b.data, e)
            t:alu(p.alu - 2)
            least:set(least:min(length + far))
        end)
        t:alu(3)
        t:store(b.y, v, least)
    end)
end

local function diff(p, b)
    return csr.each(p, "diff", BLOCK, 8, 10, nil, function(t, v)
        t:alu(5)
        local old, new = t:load(b.x, v), t:load(b.y, v)
        t:alu(2)
        t:when(new:ne(old), function()
            t:alu(2)
            t:store(b.stop, 0, 1)
        end)
    end)
end

return app {
    name = "SSSP", suite = "Pannotia", source = "Pannotia sssp (CSR)",
    summary = "shortest paths, every node gathers in every iteration",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { graph = "roads", n = 264196, d = 0, width = 0, iterations = 8,
        alu = 9, seed = 1 },
    sizes = {
        T = { n = 324, iterations = 0 },
        S = { n = 264196, iterations = 8 },
        M = { n = 1795600, iterations = 6 },
        L = { n = 4000000, iterations = 4 },
    },
    footprint = function(p) return 12 * p.n + 8 * csr.edges(p) + 8 end,
    truncated = function(p)
        if p.iterations > 0 then
            return string.format("at most %d iterations", p.iterations)
        end
    end,

    buffers = function(p)
        h.check(p.alu >= 2, "SSSP: alu is 2 or more")
        local g = csr.graph(p, "SSSP")
        local generate = require "heddle.generate"
        local m = math.max(g.m, 1)
        return {
            i32("row", p.n + 1, { data = g.start }),
            i32("col", m, { data = g.edges }),
            i32("data", m, { data = generate.ints { n = m, lo = 1, hi = 10,
                seed = p.seed } }),
            i32("stop", 1, { contents = true }),
            i32("x", p.n, { contents = true }),
            i32("y", p.n, { contents = true }),
        }
    end,

    kernels = function(p, b)
        return { init(p, b), assign(p, b), spmv(p, b), diff(p, b) }
    end,

    -- s.done: iterations so far; s.next: the kernel of this one
    host = function(device, s)
        local k = device.kernels
        if s.done == nil then
            s.done, s.next = 0, "assign"
            return k.init
        end
        local now = s.next
        if now == "assign" then
            local ended = s.done == device.p.iterations and s.done > 0
            if ended or s.done > 0
                and device.read(device.b.stop, 0) == 0 then
                return nil
            end
            device.write(device.b.stop, 0, 0)
            s.done, s.next = s.done + 1, "spmv"
        else
            s.next = now == "spmv" and "diff" or "assign"
        end
        return k[now]
    end,
}
