--- etc/fig02.lua - which pages a regular program touches when: 3DCONV.
--
-- ETC (ASPLOS 2019), figure 2: pages over time, block by block; each block
-- streams through pages of its own and does not come back, so that what has been
-- touched can leave.  The shape counts; ATAX (figure 3) stands against it.
--
--     heddle run scenarios/etc/fig02.lua
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig02", { "3DCONV" }, "pages of a regular program over time")
etc.shape(x, "3DCONV", "ATAX")
x:close()
