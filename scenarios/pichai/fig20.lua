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
local report = require("heddle").report

local x = suite.open("fig20", "Thread block compaction with and without TLBs")
local T = suite.tlb
local designs, with, without = {}, {}, {}
for _, tlb in ipairs { T.ideal, T.naive, T.augmented } do
    local plain = suite.both(suite.GTO, tlb)
    local tbc = suite.both(suite.both(suite.TBC(), suite.GTO), tlb)
    without[tlb], with[tlb] = plain.name, tbc.name
    table.insert(designs, plain)
    table.insert(designs, tbc)
end
local all = suite.measure(x, designs)

--- What compaction adds to a ratio of two counters, with the augmented TLB.
local function added(part, whole)
    local function ratio(r)
        return report.counter(r, part) / report.counter(r, whole)
    end
    return suite.mean(all, function(row)
        return ratio(row[with[T.augmented]])
            - ratio(row[without[T.augmented]])
    end)
end

local pages = added("core.pages", "core.mem_instructions")
x:quantity { "pages a memory instruction, added by TBC, mean", said = "2 to 4",
    unit = "pages", heddle = pages, agrees = pages >= 2 and pages <= 4,
    why = suite.why.regroup }
local misses = 100 * added("l1tlb.misses", "l1tlb.lookups")
x:quantity { "TLB misses a look-up, added by TBC, mean", said = "5 to 10",
    unit = "points", heddle = misses, agrees = misses >= 5 and misses <= 10,
    why = suite.why.regroup }
local loss = -suite.mean(all, function(row)
    return suite.gain(row[with[T.augmented]], row[with[T.ideal]])
end)
x:quantity { "TBC with an augmented TLB below TBC without TLB, mean",
    said = "20", unit = "%", heddle = loss, agrees = loss >= 15 and loss <= 25,
    why = suite.why.walks }
x:quantity { "TBC over none, no TLB, mean", unit = "%",
    heddle = suite.mean(all, function(row)
        return suite.gain(row[with[T.ideal]], row[without[T.ideal]])
    end) }
suite.order(x, all, "augmented TLB, without and with TBC",
    { without[T.augmented], with[T.augmented] }, suite.why.regroup)
local rows = { { "program", "pages", "with TBC", "misses %", "with TBC",
    "threads a formed warp" } }
for i, row in ipairs(all) do
    local a, b = row[without[T.augmented]], row[with[T.augmented]]
    local function per(r, part, whole)
        return report.counter(r, part) / math.max(1, report.counter(r, whole))
    end
    rows[i + 1] = { row.program }
    for k, v in ipairs { per(a, "core.pages", "core.mem_instructions"),
        per(b, "core.pages", "core.mem_instructions"),
        100 * per(a, "l1tlb.misses", "l1tlb.lookups"),
        100 * per(b, "l1tlb.misses", "l1tlb.lookups"),
        per(b, "core.formed_threads", "core.formed_warps") } do
        rows[i + 1][k + 1] = ("%.2f"):format(v)
    end
end
x:table("Pages a memory instruction and TLB misses a look-up, augmented TLB",
    rows)
suite.show(x, all, designs, designs[1], "Performance over no TLB, no TBC")
x:close()
