--- mask/fig14.lua - the pairs of 2-HMR under all designs.
--
-- MASK (ASPLOS 2018), recalled as figure 14: weighted speedup of each pair of
-- which both applications miss the L1 and the L2 TLB often.  The
-- paper's value is the class's mean, in figure 11; pairs' own are not known.
--
--     heddle run scenarios/mask/fig14.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
require("common").open_class("fig14", "recalled as figure 14", 2, 52.0)
