--- etc/fig12.lua - regular programs with sharing: what eviction costs them.
--
-- ETC (ASPLOS 2019), figures 10 and 12: regular programs whose kernels share data
-- lose 52.2 and 74.1 % with 75 and 50 % of memory; proactive eviction gains 9.3 %
-- over that, compression 52.8 %, both together, which is ETC, 60.4 %.
--
--     heddle run scenarios/etc/fig12.lua [scale=full] [unit=64K]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

-- At quick the one that does not take half a minute or more.
local x = etc.open("fig12", "regular, sharing", "regular programs with sharing",
    "SCAN")
local designs = { etc.BL, etc.PE, etc.CC, etc.PECC, etc.NT, etc.MT(),
    etc.MT(20, 80), etc.MT(2, 8) }
local GAIN = { { "PE", 9.3 }, { "CC", 52.8 }, { "PE+CC", 60.4 } }
local all = etc.measure(x, designs)
local LOSS = { [75] = 52.2, [50] = 74.1 }

for _, share in ipairs(x.shares) do
    local each, sum, came, n = {}, 0.0, 0.0, 0
    for _, r in ipairs(all) do
        if r.share == share then
            sum, came, n = sum + etc.share(r, "BL"), came + etc.times(r, "BL"), n + 1
            each[n] = 100 * (1 - etc.share(r, "BL"))
        end
    end
    x:quantity { ("mean loss of BL at %d %%"):format(share), kind = "loss",
        paper = LOSS[share], heddle = 100 * (1 - sum / n), unit = "%",
        each = each }
    x:quantity { ("migrations of a page at %d %%, BL"):format(share),
        heddle = came / n, unit = "times" }
end
for _, share in ipairs(x.shares) do
    for _, g in ipairs(GAIN) do
        etc.claim(x, { ("mean gain of %s over BL at %d %%"):format(g[1], share),
            paper = g[2], shown = share ~= 75 }, all, g[1], share)
    end
end
etc.exercised(x, all, designs)
etc.show(x, all, designs, "performance, with memory for all as 1")
etc.show(x, all, designs, "migrations of a page", etc.times)
x:close()
