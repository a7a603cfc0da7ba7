--- etc/fig04.lua - pages that kernels share: LUD.
--
-- ETC (ASPLOS 2019), figure 4: pages over the launches of LUD, which all work on
-- one matrix, so that a page is migrated again with the next launch.  The shape counts;
-- 2DCONV, a regular program without sharing, stands against it.
--
--     heddle run scenarios/etc/fig04.lua
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig04", { "LUD" }, "pages of a program whose kernels share")
local shared = {}
for _, name in ipairs { "LUD", "2DCONV" } do
    local _, metrics = etc.footprint(x, name)
    shared[name] = 100 * (metrics.shared_pages or 0)
    x:quantity { name .. ": pages of a launch that an earlier one has touched",
        heddle = shared[name], unit = "%" }
end
x:order { "pages that launches share", paper = { "LUD", "2DCONV" },
    heddle = shared }
x:close()
