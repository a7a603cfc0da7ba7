--[[
ANNS - search for nearest neighbours in a graph of vectors, as CAGRA does it (Ootomo et
al., ICDE 2024; cuVS, cpp/include/cuvs/neighbors/cagra.hpp).

Arrays, in order: vectors f32[n][dim], graph u32[n][degree], queries f32[queries][dim],
found u32, distance f32[queries][10].  Footprint n (4 dim + 4 degree) bytes, and
queries (4 dim + 80).

One launch, a block of 64 threads a query (a large batch): the query is loaded, then
`degree` random vectors; then `iterations` times the list of the best vector that was not
expanded yet, two lines, and the vectors it names.  A team of 8 threads has a vector, so
a group of 32 has four at once: dim / 32 loads of 16 bytes a lane, each of four lines in
four pages.  Distances are sorted in shared memory; the ten best are stored.

    far     percent of a list that are anywhere; the others are within 128 numbers of the
            vector (guess: how well numbers follow places differs)

Addresses are driven by the lists, which are computed, a hash of vector and place; so
no size needs memory.  Which vector is next is a hash, too.

Approximated: a true graph has structure, and searches of a batch meet; vectors that
were seen before are loaded again; iterations of CAGRA are about as many as vectors it
keeps (64), with some more; teams, arithmetic and sorting are guesses (alu_vector,
alu_sort).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32, u32 = h.app, h.kernel, h.f32, h.u32

local THREADS = 64
local TEAM = 8
local BEST = 10
local NEAR = 256 -- numbers among which those are that are not far

local function check(p)
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
                local first, got = number(k) * p.dim + 4 * lane, {}
                t:shared(1)
                for j = 0, p.dim // (4 * TEAM) - 1 do
                    got[j + 1] = t:load(b.vectors, first + 4 * TEAM * j, { vec = 4 })
                end
                t:alu(p.alu_vector, { uses = got })
                t:shared(1)
            end)
            t:sync()
            t:alu(p.alu_sort)
            t:shared(p.alu_sort // 4)
            for _ = 1, 6 do t:sync() end
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

return app {
    name = "ANNS", suite = "cuVS",
    source = "cuVS 00137b7 cpp/include/cuvs/neighbors/cagra.hpp (defaults)",
    summary = "graph search for nearest neighbours; four pages a load",
    registers = "guess: no machine code was read; 63, the most there can be",
    params = { n = 1 << 14, dim = 128, degree = 64, queries = 64, iterations = 70,
        far = 50, seed = 1, alu_vector = 60, alu_sort = 200 },
    sizes = {
        T = { n = 1 << 10, queries = 4, iterations = 6 },
        S = { n = 1 << 14 },
        M = { n = 1 << 17, queries = 256 },
        L = { n = 1300000, queries = 1024 },
        XL = { n = 1 << 23, queries = 4096 },
    },
    footprint = function(p)
        return 4 * p.n * (p.dim + p.degree) + p.queries * (4 * p.dim + 8 * BEST)
    end,

    buffers = function(p)
        check(p)
        return {
            f32("vectors", p.n, p.dim), u32("graph", p.n, p.degree),
            f32("queries", p.queries, p.dim), u32("found", p.queries * BEST),
            f32("distance", p.queries * BEST),
        }
    end,

    kernels = function(p, b) return { search(p, b) } end,
}
