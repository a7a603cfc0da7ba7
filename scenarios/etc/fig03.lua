--- etc/fig03.lua - which pages an irregular program touches when: ATAX.
--
-- ETC (ASPLOS 2019), figure 3: pages over time, block by block; all blocks walk
-- through rows of their own side by side, so that at any time nearly all pages
-- are in use, and whatever leaves comes back.  The shape counts; 3DCONV (figure 2)
-- stands against it.
--
--     heddle run scenarios/etc/fig03.lua
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig03", { "ATAX" }, "pages of an irregular program over time")
etc.shape(x, "3DCONV", "ATAX")
x:close()
