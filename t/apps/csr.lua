-- What the closed forms of Pannotia's programs have in common.
--
-- SPDX-License-Identifier: MIT
local M = {}

-- The graph of parameters p.
function M.graph(p)
    local generate = require "heddle.generate"
    local w = p.width > 0 and p.width or math.tointeger(p.n ^ .5 // 1)
    if p.graph == "random" then
        return generate.random_graph { n = p.n, seed = p.seed,
            edges = math.tointeger(p.n * 6.5 // 2) }
    end
    return generate.grid { width = w, height = p.n // w, seed = p.seed,
        edges = p.graph == "roads" and math.tointeger(p.n * 2.8 // 2) or 0 }
end

-- fn(first, last) for each warp of 32 of n nodes.
function M.warps(n, fn)
    for first = 0, n - 1, 32 do fn(first, math.min(first + 31, n - 1)) end
end

-- The longest list among the nodes first .. last for which `of` holds, and
-- whether there is one.
function M.longest(g, first, last, of)
    local longest, some = 0, false
    for v = first, last do
        if of(v) then
            some = true
            longest = math.max(longest, g.start[v + 1] - g.start[v])
        end
    end
    return longest, some
end

-- Lanes and pages of the gathers by `kernel` from the buffer `what`, of which
-- each warp loads its own 32 elements once, too, as it loads row[] twice; and
-- pages of its accesses to the lists.
function M.gathers(workload, options, kernel, what)
    local rows = {}
    for _, r in ipairs(require("heddle.survey").profile(workload, options)) do
        if r.kernel == kernel and r.kind == "load" then rows[r.buffer] = r end
    end
    local all, own = rows[what], rows.row.count / 2
    local gathers = all.count - own
    return {
        lanes = (all.count * all.lanes - own * rows.row.lanes) / gathers,
        pages = (all.count * all.pages - own) / gathers,
        list = rows.col.pages,
    }
end

-- The gathers of an application of Pannotia's on the random graph of
-- coAuthorsDBLP's size, and on a square grid of the given width; from a sample of
-- the blocks of `launches` launches (not every 16th block: these begin pages).
function M.both(name, width, launches, kernel, what)
    local function gathers(params)
        return M.gathers(require("heddle.app").get(name):workload(params),
            { launches = launches, every = 13 }, kernel, what)
    end
    return gathers { graph = "random", n = 299067 },
        gathers { graph = "grid", n = width * width }
end

return M
