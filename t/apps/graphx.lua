-- What GRAPHX at size T accesses, in closed form, and its footprints.
--
-- A vertex that is reached has two loads of rows; with groups of 32 a load of edges
-- for each 32 from the aligned 128 bytes in which its list begins.  Stores are those of
-- vertices that take their turns in order.
--
-- SPDX-License-Identifier: MIT

local function data(instance, name)
    for _, b in ipairs(instance.buffers) do
        if b.name == name then
            return b
        end
    end
end

-- The graph that is computed, as two tables.
local function computed(p)
    local all, part, each = 0.0, {}, 2 * p.ef
    for i = 1, 64 do
        part[i - 1], all = all, all + 1 / i
    end
    local function index(fn)
        return setmetatable({}, { __index = function(_, i) return fn(i) end })
    end
    return { start = index(function(v)
        return v // 64 * 64 * each + math.floor(part[v % 64] / all * 64 * each)
    end), edges = index(function(e)
        local x = (e + (p.seed << 40)) * 0x9e3779b97f4a7c15
        x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
        x = (x ~ (x >> 27)) * 0x94d049bb133111eb
        local u = (x ~ (x >> 31)) >> 33
        return ((u * u) >> (62 - p.scale)) * 2654435761 & (1 << p.scale) - 1
    end) }
end

local function counts(p, instance)
    local n = 1 << p.scale
    local g = p.graph == "hash" and computed(p)
        or require("heddle.generate").rmat { scale = p.scale,
            edges = p.ef << p.scale, a = 0.57, b = 0.19, c = 0.19, both = true,
            permute = true, seed = p.seed }
    local start, edges = g.start, g.edges
    assert(data(instance, "row").count == n + 1)
    local label, now = {}, {}
    for v = 0, n - 1 do
        if start[v + 1] > start[v] then
            label[v], now = 0, { v }
            break
        end
    end
    local c = { ["search load label"] = 0, ["search load row"] = 0,
        ["search load edge"] = 0, ["search store label"] = 0,
        ["search store changed"] = 0 }
    local function add(key, k) c["search " .. key] = c["search " .. key] + k end
    local lanes = p.kernel == "baseline" and 1 or 32
    local level = 0
    -- one step of a group: the ends that its lanes see at once
    local function step(ends, reached)
        add("load edge", 1)
        add("load label", 1)
        local new = {}
        for _, w in ipairs(ends) do
            if not label[w] then new[#new + 1] = w end
        end
        for _, w in ipairs(new) do
            if not label[w] then
                label[w] = level + 1
                reached[#reached + 1] = w
            end
        end
        if #new > 0 then
            add("store label", 1)
            add("store changed", 1)
        end
    end
    repeat
        local reached, current = {}, {}
        for _, v in ipairs(now) do current[v] = true end
        add("load label", n // (lanes == 1 and 32 or 1))
        if lanes == 32 then
            for v = 0, n - 1 do
                if current[v] then
                    add("load row", 2)
                    for i = start[v] - start[v] % 16, start[v + 1] - 1, 32 do
                        local ends = {}
                        for k = math.max(i, start[v]),
                            math.min(i + 31, start[v + 1] - 1) do
                            ends[#ends + 1] = edges[k]
                        end
                        if #ends > 0 then step(ends, reached) end
                    end
                end
            end
        else
            for warp = 0, n // 32 - 1 do
                local some, longest = {}, 0
                for v = 32 * warp, 32 * warp + 31 do
                    if current[v] then
                        some[#some + 1] = v
                        longest = math.max(longest, start[v + 1] - start[v])
                    end
                end
                add("load row", #some > 0 and 2 or 0)
                for k = 0, longest - 1 do
                    local ends = {}
                    for _, v in ipairs(some) do
                        if start[v] + k < start[v + 1] then
                            ends[#ends + 1] = edges[start[v] + k]
                        end
                    end
                    step(ends, reached)
                end
            end
        end
        level, now = level + 1, reached
    until #reached == 0
    return c
end

return {
    counts = counts,
    less = { scale = 9 },
    others = {
        { kernel = "chunk", edge_bytes = 4, scale = 8 },
        { kernel = "baseline", scale = 8 },
        { place = "direct", ef = 3, scale = 8 },
        { graph = "hash", scale = 9 },
    },
    -- 12 bytes a vertex and 32 edges of 8 bytes (L: of 4)
    published = { 4.39, 70.3, 587, XL = 4496 },
}
