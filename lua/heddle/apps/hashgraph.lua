--[[
hashgraph.lua - a graph that kernels compute: lists and ends from numbers alone.

    hashgraph.classes(each)              data of a scratch buffer "classes", i32[64]
    hashgraph.start(t, b, v, each)       where the list of node v begins
    hashgraph.ending(e, scale, seed)     the end of edge e, of 2^scale nodes

Nodes have `each` edges in the mean; of each 64 in a row the i-th has a share of 1 / i of
the edges of all, so the first has some 13 times the mean and the last a fifth of it.
Ends are drawn from the edge's number, node r in order of its rank with a density of
1 / sqrt(r), and ranks are scattered over the nodes.  So degrees are spread widely both
ways, as in real graphs, but there is no structure beyond that: edges are directed, and
neighbours have no neighbours in common.

What it is for: graphs of gigabytes that begin at once and take no memory.  Graphs with
contents are generate.rmat's.

SPDX-License-Identifier: MIT
]]
local M = {}

local CLASSES = 64
local SCATTER = 2654435761
M.CLASSES = CLASSES

function M.classes(each)
    local part, all = {}, 0.0
    for i = 1, CLASSES do
        part[i] = all
        all = all + 1 / i
    end
    for i = 1, CLASSES do part[i] = part[i] / all * CLASSES * each // 1 | 0 end
    return part
end

function M.start(t, b, v, each)
    return v // CLASSES * (CLASSES * each) + t:peek(b.classes, v % CLASSES)
end

-- A number of 31 bits that looks random (SplitMix64's last steps).
function M.mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
    x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
    return x:bxor(x:lshr(31)):lshr(33)
end

function M.ending(e, scale, seed)
    local u = M.mix(e + (seed << 40))
    return ((u * u):lshr(62 - scale) * SCATTER):band((1 << scale) - 1)
end

return M
