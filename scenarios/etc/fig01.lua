--- etc/fig01.lua - programs in less memory than they touch, as on a real GPU.
--
-- ETC (ASPLOS 2019), figure 1: on a GTX 1060 with 2 GB, 2DCONV, 3DCONV and RED
-- lose 17 % (how far memory is oversubscribed is not said), ATAX and MVT are
-- more than 1,000 times slower with 75 % of memory and crash with half of it.
-- Here faults are served as by that GPU's driver (pages of 4 KB, batches, its
-- tree's prefetch, 2 MB evicted), but the machine is ETC's, so only the order counts.
--
--     heddle run scenarios/etc/fig01.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig01", { "2DCONV", "ATAX", "3DCONV", "RED", "MVT" },
    "oversubscribed memory, regular and irregular programs")
local designs = { etc.BL }
local all = etc.measure(x, designs, { ["uvm.mode"] = "driver",
    ["vm.page"] = "4K", ["link.curve"] = "uvmsmart" })
local IRREGULAR = { ATAX = true, MVT = true, BICG = true, GESUMMV = true }

for _, share in ipairs(x.shares) do
    local speed, n = {}, {}
    for _, r in ipairs(all) do
        local class = IRREGULAR[r.program] and "irregular" or "regular"
        if r.share == share then
            speed[class] = (speed[class] or 0.0) + etc.share(r, "BL")
            n[class] = (n[class] or 0) + 1
            if IRREGULAR[r.program] then
                x:quantity { ("%s at %d %%, times as long"):format(r.program,
                    share), said = share == 75 and "> 1000" or "crash",
                    skip = "a real GPU, of another machine", unit = "times",
                    heddle = 1 / etc.share(r, "BL") }
            end
        end
    end
    for class, sum in pairs(speed) do
        speed[class] = sum / n[class]
    end
    x:quantity { ("mean loss of regular programs at %d %%"):format(share),
        said = "17 %", skip = "how far memory is oversubscribed is not said",
        heddle = speed.regular and 100 * (1 - speed.regular),
        unit = "%" }
    x:order { ("who keeps performance at %d %%"):format(share),
        paper = { "regular", "irregular" }, heddle = speed }
end
etc.show(x, all, designs, "performance, with memory for all as 1")
x:close()
