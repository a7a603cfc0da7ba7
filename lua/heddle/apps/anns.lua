--[[
ANNS - search for nearest neighbours: in a graph of vectors, as CAGRA does it (Ootomo et
al., ICDE 2024; cuVS, cpp/include/cuvs/neighbors/cagra.hpp), or in some of many lists of
them (IVF-flat).

Arrays, in order: vectors f32[n][dim], graph u32[n][degree], queries f32[queries][dim],
found u32, distance f32[queries][10].  Footprint n (4 dim + 4 degree) bytes, and
queries (4 dim + 80).  Of kernel = ivf instead of graph centres f32[lists][dim] and
ids i64[n], and at the end probed u32[queries][probes] and near f32[queries probes][10]
[2]: n (4 dim + 8) + 4 lists dim + queries (4 dim + 80 + 84 probes).

kernel = graph is one launch, a block of 64 threads a query (a large batch): the query is
loaded, then `degree` random vectors; then `iterations` times the list of the best vector
that was not expanded yet, two lines, and the vectors it names.  A team of 8 threads has
a vector, so a group of 32 has four at once: dim / 32 loads of 16 bytes a lane, each of
four lines in four pages.  Distances are sorted in shared memory; the ten best are
stored.

kernel = ivf is three launches:
  coarse   a block of 128 a query goes over all centres, 16 bytes a lane of 8 lanes a
           centre, four lines a load, one after the other, and stores `probes` numbers
           of lists
  scan     a block of 128 a query and list.  Vectors of a list are in groups of 32, each
           group 16 bytes of every vector, then the next 16 bytes: so a group of 32
           threads has one of them, dim / 4 loads of four lines side by side.  Ten pairs
           of distance and place are stored
  choose   a block of 128 a query: pairs of all its lists, then the ids of the ten best,
           each of a page of its own

    lists   0: the power of two that is not above the root of n, nor n / 64
    probes  lists of a query, all different, spread evenly over all (guess)
    uneven  percent: of two neighbouring lists the first is up to so much of the mean
            longer, by a hash, and the other shorter (guess)

    far     percent of a list that are anywhere; the others are within 128 numbers of the
            vector (guess: how well numbers follow places differs)

Addresses are driven by the lists, which are computed, a hash of vector and place; so
no size needs memory.  Which vector is next is a hash, too.

Approximated: IVF's coarse step is a product of matrices in cuVS, and its lists end in
whole groups; a true graph has structure, and searches of a batch meet; vectors that
were seen before are loaded again; iterations of CAGRA are about as many as vectors it
keeps (64), with some more; teams, arithmetic and sorting are guesses (alu_vector,
alu_sort).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32, i64, u32 = h.app, h.kernel, h.f32, h.i64, h.u32

local THREADS = 64
local TEAM = 8
local BEST = 10
local NEAR = 256 -- numbers among which those are that are not far
local WIDE = 128 -- threads of kernel = ivf
local GROUP = 32 -- vectors whose elements are interleaved

local function lists(p)
    if p.lists > 0 then return p.lists end
    local n = 1
    while 4 * n * n <= p.n and 4 * GROUP * n <= p.n do n = 2 * n end
    return n
end

local function check(p)
    h.most(p, { dim = 1 << 16, degree = 1 << 16, queries = 1 << 24, iterations = 1 << 20 })
    h.choice(p, "kernel", "graph", "ivf")
    if p.kernel == "ivf" then
        local n = lists(p)
        h.check(p.n % GROUP == 0 and n & (n - 1) == 0 and n >= 2 and 2 * GROUP * n <= p.n,
            ("ANNS: n = %d, lists = %d: n is a multiple of %d, lists a power of two from "
                .. "2 on, and there are %d vectors or more a list"):format(p.n, n, GROUP,
                2 * GROUP))
        h.check(p.probes > 0 and p.probes <= n and p.uneven <= 90,
            ("ANNS: probes = %d, uneven = %d: 1 to %d lists are possible, and up to 90 "
                .. "percent"):format(p.probes, p.uneven, n))
    end
    h.check(p.n >= NEAR and p.n < 1 << 31 and p.queries > 0 and p.iterations > 0,
        ("ANNS: n = %d, queries = %d, iterations = %d: n is %d to 2^31 - 1, the "
            .. "others are not 0"):format(p.n, p.queries, p.iterations, NEAR))
    h.check(p.dim > 0 and p.dim % (4 * TEAM) == 0,
        ("ANNS: dim = %d is not a multiple of %d"):format(p.dim, 4 * TEAM))
    h.check(p.degree > 0 and p.degree % (THREADS // TEAM) == 0,
        ("ANNS: degree = %d is not a multiple of %d"):format(p.degree,
            THREADS // TEAM))
    h.check(p.far <= 100, ("ANNS: far = %d is more than 100 percent"):format(p.far))
end

local function mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
    x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
    return x:bxor(x:lshr(31)):lshr(1)
end

-- The k-th of the list of vector v.
local function neighbour(t, p, v, k)
    local x = mix(v * p.degree + k + (p.seed << 48))
    local anywhere = x:lshr(8)
    return t:select((x % 100):lt(p.far), anywhere % p.n,
        (v + anywhere % NEAR + (p.n - NEAR // 2)) % p.n)
end

-- What a block sorts in shared memory.
local function sort(t, p, barriers)
    t:alu(p.alu_sort)
    t:shared(p.alu_sort // 4)
    for _ = 1, barriers do t:sync() end
end

-- The distance of a vector, of which a lane's part begins at `first`.
local function distance(t, p, vectors, first)
    local got = {}
    for j = 0, p.dim // (4 * TEAM) - 1 do
        got[j + 1] = t:load(vectors, first + 4 * TEAM * j, { vec = 4 })
    end
    t:alu(p.alu_vector, { uses = got })
    t:shared(1)
end

local function search(p, b)
    local options = { grid = p.queries, block = THREADS, regs = 63, shared = 8192 }
    return kernel("search", options, function(t)
        local lane = t.tid % TEAM
        t:alu(20)
        t:loop(t.tid, p.dim // 4, THREADS, function(i)
            local q = t:load(b.queries, t.bx * p.dim + 4 * i, { vec = 4 })
            t:alu(2, { uses = { q } })
            t:shared(1)
        end)
        t:sync()
        -- distances of `degree` vectors, a team for one after the other
        local function distances(number)
            t:loop(t.tid // TEAM, p.degree, THREADS // TEAM, function(k)
                local first = number(k) * p.dim + 4 * lane
                t:shared(1)
                distance(t, p, b.vectors, first)
            end)
            t:sync()
            sort(t, p, 6)
        end
        local function random(k)
            return mix(t.bx * (1 << 20) + k + (p.seed << 56))
        end
        distances(function(k) return random(k) % p.n end)
        local parent = t:var(random(p.degree) % p.n)
        t:loop(p.iterations, function(i)
            local v = parent:get()
            t:loop(t.tid, p.degree, THREADS, function(k)
                local id = t:load(b.graph, v * p.degree + k)
                t:alu(12, { uses = { id } })
                t:shared(4)
            end)
            t:sync()
            distances(function(k) return neighbour(t, p, v, k) end)
            parent:set(neighbour(t, p, v, random(i + p.degree + 1) % p.degree))
        end)
        t:when(t.tid:lt(BEST), function()
            t:store(b.found, t.bx * BEST + t.tid)
            t:store(b.distance, t.bx * BEST + t.tid)
        end)
    end)
end

-- ---- kernel = ivf --------------------------------------------------------------------

-- The group at which list l begins, of values or of numbers.
local function start(t, p, l)
    local n, groups = lists(p), p.n // GROUP
    local most = groups // n * p.uneven // 100 + 1
    return l * groups // n
        + t:select((l % 2):eq(1), mix(l // 2 + (p.seed << 40)) % most, 0)
end

-- Which list is number j of query q's.
local function probe(p, q, j)
    local x = mix(q + (p.seed << 32))
    return (x + j * (x:lshr(20) * 2 + 1)):band(lists(p) - 1)
end

-- Query `y` is kept in shared memory.
local function keep(t, p, b, y)
    t:loop(t.tid, p.dim // 4, WIDE, function(i)
        local q = t:load(b.queries, y * p.dim + 4 * i, { vec = 4 })
        t:shared(1, { uses = { q } })
    end)
    t:sync()
end

local function coarse(p, b)
    local options = { grid = p.queries, block = WIDE, regs = 48, shared = 4096 }
    return kernel("coarse", options, function(t)
        local lane = t.tid % TEAM
        t:alu(10)
        keep(t, p, b, t.bx)
        t:loop(t.tid // TEAM, lists(p), WIDE // TEAM, function(l)
            distance(t, p, b.centres, l * p.dim + 4 * lane)
        end)
        t:sync()
        sort(t, p, 6)
        t:loop(t.tid, p.probes, WIDE, function(j)
            t:store(b.probed, t.bx * p.probes + j)
        end)
    end)
end

local function scan(p, b)
    local options = { grid = { p.probes, p.queries }, block = WIDE, regs = 63,
        shared = 4096 }
    return kernel("scan", options, function(t)
        local lane, warp = t.tid % GROUP, t.tid // GROUP
        local which = t:load(b.probed, t.by * p.probes + t.bx)
        t:alu(10, { uses = { which } })
        local l = probe(p, t.by, t.bx) + which -- which is 0
        local from = start(t, p, l)
        local to = t:select((l + 1):lt(lists(p)), start(t, p, l + 1), p.n // GROUP)
        keep(t, p, b, t.by)
        t:loop(from + warp, to, WIDE // GROUP, function(group)
            t:loop(p.dim // 4, function(i)
                local x = t:load(b.vectors, group * (GROUP * p.dim) + 4 * (GROUP * i
                    + lane), { vec = 4 })
                t:shared(1, { uses = {} })
                t:alu(8, { uses = { x } })
            end)
            t:alu(p.alu_sort // 8)
        end)
        t:sync()
        sort(t, p, 3)
        t:when(t.tid:lt(BEST), function()
            t:store(b.near, 2 * ((t.by * p.probes + t.bx) * BEST + t.tid), nil,
                { vec = 2 })
        end)
    end)
end

local function choose(p, b)
    local options = { grid = p.queries, block = WIDE, regs = 32, shared = 4096 }
    return kernel("choose", options, function(t)
        t:alu(10)
        t:loop(t.tid, p.probes * BEST, WIDE, function(i)
            local pair = t:load(b.near, 2 * (t.bx * p.probes * BEST + i), { vec = 2 })
            t:alu(4, { uses = { pair } })
        end)
        t:sync()
        sort(t, p, 3)
        t:when(t.tid:lt(BEST), function()
            local x = mix(t.bx * BEST + t.tid + (p.seed << 24))
            local from = start(t, p, probe(p, t.bx, x % p.probes)) * GROUP
            local id = t:load(b.ids, from + x:lshr(20) % (p.n // lists(p) // 10))
            t:alu(1, { uses = { id } })
            t:store(b.found, t.bx * BEST + t.tid)
            t:store(b.distance, t.bx * BEST + t.tid)
        end)
    end)
end

return app {
    name = "ANNS", suite = "cuVS",
    source = "cuVS 00137b7 cpp/include/cuvs/neighbors/cagra.hpp (defaults); "
        .. "ivf_flat's interleaved lists",
    summary = "graph search for nearest neighbours, or lists; four pages a load",
    registers = "guess: no machine code was read; 63, the most there can be",
    params = { n = 1 << 14, dim = 128, degree = 64, queries = 64, iterations = 70,
        kernel = "graph", far = 50, lists = 0, probes = 32, uneven = 50, seed = 1,
        alu_vector = 60, alu_sort = 200 },
    sizes = {
        T = { n = 1 << 10, queries = 4, iterations = 6, probes = 8 },
        S = { n = 1 << 14 },
        M = { n = 1 << 17, queries = 256 },
        L = { n = 1300000, queries = 1024 },
        XL = { n = 1 << 23, queries = 4096 },
    },
    footprint = function(p)
        local of = p.queries * (4 * p.dim + 8 * BEST)
        if p.kernel == "ivf" then
            return p.n * (4 * p.dim + 8) + 4 * lists(p) * p.dim + of
                + p.queries * p.probes * (4 + 8 * BEST)
        end
        return 4 * p.n * (p.dim + p.degree) + of
    end,

    buffers = function(p)
        check(p)
        if p.kernel == "ivf" then
            return {
                f32("vectors", p.n, p.dim), f32("centres", lists(p), p.dim),
                i64("ids", p.n), f32("queries", p.queries, p.dim),
                u32("found", p.queries * BEST), f32("distance", p.queries * BEST),
                u32("probed", p.queries, p.probes),
                f32("near", p.queries * p.probes, BEST, 2),
            }
        end
        return {
            f32("vectors", p.n, p.dim), u32("graph", p.n, p.degree),
            f32("queries", p.queries, p.dim), u32("found", p.queries * BEST),
            f32("distance", p.queries * BEST),
        }
    end,

    kernels = function(p, b)
        if p.kernel == "graph" then return { search(p, b) } end
        return { coarse(p, b), scan(p, b), choose(p, b) }
    end,
}
