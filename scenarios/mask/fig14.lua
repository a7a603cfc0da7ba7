--- mask/fig14.lua - the pairs of 2-HMR under all designs.
--
-- MASK (ASPLOS 2018), figure 14 (the number is recalled): weighted speedup of each
-- pair of which 2 applications miss the L1 and the L2 TLB often; the mean gain
-- of MASK is that of figure 11.
--
--     heddle run scenarios/mask/fig14.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
require("common").class_figure("fig14", "figure 14", 2, 52.0)
