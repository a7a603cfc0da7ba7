-- What HPCG at size T accesses, in closed form, and its footprints.
--
-- A group of 32 rows has 27 loads of columns, and of values and of z one for each of its
-- 26 or 27 points of which some lane's is inside the grid.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function ceil(a, b) return (a + b - 1) // b end

-- Which row of a permuted colour is at each place.
local function permuted(bits)
    local fold, mask, back = (bits + 1) // 2, (1 << bits) - 1, {}
    for x = 0, mask do
        local at = x
        if bits > 1 then
            at = at ~ (at >> fold)
            at = at * 0x9e3779b97f4a7c15 & mask
            at = at ~ (at >> fold)
            at = at * 0xbf58476d1ce4e5b9 & mask
            at = at ~ (at >> fold)
        end
        assert(not back[at], "two rows in one place")
        back[at] = x
    end
    return back
end

-- Loads of values of the groups of rows first .. last of a grid of n^3: of points of
-- which a lane's is inside.
local function inside(p, n, first, last, own)
    local half, sum = n // 2, 0
    local size, bits = half ^ 3 // 1 | 0, 0
    while 1 << bits < half do bits = bits + 1 end
    local back = p.shuffle == 1 and permuted(3 * bits)
    for group = first, last, 32 do
        for k = 0, 26 do
            local some = false
            for row = group, math.min(group + 31, last) do
                local c, at = row // size, row % size
                if back then
                    at = back[at] ~ (c * 0x2545f491 & (1 << 3 * bits) - 1)
                end
                local x = 2 * (at % half) + c % 2 + k % 3 - 1
                local y = 2 * (at // half % half) + c // 2 % 2 + k // 3 % 3 - 1
                local z = 2 * (at // (half * half)) + c // 4 + k // 9 - 1
                some = some or x >= 0 and x < n and y >= 0 and y < n and z >= 0
                    and z < n
            end
            if some and (own or k ~= 13) then sum = sum + 1 end
        end
    end
    return sum
end

local function counts(p)
    local c = {}
    local function add(key, n) c[key] = (c[key] or 0) + n * p.iterations end
    local function vector(kernel, m, loads, store)
        for _, name in ipairs(loads) do add(kernel .. " load " .. name, ceil(m, 32)) end
        if store then add(kernel .. " store " .. store, ceil(m, 32)) end
    end
    local function product(kernel, n, l, from)
        local m = n ^ 3 // 1 | 0
        local points = inside(p, n, 0, m - 1, true)
        add(kernel .. " load col" .. l, 27 * ceil(m, 32))
        add(kernel .. " load val" .. l, points)
        add(kernel .. " load " .. from, points)
        add(kernel .. " store Az" .. l, ceil(m, 32))
    end
    for l = 0, p.levels - 1 do
        local n = p.n >> l
        local m = n ^ 3 // 1 | 0
        local smooth, sweeps = "symgs" .. l, l == p.levels - 1 and 2 or 4
        for colour = 0, 7 do
            local size = m // 8
            local points = inside(p, n, colour * size, (colour + 1) * size - 1)
            local warps = ceil(size, 32)
            add(smooth .. " load r" .. l, sweeps * warps)
            add(smooth .. " load col" .. l, sweeps * 27 * warps)
            add(smooth .. " load val" .. l, sweeps * points)
            add(smooth .. " load z" .. l, sweeps * points)
            add(smooth .. " load diag" .. l, sweeps * warps)
            add(smooth .. " store z" .. l, sweeps * warps)
        end
        if l < p.levels - 1 then
            product("residual" .. l, n, l, "z" .. l)
            vector("restrict" .. l, m // 8, { "map" .. l, "r" .. l, "Az" .. l },
                "r" .. l + 1)
            vector("prolong" .. l, m // 8, { "map" .. l, "z" .. l + 1, "z" .. l },
                "z" .. l)
        end
    end
    local m = p.n ^ 3 // 1 | 0
    vector("rz", m, { "r0", "z0" })
    vector("direction", m, { "z0", "p" }, "p")
    product("spmv", p.n, 0, "p")
    vector("pAp", m, { "p", "Az0" })
    vector("step", m, { "p", "x" }, "x")
    vector("residue", m, { "Az0", "r0" }, "r0")
    vector("rr", m, { "r0" })
    for _, name in ipairs { "rz", "pAp", "rr" } do
        add(name .. " atomic sum", ceil(m, 256))
    end
    return c
end

-- A colour of 32^3, 128 warps: what was counted when the program's text was read.
local function figures()
    local rows = kit.profile("HPCG", { n = 32, levels = 1 })
    local random = kit.profile("HPCG", { n = 64, levels = 1, shuffle = 1 })
    local z = rows["symgs0 load z0"]
    return {
        { "loads of columns of a colour", rows["symgs0 load col0"].count / 16, 3456 },
        { "loads of values of a colour", rows["symgs0 load val0"].count / 16, 3256 },
        { "loads of z of a colour", z.count / 16, 3256 },
        { "lines of a load of z", z.lines, 1.96 },
        { "pages of a load of z", z.pages, 1 },
        -- 64 pages a colour; of 26 points some are outside for a lane in 64
        { "pages of a load of z, shuffled", random["symgs0 load z0"].pages,
            64 * (1 - (1 - 1 / 64) ^ random["symgs0 load z0"].lanes) },
        { "lines of a load of columns", rows["symgs0 load col0"].lines, 1 },
    }
end

return {
    counts = counts,
    others = {
        { n = 4, levels = 1, shuffle = 1 },
        { n = 6, levels = 1, iterations = 2 },
    },
    figures = figures,
    -- 372 a row, and 360 of the coarser ones
    published = { 12.2 + 1.7, 97.5 + 13.5, 1111 + 154, XL = 6241 + 862 },
}
