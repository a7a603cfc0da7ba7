--- mask/table3.lua - one to five applications at once.
--
-- MASK (ASPLOS 2018), table 3: the performance of SharedTLB and of MASK, in
-- percent of Ideal, when one to five applications share the GPU.  Sets: each
-- program of the pairs, the pairs, and sets of three to five that are drawn
-- with a seed (heddle.suites); MASK does not list its own.  quick: two sets of
-- one and of two applications, one of each other count.
--
--     heddle run scenarios/mask/table3.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local sharing = require "heddle.sharing"
local suite = require "common"

local PAPER = { SharedTLB = { 47.1, 48.7, 38.8, 34.2, 33.1 },
    MASK = { 68.5, 76.8, 62.3, 55.0, 52.9 } }

local x = suite.open("table3", "table 3", "one to five applications",
    nil, suite.FEW)

--- Sets of n applications.
local function sets(n)
    local list = n == 2 and suite.pairs(x) or {}
    if n == 1 then
        list = H.suites.homogeneous(1)
    elseif n > 2 then
        list = H.suites.heterogeneous(n, x.arg.seed)
    end
    local limit = x.sets or n <= 2 and 2 or 1
    return table.move(list, 1, math.min(limit, #list), 1, {})
end

local groups, series = {}, {}
for i, name in ipairs { "SharedTLB", "MASK" } do
    series[i] = { name = name, values = {}, marks = PAPER[name] }
end
for n = 1, 5 do
    local o = suite.options(x, { names = { "Ideal", "SharedTLB", "MASK" },
        pairs = sets(n), partition = "even" })
    if n == 1 then
        suite.say(x, o)
        x:say("Sets of 1 to 5: the first %d single programs, then %d sets "
            .. "each of three to five", #o.sets, #sets(3))
    end
    local r = sharing.measure(x, o)
    x:scope(#o.sets, n == 1 and #H.suites.homogeneous(1) or n == 2
        and #H.suites.pairs() or #H.suites.heterogeneous(n, x.arg.seed), "sets")
    groups[n] = ("%d"):format(n)
    for i, s in ipairs(series) do
        local function name(design)
            return ("%s, %d application%s (%d sets)"):format(design, n,
                n > 1 and "s" or "", #o.sets)
        end
        local q = sharing.claim({ name(s.name), kind = "part",
            paper = PAPER[s.name][n], on = s.name == "MASK" and name "SharedTLB"
            or nil }, r, s.name, "Ideal")
        s.values[n] = q.heddle
        x:quantity(q)
        series[i] = s
    end
    x:order(sharing.order({ ("%d application%s"):format(n, n > 1 and "s" or ""),
        paper = { "MASK", "SharedTLB" } }, r))
end
suite.grouped(x, { title = "Performance of one to five applications",
    unit = "% of Ideal", head = "applications", format = "%.1f",
    mark = "MASK's paper" }, groups, series)
x:close()
