--- mosaic/fig08.lua - Mosaic over GPU-MMU, copies of one program.
--
-- Mosaic (MICRO 2017), figure 8: weighted speedup of 27 programs, each run 1 to
-- 5 times at once, under GPU-MMU with 4 KB pages, Mosaic, and a TLB that always
-- hits.  Then the same from the first instruction to the last, where buffers are
-- copied at launch, or pages come when they are touched (paging.lua).
--
--     heddle run scenarios/mosaic/fig08.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local paging = require "paging"
local speedup = require "speedup"
local suite = require "common"

local x = suite.open("fig08", "figure 8", "copies of one program share the GPU")
local by, all = speedup.measure(x, "homogeneous")
suite.say(x, ("%d sets of copies of one program"):format(#all))
local paper = { gain = 55.5, ideal = 6.8 }
speedup.released(x, "homogeneous", paper)
speedup.report(x, by, all, paper)
paging.columns(x, "homogeneous")
x:close()
