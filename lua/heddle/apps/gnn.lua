--[[
GNN - a mini-batch of a graph neural network: neighbours are sampled hop after hop,
then the features of all nodes met are gathered (GraphSAGE as DGL has it,
src/array/cuda/rowwise_sampling.cu).

Arrays, in order: indptr[n + 1], indices[m] (m = ef n), features f32[n][dim],
nodes[most], degree, offsets[most of the last hop + 1], rows, columns, picked[most
picks of a hop], out f32[most][dim]; i64, or with id_bytes = 4 i32, where nothing
else is said.  `most` is batch (1 + fan1) (1 + fan2) (1 + fan3), or n.  Footprint
id_bytes (n + 1 + m) + 4 n dim bytes, and those of the batch.

A hop is two launches over the nodes met so far:
  degree   blocks of 512, a thread a node: min(picks, degree), from two gathers
  sample   a block of 128 threads a node, which all load the node, the ends of its
           list and where its picks go; a list that is short enough is copied,
           else a reservoir is drawn: the picks are 0, 1, ...; each later edge
           takes a random place, if that is one of them, by an atomic maximum;
           then the chosen edges are loaded, within one list
  gather   after the last hop, a group of 32 threads a node: its number, and its
           features, `vec` floats a lane: four lines and one page of 512 bytes

    fan1, fan2, fan3   picks of a hop; 0: there is no such hop
    graph    rmat: 2^scale nodes (.57, .19, .19), numbers permuted; hash: lists and
             ends are computed (hashgraph.lua), so that nothing of the graph is in
             the host's memory
    place    where features are with demand paging: gpu (as touched), direct (mapped
             on the host and read over the link, as PyTorch-Direct), read_mostly

Everything is real: the graph, picks, nodes of the next hop.  The host sums degrees
and removes nodes that were met before, which is DGL's scan and its hash table, in
no time and with no access.

Approximated: DGL gathers 4 bytes a lane (vec = 1); random numbers are a hash of node
and edge instead of Philox; instructions between accesses are guesses (alu_node,
alu_draw); layers of the network itself are left out.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local hashgraph = require "heddle.apps.hashgraph"
local app, kernel, ceil = h.app, h.kernel, h.ceil
local f32, i32, i64 = h.f32, h.i32, h.i64

local SCATTER = 2654435761
local mix = hashgraph.mix
local ADVICE = {
    direct = { accessed_by = true, preferred = "host" },
    read_mostly = { read_mostly = true },
}

local function check(p)
    h.choice(p, "graph", "rmat", "hash")
    h.choice(p, "place", "gpu", "direct", "read_mostly")
    h.check(p.scale >= 6 and p.scale <= 28 and p.ef > 0 and p.ef <= 1024,
        ("GNN: scale = %d, ef = %d: scale is 6 to 28, ef 1 to 1024"):format(
            p.scale, p.ef))
    h.check(p.batch > 0 and p.batch <= 1 << p.scale and p.fan1 > 0,
        ("GNN: batch = %d, fan1 = %d: batch is 1 to n, fan1 not 0"):format(
            p.batch, p.fan1))
    h.check(p.id_bytes == 4 or p.id_bytes == 8,
        ("GNN: id_bytes = %d, 4 or 8 are possible"):format(p.id_bytes))
    h.check(math.max(p.fan1, p.fan2, p.fan3) <= 128,
        "GNN: fan1, fan2 and fan3 are up to 128")
    h.check((p.vec == 1 or p.vec == 2 or p.vec == 4) and p.dim > 0
        and p.dim % p.vec == 0,
        ("GNN: vec = %d, dim = %d: vec is 1, 2 or 4, and dim a multiple"):format(
            p.vec, p.dim))
end

local function graph(p)
    return require("heddle.generate").rmat { scale = p.scale,
        edges = p.ef << p.scale, a = 0.57, b = 0.19, c = 0.19, permute = true,
        seed = p.seed }
end

-- Picks of the hops; the most nodes before the last and after it, and picks of one.
local function hops(p)
    local fans, n, most, before, picks = {}, 1 << p.scale, p.batch, p.batch, 0
    for _, fan in ipairs { p.fan1, p.fan2, p.fan3 } do
        if fan == 0 then break end
        fans[#fans + 1] = fan
        before, picks = most, math.max(picks, most * fan)
        most = math.min(n, most * (1 + fan))
    end
    return fans, most, before, picks
end

-- Where the list of node v begins, and the end of edge e: loaded, and computed where
-- the graph has no contents.
local function begin(t, p, b, v)
    local at = t:load(b.indptr, v)
    if p.graph == "rmat" then return at end
    return at + hashgraph.start(t, b, v, p.ef)
end

local function ending(t, p, b, e)
    local v = t:load(b.indices, e)
    if p.graph == "rmat" then return v end
    return v + hashgraph.ending(e, p.scale, p.seed)
end

local function degree(p, b)
    local options = { grid = 1, block = 512, regs = 16,
        args = { rows = 0, picks = 0 } }
    return kernel("degree", options, function(t)
        local rows = t:arg "rows"
        t:alu(4)
        t:exit_if(t.gid:ge(rows))
        local v = t:load(b.nodes, t.gid)
        local from, to = begin(t, p, b, v), begin(t, p, b, v + 1)
        t:store(b.degree, t.gid, (to - from):min(t:arg "picks"))
        t:when(t.gid:eq(rows - 1), function() t:store(b.degree, rows, 0) end)
    end)
end

local function sample(p, b)
    local options = { grid = 1, block = 128, regs = 40,
        args = { hop = 0, picks = 0 } }
    return kernel("sample", options, function(t)
        local picks = t:arg "picks"
        t:alu(p.alu_node)
        local v = t:load(b.nodes, t.block)
        local from, to = begin(t, p, b, v), begin(t, p, b, v + 1)
        local first, number = t:load(b.offsets, t.block), to - from
        t:alu(4, { uses = { first } })
        local function take(i, e)
            t:store(b.rows, first + i)
            local w = ending(t, p, b, e)
            t:store(b.columns, first + i, w)
            t:store(b.picked, first + i, e)
        end
        t:when(number:le(picks), function()
            t:loop(t.tid, number, 128, function(i) take(i, from + i) end)
        end, function()
            t:loop(t.tid, picks, 128, function(i)
                t:store(b.picked, first + i, i)
            end)
            t:sync()
            t:loop(picks + t.tid, number, 128, function(i)
                t:alu(p.alu_draw)
                local place = mix(t.block * (1 << 24) + i
                    + (t:arg "hop" + 16 * p.seed) * (1 << 56)) % (i + 1)
                t:when(place:lt(picks), function()
                    t:atomic("max", b.picked, first + place, i)
                end)
            end)
            t:sync()
            t:loop(t.tid, picks, 128, function(i)
                take(i, t:load(b.picked, first + i) + from)
            end)
        end)
    end)
end

local function gather(p, b)
    local options = { grid = 1, block = 256, regs = 24, args = { rows = 0 } }
    return kernel("gather", options, function(t)
        local row, piece = t.gid // 32, p.vec * (t.tid % 32)
        t:alu(6)
        t:exit_if(row:ge(t:arg "rows"))
        local v = t:load(b.nodes, row)
        t:alu(2, { uses = { v } })
        for from = 0, p.dim - 1, 32 * p.vec do
            t:when((piece + from):lt(p.dim), function()
                t:load(b.features, v * p.dim + from + piece, { vec = p.vec })
                t:alu(2)
                t:store(b.out, row * p.dim + from + piece, nil, { vec = p.vec })
            end)
        end
    end)
end

return app {
    name = "GNN", suite = "DGL",
    source = "DGL 05478f2 src/array/cuda/rowwise_sampling.cu",
    summary = "neighbour sampling and a gather of features",
    registers = "guess: no machine code was read",
    params = { scale = 14, ef = 16, dim = 128, batch = 8, fan1 = 15, fan2 = 10,
        fan3 = 5, graph = "rmat", place = "gpu", vec = 4, id_bytes = 8,
        seed = 1, alu_node = 30, alu_draw = 20 },
    sizes = {
        T = { scale = 10, batch = 2, fan3 = 0 },
        S = { scale = 14 },
        M = { scale = 17, batch = 64 },
        L = { scale = 20, batch = 1024, id_bytes = 4 },
        XL = { scale = 23, batch = 1024, graph = "hash" },
    },
    footprint = function(p)
        local n, _, most, before, picks = 1 << p.scale, hops(p)
        return p.id_bytes * (n + 1 + p.ef * n) + 4 * p.dim * (n + most)
            + p.id_bytes * (most + 2 * (before + 1) + 3 * picks)
    end,

    buffers = function(p)
        check(p)
        local n, _, most, before, picks = 1 << p.scale, hops(p)
        local id, g = p.id_bytes == 8 and i64 or i32, p.graph == "rmat" and graph(p)
        local start, ends = g and g.start, g and g.edges
        if g and p.id_bytes == 8 then
            start = function(v) return g.start[v] end
            ends = function(e) return g.edges[e] end
        end
        local out = {
            id("indptr", n + 1, { data = start or nil }),
            id("indices", p.ef * n, { data = ends or nil }),
            f32("features", n * p.dim, { advise = ADVICE[p.place] }),
            -- the batch: nodes that are scattered, each once
            id("nodes", most, { contents = true, data = function(i)
                return i < p.batch and (i * SCATTER + p.seed) % n or 0
            end }),
            id("degree", before + 1, { contents = true }),
            id("offsets", before + 1, { contents = true }),
            id("rows", picks),
            id("columns", picks, { contents = true }),
            id("picked", picks, { contents = true }),
            f32("out", most * p.dim),
        }
        if p.graph == "hash" then
            out[#out + 1] = i32("classes", hashgraph.CLASSES, { scratch = true,
                data = hashgraph.classes(p.ef) })
        end
        return out
    end,

    kernels = function(p, b)
        return { degree(p, b), sample(p, b), gather(p, b) }
    end,

    host = function(device, s)
        local b, p = device.b, device.p
        local fans = hops(p)
        local function launch_degree()
            s.next = "sample"
            return { device.kernels.degree, grid = ceil(s.rows, 512),
                args = { rows = s.rows, picks = fans[s.hop] } }
        end
        if not s.hop then
            s.hop, s.rows = 1, p.batch
            return launch_degree()
        elseif s.next == "sample" then -- where picks go
            local sum = 0
            for i = 0, s.rows do
                device.write(b.offsets, i, sum)
                sum = sum + device.read(b.degree, i)
            end
            s.picks, s.next = sum, "hop"
            return { device.kernels.sample, grid = s.rows,
                args = { hop = s.hop, picks = fans[s.hop] } }
        elseif s.next == "hop" then -- nodes that are new
            local met, rows = {}, s.rows
            for i = 0, rows - 1 do met[device.read(b.nodes, i)] = true end
            for i = 0, s.picks - 1 do
                local v = device.read(b.columns, i)
                if not met[v] then
                    met[v] = true
                    device.write(b.nodes, rows, v)
                    rows = rows + 1
                end
            end
            s.hop, s.rows = s.hop + 1, rows
            if fans[s.hop] then return launch_degree() end
            s.next = "end"
            return { device.kernels.gather, grid = ceil(rows, 8),
                args = { rows = rows } }
        end
        return nil
    end,
}
