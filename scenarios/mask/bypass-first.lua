--- bypass-first.lua - a policy that watches: would the bypass cache have the page
-- of each access, if every access asked it first?
--
-- In the released simulator (CMU-SAFARI/Mosaic, tlb.cc, probe) it is looked up
-- for every access, before the L1 TLB of its core and at no cost.  In MASK's text
-- it stands beside the L2 TLB, and so it does here.  For sec72.lua; the 32
-- entries are kept again, in the order of use, and nothing is decided.
--
-- SPDX-License-Identifier: MIT
local ENTRIES = 32

--- The walk before this instant has filled: into the bypass cache, if its counter
-- has grown.
local function filled(s)
    local fills = counter "mmu.bypass_fills"
    if s.walked and fills > s.fills then
        table.insert(s.list, 1, s.walked)
        s.list[ENTRIES + 1] = nil
    end
    s.walked, s.fills = nil, fills
end

local function look(q, s)
    if q.level ~= 1 then
        return
    end
    filled(s)
    local page = q.app << 48 | q.vpn
    s.looks = s.looks + 1
    for i, v in ipairs(s.list) do
        if v == page then
            table.insert(s.list, 1, table.remove(s.list, i))
            s.hits = s.hits + 1
            return
        end
    end
end

return {
    name = "bypass-first",
    summary = "counts accesses whose page the bypass cache has",
    source = "an experiment",
    state = { looks = 0, hits = 0, fills = 0, list = {} },
    watch = {
        tlb_hit = look,
        tlb_miss = look,
        walk_done = function(q, s)
            filled(s)
            s.walked = q.app << 48 | q.vpn
        end,
    },
}
