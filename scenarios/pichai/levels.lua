--- levels.lua - the walker keeps the entries of levels 1 and 2 that earlier walks read.
--
-- Pichai et al. (ASPLOS 2014), section 6.3 (1): walks of a batch repeat the entries of
-- the levels near the root, so that one read does for several.  Read widely, that
-- holds for walks that follow one another, too: a program has one entry of level 1
-- and a handful of level 2.  So here no walk reads them.  A column of the figures
-- (common.lua): what the paper's walker does between batches is not said.
--
-- SPDX-License-Identifier: MIT
return {
    name = "levels",
    summary = "no walk reads the entries of levels 1 and 2",
    source = "Pichai et al., ASPLOS 2014, section 6.3, read widely",
    walk_step = function(q)
        return q.level <= 2 and "skip" or "read"
    end,
}
