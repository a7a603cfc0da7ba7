-- What GNN at size T accesses, in closed form, and its footprints.
--
-- The sample is drawn again here, node by node: a list that is longer than the picks
-- has an atomic for each 32 of its later edges of which one takes a place.  A node that
-- is gathered has a load of its number and dim / 128 of features.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function ceil(a, b) return (a + b - 1) // b end

local function mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return (x ~ (x >> 31)) >> 33
end

-- Of the graph: where a list begins, and the end of an edge.
local function graph(p)
    local n = 1 << p.scale
    if p.graph == "rmat" then
        local g = require("heddle.generate").rmat { scale = p.scale,
            edges = p.ef * n, a = 0.57, b = 0.19, c = 0.19, permute = true,
            seed = p.seed }
        return function(v) return g.start[v] end, function(e) return g.edges[e] end
    end
    local all, part = 0.0, {}
    for i = 1, 64 do
        part[i - 1], all = all, all + 1 / i
    end
    return function(v)
        return v // 64 * 64 * p.ef + math.floor(part[v % 64] / all * 64 * p.ef)
    end, function(e)
        local u = mix(e + (p.seed << 40))
        return ((u * u) >> (62 - p.scale)) * 2654435761 & n - 1
    end
end

local function counts(p)
    local c, n = {}, 1 << p.scale
    local function add(key, k) c[key] = (c[key] or 0) + k end
    local first, ending = graph(p)
    local nodes, met = {}, {}
    for i = 0, p.batch - 1 do
        nodes[i + 1] = (i * 2654435761 + p.seed) % n
        met[nodes[i + 1]] = true
    end
    for hop, fan in ipairs { p.fan1, p.fan2, p.fan3 } do
        if fan == 0 then break end
        local rows, new = #nodes, {}
        add("degree load nodes", ceil(rows, 32))
        add("degree load indptr", 2 * ceil(rows, 32))
        add("degree store degree", ceil(rows, 32) + 1)
        add("sample load nodes", 4 * rows)
        add("sample load indptr", 8 * rows)
        add("sample load offsets", 4 * rows)
        for i, v in ipairs(nodes) do
            local from = first(v)
            local number, chosen = first(v + 1) - from, {}
            local groups = ceil(math.min(number, fan), 32)
            for k = 0, math.min(number, fan) - 1 do chosen[k] = k end
            if number > fan then
                add("sample store picked", groups)
                add("sample load picked", groups)
                for at = fan, number - 1, 32 do
                    local some = false
                    for k = at, math.min(at + 31, number - 1) do
                        local place = mix((i - 1 << 24) + k
                            + (hop + 16 * p.seed << 56)) % (k + 1)
                        if place < fan then
                            some, chosen[place] = true, math.max(chosen[place], k)
                        end
                    end
                    add("sample atomic picked", some and 1 or 0)
                end
            end
            add("sample load indices", groups)
            for _, name in ipairs { "rows", "columns", "picked" } do
                add("sample store " .. name, groups)
            end
            for k = 0, math.min(number, fan) - 1 do
                local w = ending(from + chosen[k])
                if not met[w] then
                    met[w], new[#new + 1] = true, w
                end
            end
        end
        table.move(new, 1, #new, #nodes + 1, nodes)
    end
    add("gather load nodes", #nodes)
    add("gather load features", #nodes * ceil(p.dim, 32 * p.vec))
    add("gather store out", #nodes * ceil(p.dim, 32 * p.vec))
    return c
end

local function figures()
    local function of(vec)
        return kit.measure(app.get("GNN"):instance { size = "T", vec = vec,
            align = 4096 })
    end
    local rows, narrow = of(4), of(1)
    return {
        { "lines of a row of 512 bytes", rows["gather load features"].lines, 4 },
        { "pages of a row of 512 bytes", rows["gather load features"].pages, 1 },
        { "lines, 4 bytes a lane", narrow["gather load features"].lines, 1 },
        { "loads of features a node, 4 bytes a lane",
            narrow["gather load features"].count
            / narrow["gather load nodes"].count, 4 },
    }
end

return {
    counts = counts,
    others = {
        { graph = "hash", scale = 8, fan3 = 3 },
        { dim = 100, batch = 5, fan1 = 40, fan2 = 0 },
        { vec = 2, scale = 7, id_bytes = 4, place = "direct", ef = 3, seed = 5 },
    },
    figures = figures,
    -- 656 bytes a node and 512 of those gathered: 656 n + (520 + 96) most, about
    published = { 10.7 + 4.4 + 0.2, 86 + 34.6 + 2.1, 608 + 537 + 17,
        XL = 5503 + 554 + 35 },
}
