--- etc/fig13.lua - irregular programs: cores that stop.
--
-- ETC (ASPLOS 2019), figure 13: naive throttling gains 57.7 % over the baseline
-- at 75 % of memory and loses 10.5 % at 50 %, where memory-aware throttling is
-- ahead of it ("436 %"); at 75 % it is behind it on BICG and GESUMMV.  Proactive
-- eviction loses 29.7 % (section 6.2).  Compression gains 51.8 % on BICG and
-- 203.6 % on MVT (taken as at 75 %: it reaches 85.7 and 88.7 % of memory for all);
-- with throttling, which is ETC, 270 % on average.
--
--     heddle run scenarios/etc/fig13.lua [scale=full] [unit=64K]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig13", "irregular", "irregular programs, cores that stop",
    "BICG")
local designs = { etc.BL, etc.PE, etc.NT, etc.MT(), etc.MT(20, 80), etc.HOLD,
    etc.CC, etc.ETC }
local all = etc.measure(x, designs)
local EARLY = "evictions that do not hold up fetches evict pages before the "
    .. "warps that waited for them have used them: under PE pages migrate 10 to 250 "
    .. "times, under BL 3 to 7 (GESUMMV: more)"
local NAIVE = { [75] = 57.7, [50] = -10.5 }
local FIT = etc.FIT
local CC = { [75] = { BICG = 51.8, MVT = 203.6 } }

for _, share in ipairs(x.shares) do
    x:quantity { ("mean gain of NT over BL at %d %%"):format(share),
        paper = NAIVE[share], heddle = etc.gain(all, "NT", share), unit = "%",
        why = FIT }
    x:quantity { ("mean gain of MT over BL at %d %%"):format(share),
        heddle = etc.gain(all, "MT", share), unit = "%" }
    x:quantity { ("the same, stopped cores have blocks, %d %%"):format(share),
        heddle = etc.gain(all, "MT, hold", share), unit = "%" }
end
for _, share in ipairs(x.shares) do
    x:quantity { ("mean gain of PE over BL at %d %%"):format(share),
        paper = -29.7, heddle = etc.gain(all, "PE", share), unit = "%",
        why = EARLY }
end

for _, share in ipairs(x.shares) do
    for _, r in ipairs(all) do
        if r.share == share and (CC[share] or {})[r.program] then
            x:quantity { ("gain of CC over BL at %d %%, %s"):format(share,
                r.program), paper = CC[share][r.program],
                heddle = 100 * (r.BL.cycles / r.CC.cycles - 1), unit = "%",
                why = etc.RATIO }
        end
    end
    x:quantity { ("mean gain of CC over BL at %d %%"):format(share),
        heddle = etc.gain(all, "CC", share), unit = "%" }
    x:quantity { ("mean gain of ETC (MT and CC) over BL at %d %%"):format(share),
        paper = 270, heddle = etc.gain(all, "ETC", share), unit = "%",
        why = FIT }
end

etc.order(x, all, "naive throttling pays", 75, { "NT", "BL" }, nil, FIT)
etc.order(x, all, "naive throttling does not", 50, { "MT", "BL", "NT" })
etc.show(x, all, designs, "performance, with memory for all as 1")
etc.show(x, all, designs, "migrations of a page", etc.times)
x:close()
