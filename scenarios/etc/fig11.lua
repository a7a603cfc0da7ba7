--- etc/fig11.lua - regular programs without sharing: eviction ahead of need.
--
-- ETC (ASPLOS 2019), figure 11: of regular programs whose kernels share no data,
-- proactive eviction hides all of what eviction costs, but for LPS, for which it
-- is too eager (half of its memory are 2 MB); throttling hurts (said, not shown),
-- and compression is behind the baseline.
--
--     heddle run scenarios/etc/fig11.lua [scale=full] [unit=64K]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig11", "regular", "regular programs without sharing")
local designs = { etc.BL, etc.PE, etc.NT, etc.MT(), etc.MT(20, 80), etc.MT(2, 8),
    etc.CC }
local all = etc.measure(x, designs)

for _, share in ipairs(x.shares) do
    for _, d in ipairs { "PE", "NT", "MT" } do
        x:quantity { ("mean gain of %s over BL at %d %%"):format(d, share),
            heddle = etc.gain(all, d, share), unit = "%" }
    end
end
for _, share in ipairs(x.shares) do
    etc.order(x, all, "PE hides eviction, LPS excepted", share,
        { "PE", "BL" }, function(name) return name ~= "LPS" end)
    etc.order(x, all, "compression does not pay", share, { "BL", "CC" })
    etc.order(x, all, "throttling hurts", share, { "BL", "NT" })
end
etc.exercised(x, all, designs)
etc.show(x, all, designs, "performance, with memory for all as 1")
x:close()
