--- pichai/sec9.lua - pages of 2 MB.
--
-- Pichai et al. (ASPLOS 2014), section 9: with pages of 2 MB a warp's lanes are still in
-- several of them, since their addresses span many MB.  Counted of the launch with the
-- most memory instructions, without time, in all warps of each so many blocks of it; and
-- performance with the TLBs of 4 KB and of 2 MB pages, with loose round robin.
-- Where an instruction's addresses are is counted of those that touch several pages.
--
--     heddle run scenarios/pichai/sec9.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"
local H = require "heddle"

local x = suite.open("sec9", "Pages of 2 MB")
local T = suite.tlb
local PAPER = { MUM = { 6, 12 }, BFS = { 3, 6 } }
local MB = 1 << 20

--- What memory instructions touch: their number, the pages of both sizes, the
-- bytes from the lowest to the highest address of those in several pages.
local function touched(name)
    local app, first, ready = suite.program(x, name)
    return suite.keep(x, "touched " .. name .. " " .. first, function()
        local n, small, large, span, wide = 0, 0, 0, 0, 0
        ready()
        H.survey.each(app.make(), function(e)
            if not e.addr then
                return nil
            end
            local low, high, some, seen = math.huge, 0, {}, {}
            for _, a in pairs(e.addr) do
                low, high = math.min(low, a), math.max(high, a)
                some[a >> 12], seen[a >> 21] = true, true
            end
            local pages = 0
            for _ in pairs(some) do pages = pages + 1 end
            for _ in pairs(seen) do large = large + 1 end
            n, small = n + 1, small + pages
            if pages > 1 then
                span, wide = span + (high - low), wide + 1
            end
            return n == 200000
        end, { first = first, every = x.full and 16 or 1 })
        return { small = small / n, large = large / n,
            span = span / math.max(1, wide) / MB }
    end)
end

local designs = { suite.both(suite.LRR, T.ideal) }
for _, tlb in ipairs { T.naive, T.augmented } do
    for _, page in ipairs { "4K", "2M" } do
        designs[#designs + 1] = suite.both(suite.LRR, suite.with(tlb,
            tlb.name .. " " .. page, { ["vm.page"] = page }))
    end
end
suite.figure(x, designs, function(page, all)
    local rows = { { "program", "4 KB pages", "2 MB pages", "span, MB", "misses %",
        "with 2 MB" } }
    for i, row in ipairs(all) do
        local t, p = touched(row.program), PAPER[row.program] or {}
        page:quantity { row.program .. ": 2 MB pages a memory instruction",
            paper = p[1], unit = "pages", n = 1, of = 1, heddle = t.large }
        page:quantity { row.program .. ": addresses of an instruction are within",
            paper = p[2], unit = "MB", n = 1, of = 1, heddle = t.span }
        rows[i + 1] = { row.program, ("%.2f"):format(t.small),
            ("%.2f"):format(t.large), ("%.1f"):format(t.span) }
        for k, d in ipairs { designs[2], designs[3] } do
            rows[i + 1][4 + k] = ("%.2f"):format(100 * suite.ratio(row[d.name],
                "l1tlb.misses", "l1tlb.lookups"))
        end
    end
    for i = 2, #designs do
        page:quantity { designs[i].name .. ": below no TLB, mean", unit = "%",
            heddle = suite.below(all, designs[i], designs[1]) }
    end
    page:table("Pages and span of a memory instruction, and misses of a naive TLB", rows)
    suite.show(page, all, designs, designs[1], "Performance over no TLB")
end)
x:close()
