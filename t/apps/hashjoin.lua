-- What HASHJOIN at size T accesses, in closed form, and its footprints.
--
-- The table is built again here, warp after warp and lane after lane: a step of a warp
-- is a load of the lanes that still look for a place.  Keys are unique, so the table
-- holds n of them at the end, and each tuple that probes finds one.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local FACTOR = 123456789123456789

-- The order of keys = computed.
local function permuted(i, n, seed)
    local half = 1
    while 1 << 2 * half < n do half = half + 1 end
    local x = i * 0x9e3779b97f4a7c15 + seed * 0xbf58476d1ce4e5b9 + 1 & n - 1
    x = x ~ x >> half
    x = x * 0x9e3779b97f4a7c15 + seed * 0xbf58476d1ce4e5b9 + 2 & n - 1
    x = x ~ x >> half
    return x * 0x94d049bb133111eb & n - 1
end

local function counts(p, instance)
    local data = {}
    for _, b in ipairs(instance.buffers) do data[b.name] = b end
    local mask = data.table.count - 1
    local function key_of(name, i)
        if data[name].data then return data[name].data(i) end
        return permuted(i, p.n, p.seed + (name == "skey" and 1 or 0)) + 1
    end
    local held, c = {}, {}
    local function add(key) c[key] = (c[key] or 0) + 1 end
    local found, compared = 0, 0
    for warp = 0, (p.n - 1) // 32 do
        local lanes = {}
        for i = 32 * warp, math.min(32 * warp + 31, p.n - 1) do
            local key = key_of("rkey", i)
            lanes[#lanes + 1] = { key = key, at = key * FACTOR & mask - 1 }
        end
        add "build load rkey"
        add "build load rpay"
        while #lanes > 0 do
            add "build load table"
            local empty = {}
            for _, l in ipairs(lanes) do
                if not held[l.at] then empty[#empty + 1] = l end
            end
            compared = compared + #empty
            if #empty > 0 then add "build atomic table" end
            local placed = false
            for _, l in ipairs(empty) do
                if not held[l.at] then
                    held[l.at], l.done, placed = l.key, true, true
                end
            end
            if placed then add "build store table" end
            local left = {}
            for _, l in ipairs(lanes) do
                l.at = l.at + 2 & mask
                if not l.done then left[#left + 1] = l end
            end
            lanes = left
        end
    end
    for warp = 0, (p.n - 1) // 32 do
        local lanes = {}
        for i = 32 * warp, math.min(32 * warp + 31, p.n - 1) do
            local key = key_of("skey", i)
            lanes[#lanes + 1] = { key = key, at = key * FACTOR & mask - 1 }
        end
        add "probe load skey"
        while #lanes > 0 do
            add "probe load table"
            local left, hit = {}, false
            for _, l in ipairs(lanes) do
                local slot = held[l.at]
                hit = hit or slot == l.key
                found = found + (slot == l.key and 1 or 0)
                l.at = l.at + 2 & mask
                if slot then left[#left + 1] = l end
            end
            if hit then
                add "probe load spay"
                add "probe load sums"
                add "probe store sums"
            end
            lanes = left
        end
    end
    local keys = 0
    for _ in pairs(held) do keys = keys + 1 end
    kit.equal(keys, p.n, "keys that the table holds")
    kit.equal(found, p.n, "tuples that find theirs")
    assert(compared >= p.n)
    return c
end

-- Pages of a load of the table, and loads a warp: those that a sketch of the program had
-- when its text was read (14.3 and 5.8, 26.2 and 1.2; 21.9 and 9.8, 22.1 and 2.9).
local function figures()
    local out = {}
    for _, of in ipairs {
        { 1 << 14, "build", 14.3, 5.8 }, { 1 << 17, "build", 26.2, 1.2 },
        { 1 << 14, "probe", 21.9, 9.8 }, { 1 << 17, "probe", 22.1, 2.9 },
    } do
        local r = kit.profile("HASHJOIN", { n = of[1] })[of[2] .. " load table"]
        local what = ("%s of %d: "):format(of[2], of[1])
        out[#out + 1] = { what .. "pages of a load of the table", r.pages, of[3] }
        out[#out + 1] = { what .. "such loads a warp", r.count * 32 / of[1], of[4] }
    end
    return out
end

return {
    counts = counts,
    figures = figures,
    others = {
        { n = 1000, load = 90 },
        { n = 2048, skew = 100 },
        { n = 512, keys = "computed", seed = 7 },
    },
    permuted = permuted,
    published = { 18.9, 75.5, 1208, XL = 4832 }, -- 64 bytes a tuple and 8 of sums: 72
}
