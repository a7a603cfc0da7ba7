--[[
csr.lua - the graphs of Pannotia's programs: compressed rows of one of three
families; and kernels with a thread a node.

The matrices and road networks that come with Pannotia are not here; families
stand for them (parameter graph), and which of them decides whether a program is
irregular:
  grid     the 5-point grid of the given width (0: a square), n / width rows:
           ecology1, one of COLOR's inputs, is the one of 1000 x 1000, and
           G3_circuit resembles it.  A warp's neighbours are side by side.
  roads    such a grid with fewer edges, connected, of mean degree d (0: 2.8,
           USA-road-d.NY, SSSP's input: 264,346 nodes, 733,846 edges)
  random   n nodes, mean degree d (0: 6.5), drawn with a seed, lists sorted:
           social and co-author graphs (coAuthorsDBLP, PageRank's input, has
           299,067 nodes and 1,955,352 edges).  A neighbour is anywhere.
R-MAT graphs are left out: their hubs make one lane of a warp run for thousands
of rounds.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"

local M = {}

-- Mean degrees where d = 0; of a grid it follows from its sides.
local DEGREE = { grid = 0, roads = 2.8, random = 6.5 }

local function width(p)
    return p.width > 0 and p.width or math.tointeger(p.n ^ .5 // 1)
end

-- Directed edges of the graph.
function M.edges(p)
    local d = DEGREE[h.choice(p, "graph", "grid", "roads", "random")]
    if p.graph == "grid" then
        return 2 * (2 * p.n - width(p) - p.n // width(p))
    end
    return 2 * math.tointeger(p.n * (p.d > 0 and p.d or d) // 2)
end

-- The graph: n, m, start (n + 1 elements), edges.
function M.graph(p, name)
    local generate = require "heddle.generate"
    local edges = M.edges(p) // 2
    if p.graph == "random" then
        return generate.random_graph { n = p.n, edges = edges, seed = p.seed }
    end
    local w = width(p)
    h.check(p.n > 0 and p.n % w == 0,
        ("%s: n = %d is not a number of rows of width = %d"):format(name, p.n,
            w))
    return generate.grid { width = w, height = p.n // w, seed = p.seed,
        edges = p.graph == "roads" and edges or 0 }
end

-- A kernel in blocks of `block` with a thread a node: `alu` instructions, then
-- body(t, v).
function M.each(p, name, block, regs, alu, args, body)
    local options = { grid = h.ceil(p.n, block), block = block,
        regs = regs, args = args }
    return h.kernel(name, options, function(t)
        local v = t.gid
        t:alu(alu)
        t:when(v:lt(p.n), function() body(t, v) end)
    end)
end

return M
