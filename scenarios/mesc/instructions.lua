--- instructions.lua - a policy that watches: memory instructions of which a page
-- missed in the TLB of their core.
--
-- The engine counts a look-up for each page of an instruction.  A paper that does
-- not say what it counts may mean an instruction, which hits where all its pages do;
-- for figure 3.  Nothing is decided.
--
-- An instruction is known by its warp and program counter from its issue on: two of
-- one warp and counter in flight at once are taken for one.
--
-- SPDX-License-Identifier: MIT
local function key(n)
    return (n.core << 8 | n.warp) << 32 | n.pc
end

return {
    name = "instructions",
    summary = "counts memory instructions of which a page missed the L1 TLB",
    source = "an experiment",
    state = { missed = {} },
    counters = { missed = { unit = "warp instructions",
        meaning = "memory instructions of which a page missed the L1 TLB" } },
    watch = {
        access = function(n, s) s.missed[key(n)] = nil end,
        tlb_miss = { level = 1, function(n, s)
            if not s.missed[key(n)] then
                s.missed[key(n)] = true
                tally("missed", 1, n.app) -- luacheck: globals tally
            end
        end },
    },
}
