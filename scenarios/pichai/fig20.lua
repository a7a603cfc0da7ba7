--- pichai/fig20.lua - thread block compaction with and without TLBs.
--
-- Pichai et al. (ASPLOS 2014), figure 20: thread block compaction puts threads of
-- several warps into one, which touch more pages; a TLB that is augmented loses to
-- compaction without translation, and is better off without compaction.  The
-- paper picks warps by age: greedy then oldest here, with and without.
--
--     heddle run scenarios/pichai/fig20.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig20", "Thread block compaction with and without TLBs")
local T = suite.tlb
local designs, with, without = {}, {}, {}
for _, tlb in ipairs { T.ideal, T.naive, T.augmented } do
    without[tlb] = suite.both(suite.GTO, tlb)
    with[tlb] = suite.both(suite.both(suite.TBC(), suite.GTO), tlb)
    table.insert(designs, without[tlb])
    table.insert(designs, with[tlb])
end
suite.figure(x, designs, function(page, all)
    local plain, tbc = without[T.augmented].name, with[T.augmented].name

    --- What compaction adds to a ratio of two counters, with the augmented TLB.
    local function added(part, whole)
        return suite.mean(all, function(row)
            return suite.ratio(row[tbc], part, whole)
                - suite.ratio(row[plain], part, whole)
        end)
    end

    suite.claim(page, { "pages a memory instruction, added by TBC, mean", from = 2, to = 4,
        unit = "pages" }, added("core.pages", "core.mem_instructions"))
    suite.claim(page, { "TLB misses a look-up, added by TBC, mean", from = 5, to = 10,
        unit = "points" }, 100 * added("l1tlb.misses", "l1tlb.lookups"))
    suite.compare(page, { "TBC with an augmented TLB below TBC without TLB, mean",
        paper = 20 }, all, with[T.augmented], with[T.ideal])
    page:quantity { "TBC over none, no TLB, mean", unit = "%",
        heddle = -suite.below(all, with[T.ideal], without[T.ideal]) }
    suite.order(page, all, "augmented TLB, without and with TBC", { plain, tbc })
    local rows = { { "program", "pages", "with TBC", "misses %", "with TBC",
        "threads a formed warp" } }
    for i, row in ipairs(all) do
        local a, b = row[plain], row[tbc]
        rows[i + 1] = { row.program }
        for k, v in ipairs { suite.ratio(a, "core.pages", "core.mem_instructions"),
            suite.ratio(b, "core.pages", "core.mem_instructions"),
            100 * suite.ratio(a, "l1tlb.misses", "l1tlb.lookups"),
            100 * suite.ratio(b, "l1tlb.misses", "l1tlb.lookups"),
            suite.ratio(b, "core.formed_threads", "core.formed_warps") } do
            rows[i + 1][k + 1] = ("%.2f"):format(v)
        end
    end
    page:table("Pages a memory instruction and TLB misses a look-up, augmented TLB",
        rows)
    suite.show(page, all, designs, designs[1], "Performance over no TLB, no TBC")
end)
x:close()
