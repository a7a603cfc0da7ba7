--[[
GRAPHX - breadth-first search of a graph whose edges may stay on the host, EMOGI
(VLDB 2020, bfs.cu).

Arrays, in order: label u32[n], row i64[n + 1], edge i64 or i32[m], changed u8.
Footprint 12 n + 8 + edge_bytes m + 1 bytes, m = 2 ef n directed edges.

One kernel, blocks of 1,024 threads, repeated by the host until no label changed,
depth + 1 times.  Vertices of the current level walk their lists, and label what
has none:
  kernel = coalesce   a group of 32 threads a vertex: its label and its two rows
                      are broadcasts, edges are read from an aligned 128 bytes on
                      (16 edges before, at most, that are not its own), labels
                      of the ends are gathered
  kernel = chunk      the same, eight vertices a group, one after the other
  kernel = baseline   a thread a vertex, of which each walks a list of its own

    place    where edges are with demand paging: gpu (as touched), direct (mapped
             on the host and read over the link: SetAccessedBy, as EMOGI has it),
             read_mostly
    scale    n = 2^scale vertices of an R-MAT graph (.57, .19, .19), ef edges each,
             both directions, numbers permuted: Graph500's and GAP-kron's family
    graph    rmat: that; hash: one with as many edges, all of one direction, that is
             computed (hashgraph.lua), so that only labels are in the host's memory

The source is the first vertex that has edges.  Everything is real: the graph,
labels, the lengths of loops.  Which store is left out since another warp has
labelled that vertex before depends on the machine; loads of rows and edges do not.

Approximated: the graphs of the paper are scale 27; instructions between accesses
are guesses (alu_vertex, alu_edge); the host reads `changed` in no time.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local hashgraph = require "heddle.apps.hashgraph"
local app, kernel, u8, u32, i32, i64 = h.app, h.kernel, h.u8, h.u32, h.i32, h.i64

local UNSEEN = 0xffffffff
local BLOCK = 1024
local ADVICE = {
    direct = { accessed_by = true, preferred = "host" },
    read_mostly = { read_mostly = true },
}

-- The graph; its source is found by its rows.
local function graph(p)
    return require("heddle.generate").rmat { scale = p.scale,
        edges = p.ef << p.scale, a = 0.57, b = 0.19, c = 0.19, both = true,
        permute = true, seed = p.seed }
end

local function check(p)
    h.choice(p, "kernel", "coalesce", "chunk", "baseline")
    h.choice(p, "place", "gpu", "direct", "read_mostly")
    h.choice(p, "graph", "rmat", "hash")
    h.check(p.edge_bytes == 4 or p.edge_bytes == 8,
        ("GRAPHX: edge_bytes = %d, 4 or 8 are possible"):format(p.edge_bytes))
    h.check(p.scale >= 4 and p.scale <= 28 and p.ef > 0,
        ("GRAPHX: scale = %d, ef = %d: scale is 4 to 28, and ef not 0"):format(
            p.scale, p.ef))
end

-- The end of edge i: labelled if it is not yet.
local function follow(t, p, b, level, i)
    local w = t:load(b.edge, i)
    if p.graph == "hash" then w = w + hashgraph.ending(i, p.scale, p.seed) end
    local label = t:load(b.label, w)
    t:alu(p.alu_edge, { uses = { label } })
    t:when(label:eq(UNSEEN), function()
        t:store(b.label, w, level + 1)
        t:store(b.changed, 0, 1)
    end)
end

local function search(p, b)
    local n = 1 << p.scale
    local lanes = p.kernel == "baseline" and 1 or 32
    local each = p.kernel == "chunk" and 8 or 1
    local options = { grid = h.ceil(n * lanes // each, BLOCK), block = BLOCK,
        regs = 24, args = { level = 0 } }
    return kernel("search", options, function(t)
        local level = t:arg("level", "int")
        local lane = t.gid % lanes
        local function visit(v)
            local label = t:load(b.label, v)
            t:alu(p.alu_vertex, { uses = { label } })
            t:when(label:eq(level), function()
                local from, to = t:load(b.row, v), t:load(b.row, v + 1)
                if p.graph == "hash" then
                    from = from + hashgraph.start(t, b, v, 2 * p.ef)
                    to = to + hashgraph.start(t, b, v + 1, 2 * p.ef)
                end
                t:alu(p.alu_vertex, { uses = { from, to } })
                if lanes == 1 then
                    t:loop(from, to, function(i) follow(t, p, b, level, i) end)
                    return
                end
                t:loop(from - from % 16 + lane, to, lanes, function(i)
                    t:when(i:ge(from), function()
                        follow(t, p, b, level, i)
                    end)
                end)
            end)
        end
        t:alu(4)
        local first = t.gid // lanes * each
        t:exit_if(first:ge(n))
        if each == 1 then
            visit(first)
        else
            t:loop(first, first + each, visit)
        end
    end)
end

return app {
    name = "GRAPHX", suite = "EMOGI", source = "EMOGI 51dbadb bfs.cu",
    summary = "breadth-first search of an R-MAT graph, a warp a vertex",
    registers = "guess: no machine code was read",
    params = { scale = 14, ef = 16, kernel = "coalesce", place = "gpu",
        graph = "rmat", edge_bytes = 8, seed = 1, alu_vertex = 3, alu_edge = 3 },
    sizes = {
        T = { scale = 10 },
        S = { scale = 14 },
        M = { scale = 18 },
        L = { scale = 22, edge_bytes = 4 },
        XL = { scale = 24, graph = "hash" },
    },
    footprint = function(p)
        local n = 1 << p.scale
        return 12 * n + 8 + 2 * p.ef * n * p.edge_bytes + 1
    end,

    buffers = function(p)
        check(p)
        local n, m = 1 << p.scale, 2 * p.ef << p.scale
        local id = p.edge_bytes == 8 and i64 or i32
        local g = p.graph == "rmat" and graph(p)
        local start, ends = g and g.start, g and g.edges
        if g then m = math.max(g.m, 1) end
        local out = {
            u32("label", n, { data = UNSEEN }),
            i64("row", n + 1, { data = start or nil }),
            id("edge", m, { advise = ADVICE[p.place], data = ends or nil }),
            u8("changed", 1, { contents = true }),
        }
        if not g then
            out[5] = i32("classes", hashgraph.CLASSES, { scratch = true,
                data = hashgraph.classes(2 * p.ef) })
        end
        return out
    end,

    kernels = function(p, b) return { search(p, b) } end,

    host = function(device, s)
        local b = device.b
        if not s.level then
            local source = 0
            while device.p.graph == "rmat" and device.read(b.row, source)
                == device.read(b.row, source + 1) do
                source = source + 1
            end
            device.write(b.label, source, 0)
            s.level = -1
        elseif device.read(b.changed, 0) == 0 then
            return nil
        end
        s.level = s.level + 1
        device.write(b.changed, 0, 0)
        return { device.kernels.search, args = { level = s.level } }
    end,
}
