--- etc/fig13.lua - irregular programs: cores that stop.
--
-- ETC (ASPLOS 2019), figure 13: naive throttling gains 57.7 % over the baseline
-- at 75 % of memory and loses 10.5 % at 50 %, where memory-aware throttling is
-- ahead of it ("436 %"); at 75 % it is behind it on BICG and GESUMMV.  Proactive
-- eviction loses 29.7 % (section 6.2).  Compression gains 51.8 % on BICG and
-- 203.6 % on MVT (taken as at 75 %: it reaches 85.7 and 88.7 % of memory for all);
-- with throttling, which is ETC, 270 % on average.
--
-- The paper gives no lengths of detection and execution: 100 and 400 thousand cycles
-- are compared, 20 and 80, and 2 and 8 shown, and how many cores they release.
--
--     heddle run scenarios/etc/fig13.lua [scale=full] [unit=64K]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig13", "irregular", "irregular programs, cores that stop",
    "BICG")
local designs = { etc.BL, etc.PE, etc.NT, etc.MT(), etc.MT(20, 80), etc.MT(2, 8),
    etc.HOLD, etc.CC, etc.ETC }
local all = etc.measure(x, designs)
local NAIVE = { [75] = 57.7, [50] = -10.5 }
local CC = { [75] = { BICG = 51.8, MVT = 203.6 } }

for _, share in ipairs(x.shares) do
    local at = (" at %d %%"):format(share)
    -- Of what has one number without its memory, 75 % is scored.
    local shown = share ~= 75
    etc.claim(x, { "mean gain of NT over BL" .. at, paper = NAIVE[share] }, all, "NT",
        share)
    etc.claim(x, { "mean gain of MT over BL" .. at }, all, "MT", share)
    etc.claim(x, { "the same, stopped cores have blocks" .. at }, all, "MT, hold",
        share)
    etc.claim(x, { "mean gain of PE over BL" .. at, paper = -29.7, shown = shown },
        all, "PE", share)
    for _, r in ipairs(all) do
        if r.share == share and (CC[share] or {})[r.program] then
            x:quantity { ("gain of CC over BL%s, %s"):format(at, r.program),
                paper = CC[share][r.program], kind = "gain", unit = "%", n = 1, of = 1,
                heddle = 100 * (r.BL.cycles / r.CC.cycles - 1) }
        end
    end
    etc.claim(x, { "mean gain of CC over BL" .. at }, all, "CC", share)
    -- "2.7x", also "270 %": figure 10 counts it
    etc.claim(x, { "mean gain of ETC (MT and CC) over BL" .. at, from = 170,
        to = 270, shown = true }, all, "ETC", share)
end

etc.order(x, all, "naive throttling pays", 75, { "NT", "BL" })
etc.order(x, all, "naive throttling does not", 50, { "MT", "BL", "NT" })
for _, d in ipairs { "MT", "MT 20/80 k", "MT 2/8 k" } do
    x:quantity { "cores released, " .. d, heddle = etc.released(all, d),
        unit = "cores" }
end
etc.exercised(x, all, designs)
etc.show(x, all, designs, "performance, with memory for all as 1")
etc.show(x, all, designs, "migrations of a page", etc.times)
etc.hashed(x, all)
x:close()
