--[[
401-load-generate-lua.lua - heddle.generate from Lua.

Pinned: what each call gives (types, lengths, elements counted from 0), that
the seed decides, that a wrong option or value is an error which names it, and
that a graph has its parts: rows, pairs of start and degree, levels.

SPDX-License-Identifier: MIT
]]
local generate = require "heddle.generate"

local test, run = require "lib.suite"()

local function fails(pattern, fn, ...)
    local ok, err = pcall(fn, ...)
    assert(not ok, "expected an error with " .. pattern)
    assert(tostring(err):find(pattern), tostring(err))
end

local function same(a, b)
    if #a ~= #b then return false end
    for i = 0, #a - 1 do
        if a[i] ~= b[i] then return false end
    end
    return true
end

test("uniform graph: rows, pairs and levels agree", function()
    local g = generate.uniform_graph { n = 500, lo = 2, hi = 4, seed = 3 }
    assert(g.n == 500 and #g.start == 501 and #g.nodes == 1000)
    assert(g.m == #g.edges and g.start[500] == g.m)
    for v = 0, 499 do
        assert(g.nodes[2 * v] == g.start[v])
        assert(g.nodes[2 * v + 1] == g.start[v + 1] - g.start[v])
    end
    local level = g:levels(7)
    assert(level[7] == 0 and #level == 500)
    for v = 0, 499 do
        for e = g.start[v], g.start[v + 1] - 1 do
            local w = g.edges[e]
            if level[v] >= 0 then
                assert(level[w] >= 0 and level[w] <= level[v] + 1)
            end
        end
    end
    assert(g.edges[g.m] == nil and g.edges[-1] == nil, "nil outside")
end)

test("the seed decides, and nothing else", function()
    local a = generate.uniform_graph { n = 200, seed = 5 }
    local b = generate.uniform_graph { n = 200, seed = 5 }
    local c = generate.uniform_graph { n = 200, seed = 6 }
    assert(same(a.edges, b.edges) and not same(a.edges, c.edges))
    assert(same(generate.floats { n = 50 }, generate.floats { n = 50, seed = 1 }))
    assert(not same(generate.permutation { n = 50, seed = 1 },
        generate.permutation { n = 50, seed = 2 }))
end)

-- A number as single precision holds it.
local function single(x) return (string.unpack("f", string.pack("f", x))) end

test("clusters: centres are points, each point has the nearest", function()
    local n, dim, k = 700, 5, 6
    local c = generate.clusters { n = n, dim = dim, centres = k, seed = 4 }
    local seen = {}
    assert(#c.coords == n * dim and #c.centre == k and #c.nearest == n)
    for j = 0, k - 1 do
        local v = c.centre[j]
        assert(v >= 0 and v < n and not seen[v], "different points")
        seen[v] = true
        assert(c.nearest[v] == j and c.cost[v] == 0, "of themselves")
    end
    for i = 0, n - 1 do
        local best, least
        for j = 0, k - 1 do
            local sum = 0
            for d = 0, dim - 1 do
                local diff = single(c.coords[d * n + i]
                    - c.coords[d * n + c.centre[j]])
                sum = single(sum + single(diff * diff))
            end
            if not least or sum < least then best, least = j, sum end
        end
        assert(c.nearest[i] == best and c.cost[i] == least, i)
    end
    local other = generate.clusters { n = n, dim = dim, centres = k, seed = 5 }
    assert(not same(c.centre, other.centre), "the seed decides")
    fails("centres", generate.clusters, { n = 10, dim = 2, centres = 11 })
    fails("coordinates", generate.clusters, { n = 10, dim = 0, centres = 1 })
end)

-- The neighbours of element e by the rule of generate.c, over size cubes.
local function kuhn(size, e)
    local orders = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 },
        { 3, 1, 2 }, { 3, 2, 1 } }
    local cube, a, b, d = e // 6, table.unpack(orders[e % 6 + 1])
    local c = { cube % size[1], cube // size[1] % size[2],
        cube // size[1] // size[2] }
    local function element(axis, step, x, y, z)
        local at = { table.unpack(c) }
        at[axis] = at[axis] + step
        if at[axis] < 0 or at[axis] >= size[axis] then return -2 end
        for k, o in ipairs(orders) do
            if o[1] == x and o[2] == y and o[3] == z then
                return 6 * (at[1] + size[1] * (at[2] + size[2] * at[3]))
                    + k - 1
            end
        end
    end
    return { [0] = element(1, 0, b, a, d), element(1, 0, a, d, b),
        element(a, 1, b, d, a), element(d, -1, d, a, b) }
end

test("mesh: neighbours by the rule, mutual, shuffled inside windows", function()
    local size, n, padded = { 5, 4, 3 }, 360, 384
    local function make(window, seed)
        return generate.mesh { nx = 5, ny = 4, nz = 3, window = window,
            multiple = 192, seed = seed }
    end
    local plain = make(1)
    assert(#plain == 4 * padded)
    for e = 0, n - 1 do
        local want = kuhn(size, e)
        for face = 0, 3 do
            assert(plain[face * padded + e] == want[face], e)
        end
    end
    local back = { [0] = 0, 1, 3, 2 }
    for _, window in ipairs { 1, 6, 100, 1000 } do
        local m, outside, moved = make(window), 0, 0
        for face = 0, 3 do
            for e = 0, n - 1 do
                local to = m[face * padded + e]
                if to == -2 then
                    outside = outside + 1
                else
                    assert(to >= 0 and to < n, "an element")
                    assert(m[back[face] * padded + to] == e, "mutual")
                end
                if window == 6 and face < 2 then
                    assert(to // 6 == e // 6, "in the window")
                end
                moved = moved + (to ~= plain[face * padded + e] and 1 or 0)
            end
            for e = n, padded - 1 do
                assert(m[face * padded + e] == m[face * padded + n - 1],
                    "padding copies the last")
            end
        end
        assert(outside == 2 * 2 * (5 * 4 + 4 * 3 + 5 * 3), "the boundary")
        assert((moved > 0) == (window > 1), "shuffled")
    end
    assert(not same(make(100, 1), make(100, 2)), "the seed decides")
    fails("0 x 4 x 3 cubes", generate.mesh, { nx = 0, ny = 4, nz = 3 })
    fails("window 0", generate.mesh, { nx = 2, window = 0 })
    fails("2%^29", generate.mesh, { nx = 1024, ny = 1024, nz = 128 })
end)

-- SplitMix64's mix, as heddle_generate.h promises it.
local function mix(x)
    x = x + 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return x ~ (x >> 31)
end

test("memcached: keys in their sets, ways filled from the first", function()
    local h, keys = 9, 500
    local t = generate.memcached { h = h, keys = keys, seed = 2 }
    assert(#t == 42 << h)
    local want, room, have, stored, sorted = {}, {}, {}, 0, true
    for key = 0, keys - 1 do
        local set = mix(key) & ((1 << h - 4) - 1)
        room[set] = (room[set] or 0) + 1
        want[key] = room[set] <= 16 -- the lowest of its set
    end
    for e = 0, (1 << h) - 1 do
        local set, way = e // 16, e % 16
        local key = t[42 * e + 7]
        if t[42 * e + 3] == 1 then
            assert(way == (have[set] or 0), "no gap")
            assert(mix(key) & ((1 << h - 4) - 1) == set, "its set")
            assert(t[42 * e + 4] == mix(key) >> 56, "its hash")
            assert(want[key], "no other key, none twice")
            want[key], have[set] = false, way + 1
            stored = stored + 1
            sorted = sorted and (way == 0 or t[42 * (e - 1) + 7] < key)
        else
            assert(t[42 * e + 3] == 0 and key == 0)
        end
    end
    for key = 0, keys - 1 do assert(not want[key], "all are there") end
    assert(stored < keys and stored > 400, stored)
    assert(not sorted, "the order of arrival is random")
    fails("entries", generate.memcached, { h = 3, keys = 1 })
    fails("no option 'n'", generate.memcached, { h = 4, n = 1 })
end)

test("grid, random graph and rmat", function()
    local g = generate.grid { width = 4, height = 3 }
    assert(g.n == 12 and g.m == 2 * (3 * 3 + 4 * 2))
    assert(g.edges[0] == 1 and g.edges[1] == 4)
    g = generate.grid { width = 4, height = 3, edges = 12, seed = 5 }
    assert(g.n == 12 and g.m == 24)
    fails("10 edges; expected 11", generate.grid, { width = 4, height = 3,
        edges = 10 })
    local random = generate.random_graph { n = 100, edges = 300, seed = 4 }
    assert(random.n == 100 and random.m == 600)
    for v = 0, 99 do
        for e = random.start[v] + 1, random.start[v + 1] - 1 do
            assert(random.edges[e - 1] <= random.edges[e], "a sorted row")
        end
    end
    local r = generate.rmat { scale = 8, edges = 1000, cap = 16 }
    assert(r.n == 256 and r.m <= 2000)
    for v = 0, 255 do assert(r.nodes[2 * v + 1] <= 16) end
    local one = generate.rmat { scale = 8, edges = 1000, both = false }
    assert(one.m == 1000)
end)

-- Twin: those numbers one edge after the other, and rows as lists.
local function naive_rmat(o)
    local function hash(x)
        x = x + 0x9e3779b97f4a7c15
        x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
        x = (x ~ (x >> 27)) * 0x94d049bb133111eb
        return x ~ (x >> 31)
    end
    local n, key, drawn = 1 << o.scale, hash(o.seed ~ hash(0x67726101)), 0
    local name = o.permute and generate.permutation { n = n, seed = o.seed }
    local cut = { math.floor(0.57 * 2 ^ 32), math.floor((0.57 + 0.19) * 2 ^ 32),
        math.floor((0.57 + 0.19 + 0.19) * 2 ^ 32) }
    local row, have, out = {}, {}, {}
    for v = 0, n - 1 do row[v], have[v] = {}, 0 end
    for _ = 1, o.edges do
        local u, w = 0, 0
        for _ = 1, o.scale do
            local x = hash(key + hash(drawn)) >> 32
            local q = (x >= cut[1] and 1 or 0) + (x >= cut[2] and 1 or 0)
                + (x >= cut[3] and 1 or 0)
            u, w, drawn = u << 1 | q >> 1, w << 1 | q & 1, drawn + 1
        end
        if name then u, w = name[u], name[w] end
        local full = o.cap and (have[u] >= o.cap or o.both and have[w] >= o.cap)
        if not full then
            have[u] = have[u] + 1
            table.insert(row[u], w)
            if o.both then
                have[w] = have[w] + 1
                table.insert(row[w], u)
            end
        end
    end
    for v = 0, n - 1 do
        for _, w in ipairs(row[v]) do out[#out + 1] = ("%d %d"):format(v, w) end
    end
    return table.concat(out, "\n")
end

test("rmat against a naive one", function()
    for _, o in ipairs {
        { scale = 8, edges = 1000, seed = 3, both = true, permute = true },
        { scale = 9, edges = 3001, seed = 4, both = true, permute = true, cap = 20 },
        { scale = 6, edges = 64, seed = 1, both = false, permute = false },
        { scale = 5, edges = 63, seed = 1, both = false, permute = true, cap = 2 },
        { scale = 4, edges = 0, seed = 1, both = true, permute = false },
    } do
        local g, out = generate.rmat(o), {}
        for v = 0, g.n - 1 do
            for e = g.start[v], g.start[v + 1] - 1 do
                out[#out + 1] = ("%d %d"):format(v, g.edges[e])
            end
        end
        assert(table.concat(out, "\n") == naive_rmat(o), ("scale %d"):format(o.scale))
        assert(g.m == #out)
    end
end)

test("arrays: ranges and lengths", function()
    local x = generate.ints { n = 1000, lo = -2, hi = 2 }
    local seen = {}
    for i = 0, 999 do seen[x[i]] = true end
    for v = -2, 2 do assert(seen[v]) end
    local f = generate.floats { n = 10 }
    assert(#f == 10 and math.type(f[0]) == "float" and f[9] >= 0 and f[9] < 1)
    local z = generate.zipf { n = 1000, keys = 10, s = 1.5 }
    local first = 0
    for i = 0, 999 do
        assert(z[i] >= 0 and z[i] < 10)
        first = first + (z[i] == 0 and 1 or 0)
    end
    assert(first > 400 and first < 600) -- 1 / sum k^-1.5 = 0.50
    local s = generate.starts { n = 3, step = 63 }
    assert(s[0] == 1 and s[1] == math.mininteger and s[2] == 7 << 62 ~ 7)
end)

test("equal calls are given the same data", function()
    local o = { width = 30, edges = 1000, seed = 2 }
    local a, b = generate.grid(o), generate.grid(o)
    assert(rawequal(a.start, b.start) and a.levels and a.m == b.m)
    a.start, a.n = nil, 0 -- in a table of its own
    local c = generate.grid(o)
    assert(rawequal(c.start, b.start) and c.n == b.n and b.n == 900)
    o.seed = 3
    assert(not rawequal(generate.grid(o).edges, b.edges))
    assert(rawequal(generate.floats { n = 9 },
        generate.floats { n = 9, seed = 1 }))
    assert(not rawequal(generate.floats { n = 9 }, generate.floats { n = 8 }))
    assert(not rawequal(generate.floats { n = 9 },
        generate.permutation { n = 9 }))
end)

test("as long as all of them are no more than 256 MB", function()
    local function half(seed) -- and a little more
        return generate.ints { n = 33 << 20, seed = seed }
    end
    local small = generate.floats { n = 7 }
    local first = half(1)
    assert(rawequal(half(1), first))
    assert(rawequal(generate.floats { n = 7 }, small))
    local second = half(2)
    assert(rawequal(half(2), second))
    local again = generate.floats { n = 7 }
    assert(not rawequal(again, small) and same(again, small))
    again = half(1)
    assert(not rawequal(again, first) and again[12345] == first[12345])
end)

test("errors name the option and the value", function()
    fails("no option 'hight'", generate.grid, { width = 3, hight = 3 })
    fails("it takes width, height, edges, seed", generate.grid, { widht = 3 })
    fails("option n: expected a whole number from 0 to %d+, got many", generate.floats,
        { n = "many" })
    fails("from 0 to 4294967295, got %-5", generate.uniform_graph, { n = -5 })
    fails("degree from 4 to 2", generate.uniform_graph,
        { n = 10, lo = 4, hi = 2 })
    fails("edges between 1 nodes", generate.random_graph, { n = 1, edges = 1 })
    fails("no option 'm'", generate.random_graph, { n = 2, m = 1 })
    fails("from 3 to 1", generate.ints, { n = 1, lo = 3, hi = 1 })
    fails("0 elements", generate.permutation, {})
    fails("2%^34 at most", generate.starts, { n = 1 << 20, step = 1 << 20 })
    fails("exponent", generate.zipf, { n = 1, keys = 4, s = -1 })
    fails("sum at most 1", generate.rmat, { scale = 3, a = 0.9, b = 0.9 })
    fails("no such node", function()
        return generate.grid { width = 2 }:levels(4)
    end)
end)

run()
