--- bandwidth.lua - what all cores read together, by the range that they share: A100
-- 80 GB and H100 PCIe beside RRZE's gpu-l2-cache (of memory alone: streams.lua).
--
-- Two blocks of 1,024 threads a core read pieces of a range, block i the piece i of
-- it, again from its start where it ends: each piece is read by several blocks one
-- after the other.  The range is read once before.  There 200,000 blocks read 512 kB
-- each; here blocks read 128 kB, more than their share of an L1 (which here keeps what
-- it has from launch to launch), as many as the range has pieces, and a wave at least.
--
-- quick: 7 ranges of the A100, 5 of the H100; full: every fourth that was measured up
-- to three times the L2.
--
--     heddle run scenarios/validate/bandwidth.lua [scale=full] [only=a100]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local PIECE = 131072

local arg = H.args(experiment.args { only = "" }) -- cards; empty: all

local v = common.open { name = "validate/bandwidth", arg = arg,
    source = "RRZE-HPC/gpu-benches, gpu-l2-cache",
    title = "what all cores read, by the range that they share" }
local x = v.x

--- Card, file, ranges of quick in kB, plateau in the L2 and in DRAM in kB, use.
local CARDS = common.only(arg, {
    { "a100", "l2-bandwidth-a100_80.txt", { 4096, 12288, 25600, 30720, 36864, 48128,
        69632 }, { 2000, 25600 }, { 60000, 130000 }, "fit" },
    { "h100-pcie", "l2-bandwidth-h100_pcie.txt", { 4608, 14336, 30720, 44032, 76288 },
        { 2000, 30720 }, { 69000, 160000 }, "test" },
})

local jobs, at = {}, {}
for _, c in ipairs(CARDS) do
    local machine, ranges = own.machine(c[1]), {}
    local cores = tonumber(machine:get "core.count")
    c.clock, c.curve = tonumber(machine:get "clock.core"), {}
    for i, p in ipairs(x.full and common.curve(c[2]) or {}) do
        if i % 4 == 1 and p[1] * 1024 < 3 * machine:get "l2cache.bytes" then
            ranges[#ranges + 1] = p[1]
        end
    end
    for _, kb in ipairs(#ranges > 0 and ranges or c[3]) do
        local bytes = math.tointeger(kb * 1024)
        local blocks = math.max(bytes // PIECE, 2 * cores)
        blocks = math.tointeger(blocks)
        at[#at + 1] = { c, kb, blocks * PIECE }
        jobs[#at] = { machine = machine, seed = arg.seed, apps = { kernels.of("read",
            { bytes = bytes, each = PIECE, blocks = blocks,
                warm = math.max(bytes // PIECE, 1) }) } }
    end
end
for i, r in ipairs(x:run(jobs)) do
    local c = at[i][1]
    table.insert(c.curve, { at[i][2], at[i][3] * c.clock / kernels.timed(r) / 1e9 })
end

for _, c in ipairs(CARDS) do
    local measured = common.curve(c[2])
    local thin = not x.full and ("%d ranges, 128 kB a block"):format(#c.curve)
        or "1 range in 4, 128 kB a block"
    local function plateaus(curve)
        return common.plateau(curve, c[4][1], c[4][2]),
            common.plateau(curve, c[5][1], c[5][2])
    end
    local la, da = plateaus(measured)
    local lb, db = plateaus(c.curve)
    v:row { c[1] .. ": L2", unit = "GB/s", measured = la, heddle = lb,
        tolerance = 0.15, use = c[6], thin = thin }
    v:row { c[1] .. ": L2 ends", unit = "kB", measured = common.knee(measured, la, da,
        20000), heddle = common.knee(c.curve, lb, db, 10000), tolerance = 0.2,
        use = c[6], thin = thin }
    v:row { c[1] .. ": DRAM", unit = "GB/s", measured = da, heddle = db,
        tolerance = 0.15, use = c[6], thin = thin }
    v:chart(c[1] .. ", all cores read a common range", "range, kB", "GB/s", measured,
        c.curve)
end
x:say "Two blocks of 1,024 threads a core, loads of 4 bytes a thread, 4 at once"
v:close()
