--- mask/fig13.lua - the pairs of 1-HMR under all designs.
--
-- MASK (ASPLOS 2018), figure 13 (the number is recalled): weighted speedup of each
-- pair of which 1 applications miss the L1 and the L2 TLB often; the mean gain
-- of MASK is that of figure 11.
--
--     heddle run scenarios/mask/fig13.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
require("common").class_figure("fig13", "figure 13", 1, 61.2)
