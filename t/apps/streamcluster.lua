-- What STREAMCLUSTER at size T accesses, in closed form, its published
-- footprints and figures of the original.
--
-- The distances are computed again here, from the same coordinates: a warp
-- takes the side of the nearer and the side of the others where a lane does.
--
-- S: the presets' 17 MB for 16 k points are the coordinates alone.  XL: 1.07 GB
-- are the coordinates, 1.2 GB with the work matrix.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"

local function single(x) return (string.unpack("f", string.pack("f", x))) end

local function counts(p, instance)
    local generate = require "heddle.generate"
    local c = generate.clusters { n = p.num, dim = p.dim, centres = p.centres,
        seed = p.seed }
    local nearer, others, warps = 0, 0, (p.num + 31) // 32
    for _, launch in ipairs(instance.launches) do
        local x = launch.args.x
        for warp = 0, warps - 1 do
            local some, rest = false, false
            for i = 32 * warp, math.min(32 * warp + 31, p.num - 1) do
                local sum = 0
                for d = 0, p.dim - 1 do
                    local diff = single(c.coords[d * p.num + i]
                        - c.coords[d * p.num + x])
                    sum = single(sum + single(diff * diff))
                end
                if sum < c.cost[i] then some = true else rest = true end
            end
            nearer = nearer + (some and 1 or 0)
            others = others + (rest and 1 or 0)
        end
    end
    local all = #instance.launches * warps
    return {
        ["pgain load coord"] = 2 * all * p.dim,
        ["pgain load pt"] = 2 * all + others,
        ["pgain load ctab"] = others,
        ["pgain store sw"] = nearer,
        ["pgain load work"] = nearer + others,
        ["pgain store work"] = nearer + others,
    }
end

local function figures()
    local a = app.get "STREAMCLUSTER"
    local w = a:workload { size = "S", num = 4096, launches = 2 }
    local memory, rows = 0, {}
    for _, r in ipairs(require "heddle.survey".profile(w, { every = 2 })) do
        rows[r.kind .. " " .. (r.buffer or "")] = r
        if r.buffer then memory = memory + r.count end
    end
    local coord = rows["load coord"]
    return {
        { "memory instructions a warp", memory * 512 / coord.count, 517 },
        { "pages of a coordinate", coord.pages, 1 },
        { "memory instructions a dimension", coord.count
            / (coord.count + rows["alu "].count), 0.2 },
    }
end

return {
    counts = counts,
    published = { 18.8, 75, 300, XL = 1200 }, -- MB of S, M, L and XL
    figures = figures,
}
