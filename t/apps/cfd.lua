-- What CFD at size T accesses, in closed form, and its published footprints.
-- From the mesh alone: a warp gathers at a face where one of its elements has
-- a neighbour there.
--
-- SPDX-License-Identifier: MIT

local generate = require "heddle.generate"
local measure = require "t.apps.measure"

local function counts(p, instance)
    local ese, n = instance.b.ese.data, instance.b.areas.count
    local warps, gathers = n // 32, 0
    for face = 0, 3 do
        for first = 0, n - 1, 32 do
            local some = false
            for e = first, first + 31 do
                some = some or ese[face * n + e] >= 0
            end
            gathers = gathers + (some and 5 or 0)
        end
    end
    local want, it = {}, p.iterations * warps
    for _, name in ipairs { "variables", "old", "fluxes" } do
        want[("init_%s store %s"):format(name, name)] = 5 * warps
    end
    want["copy load variables"], want["copy store old"] = 5 * it, 5 * it
    want["step load variables"], want["step load areas"] = 5 * it, it
    want["step store step"] = it
    want["flux load variables"] = 3 * (5 * it + p.iterations * gathers)
    want["flux load ese"], want["flux load normals"] = 12 * it, 36 * it
    want["flux store fluxes"] = 15 * it
    want["time load step"] = 3 * it
    want["time load old"], want["time load fluxes"] = 15 * it, 15 * it
    want["time store variables"] = 15 * it
    return want
end

-- Pages a warp's gather touches at each face of 32 x 32 x 32 cubes, over one
-- warp in seven; the plane begins at a page.
local function pages(window)
    local n = 6 * 32 * 32 * 32
    local m = generate.mesh { nx = 32, window = window, multiple = 192 }
    local mean = {}
    for face = 0, 3 do
        local sum, warps = 0, 0
        for first = 0, n - 1, 7 * 32 do
            local met, some = {}, false
            for e = first, first + 31 do
                local to = m[face * n + e]
                if to >= 0 and not met[to // 1024] then
                    met[to // 1024], some, sum = true, true, sum + 1
                end
            end
            warps = warps + (some and 1 or 0)
        end
        mean[face] = sum / warps
    end
    return mean
end

local function figures()
    local out = {}
    for _, case in ipairs { { 1, 1.04, 1.0, 2.2, 2.2 },
        { 2048, 2.0, 2.0, 4.5, 4.5 }, { 16384, 14, 14, 16.5, 16.5 } } do
        local mean = pages(case[1])
        for face = 0, 3 do
            out[#out + 1] = { ("pages a gather at face %d, window %d")
                :format(face, case[1]), mean[face], case[face + 2] }
        end
    end
    local i = require("heddle.app").get("CFD"):instance "T"
    local seen = measure.walk(i, { max_launches = 6 })
    local n = i.b.areas.count
    out[#out + 1] = { "instructions of init, MAFIA's PTX",
        seen.lanes.init_old / n, 40 }
    out[#out + 1] = { "instructions of step", seen.lanes.step / n, 63 }
    return out
end

return {
    counts = counts,
    figures = figures,
    published = { 25.5, 66, 264 }, -- MB of S, M and L
}
