--- mask/fig12.lua - the pairs of 0-HMR under all designs.
--
-- MASK (ASPLOS 2018), figure 12 (the number is recalled): weighted speedup of each
-- pair of which 0 applications miss the L1 and the L2 TLB often; the mean gain
-- of MASK is that of figure 11.
--
--     heddle run scenarios/mask/fig12.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
require("common").class_figure("fig12", "figure 12", 0, 58.7)
