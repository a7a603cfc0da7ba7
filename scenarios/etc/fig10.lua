--- etc/fig10.lua - ETC beside memory for all.
--
-- ETC (ASPLOS 2019), figure 10: regular programs without sharing run as with
-- memory for all; irregular ones are 2.7 times as fast as in the baseline.  The
-- memory is not said.  Two rows more: memory that holds all that programs
-- allocate, where ETC does nothing (4.5), and all that they touch.
--
--     heddle run scenarios/etc/fig10.lua [scale=full] [programs=ATAX]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local WHAT = { { "regular", "regular without sharing" },
    { "regular, sharing", "regular with sharing" },
    { "irregular", "irregular" } }

local ABOUT = { [75] = true } -- of two capacities, of which the paper says none

local x = etc.open("fig10", { "2DCONV", "SCAN", "ATAX", "LUD", "3DCONV", "BICG",
    "MVT", "CORR", "SRAD" }, "ETC, by class", 3)
local designs = { etc.BL, etc.ETC }
local all = etc.measure(x, designs)

for _, share in ipairs(x.shares) do
    for _, w in ipairs(WHAT) do
        local ideal, gain, n = 0.0, 0.0, 0
        for _, r in ipairs(all) do
            if r.share == share and etc.class(r.program) == w[1] then
                ideal, n = ideal + etc.share(r, "ETC"), n + 1
                gain = gain + r.BL.cycles / r.ETC.cycles
            end
        end
        if n > 0 then
            x:quantity { ("%s at %d %%: ETC, of memory for all"):format(w[2],
                share), paper = w[1] == "regular" and 100 or nil, kind = "part",
                heddle = 100 * ideal / n, unit = "%", shown = not ABOUT[share] }
            x:quantity { ("%s at %d %%: ETC over BL"):format(w[2], share),
                from = w[1] == "irregular" and 2.7 or nil,
                to = w[1] == "irregular" and 3.7 or nil, -- "270 %" more
                heddle = gain / n,
                unit = "times", shown = not ABOUT[share] }
        end
    end
end
etc.enough(x)
etc.exercised(x, all, designs)
etc.show(x, all, designs, "performance, with memory for all as 1")
etc.hashed(x, all)
x:close()
