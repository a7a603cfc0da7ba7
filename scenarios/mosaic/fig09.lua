--- mosaic/fig09.lua - Mosaic over GPU-MMU, different programs.
--
-- Mosaic (MICRO 2017), figure 9: weighted speedup of 25 sets each of 2 to 5
-- different programs, under GPU-MMU with 4 KB pages, Mosaic, and a TLB that
-- always hits.  Then the same from the first instruction to the last, where
-- buffers are copied at launch, or pages come when they are touched
-- (paging.lua).
--
--     heddle run scenarios/mosaic/fig09.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local paging = require "paging"
local speedup = require "speedup"
local suite = require "common"

local x = suite.open("fig09", "figure 9", "different programs share the GPU")
local by, all = speedup.measure(x, "heterogeneous")
suite.say(x, ("%d sets of different programs"):format(#all))
local paper = { gain = 29.7, ideal = 15.4 }
speedup.released(x, "heterogeneous", paper)
speedup.report(x, by, all, paper)
paging.columns(x, "heterogeneous")
x:close()
