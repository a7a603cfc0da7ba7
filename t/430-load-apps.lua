--[[
430-load-apps.lua - the applications do what their models say.

Pinned at size T or less, through the lane engine, which 420 compares with the naive
twin: every memory instruction of every kernel and buffer is counted, and the counts are
those of the closed forms of the benchmark (warps x loop rounds x accesses), which stand
in t/apps/; nothing else is accessed.  Instructions for a unit of work match the measured totals.
Footprints of all sizes equal the sum of the buffers (T) and the published ones
(S, M, L, and XL and XXL where an application has them).

SPDX-License-Identifier: MIT
]]
local app = require "heddle.app"
local survey = require "heddle.survey"
local twin = require "heddle.twin"

package.path = "./?.lua;" .. package.path
local equal = require("t.apps.kit").equal

local function form(name) return require("t.apps." .. name:lower()) end

local test, run = require "lib.suite"()

-- ---- counting what an application does --------------------------------------

-- { ["kernel kind buffer"] = instructions } of memory, and all instructions
-- and barriers of each kernel.
local function count(workload)
    local memory, total, barriers = {}, {}, {}
    local buffers, last = survey.buffers(workload), nil
    local function buffer_at(address)
        if last and address >= last.base and address < last.base + last.bytes then
            return last.name
        end
        for _, b in ipairs(buffers) do
            if address >= b.base and address < b.base + b.bytes then
                last = b
                return b.name
            end
        end
        error(("nothing is at 0x%x"):format(address))
    end
    survey.each(workload, function(e)
        total[e.kernel] = (total[e.kernel] or 0) + e.n
        if e.addr then
            local key = e.kernel .. " " .. e.kind .. " "
                .. buffer_at(select(2, next(e.addr)))
            memory[key] = (memory[key] or 0) + 1
        elseif e.kind == "barrier" then
            barriers[e.kernel] = (barriers[e.kernel] or 0) + 1
        end
    end)
    return memory, total, barriers
end

local function check_counts(name, expected, params)
    local o = { size = "T" }
    for k, v in pairs(form(name).less or {}) do o[k] = v end
    for k, v in pairs(params or {}) do o[k] = v end
    local instance = app.get(name):instance(o)
    local p = instance.params
    local memory, total, barriers = count(app.get(name):workload(o))
    local want, more = expected(p, instance)
    for key, n in pairs(want) do equal(memory[key] or 0, n, name .. " " .. key) end
    for key, n in pairs(memory) do equal(n, want[key], name .. " " .. key) end
    if more then more(total, barriers, memory) end
end

for _, name in ipairs(app.names()) do
    test(name .. ": counts at size T", function()
        check_counts(name, form(name).counts)
    end)
    -- other parameters that change what it does
    for i, more in ipairs(form(name).others or {}) do
        test(("%s: counts at size T, others %d"):format(name, i), function()
            check_counts(name, form(name).counts, more)
        end)
    end
end

-- ---- footprints -----------------------------------------------------------------

local function bytes_of(instance)
    local sum = 0
    for _, b in ipairs(instance.buffers) do
        if not b.scratch then sum = sum + b.count * b.width end
    end
    return sum
end

test("each file says what it has and what is approximated", function()
    for _, name in ipairs(app.names()) do
        local path = "lua/heddle/apps/" .. name:lower() .. ".lua"
        local f <close> = assert(io.open(path))
        local head = f:read("a"):match("^%-%-%[%[(.-)%]%]") or ""
        for _, word in ipairs { "[Aa]rray", "pproximated", "[Bb]lock",
            "[Ff]ootprint", "SPDX" } do
            assert(head:find(word), path .. ": nothing of " .. word)
        end
    end
end)

-- Registers of a thread by ptxas for sm_20, in the order of the kernels; those
-- of LUH and QTC by name.
local PTXAS = {
    ["3DS"] = { 31 }, BFS = { 15, 12 }, BFS2 = { 15, 12 }, BLK = { 31 },
    BP = { 13, 22 }, CFD = { 17, 17, 17, 8, 16, 50, 17 }, CONS = { 18, 22 },
    FFT = { 26, 26 }, FWT = { 21, 14, 21, 14, 14 }, GUP = { 13 },
    HISTO = { 18, 14 }, HS = { 35, 35 }, LPS = { 17, 17 },
    LUD = { 23, 32, 14 }, MM = { 41 }, MUM = { 26 }, NN = { 17, 22, 12, 12 },
    NW = { 47, 47 }, QTC = { 17, 57, 8, 44, 9 }, RAY = { 45 }, RED = { 11 },
    SAD = { 32, 16, 16 }, SC = { 12 }, SCAN = { 12, 12, 21 }, SCP = { 18 },
    SRAD = { 12, 12, 14, 20, 19, 10 }, TRD = { 12, 12 },
}
local LUH = { integrateStress = 63, kinematics = 63, monoQgrad = 63,
    hgControl = 32, fbHourglass = 39, addForces = 25, BC = 10 }

test("registers are those of ptxas, or are called a guess", function()
    for _, name in ipairs(app.names()) do
        local a, kernels = app.get(name), app.get(name):instance("T").kernels
        local want = PTXAS[name]
        equal(a.registers:find "guess" == nil,
            want ~= nil or name == "LUH", name .. " has a source")
        for i, k in ipairs(kernels) do
            if want then equal(k.regs, want[i], name .. " " .. k.name) end
            assert(k.regs > 0 and k.regs <= 63, name .. " " .. k.name)
        end
        if want then equal(#kernels, #want, name .. " kernels") end
    end
    local luh = app.get("LUH"):instance("T").kernels
    for name, n in pairs(LUH) do equal(luh[name].regs, n, name) end
end)

-- The orders in which the originals allocate.
local ORDER = { BLK = "C P S X T", CONS = "In Out Buf", FWT = "K D",
    HISTO = "Data Hist Part Again" }

test("buffers are allocated in the originals' order", function()
    for name, want in pairs(ORDER) do
        local names = {}
        for i, b in ipairs(app.get(name):instance("T").buffers) do
            names[i] = b.name
        end
        equal(table.concat(names, " "), want, name)
    end
end)

-- The first memory instructions of a kernel's first warp: a round of the loop.
local ROUND = {
    { "ATAX", "atax1", "tmp x A tmp x A tmp" },
    { "BICG", "bicg1", "s r A s r A s" },
    { "MVT", "mvt2", "x2 y2 a x2 y2 a x2" },
    { "GESUMMV", "gesummv", "x A tmp tmp x B y y x A" },
    { "FDTD", "step2", "hz hz ex ex" },
    { "FDTD", "step3", "ex ex ey ey hz hz" },
    { "NN", "layer2", "L2w L2n L2w L2w L2n L2w L2n L2w L2n L2w L2n L2w L2n "
        .. "L2n L2w L2w L2n" },
    { "SRAD", "srad2", "c dS iS c dN dE dW jE c I I" },
    { "RED", "reduce", "in in in in" },
}

test("a round's accesses are in the order of the compiled code", function()
    for _, case in ipairs(ROUND) do
        local name, kernel, want = table.unpack(case)
        local seen, block = {}, nil
        local n = select(2, want:gsub("%S+", ""))
        local ok, why = pcall(twin.walk, app.get(name):instance("T"), function(e)
            if e.kernel ~= kernel or not e.addr or e.warp > 0 then return end
            block = block or e.block
            if e.block == block then seen[#seen + 1] = e.buffer.name end
            if #seen == n then error(seen, 0) end -- the rest is not looked at
        end, { max_launches = 8 })
        assert(ok or why == seen, why)
        equal(table.concat(seen, " ", 1, n), want, name .. " " .. kernel)
    end
end)

test("footprints at T equal the buffers", function()
    for _, name in ipairs(app.names()) do
        local instance = app.get(name):instance("T")
        local want = app.get(name).footprint(instance.params)
        local off = math.abs(bytes_of(instance) / want - 1)
        assert(off <= (form(name).share or 0), name .. ": " .. off)
    end
end)

-- What MASK and Mosaic run has the release's input.
test("size R is what was released", function()
    local released = {}
    for _, name in ipairs(require("heddle.suites").get("mask").apps) do
        released[name] = true
    end
    for _, name in ipairs(app.names()) do
        local a = app.get(name)
        equal(a.sizes.R ~= nil, released[name] == true, name .. " has R")
        if a.sizes.R and not form(name).published.R then
            local r, s = app.size(a, "R").params, app.size(a, "S").params
            for k, v in pairs(s) do equal(r[k], v, name .. " R " .. k) end
        end
    end
    equal(app.size(app.get "HS", "R").params.n, 512, "HS")
    equal(app.size(app.get "LUD", "R").params.n, 256, "LUD")
    equal(app.size(app.get "LUD", "R").truncated, nil, "LUD is not cut")
end)

test("footprints at S, M, L, XL and XXL are the published ones", function()
    for _, name in ipairs(app.names()) do
        local a, mb = app.get(name), form(name).published
        equal(a.sizes.XL ~= nil, mb.XL ~= nil, name .. " has XL")
        equal(a.sizes.XXL ~= nil, mb.XXL ~= nil, name .. " has XXL")
        local published = { S = mb[1], M = mb[2], L = mb[3], XL = mb.XL,
            XXL = mb.XXL, R = mb.R }
        for size, want in pairs(published) do
            local s = app.size(a, size)
            local ratio = s.footprint / (want * 1e6)
            assert(ratio > 0.98 and ratio < 1.02,
                ("%s %s: %.1f MB, published %.1f"):format(name, size,
                    s.footprint / 1e6, want))
        end
    end
end)

test("a cut run is said in words, a full one is not", function()
    equal(app.size(app.get "MM", "S").truncated, nil, "MM S")
    equal(app.size(app.get "MM", "L").truncated,
        "the first 32 of 256 columns of blocks", "MM L")
    equal(app.size(app.get "LUD", "M").truncated,
        "the first 8 of 255 steps", "LUD M")
    equal(app.size(app.get "ATAX", "L").truncated, nil, "ATAX L")
end)

test("names: any case, the nearest one, a description", function()
    equal(app.get("atax").name, "ATAX", "case")
    equal(tostring(select(2, pcall(app.get, "GUPP"))):match
        "did you mean '(%w+)'", "GUP", "nearest")
    equal(app.get("gups").name, "GUP", "an alias")
    equal(require("heddle").app("gmv").label, "GESUMMV", "an alias of H.app")
    equal(app.explain("GUPS")[4], "  also called GUPS (HPCC, Mosaic)",
        "an alias, explained")
    local lines = app.explain("3ds")
    equal(lines[1], "3DS (application, CUDA)", "first line")
    equal(#lines, 9, "lines")
    equal(lines[4], "  registers: stencil 31 (ptxas for sm_20 (MAFIA))",
        "registers")
    equal(app.explain("NOPE"), nil, "unknown")
    equal(#app.list(), #app.names(), "list")
    local names, sorted = app.names(), app.names()
    table.sort(sorted)
    equal(table.concat(names, " "), table.concat(sorted, " "), "in order")
end)

run()
