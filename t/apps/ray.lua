-- What RAY at size T accesses, from the same scene traced by itself here, in
-- double precision; its published footprints and figures.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function sub(a, b) return { a[1] - b[1], a[2] - b[2], a[3] - b[3] } end
local function along(a, u, s)
    return { a[1] + s * u[1], a[2] + s * u[2], a[3] + s * u[3] }
end
local function dot(a, b) return a[1] * b[1] + a[2] * b[2] + a[3] * b[3] end
local function unit(a) return along({ 0, 0, 0 }, a, 1 / math.sqrt(dot(a, a))) end

local OBJECTS = { { 0, -1.5, 0 }, { -1, 0, -1, 0.5 }, { 1, 0, -1, 0.5 },
    { 0, 0, -2, 0.75 } }

-- The smallest distance ahead at which the ray meets object o, or nil: the
-- textbook's way, by the roots of the quadratic equation.
local function meet(from, u, o)
    if not o[4] then
        local s = (o[2] - from[2]) / u[2]
        return s > 0 and math.abs(u[2]) >= 1e-4 and s or nil
    end
    local back = sub(from, o)
    local half, c = dot(back, u), dot(back, back) - o[4] ^ 2
    local root = half * half - c
    if root < 0 then return nil end
    local near, far = -half - math.sqrt(root), -half + math.sqrt(root)
    if c > 0 then return near > 0 and near or nil end
    return far > 0 and far or nil
end

local function in_shadow(at, to_light)
    local light = { 10, 10, 10 }
    local reach = dot(sub(light, at), sub(light, at))
    for _, o in ipairs(OBJECTS) do
        local s = meet(along(at, to_light, 1e-4), to_light, o)
        if s then
            local p = along(at, to_light, s)
            if dot(p, p) <= reach then return true end
        end
    end
end

-- The bounces of a pixel: for each, whether it is lit.
local function trace(p, x, y)
    local from = { 0, 0.5, 2 }
    local forward = unit { 0, -0.5, -2 }
    local up = unit(sub({ 0, 1, 0 },
        along({ 0, 0, 0 }, forward, forward[2])))
    local pixel, depth = 2 / math.min(p.width, p.height),
        1 / math.tan(math.rad(65) / 2)
    local side = { forward[2] * up[3] - forward[3] * up[2],
        forward[3] * up[1] - forward[1] * up[3],
        forward[1] * up[2] - forward[2] * up[1] }
    local u = along(along(along({ 0, 0, 0 }, forward, depth), side,
        (x - p.width / 2) * pixel), up, (y - p.height / 2) * pixel)
    u = unit(u)
    local list = {}
    while #list < 5 do
        local least, hit
        for _, o in ipairs(OBJECTS) do
            local s = meet(from, u, o)
            if s and s < (least or 10000) then least, hit = s, o end
        end
        if not least then break end
        local at = along(from, u, least)
        local light, back = unit(sub({ 10, 10, 10 }, at)),
            unit(sub(from, at))
        local normal = hit[4] and unit(sub(at, hit)) or { 0, 1, 0 }
        local side_of = dot(normal, back) < 0 and -1 or 1
        list[#list + 1] = dot(normal, light) * side_of > 0
            and not in_shadow(at, light)
        u = unit(sub(along({ 0, 0, 0 }, normal, 2 * dot(normal, back)), back))
        from = along(at, u, 1e-4)
    end
    return list
end

local function counts(p)
    local stores, loads = 0, 0
    for by = 0, p.height // 8 - 1 do
        for bx = 0, p.width // 16 - 1 do
            for w = 0, 3 do
                local most, hit, lit = 0, {}, {}
                for lane = 0, 31 do
                    local list = trace(p, 16 * bx + lane % 16,
                        8 * by + 2 * w + lane // 16)
                    most = math.max(most, #list)
                    for i, is_lit in ipairs(list) do
                        hit[i], lit[i] = true, lit[i] or is_lit
                    end
                end
                local entries = 5 + math.max(most - 1, 0)
                for i in ipairs(hit) do
                    entries = entries + (lit[i] and 2 or 1)
                end
                stores = stores + 4 * entries
                loads = loads + 4 + 8 * math.max(most - 1, 0)
            end
        end
    end
    local warps = p.width * p.height // 32
    return {
        ["render store out"] = 2 * warps, ["render load out"] = warps,
        ["render store local"] = stores, ["render load local"] = loads,
    }, function(_, barriers) equal(barriers.render, warps, "barriers") end
end

-- 956 instructions a pixel were measured; a warp has one page of the image.
local function figures()
    local H = require "heddle"
    local app, survey = require("heddle.app").get "RAY", require "heddle.survey"
    local pages
    for _, r in ipairs(survey.profile(app:workload "S", { every = 8 })) do
        if r.buffer == "out" and r.kind == "load" then pages = r.pages end
    end
    local sim = H.sim { machine = "maxwell", apps = { H.app("RAY") } }
    sim:run()
    return {
        { "instructions a pixel", H.report.counter(sim:results(),
            "core.thread_instructions") / 65536, 956 },
        { "pages of a warp", pages, 1 },
    }
end

return {
    counts = counts,
    figures = figures,
    -- MB of S, M and L: 0.3, 17 and 67 in the table, and 3.7 of local memory
    published = { 0.262 + 3.686, 16.78 + 3.686, 67.1 + 3.686 },
}
