--- tlb.lua - what a load on another page costs: P100 and K80 beside Karnagel et al.,
-- an A100 beside three means of another chase.
--
-- One thread, a load after the other, at a stride through a range; the range is taken
-- once before, then 2,048 loads are timed (there as many as the range has elements,
-- which the clock is read around: what that adds is in the plateaus, so levels are
-- compared by how far they are above the first).  Pages have 2 MB; the K80's 64 KB in
-- its uTLB's entries of 128.
--
-- The A100's chases, all in the L2: 32 B apart in 170 kB (that the L1 does not hold),
-- 32 kB in 32 MB, 2 kB in 53 MB, 2 MB over 24 GB.  They are compared by how far they
-- are above the first.
--
-- Nothing here is a test: the tables of P100, K80 and A100 have their levels from these
-- very figures.
--
-- quick: every second range of the P100, every fourth of the K80.
--
--     heddle run scenarios/validate/tlb.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local MB = 1 << 20
local LOADS = 2048

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/tlb", arg = arg,
    source = "Karnagel et al., DaMoN 2017; yqg9651/cuda_test",
    title = "levels of TLBs by stride and range of one thread's loads" }
local x = v.x

--- File, card, pages, what quick leaves out, and strides in kB with the rows of each:
-- { what, plateau before, plateau after, knee, tolerances, use }.
local SETS = {
    { "tlb-p100-12-80MB.csv", "p100", "2M", 2, {
        [1024] = { { "uTLB ends at stride 1 MB", 12, 30, 60, 80, "fit" } },
        [2048] = { { "uTLB ends at stride 2 MB", 12, 30, 60, 80, "fit" } },
        [4096] = { { "uTLB ends at stride 4 MB", 12, 60, 72, 80, "fit" } } } },
    { "tlb-k80-1-5MB.csv", "k80", "64K", 4, {
        [64] = { { "uTLB ends at stride 64 kB", 1, 1.9, 3, 5, "fit" } },
        [128] = { { "uTLB ends at stride 128 kB", 1, 1.9, 3, 5, "fit" } },
        [256] = { { "uTLB ends at stride 256 kB", 1, 3.9, 4.3, 5, "fit" } } } },
    { "tlb-k80-48-300MB.csv", "k80", "64K", 12, {
        [1024] = { { "second level ends at stride 1 MB", 48, 130, 180, 300, "fit" } },
        [2048] = { { "second level ends at stride 2 MB", 48, 130, 180, 300, "fit" } },
        [4096] = { { "second level ends at stride 4 MB", 100, 270, 290, 300,
            "fit" } } } },
}

local function chase(machine, bytes, stride, page)
    local n = math.tointeger(bytes // stride)
    return { machine = machine, seed = arg.seed, settings = { ["vm.page"] = page },
        apps = { kernels.of("chase", { bytes = n * stride, stride = stride,
            order = "stride", warm = math.max(2 * n, LOADS), loads = LOADS }) } }
end

local jobs, at = {}, {}
for _, s in ipairs(SETS) do
    local curves = common.karnagel(s[1])
    s.measured, s.heddle = curves, {}
    for stride, of in pairs(s[5]) do
        s.heddle[stride] = {}
        for i, p in ipairs(curves[stride]) do
            local r = of[1]
            if x.full or #curves[stride] < 30 or i % s[4] == 0
                or i == #curves[stride] or math.abs(p[1] - r[3]) < 0.15 * r[3] then
                at[#at + 1] = { s, stride, p[1] }
            end
        end
    end
end
table.sort(at, function(a, b)
    if a[1] ~= b[1] then
        return a[1][1] < b[1][1]
    end
    return a[2] ~= b[2] and a[2] < b[2] or a[2] == b[2] and a[3] < b[3]
end)
for i, a in ipairs(at) do
    jobs[i] = chase(own.machine(a[1][2]), a[3] * MB, a[2] * 1024, a[1][3])
end

--- The A100's chases: bytes, stride, what the means are.
local A100 = { { 170 * 1024, 32, 209.2 }, { 32 * MB, 32768, 208.3 },
    { 53 * MB, 2048, 209.0 }, { 24 << 30, 2 * MB, 219.0 } }
for _, c in ipairs(A100) do
    jobs[#jobs + 1] = chase(H.machine "a100", c[1], c[2], "2M")
end

local results = x:run(jobs)
for i, a in ipairs(at) do
    table.insert(a[1].heddle[a[2]], { a[3], kernels.timed(results[i]) / LOADS })
end

-- ---- rows ------------------------------------------------------------------------

for _, s in ipairs(SETS) do
    local strides = {}
    for stride in pairs(s[5]) do
        strides[#strides + 1] = stride
    end
    table.sort(strides)
    local thin = not x.full and ("1 range in %d, all near the knee"):format(s[4]) or nil
    for _, stride in ipairs(strides) do
        local r = s[5][stride][1]
        local measured, heddle = s.measured[stride], s.heddle[stride]
        local function step(curve)
            local a, b = common.plateau(curve, r[2], r[3]), common.plateau(curve, r[4],
                r[5])
            return a and b and b - a, a, b
        end
        local dm, am, bm = step(measured)
        local dh, ah, bh = step(heddle)
        v:row { ("%s: step at stride %g MB, to %g MB"):format(s[2], stride / 1024, r[5]),
            unit = "cycles", measured = dm, heddle = dh, within = s[2] == "p100" and 3
                or s[4] == 4 and 3 or nil, tolerance = 0.15, use = r[6], thin = thin }
        v:row { ("%s: %s"):format(s[2], r[1]), unit = "MB",
            measured = common.knee(measured, am, bm),
            heddle = dh and dh >= 2 and common.knee(heddle, ah, bh) or nil,
            tolerance = s[4] == 12 and 0.02 or stride / 1024 / r[3], use = r[6],
            thin = thin, why = (not dh or dh < 2) and "there is no step" or nil }
        v:chart(("%s, stride %g MB"):format(s[2], stride / 1024), "range, MB",
            "cycles a load", measured, heddle)
    end
end
for i = 2, #A100 do
    local c, first = A100[i], A100[1]
    v:row { ("a100: stride %g kB over %g MB, above the first"):format(c[2] / 1024,
        c[1] / MB), unit = "cycles", measured = c[3] - first[3], use = "fit",
        within = 2, heddle = (kernels.timed(results[#at + i])
            - kernels.timed(results[#at + 1])) / LOADS }
end
x:say "One thread, a load after the other; steps are above the first plateau"
v:close()
