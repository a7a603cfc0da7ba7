--- pichai/fig03.lua - memory instructions, TLB misses, and pages an instruction.
--
-- Pichai et al. (ASPLOS 2014), figure 3: the share of memory instructions and the
-- miss rate of a TLB of 128 entries, with loose round robin; and in how many 4 KB
-- pages the lanes of a memory instruction are (page divergence), mean and most; lanes:
-- active in an instruction of any kind.  The naive TLB blocks, so that no warp looks up a
-- page that is being walked; with the augmented one such look-ups miss, too.
--
--     heddle run scenarios/pichai/fig03.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig03", "Memory instructions, TLB misses, divergence")
local design = suite.both(suite.LRR, suite.tlb.three)
local other = suite.both(suite.LRR, suite.tlb.augmented)
suite.figure(x, { design, other }, function(page, all)
    local OVER = { BFS = 4, MUM = 8 }
    local shares, rates = {}, {}

    local rows = { { "program", "memory %", "misses %", "augmented",
        "pages, mean", "most", "lanes" } }
    local chart = { groups = {}, title = "Pages a memory instruction",
        unit = "pages", xlabel = "program",
        series = { { name = "mean", values = {} }, { name = "most", values = {} } } }
    local most = 0
    for i, row in ipairs(all) do
        local r = row[design.name]
        local share = 100 * suite.ratio(r, "core.mem_instructions",
            "core.instructions")
        local misses = 100 * suite.ratio(r, "l1tlb.misses", "l1tlb.lookups")
        local pages = suite.ratio(r, "core.pages", "core.mem_instructions")
        local top = suite.histogram(r, "core.pages").max
        most = math.max(most, top)
        shares[i], rates[i] = share, misses
        if OVER[row.program] then
            page:quantity { row.program .. ": pages a memory instruction",
                from = OVER[row.program], unit = "pages", heddle = pages }
        end
        rows[i + 1] = { row.program, ("%.1f"):format(share),
            ("%.1f"):format(misses), ("%.1f"):format(100 * suite.ratio(
                row[other.name], "l1tlb.misses", "l1tlb.lookups")),
            ("%.2f"):format(pages), top, ("%.1f"):format(suite.ratio(r,
                "core.thread_instructions", "core.instructions")) }
        chart.groups[i] = row.program
        chart.series[1].values[i], chart.series[2].values[i] = pages, top
    end
    page:quantity { "memory instructions, most of a program", to = 25, unit = "%",
        heddle = math.max(table.unpack(shares)) }
    page:quantity { "TLB misses a look-up, least of a program", paper = 22, unit = "%",
        heddle = math.min(table.unpack(rates)) }
    page:quantity { "TLB misses a look-up, most of a program", paper = 70, unit = "%",
        heddle = math.max(table.unpack(rates)) }
    page:quantity { "most pages of a memory instruction", paper = 32, unit = "pages",
        heddle = most }
    page:table("Memory instructions, misses of 128 entries, divergence", rows)
    page:bars(chart)
end)
x:close()
