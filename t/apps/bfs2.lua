-- What BFS2 at size T accesses, in closed form, and its published footprints.
-- From the graph alone: a lane of the frontier walks its list, a warp as long
-- as its longest; a step is taken where a neighbour is on a later level.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

-- The level of each node that node 0 leads to, and the highest.
local function levels(g, list)
    local level, queue = { [0] = 0 }, { 0 }
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
    return level, level[queue[#queue]]
end

local function counts(p)
    local generate = require "heddle.generate"
    local g = generate.uniform_graph { n = p.n, lo = p.lo, hi = p.hi,
        seed = p.seed }
    local function list(v) return g.nodes[2 * v], g.nodes[2 * v + 1] end
    local level, depth = levels(g, list)
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
    }, function(total)
        -- 2 of 11 instructions for an edge are memory's, 7 of 26 where it
        -- leads to a new node; bfs2 has 28
        equal(total.bfs1, all * 15 + c.front * 16 + c.rounds * 11
            + c.taken * 15, "instructions of bfs1")
        equal(total.bfs2, all * 15 + c.added * 13, "instructions of bfs2")
    end
end

-- Pages of cost[] for every neighbour, as the published mean counts them,
-- visited or not: those of addresses four times as far apart as in vis[].
local function cost_pages(params)
    local survey = require "heddle.survey"
    local w = require("heddle.app").get("BFS2"):workload(params)
    local vis = survey.buffers(w)[5]
    assert(vis.name == "vis", "fifth buffer")
    local gathers, pages = 0, 0
    survey.each(w, function(e)
        if e.kind ~= "load" or e.kernel ~= "bfs1" then return end
        local seen, n = {}, 0
        for _, at in pairs(e.addr) do
            local v = at - vis.base
            if v < 0 or v >= vis.bytes then return end
            local page = 4 * v >> 12
            if not seen[page] then seen[page], n = true, n + 1 end
        end
        gathers, pages = gathers + 1, pages + n
    end)
    return pages / gathers
end

local function edges(params)
    return require("heddle.app").get("BFS2"):instance(params).b.edge.count
end

-- The (5,10) graph of MASK's size and the (1,5) graph that stands for ISPASS'
-- graph65536; instructions of MAFIA's run of the lost graph32k500kedges.
local function figures()
    local other = { size = "S", n = 65536, lo = 1, hi = 5 }
    local rows = kit.profile("BFS2", { size = "S" })
    return {
        { "directed edges, (5,10)", edges { size = "S" }, 490768 },
        { "lanes of an edge, (5,10)", rows["bfs1 load edge"].lanes, 8.0 },
        { "pages of the lists", rows["bfs1 load edge"].pages, 1.27 },
        { "pages of vis", rows["bfs1 load vis"].pages, 3.8 },
        { "pages of cost", cost_pages { size = "S" }, 6.2 },
        { "instructions a node", kit.threads("BFS2", { size = "S" })[1]
            / 32768, 408 },
        { "directed edges, (1,5)", edges(other), 393216 },
        { "lanes of an edge, (1,5)",
            kit.profile("BFS2", other)["bfs1 load edge"].lanes, 5.5 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 2.5, 39, 156 }, -- MB of S, M and L
    share = 0.02, -- the formula has the mean number of edges
}
