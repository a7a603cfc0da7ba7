--- latency.lua - what one thread's loads take, by the range that they visit: V100,
-- A100 80 GB and A40 beside RRZE's gpu-latency.
--
-- One random cycle through all lines of the range, a load after the other (there it
-- is taken once for each of the 16 words of 8 bytes in turn; here the first only,
-- since in the steady state the sectors of a line hit and miss together).  The cycle
-- is taken once before, or as much of it as 1.25 times the L2 cache has: what a
-- longer one changes is a test (t/776-validate.lua).
--
-- No curve of an RTX 2060 or 4080 is known: of these there are two plateaus, in the L2
-- and beyond it, beside what was found on others of their generation, in cycles of those
-- cards' clocks.  dram.latency of the presets follows from the second, so both rows say
-- nothing but that it does; the number of channels does not move them.
--
-- quick: 12 points around each knee and a few on plateaus; full: every measured one.
--
--     heddle run scenarios/validate/latency.lua [scale=full] [only=v100]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local LINE = 128

local arg = H.args(experiment.args { only = "" }) -- cards; empty: all

local v = common.open { name = "validate/latency", arg = arg,
    source = "RRZE-HPC/gpu-benches, gpu-latency",
    title = "latency of one thread's loads by their range" }
local x = v.x

--- Cards: name, file, knees in kB around which quick has more points.
local CARDS = common.only(arg, {
    { "v100", "latency-v100.txt", { 121, 6144 } },
    { "a100", "latency-a100_80.txt", { 152, 17000, 40000 } },
    { "a40", "latency-a40.txt", { 104, 5505 } },
    { "rtx2060", near = { { "L2, of an RTX 2000 (AIK)", 214 },
        { "DRAM, of an RTX 2080 Ti (MT4G)", 484 } } },
    { "rtx4080", near = { { "L2, of an RTX 4090 (L24)", 273 },
        { "DRAM, of an RTX 4090 (L24)", 541.5 } } },
})

--- The measured points that are run: all, or those near knees and every tenth.
local function thinned(curve, knees)
    local out = {}
    for i, p in ipairs(curve) do
        local near = x.full or i % 10 == 1 or i > #curve - 12 and i % 3 == 0
        for _, knee in ipairs(knees) do
            near = near or p[1] > knee * 0.85 and p[1] < knee * 1.2
        end
        if near then
            out[#out + 1] = p[1]
        end
    end
    return out
end

--- A chase through so many kB on a machine.
local function job(machine, kb)
    local lines = math.max(16, kb * 1024 // LINE)
    lines = math.tointeger(lines)
    local l2 = math.tointeger(tonumber(machine:get "l2cache.bytes") // LINE)
    local warm = math.max(2048, math.min(lines, l2 + l2 // 4))
    return { machine = machine, seed = arg.seed, apps = { kernels.of("chase", {
        bytes = lines * LINE, stride = LINE, warm = warm, loads = 8192 }) } }
end

local jobs, at = {}, {}
for _, c in ipairs(CARDS) do
    local machine = own.machine(c[1])
    c.curve, c.heddle = c[2] and common.curve(c[2]), {}
    for _, kb in ipairs(c.near and { 2048, machine:get "l2cache.bytes" // 512 }
        or thinned(c.curve, c[3])) do
        jobs[#jobs + 1] = job(machine, kb)
        at[#jobs] = { c, kb }
    end
end
for i, r in ipairs(x:run(jobs)) do
    table.insert(at[i][1].heddle, { at[i][2], kernels.timed(r) / 8192 })
end

local thin = not x.full and "near knees, and 1 point in 10" or nil

--- A plateau of both curves.
local function plateau(c, what, low, high, tolerance, use)
    v:row { ("%s: %s"):format(c[1], what), unit = "cycles", tolerance = tolerance,
        measured = common.plateau(c.curve, low, high), use = use, thin = thin,
        heddle = common.plateau(c.heddle, low, high) }
end

--- A knee of both, between plateaus at these places.
local function knee(c, what, low, from, to, use, tolerance)
    local function of(curve)
        return common.knee(curve, common.at(curve, from) or curve[1][2],
            common.plateau(curve, to[1], to[2]), low)
    end
    v:row { ("%s: %s"):format(c[1], what), unit = "kB", measured = of(c.curve),
        heddle = of(c.heddle), tolerance = tolerance or 0.1, use = use, thin = thin }
end

--- How much later points are above a plateau.
local function rise(c, what, plate, late, use)
    local function of(curve)
        return common.plateau(curve, late[1], late[2])
            - common.plateau(curve, plate[1], plate[2])
    end
    v:row { ("%s: %s"):format(c[1], what), unit = "cycles", measured = of(c.curve),
        heddle = of(c.heddle), within = 2, use = use, thin = thin }
end

local function near(c, what, low, high, use, tolerance)
    local apart, worst, where, n = common.apart(c.curve, c.heddle, low, high)
    v:row { ("%s: %s"):format(c[1], what), unit = "times", measured = 1,
        heddle = apart, tolerance = tolerance, use = use, thin = thin,
        note = where and ("the worst of %d points is %.2f times at %g kB"):format(n,
            worst, where) or nil }
end

local PIECES = {
    v100 = function(c)
        plateau(c, "L1", 2, 100, 0.05, "fit")
        plateau(c, "L2", 300, 5500, 0.05, "fit")
        plateau(c, "DRAM, to 16 MB", 8500, 16384, 0.05, "fit")
        knee(c, "L1 ends", 60, 60, { 300, 5500 }, "fit")
        knee(c, "L2 ends", 3000, 4000, { 8500, 16384 }, "fit")
        near(c, "whole curve to 16 MB", 0, 16384, "fit", 0.1)
        rise(c, "rise from 16 to 96 MB", { 8500, 16384 }, { 90000, 112000 }, "test")
    end,
    a100 = function(c)
        plateau(c, "L1", 2, 120, 0.05, "fit")
        plateau(c, "L2, near", 300, 15000, 0.05, "fit")
        knee(c, "L1 ends", 60, 60, { 300, 15000 }, "fit")
        near(c, "mixture of near and far, 17 to 40 MB", 17000, 40678, "fit", 0.1)
        plateau(c, "DRAM, 47 to 110 MB", 47000, 112000, 0.05, "fit")
    end,
    a40 = function(c)
        plateau(c, "L1", 2, 90, 0.1, "test")
        plateau(c, "L2", 300, 5000, 0.1, "test")
        plateau(c, "DRAM", 7500, 32000, 0.1, "test")
        knee(c, "L1 ends", 60, 60, { 300, 5000 }, "fit")
        knee(c, "L2 ends", 3000, 4000, { 7500, 32000 }, "test")
        rise(c, "rise to 94 MB", { 7500, 32000 }, { 90000, 105000 }, "test")
    end,
}
for _, c in ipairs(CARDS) do
    for i, p in ipairs(c.near or {}) do
        v:row { ("%s: %s"):format(c[1], p[1]), unit = "cycles", measured = p[2],
            heddle = c.heddle[i][2], tolerance = 0.05, use = "fit" }
    end
    if c.curve then
        PIECES[c[1]](c)
        v:chart(("%s, one thread, random over lines"):format(c[1]), "range, kB",
            "cycles a load", c.curve, c.heddle)
    end
end
x:say("Random chase over lines of %d bytes, pages of 2 MB; figures of RRZE's "
    .. "gpu-latency", LINE)
v:close()
