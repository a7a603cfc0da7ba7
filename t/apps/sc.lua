-- What SC at size T accesses: the kernel worked out in plain Lua between the
-- calls of the application's host, and its published footprints.  The host is
-- held to what a clustering must keep: each point has the cost of its own
-- centre, centres are open ones, and the cost of all never grows.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function single(x) return (string.unpack("<f", string.pack("<f", x))) end

-- Square distance of points i and x, in single precision.
local function distance(p, coord, i, x)
    local sum = 0
    for d = 0, p.dim - 1 do
        local off = single(coord[d * p.n + i] - coord[d * p.n + x])
        sum = single(sum + single(off * off))
    end
    return sum
end

local function weight_of(pt, i) return pt[8 * i] end
local function assign_of(pt, i) return pt[8 * i + 4] // 1 | 0 end
local function cost_of(pt, i) return pt[8 * i + 6] end

-- One launch: fills wm and sw, adds to the counts.
local function pgain(p, m, x, K, c)
    for warp = 0, p.n // 32 - 1 do
        local switch, stay = false, false
        for i = 32 * warp, 32 * warp + 31 do
            local new = single(distance(p, m.coord, i, x)
                * weight_of(m.pt, i))
            local old = cost_of(m.pt, i)
            if new < old then
                switch, m.sw[i] = true, 1
                m.wm[i * (K + 1) + K] = single(new - old)
            else
                stay = true
                m.wm[i * (K + 1) + m.ctab[assign_of(m.pt, i)]] =
                    single(old - new)
            end
        end
        c.switch = c.switch + (switch and 1 or 0)
        c.stay = c.stay + (stay and 1 or 0)
    end
end

-- The cost of the clustering, and that it is one.
local function total(p, m, s)
    local sum, open = p.price * p.n * #s.centres, {}
    for _, c in ipairs(s.centres) do open[c] = true end
    for i = 0, p.n - 1 do
        local a = assign_of(m.pt, i)
        assert(open[a], "assigned to a closed centre")
        assert(math.abs(cost_of(m.pt, i) - distance(p, m.coord, i, a)) < 1e-4,
            "the cost of another centre")
        sum = sum + cost_of(m.pt, i)
    end
    return sum
end

-- A device of plain tables for the host.
local function device_of(instance)
    local m = { wm = {}, sw = {}, ctab = {}, pt = {}, coord = {} }
    local p, pt = instance.params, instance.b.pt.data
    for i = 0, p.n * 8 - 1 do m.pt[i] = string.unpack("<f", pt, 4 * i + 1) end
    for i = 0, p.n * p.dim - 1 do m.coord[i] = instance.b.coord.data[i] end
    return m, { b = instance.b, p = p, kernels = { pgain = "pgain" },
        launched = 0,
        read = function(b, i) return m[b.name][i] or 0 end,
        write = function(b, i, x)
            m[b.name][i] = b.type == "f32" and single(x) or x
        end,
        fill = function(b) m[b.name] = {} end }
end

local function counts(p, instance)
    local m, device = device_of(instance)
    local s, c, before, opened = {}, { switch = 0, stay = 0 }, nil, 0
    while true do
        local launch = instance.host(device, s)
        local now = total(p, m, s)
        assert(not before or now <= before + 1e-3, "the cost grows")
        opened = opened + (before and now < before and 1 or 0)
        before = now
        if not launch then break end
        pgain(p, m, launch.args.x, launch.args.K, c)
        device.launched = device.launched + 1
    end
    equal(device.launched, p.launches, "launches")
    assert(opened > 0, "no centre was opened")
    local warps, blocks = p.launches * (p.n // 32), p.launches * (p.n // 512)
    return {
        ["pgain load coord"] = p.dim * (warps + blocks),
        ["pgain load pt"] = 2 * warps + c.stay,
        ["pgain load ctab"] = c.stay,
        ["pgain store sw"] = c.switch,
        ["pgain load wm"] = c.switch + c.stay,
        ["pgain store wm"] = c.switch + c.stay,
    }, function(all, barriers)
        equal(barriers.pgain, warps, "barriers")
        -- 9 a dimension, 7 to stage one
        local own = warps * (9 * p.dim + 47) + blocks * (7 * p.dim + 14)
        if p.code == "sass" then -- 73 and 42 for 16
            own = warps * (p.dim // 16 * 73 + 51)
                + blocks * (p.dim // 16 * 42 + 17)
        end
        equal(all.pgain, own + 12 * c.switch + 13 * c.stay, "instructions")
    end
end

-- pt has 32 bytes a point, coord is read line by line.
local function figures()
    local survey = require "heddle.survey"
    local w = require("heddle.app").get("SC"):workload { size = "T" }
    local row = {}
    for _, r in ipairs(survey.profile(w)) do
        row[r.kind .. " " .. (r.buffer or "")] = r
    end
    return {
        { "lines of pt a warp", row["load pt"].lines, 8 },
        { "pages of pt a warp", row["load pt"].pages, 1 },
        { "pages of coord a warp", row["load coord"].pages, 1 },
    }
end

return {
    counts = counts,
    others = { { code = "sass" } },
    published = { 75, 75, 150 }, -- MB of S, M and L
    figures = figures,
}
