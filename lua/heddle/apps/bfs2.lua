--[[
BFS2 - breadth-first search with two kernels a level, Rodinia bfs (the program
that MAFIA, MASK and Mosaic call BFS2; the two-kernel form is Harish and
Narayanan's).

Arrays, in order: node {start, degree} i32 x 2n, edge i32 x m, mask, upd, vis
u8 x n, cost i32 x n, over u8 x 1.  Footprint 15 n + 4 m + 1 bytes.

Blocks of 512 threads, one a node; the host repeats both kernels until no node
was added, depth + 1 times:
  bfs1   a node of the frontier (mask) leaves it, walks its edges, and marks
         what was not visited: cost and upd are written there.  Lists of
         different lanes are on different lines; vis, cost and upd are gathers
         and scatters by node number.
  bfs2   makes upd the next frontier.

Everything is real: the graph, the frontier, the loop lengths.  The graph is
drawn with a seed as Rodinia's generator does (every node lo..hi targets, both
directions, rows in node order); (5,10) on 32,768 nodes stands for MASK's lost
graph32k500kedges, (2,4) is Rodinia's family with mean degree 6.

Instructions between accesses are those of MAFIA's PTX, block by block and in
its order: 11 for an edge, 15 more where its end is new, so that 18 to 27 %
access memory.  The start and the degree of a list are loaded again only behind
the stores that may have changed them.

Approximated: the graph, since MASK's is lost; the host reads `over` in no time.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u8, i32 = h.app, h.kernel, h.u8, h.i32

local BLOCK = 512

local function bfs1(p, b)
    local options = { grid = h.ceil(p.n, BLOCK), block = BLOCK,
        regs = 15 }
    return kernel("bfs1", options, function(t)
        local v = t.gid
        t:alu(7)
        t:when(v:lt(p.n), function()
            t:alu(3)
            local in_frontier = t:load(b.mask, v)
            t:alu(3)
            t:when(in_frontier:ne(0), function()
                t:alu(1)
                t:store(b.mask, v, 0)
                t:alu(3)
                local start = t:load(b.node, 2 * v)
                t:alu(1)
                local degree = t:load(b.node, 2 * v + 1)
                t:alu(8)
                t:loop(start, start + degree, function(i)
                    local w = t:load(b.edge, i)
                    t:alu(2)
                    local visited = t:load(b.vis, w)
                    t:alu(3)
                    t:when(visited:eq(0), function()
                        t:alu(3)
                        local cost = t:load(b.cost, v)
                        t:alu(3)
                        t:store(b.cost, w, cost + 1)
                        t:alu(3)
                        t:store(b.upd, w, 1)
                        t:load(b.node, 2 * v)
                        t:load(b.node, 2 * v + 1)
                        t:alu(1)
                    end)
                    t:alu(4)
                end)
            end)
        end)
    end)
end

local function bfs2(p, b)
    local options = { grid = h.ceil(p.n, BLOCK), block = BLOCK,
        regs = 12 }
    return kernel("bfs2", options, function(t)
        local v = t.gid
        t:alu(7)
        t:when(v:lt(p.n), function()
            t:alu(3)
            local updated = t:load(b.upd, v)
            t:alu(3)
            t:when(updated:ne(0), function()
                t:alu(3)
                t:store(b.mask, v, 1)
                t:alu(3)
                t:store(b.vis, v, 1)
                t:alu(2)
                t:store(b.over, 0, 1)
                t:alu(1)
                t:store(b.upd, v, 0)
            end)
        end)
    end)
end

return app {
    name = "BFS2", suite = "Rodinia", source = "Rodinia 3.1 bfs",
    summary = "breadth-first search of a random graph, data-dependent gathers",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 32768, lo = 5, hi = 10, seed = 1 },
    sizes = {
        T = { n = 1024, lo = 2, hi = 4 },
        R = { n = 32768, lo = 5, hi = 10 },
        S = { n = 32768, lo = 5, hi = 10 },
        M = { n = 1000000, lo = 2, hi = 4 },
        L = { n = 4000000, lo = 2, hi = 4 },
    },
    -- by the mean degree lo + hi of a drawn graph
    footprint = function(p)
        return 15 * p.n + 4 * (p.lo + p.hi) * p.n + 1
    end,

    buffers = function(p)
        local generate = require "heddle.generate"
        local g = generate.uniform_graph { n = p.n, lo = p.lo, hi = p.hi,
            seed = p.seed }
        return {
            i32("node", 2 * p.n, { data = g.nodes }),
            i32("edge", math.max(g.m, 1), { data = g.edges }),
            u8("mask", p.n, { data = { 1 } }),
            u8("upd", p.n, { contents = true }),
            u8("vis", p.n, { data = { 1 } }),
            i32("cost", p.n, { data = -1 }),
            u8("over", 1, { contents = true }),
        }
    end,

    kernels = function(p, b) return { bfs1(p, b), bfs2(p, b) } end,

    -- node 0 is the source: its bytes of mask and vis are 1 at the start
    host = function(device, s)
        local b = device.b
        if s.marked then
            s.marked = false
            return device.kernels.bfs2
        end
        if s.marked == nil then
            device.write(b.cost, 0, 0)
        elseif device.read(b.over, 0) == 0 then
            return nil
        end
        device.write(b.over, 0, 0)
        s.marked = true
        return device.kernels.bfs1
    end,
}
