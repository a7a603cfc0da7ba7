--- mi300a.lua - times of 21 kernels and 3 copies on an MI300A (sarchlab/mgpusim d01e70d,
-- gpu_perf_scripts/mi300a.csv: means of 51 runs at 10 to 24 sizes), which are not
-- compared: what stands in the way, a row each.
--
-- Wavefronts of 64 lanes (core.lanes), 228 cores and latencies of hits could be said.
-- But no machine here has several L2s, each of one chiplet's cores, nor the 256 MB of
-- cache between them and memory, and from 1 MB to 256 MB these decide the times; and
-- the entries of its TLBs (UTCL1, UTCL2) are not public.  MGPUSim itself is 16.4 % off
-- after it was fitted to these times; a machine that was fitted to them here would be a
-- curve through points, and no model.
--
--     heddle run scenarios/validate/mi300a.lua
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"

local v = common.open { name = "validate/mi300a", arg = H.args(experiment.args {}),
    source = "sarchlab/mgpusim, mi300a.csv", title = "kernels on an MI300A" }

for _, r in ipairs {
    { "16 kernels of few launches", "an L2 of each chiplet and 256 MB of cache "
        .. "behind them decide most of their times, and are not modelled" },
    { "5 kernels of many dependent launches", "a launch has no cost of its own here; there it "
        .. "is most of the time" },
    { "copies from and to the host", "host and device share memory on this card" },
} do
    v:row { "mi300a: " .. r[1], unit = "ms", use = "test", why = r[2] }
end
v.x:say "Nothing is run: rows say why"
v:close()
