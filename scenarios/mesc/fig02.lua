--- mesc/fig02.lua - what pages of 2 MB bring.
--
-- MESC (Yu, Bai, Wang), figure 2: transparent huge pages (THP) over pages of 4 KB, for
-- each program; sensitive are those that gain more than 10 %.  Sizes S and M stand
-- beside each other, as the paper gives no inputs.
--
--     heddle run scenarios/mesc/fig02.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig02", "THP over 4 KB")
local designs = mesc.designs { "baseline", "THP" }
local sizes = x.full and { "S", "M" } or { x.size }

local function speedup(row) return mesc.relative(row, "THP", "baseline") / 100 end

for i, size in ipairs(sizes) do
    local all, paper = mesc.measure(x, designs, size), i == #sizes
    mesc.quantity(x, all, "THP, sensitive, mean, " .. size, "times",
        paper and 1.96 or nil, speedup, mesc.sensitive, mesc.why.sizes)
    local most, groups = 0, 0
    for _, row in ipairs(all) do
        most = math.max(most, speedup(row))
        if (speedup(row) > 1.1) == mesc.sensitive(row) then
            groups = groups + 1
        end
    end
    x:quantity { "THP, most, " .. size, unit = "times",
        paper = paper and 4.4 or nil, heddle = most, why = mesc.why.sizes }
    x:quantity { "programs in the paper's group, " .. size, unit = "programs",
        paper = paper and #all or nil, heddle = groups }
    mesc.show(x, all, { size }, "Speedup of THP, size " .. size, speedup, "times")
end
x:close()
