--- mask/fig13.lua - the pairs of 1-HMR under all designs.
--
-- MASK (ASPLOS 2018), recalled as figure 13: weighted speedup of each pair of
-- which one application misses the L1 and the L2 TLB often.  The
-- paper's value is the class's mean, in figure 11; pairs' own are not known.
--
--     heddle run scenarios/mask/fig13.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
require("common").open_class("fig13", "recalled as figure 13", 1, 61.2)
