--- pichai.lua - what Pichai et al. say of their programs.
--
-- Pichai, Hsu, Bhattacharjee (ASPLOS 2014), figure 3: memory instructions are
-- less than 25 % of all; a 128-entry TLB in each core misses 22 to 70 % of its
-- look-ups; a warp instruction touches more than 4 pages on average in bfs and
-- more than 8 in mummergpu, and up to 32.  Their inputs need 1 GB and more
-- (size XL); the machine has a TLB of 128 entries and 32-thread warps.
--
-- Programs of this size are long.  The survey is cut at `limit`, the timed run
-- at `budget` warp instructions; it begins at the launch with the most memory
-- instructions that the survey saw (the widest frontier of bfs, not its first
-- levels of a few nodes), and what comes before runs without time.
--
--     heddle run scenarios/characterise/pichai.lua [size=XL] [jobs=2]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local agree = require "agree"

local arg = H.args {
    size = "XL", jobs = 2,
    limit = 0,          -- warp instructions of a survey; 0: to the end
    budget = 3000000,   -- of a timed run
    json = "",
}

local suite = require("heddle.suites").get "pichai"
local rows = H.characterise.all(agree.present(suite.apps, arg.size), {
    size = arg.size, machine = "pichai", limit = arg.limit,
    budget = arg.budget, from = "busiest",
}, arg.jobs)

local checks = agree.new()
local DIVERGENCE = { BFS = 4, MUM = 8 } -- figure 3: more than that
local most = 0

for _, row in ipairs(rows) do
    local m = row.metrics
    if not row.error then
        checks:add(row.name .. ": memory instructions", "< 25 %",
            agree.percent(m.memory_share), m.memory_share < 0.25)
        checks:add(row.name .. ": TLB misses a look-up", "22 to 70 %",
            agree.percent(m.l1tlb_miss_rate),
            m.l1tlb_miss_rate >= 0.22 and m.l1tlb_miss_rate <= 0.70)
        local least, ok = DIVERGENCE[row.name], nil
        if least then
            ok = m.pages_mean > least
        end
        checks:add(row.name .. ": pages a memory instruction",
            least and "> " .. least or "", ("%.2f"):format(m.pages_mean), ok)
        most = math.max(most, m.pages_max)
    end
end
checks:add("most pages of an instruction", "up to 32", ("%d"):format(most),
    most <= 32 and most > 24)
checks:print(("Pichai figure 3, size %s, machine pichai"):format(arg.size))
agree.cuts(rows)
if arg.json ~= "" then
    H.report.emit(H.characterise.json(rows), arg.json)
end
