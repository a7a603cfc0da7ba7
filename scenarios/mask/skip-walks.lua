--- skip-walks.lua - a policy that sends page walk reads of some levels past the
-- L2 cache, always: level = 1 (root) to 4 (leaf), and all deeper ones.
--
-- For causes.lua: what if reads of leaf entries never found their line in the
-- cache, as MASK's section 4.3 has it?
--
-- SPDX-License-Identifier: MIT
return {
    name = "skip-walks",
    summary = "page walk reads from a level on go past the L2 cache",
    source = "an experiment",
    params = {
        level = { default = 4, min = 1, max = 4,
            meaning = "the first level that goes past" },
    },
    init = function(_, p, place)
        for app = 0, place.apps - 1 do
            for level = p.level, 4 do
                steer("l2_bypass", app, level, 1)
            end
        end
    end,
}
