--- mesc/fig02.lua - what pages of 2 MB bring.
--
-- MESC (Yu, Bai, Wang), figure 2: transparent huge pages (THP) over pages of 4 KB, for
-- each program; sensitive are those that gain more than 10 %.  Sizes S and M stand
-- beside n = 1024 (common.lua), which is scored, as the paper gives no inputs.
--
-- COLOR has a grid, as Pannotia's ecology1, and SSSP a road network.  What makes a
-- program gain is in the second table: pages that a memory instruction touches,
-- walks, and the bandwidth that is left.  Beside it the same two programs on random
-- graphs, whose neighbours are anywhere.
--
-- At full scale the groups are the paper's at both sizes.  At M the sensitive programs
-- walk 3.5 to 4,010 times in 1,000 instructions, the insensitive 0.2 to 3.3 times, and
-- 2DCONV, COLOR, SRAD and SSSP have 30 to 32 of 32 GB/s of DRAM with either page.  The
-- graph decides it: COLOR's grid takes 1.05 pages an access and 2.2 walks, THP brings
-- it 1 %; a random graph 6.8 pages and 900 walks, as color and value are 1,954 pages,
-- and THP 2.46 times; SSSP's 5.3 pages, but 2.9 walks, as the 258 pages of x fit into
-- the IOMMU's 512 entries, and 1.16 times.
--
--     heddle run scenarios/mesc/fig02.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local report = require "heddle.report"
local x = mesc.open_runs("fig02", "THP over 4 KB", nil, true)
local designs = mesc.designs { "baseline", "THP" }
local sizes = x.sizes

local function speedup(row) return mesc.relative(row, "THP", "baseline") / 100 end

--- What a program's gain comes from.
local function causes(title, all)
    local rows = { { "program", "group", "THP, times", "pages an access",
        "walks a 1,000 instructions", "GB/s, 4 KB", "of walks", "GB/s, 2 MB" } }
    for i, row in ipairs(all) do
        local function m(design, name)
            return report.metric(row[design], name) or 0
        end
        local walks = m("baseline", "dram_gbps_walk")
        rows[i + 1] = { row.program,
            mesc.sensitive(row) and "sensitive" or "insensitive" }
        for _, v in ipairs { speedup(row), m("baseline", "pages_per_access"),
            1000 * m("baseline", "walks") / row.baseline.instructions,
            m("baseline", "dram_gbps_data") + walks, walks,
            m("THP", "dram_gbps_data") + m("THP", "dram_gbps_walk") } do
            table.insert(rows[i + 1], ("%.2f"):format(v))
        end
    end
    x:table(title, rows)
end

for i, size in ipairs(sizes) do
    local all, paper = mesc.measure(x, designs, size), i == #sizes
    mesc.quantity(x, all, { "THP, sensitive, mean, " .. size, unit = "times",
        paper = paper and 1.96 or nil }, speedup, mesc.sensitive)
    local most, groups = 0, 0
    for _, row in ipairs(all) do
        most = math.max(most, speedup(row))
        if (speedup(row) > 1.1) == mesc.sensitive(row) then
            groups = groups + 1
        end
    end
    x:quantity { "THP, most, " .. size, unit = "times",
        paper = paper and 4.4 or nil, heddle = most }
    x:quantity { "programs in the paper's group, " .. size, unit = "programs",
        paper = paper and #all or nil, heddle = groups }
    mesc.groups(x, all, "THP's gain, " .. size, { "sensitive", "insensitive" },
        speedup, not paper)
    mesc.show(x, all, { size }, "Speedup of THP, size " .. size, speedup, "times")
    causes("Why, size " .. size, all)
end
local random = mesc.measure(x, designs, sizes[1], function(row)
    return row.program == "COLOR" or row.program == "SSSP"
end, "random")
for _, row in ipairs(random) do
    x:quantity { ("THP, %s on a random graph, %s"):format(row.program, sizes[1]),
        unit = "times", heddle = speedup(row) }
end
if random[1] then
    causes("On random graphs, size " .. sizes[1], random)
end
x:close()
