--- mask/fig12.lua - the pairs of 0-HMR under all designs.
--
-- MASK (ASPLOS 2018), recalled as figure 12: weighted speedup of each pair of
-- which neither application misses the L1 and the L2 TLB often.  The
-- paper's value is the class's mean, in figure 11; pairs' own are not known.
--
--     heddle run scenarios/mask/fig12.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
require("common").open_class("fig12", "recalled as figure 12", 0, 58.7)
