-- What BFS2 at size T accesses, in closed form, and its published footprints.
-- From the graph alone: a lane of the frontier walks its list, a warp as long
-- as its longest; a step is taken where a neighbour is on a later level.
--
-- SPDX-License-Identifier: MIT

local function counts(p)
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

return {
    counts = counts,
    published = { 2.5, 39, 156 }, -- MB of S, M and L
    share = 0.02, -- the formula has the mean number of edges
}
