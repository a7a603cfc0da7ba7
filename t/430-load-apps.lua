--[[
430-load-apps.lua - the fourteen applications do what their models say.

Pinned at size T, through the naive twin: every memory instruction of every
kernel and buffer is counted, and the counts are those of the closed forms of
the benchmark (warps x loop rounds x accesses); nothing else is accessed.
Instructions for a unit of work match the measured totals.  Footprints of all
sizes equal the sum of the buffers (T) and the published ones (S, M, L).
]]
local app = require "heddle.app"
local twin = require "heddle.twin"

local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function equal(got, want, what)
    if got ~= want then
        error(("%s: got %s, expected %s"):format(what, tostring(got),
            tostring(want)), 2)
    end
end

-- ---- counting what an instance does ----------------------------------------

-- { ["kernel kind buffer"] = instructions } of memory, and all instructions
-- and barriers of each kernel.
local function count(instance)
    local memory, total, barriers = {}, {}, {}
    twin.walk(instance, function(e)
        total[e.kernel] = (total[e.kernel] or 0) + e.n
        if e.addr then
            local key = e.kernel .. " " .. e.kind .. " " .. e.buffer.name
            memory[key] = (memory[key] or 0) + 1
        elseif e.kind == "barrier" then
            barriers[e.kernel] = (barriers[e.kernel] or 0) + 1
        end
    end)
    return memory, total, barriers
end

local function check_counts(name, expected)
    local instance = app.get(name):instance("T")
    local p = instance.params
    local memory, total, barriers = count(instance)
    local want, more = expected(p, instance)
    for key, n in pairs(want) do equal(memory[key] or 0, n, name .. " " .. key) end
    for key, n in pairs(memory) do equal(n, want[key], name .. " " .. key) end
    if more then more(total, barriers, memory) end
end

-- ---- closed forms ------------------------------------------------------------

local expected = {}

expected["3DS"] = function(p)
    local warps, steps = p.dimx // 32 * p.dimy, p.dimz - 16
    return {
        ["stencil load in"] = warps * (8 + 5 * steps),
        ["stencil load coef"] = warps * 5 * steps,
        ["stencil store out"] = warps * steps,
    }, function(total, barriers)
        equal(barriers.stencil, 2 * warps * steps, "barriers")
        -- 80 a step, the preload and the exit
        equal(total.stencil, warps * (80 * steps + 12 + 8 + 1), "instructions")
    end
end

expected.ATAX = function(p)
    local rows, columns = p.nx // 32, p.ny // 32
    return {
        ["atax1 load tmp"] = rows,
        ["atax1 load A"] = rows * p.ny,
        ["atax1 load x"] = rows * p.ny,
        ["atax1 store tmp"] = rows * p.ny,
        ["atax2 load y"] = columns,
        ["atax2 load A"] = columns * p.nx,
        ["atax2 load tmp"] = columns * p.nx,
        ["atax2 store y"] = columns * p.nx,
    }, function(total)
        local warps = 256 // 32 * ((p.nx + 255) // 256)
        equal(total.atax1, rows * (1 + p.ny * (3 + p.alu))
            + warps * (p.alu + 1), "instructions")
    end
end

-- From the graph alone: a lane of the frontier walks its list, a warp as long
-- as its longest; a step is taken where a neighbour is on a later level.
expected.BFS2 = function(p)
    local generate = require "heddle.generate"
    local g = generate.uniform_graph { n = p.n, lo = p.lo, hi = p.hi,
        seed = p.seed }
    local level, queue = { [0] = 0 }, { 0 }
    local function list(v) return g.nodes[2 * v], g.nodes[2 * v + 1] end
    for _, v in ipairs(queue) do
        local start, degree = list(v)
        for e = start, start + degree - 1 do
            local w = g.edges[e]
            if not level[w] then
                level[w] = level[v] + 1
                queue[#queue + 1] = w
            end
        end
    end
    local depth = level[queue[#queue]]
    local c = { front = 0, rounds = 0, taken = 0, added = 0 }
    for now = 0, depth do
        for warp = 0, p.n // 32 - 1 do
            local longest, front, added = 0, false, false
            local taken = {}
            for v = 32 * warp, 32 * warp + 31 do
                if level[v] == now then
                    local start, degree = list(v)
                    front, longest = true, math.max(longest, degree)
                    for j = 0, degree - 1 do
                        if level[g.edges[start + j]] > now then
                            taken[j] = true
                        end
                    end
                end
                added = added or level[v] == now + 1
            end
            c.front = c.front + (front and 1 or 0)
            c.rounds = c.rounds + longest
            c.added = c.added + (added and 1 or 0)
            for _ in pairs(taken) do c.taken = c.taken + 1 end
        end
    end
    local all = (depth + 1) * (p.n // 32)
    return {
        ["bfs1 load mask"] = all,
        ["bfs1 store mask"] = c.front,
        ["bfs1 load node"] = 2 * c.front + 2 * c.taken,
        ["bfs1 load edge"] = c.rounds,
        ["bfs1 load vis"] = c.rounds,
        ["bfs1 load cost"] = c.taken,
        ["bfs1 store cost"] = c.taken,
        ["bfs1 store upd"] = c.taken,
        ["bfs2 load upd"] = all,
        ["bfs2 store mask"] = c.added,
        ["bfs2 store vis"] = c.added,
        ["bfs2 store over"] = c.added,
        ["bfs2 store upd"] = c.added,
    }
end

expected.BLK = function(p)
    local rounds = (p.n + 31) // 32
    return {
        ["price load S"] = rounds, ["price load X"] = rounds,
        ["price load T"] = rounds, ["price store C"] = rounds,
        ["price store P"] = rounds,
    }, function(total)
        equal(total.price, 59 * rounds + 4 * p.grid * 7, "instructions")
    end
end

expected.BP = function(p)
    local warps = p.n // 2
    return {
        ["forward load input"] = warps, ["forward load w"] = warps,
        ["forward store w"] = warps, ["forward store part"] = warps,
        ["adjust load w"] = warps + 1, ["adjust load delta"] = 2 * warps + 2,
        ["adjust load input"] = 2 * warps,
        ["adjust load oldw"] = 2 * warps + 2,
        ["adjust store w"] = warps + 1, ["adjust store oldw"] = warps + 1,
    }, function(_, barriers)
        equal(barriers.forward, 8 * warps, "barriers")
        equal(barriers.adjust, warps, "barriers")
    end
end

expected.CONS = function(p)
    local across, down = p.width // 64, p.height // 32
    local rows = across * (p.height // 4) * 2
    local columns = p.width // 16 * down * 4
    return {
        ["rows load In"] = rows * 6 - 2 * rows // across,
        ["rows store Buf"] = 4 * rows,
        ["columns load Buf"] = columns * 6 - 2 * columns // down,
        ["columns store Out"] = 4 * columns,
    }, function(_, barriers)
        equal(barriers.rows, rows, "barriers")
        equal(barriers.columns, columns, "barriers")
    end
end

expected.FWT = function(p)
    local n = 1 << p.n
    local passes, warps = (p.n - 11) // 2, n // 128
    local want = { ["modulate load D"] = n // 32, ["modulate load K"] = n // 32,
        ["modulate store D"] = n // 32 }
    for name, times in pairs { D = 2, K = 1 } do
        for _, kind in ipairs { "load", "store" } do
            want["pass_" .. name .. " " .. kind .. " " .. name] =
                4 * warps * passes * times
            want["shared_" .. name .. " " .. kind .. " " .. name] =
                4 * warps * times
        end
    end
    return want, function(total, barriers)
        equal(total.pass_K, warps * passes * (58 + 1), "instructions")
        equal(barriers.shared_K, 7 * warps, "barriers")
    end
end

expected.GUP = function(p)
    local warps = p.threads // 32
    return {
        ["update load start"] = warps,
        ["update atomic Tab"] = 2 * warps * p.updates,
    }, function(total)
        equal(total.update, warps * (21 * p.updates + 8), "instructions")
    end
end

-- Warps and stores by rows and columns: both must meet the chip.
expected.HS = function(p)
    local tiles = (p.n + 11) // 12
    local function one_way(small, from, to, width)
        local hits = 0
        for b = 0, tiles - 1 do
            for first = 0, 15, width do
                local some = false
                for i = math.max(first, from),
                    math.min(first + width - 1, to) do
                    local x = small * b - 2 + i
                    some = some or x >= 0 and x < p.n
                end
                hits = hits + (some and 1 or 0)
            end
        end
        return hits
    end
    local function both(small, from, to)
        return one_way(small, from, to, 16) * one_way(small, from, to, 2)
    end
    local a, b = "hotspot_temp0_2 ", "hotspot_temp1_1 "
    return {
        [a .. "load temp0"] = both(12, 0, 15),
        [a .. "load power"] = both(12, 0, 15),
        [a .. "store temp1"] = both(12, 2, 13),
        [b .. "load temp1"] = both(14, 0, 15),
        [b .. "load power"] = both(14, 0, 15),
        [b .. "store temp0"] = both(14, 1, 14),
    }, function(_, barriers)
        equal(barriers.hotspot_temp0_2, tiles * tiles * 8 * 5, "barriers")
        equal(barriers.hotspot_temp1_1, tiles * tiles * 8 * 3, "barriers")
    end
end

expected.LUD = function(p)
    local b = p.n // 16
    local blocks, squares = 0, 0
    for r = 1, b - 1 do blocks, squares = blocks + r, squares + r * r end
    return {
        ["diagonal load m"] = 16 * b, ["diagonal store m"] = 15 * b,
        ["perimeter load m"] = 48 * blocks,
        ["perimeter store m"] = 31 * blocks,
        ["internal load m"] = 3 * 8 * squares,
        ["internal store m"] = 8 * squares,
    }, function(_, barriers)
        equal(barriers.diagonal, 31 * b, "barriers")
        equal(barriers.perimeter, 2 * blocks, "barriers")
        equal(barriers.internal, 8 * squares, "barriers")
    end
end

expected.MM = function(p)
    local warps, rounds = p.m // 128 * (p.n // 16) * 4, p.k // 8
    return {
        ["sgemm load A"] = 8 * warps * rounds,
        ["sgemm load B"] = warps * rounds,
        ["sgemm load C"] = 16 * warps, ["sgemm store C"] = 16 * warps,
    }, function(total, barriers)
        equal(barriers.sgemm, 2 * warps * rounds, "barriers")
        -- 36 an element of A with its load; 4 more a round
        equal(total.sgemm, warps * (rounds * (8 * 36 + 4) + 16 * 4 + 17),
            "instructions")
    end
end

expected.NN = function(p)
    local i, o = p.images, p.outputs
    return {
        ["layer1 load L1n"] = 6 * i * 6 * 25,
        ["layer1 load L1w"] = 6 * i * 6 * 26,
        ["layer1 store L2n"] = 6 * i * 6,
        ["layer2 load L2n"] = 50 * i * 150,
        ["layer2 load L2w"] = 50 * i * 151,
        ["layer2 store L3n"] = 50 * i,
        ["layer3 load L3n"] = o * i * 1250,
        ["layer3 load L3w"] = o * i * 1251,
        ["layer3 store L4n"] = o * i,
        ["layer4 load L4n"] = 10 * i * o,
        ["layer4 load L4w"] = 10 * i * (o + 1),
        ["layer4 store L5n"] = 10 * i,
    }
end

expected.RED = function(p)
    local warps = p.grid * 8
    local rounds = p.n // (512 * p.grid)
    return {
        ["reduce load in"] = p.launches * warps * rounds * 2,
        ["reduce store out"] = p.launches * p.grid,
    }, function(_, barriers)
        equal(barriers.reduce, p.launches * warps * 3, "barriers")
    end
end

expected.TRD = function(p)
    local want = {}
    for set, times in pairs { [0] = 2, [1] = 1 } do
        for name, kind in pairs { A = "load", B = "load", C = "store" } do
            want["triad" .. set .. " " .. kind .. " " .. name .. set] =
                times * p.n // 32
        end
    end
    return want, function(total)
        equal(total.triad0, 10 * (2 * p.n // 32), "instructions")
    end
end

for _, name in ipairs(app.names()) do
    test(name .. ": counts at size T", function()
        check_counts(name, assert(expected[name]))
    end)
end

-- ---- footprints -----------------------------------------------------------------

local function bytes_of(instance)
    local sum = 0
    for _, b in ipairs(instance.buffers) do sum = sum + b.count * b.width end
    return sum
end

test("footprints at T equal the buffers", function()
    for _, name in ipairs(app.names()) do
        local a = app.get(name)
        local instance = a:instance("T")
        local want = a.footprint(instance.params)
        if name == "BFS2" then -- the formula has the mean number of edges
            local d = bytes_of(instance) / want
            assert(d > 0.98 and d < 1.02, "BFS2: " .. d)
        else
            equal(bytes_of(instance), want, name)
        end
    end
end)

-- MB as the papers' preset tables have them.
local published = {
    ["3DS"] = { 33.6, 134, 246 }, ATAX = { 16.8, 67, 268 },
    BFS2 = { 2.5, 39, 156 }, BLK = { 40, 80, 320 }, BP = { 9.4, 66, 302 },
    CONS = { 56.6, 113, 302 }, FWT = { 67.1, 67.1, 268 },
    GUP = { 4.7, 67, 269 }, HS = { 12.6, 64, 201 }, LUD = { 16.8, 67, 268 },
    MM = { 12.6, 50, 134 }, NN = { 0.9, 27, 209 }, RED = { 1.05, 34, 67 },
    TRD = { 100.7, 101, 201 },
}

test("footprints at S, M and L are the published ones", function()
    for name, mb in pairs(published) do
        for i, size in ipairs { "S", "M", "L" } do
            local s = app.size(app.get(name), size)
            local ratio = s.footprint / (mb[i] * 1e6)
            assert(ratio > 0.98 and ratio < 1.02,
                ("%s %s: %.1f MB, published %.1f"):format(name, size,
                    s.footprint / 1e6, mb[i]))
        end
    end
end)

test("a cut run is said in words, a full one is not", function()
    equal(app.size(app.get "MM", "S").truncated, nil, "MM S")
    equal(app.size(app.get "LUD", "M").truncated,
        "the first 8 of 255 steps", "LUD M")
    equal(app.size(app.get "ATAX", "L").truncated, nil, "ATAX L")
end)

test("names: any case, the nearest one, a description", function()
    equal(app.get("atax").name, "ATAX", "case")
    equal(select(2, pcall(app.get, "GUPS")):match("did you mean (%w+)"), "GUP",
        "nearest")
    local lines = app.explain("3ds")
    equal(lines[1], "3DS (application, CUDA)", "first line")
    equal(#lines, 7, "lines")
    equal(app.explain("NOPE"), nil, "unknown")
    equal(#app.list(), 14, "list")
end)

-- ---- run --------------------------------------------------------------------------

print("1.." .. #tests)
for i, t in ipairs(tests) do
    local ok, err = pcall(t[2])
    print((ok and "ok " or "not ok ") .. i .. " - " .. t[1])
    if not ok then print("# " .. tostring(err):gsub("\n", "\n# ")) end
end
