--[[
MUM - MUMmerGPU, reads looked up in a suffix tree, ISPASS-2009 (also MASK,
Mosaic; the Rodinia version of the program keeps its reference in plain
memory).

Arrays, in order: node and child, 16 bytes a texel, 4096 texels a row (the
tree), ref u8[rows][65536] (the reference), qry u8[reads][length + 2], qaddr and
qlen i32[reads], res 8 bytes for each start position of each read.  Footprint
about 55 bytes a base: 84 MB for 1.4 million bases and 50,000 reads of 25 bases.

One launch, blocks of 256, a thread a read.  For each start position (length -
min + 1 of them) it walks down the tree: child[cur] gives the next node by base,
node[next] the place of its edge in the reference, which is compared letter by
letter; then node[prev] gives the suffix link where the next position continues,
with what is known to match skipped.  Reads of the tree are 16 bytes a lane.
Node numbers are breadth first and texel rows take turns by number, so a few
levels down every lane has a page of its own.  A result is stored where more
than `min` letters match.

Everything is real: the tree is built from a random text with the base
composition of B. anthracis (35.4 % C and G), in MUMmerGPU's numbering and
layout; the walk is the program's, letter for letter.  Reads are pieces of a
genome of 5.23 million bases of which the reference is the beginning, as the
program's were: with 1.4 million bases 27 % of them match in full.

Approximated: textures (node, child, ref) are memory in rows; alu counts, 19 an access, are
MAFIA's measured total (1,713 a read) spread evenly; the genome has no repeats
(1.63 nodes a base, 1.65 in the original).  Size XL is one page of a size that
the program would cut into several.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u8, i32 = h.app, h.kernel, h.u8, h.i32

local BLOCK, WIDTH = 256, 4096
local ROOT = WIDTH -- node 1: x = 0, y = 1
local ANTHRACIS = 5227293 -- bases of NC_003997

local function results(p) return p.length - p.min + 1 end
local function genome(p) return math.max(p.bases, p.genome) end

-- Place of letter r of the reference.
local function letter_at(r)
    return (4 * r:shr(18) + r:band(3)):shl(16) + r:band(0x3ffff):shr(2)
end

-- 0 to 3 for A, C, G, T: bits 1 and 2 of the letters are 0, 1, 3, 2.
local function slot(c)
    local x = c:shr(1):band(3)
    return x:bxor(x:shr(1))
end

-- What a thread has between start positions and while it walks.
local function walker(t, p, b, q)
    return { t = t, p = p, b = b, q = q, alu = p.alu,
        cur = t:var(t:const(0)), prev = t:var(t:const(0)),
        must = t:var(t:const(0)), matched = t:var(t:const(0)),
        c = t:var(t:const(0)), at = t:var(t:const(0)),
        first = t:var(t:const(0)), walking = t:var(t:const(false)),
        edge = t:var(t:const(false)) }
end

local function next_letter(w, start)
    w.c:set(w.t:load(w.b.qry, w.q + start + w.matched))
    w.t:alu(w.alu)
end

-- Stores the match of a start position if it is long enough.
local function record(w, result)
    w.t:when(w.matched:gt(w.p.min), function()
        w.t:store(w.b.res, 2 * result, { vec = 2 })
        w.t:alu(w.alu, { uses = {} })
    end)
end

-- Compares the letters of the edge to the current node, from `at` to `last`.
local function compare(w, start, last)
    local t, b = w.t, w.b
    t:while_(function()
        return w.walking:band(w.at:le(last)):band(w.c:ne(0))
    end, function()
        local r = t:load(b.ref, letter_at(w.at))
        t:alu(w.alu, { uses = { r } })
        t:when(r:ne(w.c), function()
            w.walking:set(false)
        end, function()
            w.matched:set(w.matched + 1)
            w.at:set(w.at + 1)
            next_letter(w, start)
        end)
    end)
end

-- One edge down: by letter to a child, then along its edge.
local function descend(w, start, result)
    local t, b = w.t, w.b
    local record16 = t:load(b.child, 4 * w.cur, { vec = 4 })
    local link = t:peek(b.child, 4 * w.cur + slot(w.c),
        { uses = { record16 } })
    t:alu(w.alu)
    w.prev:set(w.cur)
    t:when(link:eq(0), function()
        record(w, result)
        w.matched:set(w.matched - 1)
        w.must:set(0)
        w.walking:set(false)
        w.edge:set(false)
    end, function()
        w.cur:set(link)
        local first = t:load(b.node, 4 * link, { vec = 4 })
        local last = t:peek(b.node, 4 * link + 1, { uses = { first } })
        t:alu(w.alu)
        -- what must match is skipped; without it the first letter does
        local known = w.must:max(1):min(last - first + 1)
        w.first:set(first)
        w.at:set(first + known)
        w.matched:set(w.matched + known)
        w.must:set((w.must - known):max(0))
        next_letter(w, start)
        compare(w, start, last)
    end)
end

local function match(w, start, result)
    local t, b = w.t, w.b
    local restart = w.cur:eq(0):bor(w.matched:lt(1))
    w.cur:set(t:select(restart, ROOT, w.cur))
    w.matched:set(t:select(restart, 1, w.matched))
    w.must:set(t:select(restart, 0, w.must))
    w.prev:set(w.cur)
    w.first:set(0)
    w.at:set(0)
    w.walking:set(true)
    w.edge:set(true)
    next_letter(w, start)
    t:while_(function() return w.walking:band(w.c:ne(0)) end, function()
        descend(w, start, result)
    end)
    t:when(w.edge, function()
        record(w, result)
        local on_edge = w.at - w.first
        w.must:set(on_edge)
        w.matched:set(w.matched - on_edge - 1)
    end)
    local back = t:load(b.node, 4 * w.prev, { vec = 4 })
    w.cur:set(t:peek(b.node, 4 * w.prev + 3, { uses = { back } }))
    t:alu(w.alu)
end

return app {
    name = "MUM", suite = "ISPASS-2009", source = "ISPASS-2009 MUM (MUMmerGPU)",
    summary = "reads in a suffix tree: a page for every lane, nothing regular",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { bases = 1399930, genome = ANTHRACIS, reads = 50000, length = 25,
        min = 20, gc = 0.354, alu = 19, seed = 1 },
    sizes = {
        T = { bases = 3000, genome = 9000, reads = 700 },
        R = { bases = 1399930 },
        S = { bases = 1399930 },
        M = { bases = 2800000 },
        L = { bases = 5200000 },
        XL = { bases = 20000000, length = 100 },
    },
    -- with 1.632 nodes a base, as random texts of that composition have
    footprint = function(p)
        local rows = h.ceil(math.ceil(1.632 * p.bases) + 1, WIDTH) + 32
        return 2 * 16 * WIDTH * rows + 65536 * (h.ceil(p.bases + 3, 65536) + 4)
            + (p.length + 2 + 8 + 8 * results(p)) * p.reads
    end,

    buffers = function(p)
        h.check(p.min >= 1 and p.length >= p.min,
            "MUM: min is 1 to length")
        local tree = require "heddle.generate".suffix_tree {
            bases = p.bases, genome = genome(p), reads = p.reads,
            length = p.length, gc = p.gc, seed = p.seed }
        local pitch = p.length + 2
        return {
            i32("node", tree.height, WIDTH, 4, { data = tree.node,
                texture = true }),
            i32("child", tree.height, WIDTH, 4, { data = tree.child,
                texture = true }),
            u8("ref", #tree.reference // 65536, 65536,
                { data = tree.reference, texture = true }),
            u8("qry", p.reads, pitch, { data = tree.reads }),
            i32("qaddr", p.reads, { data = function(i) return pitch * i end }),
            i32("qlen", p.reads, { data = p.length }),
            i32("res", 2 * p.reads * results(p)),
        }
    end,

    kernels = function(p, b)
        local options = { grid = h.ceil(p.reads, BLOCK), block = BLOCK,
            regs = 26 }
        return { kernel("mummergpu", options, function(t)
            local g = t.gid
            t:exit_if(g:ge(p.reads))
            local length, q = t:load(b.qlen, g), t:load(b.qaddr, g)
            t:alu(p.alu)
            local result = q - (p.min + 1) * g
            local w = walker(t, p, b, q)
            t:loop(length - p.min + 1, function(start)
                match(w, start, result + start)
            end)
        end) }
    end,
}
