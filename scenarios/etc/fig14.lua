--- etc/fig14.lua - irregular programs: what is evicted under throttling.
--
-- ETC (ASPLOS 2019), figure 14: beside the performance of figure 13 the number
-- of evictions, of which memory-aware throttling has fewer than the baseline.
--
--     heddle run scenarios/etc/fig14.lua [scale=full] [unit=64K]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local etc = require "common"

local x = etc.open("fig14", "irregular", "what is evicted under throttling")
local designs = { etc.BL, etc.NT, etc.MT(), etc.MT(20, 80), etc.MT(2, 8) }
local all = etc.measure(x, designs)

local function megabytes(r, design)
    return H.report.counter(r[design], "evict.pages") / 256
end

for _, share in ipairs(x.shares) do
    local mb = { BL = 0.0, MT = 0.0 }
    for _, r in ipairs(all) do
        for d in pairs(mb) do
            mb[d] = mb[d] + (r.share == share and megabytes(r, d) or 0)
        end
    end
    x:quantity { ("evicted under MT at %d %%, of BL's"):format(share),
        heddle = 100 * mb.MT / mb.BL, unit = "%" }
    x:order { ("MB evicted, the most first, %d %%"):format(share),
        paper = { "BL", "MT" }, heddle = mb }
end
etc.show(x, all, designs, "MB evicted", megabytes)
x:close()
