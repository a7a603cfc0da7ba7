--[[
csr.lua - the graphs of Pannotia's programs: compressed rows of one of two
families; and kernels with a thread a node.

The matrices and road networks that come with Pannotia are not here; two
families stand for them, and which of them decides whether a program is
irregular:
  random   n nodes, mean degree d, drawn with a seed, lists sorted: social and
           co-author graphs (coAuthorsDBLP has 299,067 nodes and 1,955,352
           edges, d = 6.5).  A neighbour is anywhere.
  grid     the 5-point grid of the given width, n / width rows: ecology1 is the
           one of 1000 x 1000; circuits and roads resemble it.  A warp's
           neighbours lie side by side.
R-MAT graphs are left out: their hubs make one lane of a warp run for thousands
of rounds.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"

local M = {}

-- Directed edges of the graph of parameters n, d, width (0: random).
function M.edges(p)
    if p.width == 0 then return 2 * math.tointeger(p.n * p.d // 2) end
    return 2 * (2 * p.n - p.width - p.n // p.width)
end

-- The graph: n, m, start (n + 1 elements), edges.
function M.graph(p, name)
    local generate = require "heddle.generate"
    if p.width == 0 then
        return generate.random_graph { n = p.n, edges = M.edges(p) // 2,
            seed = p.seed }
    end
    if p.n % p.width ~= 0 then
        error(("%s: n = %d is not a number of rows of width = %d")
            :format(name, p.n, p.width), 0)
    end
    return generate.grid { width = p.width, height = p.n // p.width }
end

-- A kernel in blocks of `block` with a thread a node; body(t, v).
function M.each(p, name, block, regs, args, body)
    local options = { grid = h.ceil(p.n, block), block = block,
        regs = regs, args = args }
    return h.kernel(name, options, function(t)
        local v = t.gid
        t:alu(7)
        t:when(v:lt(p.n), function() body(t, v) end)
    end)
end

return M
