--- mask/table2.lua - classes of the applications by TLB miss rate, alone.
--
-- MASK (ASPLOS 2018), table 2: miss rates of the L1 and the L2 TLB above 20 %
-- are high.  Here each application of the pairs runs alone on all 30 cores, at
-- the size that the other experiments use, since classes depend on it.  At the
-- sizes of the release, with two more ways to count, and with what is known of
-- each class that differs: scenarios/characterise/mask.lua.
--
--     heddle run scenarios/mask/table2.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local suite = require "common"

local CLASS = H.suites.get("mask").class

local x = suite.open("table2", "table 2", "classes by TLB miss rate")
local o = suite.options(x, { names = { "SharedTLB" } })
local names, seen, jobs = {}, {}, {}
local COUNT = 0
for _ in pairs(CLASS) do
    COUNT = COUNT + 1
end
for _, set in ipairs(o.pairs) do
    for _, name in ipairs(set.apps) do
        if not seen[name] then
            seen[name] = true
            names[#names + 1] = name
        end
    end
end
table.sort(names)
for i, name in ipairs(names) do
    jobs[i] = { machine = o.reference.apply(o.machine), apps = { H.app(name,
        { size = o.sizes[name] or o.size }) }, warmup = o.warmup,
        stop_cycles = o.warmup + o.cycles, budget = math.maxinteger,
        seed = x.arg.seed }
end

local function high(rate)
    return rate and rate > 0.2 and "High" or "Low"
end

local rows = { { "application", "size", "L1 TLB", "L2 TLB", "here", "MASK" } }
local l1, l2, same = {}, {}, 0
for i, r in ipairs(x:run(jobs)) do
    local a, b = report.metric(r, "l1tlb_miss_rate"),
        report.metric(r, "l2tlb_miss_rate")
    local class = high(a) .. "/" .. high(b)
    l1[i], l2[i] = 100 * (a or 0), 100 * (b or 0)
    same = same + (class == CLASS[names[i]] and 1 or 0)
    rows[i + 1] = { names[i], o.sizes[names[i]] or o.size, report.percent(a),
        report.percent(b), class, CLASS[names[i]] }
end
x:say("Alone on 30 cores on SharedTLB, %d cycles after %d of warm-up",
    o.cycles, o.warmup)
x:quantity { "applications in MASK's class", unit = "", paper = #names,
    heddle = same, n = #names, of = COUNT, sets = "applications",
    note = suite.note.recalled }
x:table("Miss rates", rows)
x:bars { title = "TLB miss rates, alone", unit = "%", groups = names,
    xlabel = "program",
    width = math.max(720, 60 + 60 * #names), series = {
        { name = "L1 TLB", values = l1 }, { name = "L2 TLB", values = l2 } } }
x:close()
