-- What LUH at size T accesses, kernel by kernel as the source has it, and its
-- published footprints and figures.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

-- { kernel, units, loads, stores }: e elements, n nodes, c corners (a warp has
-- one of 32 elements).
local CONTIGUOUS = {
    { "initStress", "e", "p q", "sigxx sigyy sigzz" },
    { "integrateStress", "e", "sigxx sigyy sigzz", "determ" },
    { "addForces", "n", "nodeElemCount", "fx fy fz" },
    { "hgControl", "c", "nodelist x y z volo v",
        "dvdx dvdy dvdz x8 y8 z8 determ" },
    { "fbHourglass", "c", "determ x8 y8 z8 dvdx dvdy dvdz ss elemMass "
        .. "nodelist xd yd zd", "fxe2 fye2 fze2" },
    { "addForces2", "n", "nodeElemCount fx fy fz", "fx fy fz" },
    { "accel", "n", "fx fy fz nodalMass", "xdd ydd zdd" },
    { "velocity", "n", "xd yd zd xdd ydd zdd", "xd yd zd" },
    { "position", "n", "x y z xd yd zd", "x y z" },
    { "kinematics", "e", "volo v", "vnew delv arealg dxx dyy dzz" },
    { "lagrange2", "e", "dxx dyy dzz", "vdov dxx dyy dzz" },
    { "monoQgrad", "e", "volo vnew",
        "delx_zeta delv_zeta delx_xi delv_xi delx_eta delv_eta" },
    { "monoQregion", "e", "matElemlist elemBC vdov delx_xi delx_eta delx_zeta "
        .. "elemMass volo vnew", "qq ql" },
    { "matProps", "e", "matElemlist vnew", "vnewc" },
    { "eos1", "e", "matElemlist e delv p q vnewc vnewc vnewc delvc qq ql",
        "e_old delvc p_old q_old comp compHalf qq_old ql_old work" },
    { "energy1", "e", "e_old delvc p_old q_old work", "e_new" },
    { "pressure1", "e", "compHalf e_new vnewc", "bvc pbvc pHalf" },
    { "energy2", "e", "compHalf delvc pbvc e_new bvc pHalf ql_old qq_old "
        .. "e_new p_old q_old pHalf work", "q_new e_new" },
    { "pressure2", "e", "comp e_new vnewc", "bvc pbvc p_new" },
    { "energy3", "e", "delvc pbvc e_new vnewc bvc p_new ql_old qq_old e_new "
        .. "p_old q_old pHalf q_new p_new", "e_new" },
    { "pressure3", "e", "comp e_new vnewc", "bvc pbvc p_new" },
    { "energy4", "e", "delvc pbvc e_new vnewc bvc p_new ql_old qq_old",
        "q_new" },
    { "eos2", "e", "matElemlist p_new e_new q_new", "p e q" },
    { "soundspeed", "e", "matElemlist pbvc e_new vnewc bvc p_new", "ss" },
    { "updVol", "e", "vnew", "v" },
    { "courant", "e", "matElemlist ss vdov arealg", "" },
    { "hydro", "e", "matElemlist vdov", "" },
}

local function adder()
    local want = {}
    return want, function(kernel, kind, names, n)
        for name in names:gmatch("%S+") do
            local key = kernel .. " " .. kind .. " " .. name
            want[key] = (want[key] or 0) + n
        end
    end
end

-- Elements around node i of a cube.
local function around(e, i)
    local n = 1
    for _, place in ipairs { i % (e + 1), i // (e + 1) % (e + 1),
        i // (e + 1) ^ 2 } do
        if place > 0 and place < e then n = n * 2 end
    end
    return n
end

-- Rounds of the loop over corners, in all warps of nodes.
local function corner_rounds(e)
    local n, rounds = (e + 1) ^ 3 // 1, 0
    for first = 0, n - 1, 32 do
        local most = 0
        for i = first, math.min(first + 31, n - 1) do
            most = math.max(most, around(e, i))
        end
        rounds = rounds + most
    end
    return rounds
end

-- Warps of elements with a lane whose place in a direction satisfies fn.
local function warps_with(e, stride, fn)
    local warps = 0
    for first = 0, e ^ 3 - 1, 32 do
        local any = 0
        for k = first, math.min(first + 31, e ^ 3 - 1) do
            if fn(k // stride % e) then any = 1 end
        end
        warps = warps + any
    end
    return warps
end

local function one_step(p, add)
    local e, E = p.e, p.e ^ 3
    local warps = { e = (E + 31) // 32 // 1 | 0,
        n = ((e + 1) ^ 3 + 31) // 32 // 1 | 0, c = 8 * ((E + 31) // 32) // 1 | 0 }
    for _, k in ipairs(CONTIGUOUS) do
        add(k[1], "load", k[3], warps[k[2]])
        add(k[1], "store", k[4], warps[k[2]])
    end
    add("integrateStress", "load", "nodelist x y z", 8 * warps.e)
    add("integrateStress", "store", "fxe fye fze", 8 * warps.e)
    add("kinematics", "load", "nodelist nodelist x y z xd yd zd", 8 * warps.e)
    add("monoQgrad", "load", "nodelist x y z xd yd zd", 8 * warps.e)
    local rounds = corner_rounds(e)
    add("addForces", "load", "cornerList fxe fye fze", rounds)
    add("addForces2", "load", "cornerList fxe2 fye2 fze2", rounds)
    local side = ((e + 1) ^ 2 + 31) // 32 // 1 | 0
    add("BC", "load", "symmX symmY symmZ", side)
    add("BC", "store", "xdd ydd zdd", side)
    for d, name in ipairs { "xi", "eta", "zeta" } do
        local function having(fn) return warps_with(e, e ^ (d - 1), fn) end
        local inner = having(function(x) return x > 0 end)
        local upper = having(function(x) return x < e - 1 end)
        local delv = "delv_" .. name
        add("monoQregion", "load", delv, warps.e + inner + upper
            + having(function(x) return x == 0 end))
        add("monoQregion", "load", "l" .. name .. "m", inner)
        add("monoQregion", "load", "l" .. name .. "p", upper)
    end
    local blocks = (E + 255) // 256 // 1 | 0
    add("courant", "store", "mincourant", blocks)
    add("hydro", "store", "minhydro", blocks)
    return warps
end

local function counts(p)
    local want, add = adder()
    local warps
    for _ = 1, p.steps do warps = one_step(p, add) end
    return want, function(_, barriers)
        equal(barriers.hgControl, p.steps * 8 * warps.c, "barriers")
        equal(barriers.fbHourglass, p.steps * 144 * warps.c, "barriers")
        equal(barriers.courant, p.steps * 8 * 8 * ((p.e ^ 3 + 255) // 256),
            "barriers")
    end
end

-- Gathers by node and by corner, as measured for e = 45.
local function figures()
    local survey = require "heddle.survey"
    local w = require("heddle.app").get("LUH"):workload { size = "S" }
    local row = {}
    for _, r in ipairs(survey.profile(w, { every = 4, launches = 3 })) do
        row[r.kernel .. " " .. r.kind .. " " .. (r.buffer or "")] = r
    end
    local node, corner = row["integrateStress load x"], row["addForces load fxe"]
    return {
        { "lines of a gather by node", node.lines, 3.0 },
        { "pages of a gather by node", node.pages, 1.06 },
        { "lanes of a gather by corner", corner.lanes, 31 },
        { "lines of a gather by corner", corner.lines, 3.5 },
        { "pages of a gather by corner", corner.pages, 1.67 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 120, 120, 285 }, -- MB of S, M and L
}
