--- mosaic/fig10.lua - chosen sets of two programs: where Mosaic is near an ideal
-- TLB, and where it is not.
--
-- Mosaic (MICRO 2017), figure 10 and section 6.1: sets that are friendly to the
-- TLB gain little and come near Ideal; in HS-CONS and NW-HISTO Mosaic stays well
-- below it, since their TLBs still miss.
--
-- The paper names these two and shows others; which ones is not in the text.
-- Friendly here means what can be measured: a set in which GPU-MMU reaches 95 %
-- of Ideal.
--
--     heddle run scenarios/mosaic/fig10.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local FRIENDLY = 0.95
local LIST = { "HS-CONS", "NW-HISTO" }
local NAMED = { ["HS-CONS"] = true, ["NW-HISTO"] = true }

local x = suite.open("fig10", "figure 10", "two programs share the GPU")
local designs = { suite.gpummu, suite.mosaic, suite.ideal }
local sets = suite.sets(x, "heterogeneous", 2)
local results = suite.measure(x, sets, designs)

suite.say(x, ("%d sets of two programs"):format(#sets))
x:scope(#sets, suite.count("heterogeneous", 2), "sets")
local function share(r, design)
    return r[design].ws / r.Ideal.ws
end
local friendly = {}
for i, r in ipairs(results) do
    if share(r, "GPU-MMU") >= FRIENDLY and not NAMED[sets[i].name] then
        friendly[#friendly + 1] = r
    end
end
local mean = suite.mean(friendly, function(r) return share(r, "Mosaic") end)
x:quantity { ("Mosaic of Ideal, %d friendly sets"):format(#friendly),
    unit = "%", heddle = mean and 100 * mean }
local order = { friendly = mean }
for i, r in ipairs(results) do
    local name = sets[i].name
    if NAMED[name] then
        order[name] = share(r, "Mosaic")
        x:quantity { name .. ": Mosaic of Ideal", unit = "%",
            heddle = 100 * order[name] }
        x:quantity { name .. ": GPU-MMU of Ideal", unit = "%",
            heddle = 100 * share(r, "GPU-MMU") }
    end
end
for _, name in ipairs(LIST) do
    if mean and order[name] then
        x:order { "share of Ideal, " .. name, paper = { "friendly", name },
            heddle = { friendly = mean, [name] = order[name] } }
    end
end
suite.sets_table(x, "Weighted speedup", sets, designs, results)
suite.sets_chart(x, "weighted speedup", sets, designs, results)
x:close()
