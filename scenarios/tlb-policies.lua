--- tlb-policies.lua - what has been proposed for TLBs elsewhere, tried here: a
-- next-page and a distance prefetcher, a predictor of dead entries, a victim TLB.
--
-- No paper's figure: the mechanisms are processors' (policies/next_page.lua,
-- distance.lua, dead_entry.lua, victim_tlb.lua tell whose), and the machine is a
-- GPU of 30 cores.  Six programs run alone, each for so many cycles after a
-- warm-up, without and with each policy: in C, and in Lua, which must count the
-- same.  The victim TLBs have 16 entries beside the 64 of each L1 TLB, which cost
-- a cycle at each miss.  Where all walkers are busy all the time (GUP, ATAX) next to
-- nothing is prefetched, since it comes behind what cores ask for; and at
-- scale=quick the time is so short that a handful of early walks moves GUP by a
-- quarter: full is what to look at.
--
--     heddle run scenarios/tlb-policies.lua [scale=full] [programs=ATAX,GUP]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local report = require "heddle.report"

local arg = H.args(experiment.args {
    programs = "ATAX,BFS2,CONS,GUP,HS,MM", size = "M", cycles = 0, warmup = 0,
})
local full = arg.scale == "full"
local cycles = arg.cycles > 0 and arg.cycles or full and 200000 or 10000
local warmup = arg.warmup > 0 and arg.warmup or full and 100000 or 5000

local DESIGNS = {
    { "none" }, { "next_page" }, { "distance" }, { "dead_entry" },
    { "victim_tlb", settings = { ["l1side.entries"] = { 16, "guess" } } },
}

local x = experiment.open { name = "scenarios/tlb-policies", arg = arg,
    source = "Smith 1982, Kandiraju 2002, Mazumdar 2021, Jouppi 1990",
    title = "mechanisms for TLBs that scripts invent" }
x:say("alone on 30 cores, size %s, %d cycles after %d of warm-up", arg.size,
    cycles, warmup)

local programs, jobs = {}, {}
for name in arg.programs:gmatch "[^,]+" do programs[#programs + 1] = name end
for _, name in ipairs(programs) do
    for _, design in ipairs(DESIGNS) do
        for form = 1, design[1] == "none" and 1 or 2 do
            local use = form == 1 and design[1]
                or H.here(("../policies/%s.lua"):format(design[1]))
            jobs[#jobs + 1] = { machine = H.machine "maxwell":with(
                design.settings or {}), apps = { H.app(name,
                { size = arg.size }) }, warmup = warmup,
                stop_cycles = warmup + cycles, budget = math.maxinteger,
                seed = arg.seed, policies = { use ~= "none" and use or nil } }
        end
    end
end

--- What two runs count, as far as it differs: names.
local function differ(a, b)
    local out, of = {}, {}
    for _, c in ipairs(a.counters) do of[c.component .. "." .. c.name] = c.total end
    for _, c in ipairs(b.counters) do
        local name = c.component .. "." .. c.name
        if of[name] ~= c.total then out[#out + 1] = name end
    end
    return out
end

local function total(r, name)
    for _, c in ipairs(r.counters) do
        if c.component .. "." .. c.name == name then return c.total end
    end
    return 0
end

local function share(a, b)
    return b > 0 and ("%.1f %%"):format(100 * a / b) or "-"
end

local results, k, apart = x:run(jobs), 0, {}
local rows = { { "program", "policy", "speed", "L1 TLB misses", "L2 TLB misses",
    "started", "filled", "useful", "late", "accuracy", "coverage", "kept, hit" } }
local chart = { title = "Speed, the machine without any as 1", groups = programs,
    unit = "times", xlabel = "program", series = {} }
local speed = {}
for _, name in ipairs(programs) do
    local none = results[k + 1]
    for d, design in ipairs(DESIGNS) do
        k = k + 1
        local r = results[k]
        if design[1] ~= "none" then
            k = k + 1
            for _, counter in ipairs(differ(r, results[k])) do
                apart[#apart + 1] = name .. " " .. design[1] .. " " .. counter
            end
        end
        speed[d] = speed[d] or {}
        local s = r.apps[1].instructions / none.apps[1].instructions
        speed[d][#speed[d] + 1] = s
        local useful, filled = total(r, "prefetch.useful"),
            total(r, "prefetch.filled")
        rows[#rows + 1] = { name, design[1], ("%.3f"):format(s),
            report.percent(report.metric(r, "l1tlb_miss_rate")),
            report.percent(report.metric(r, "l2tlb_miss_rate")),
            tostring(total(r, "prefetch.started")), tostring(filled),
            tostring(useful), tostring(total(r, "prefetch.late")),
            share(useful, filled),
            share(useful, useful + total(r, "mmu.misses")),
            share(total(r, "l1side.hits"), total(r, "l1side.lookups")) }
    end
end
for d, design in ipairs(DESIGNS) do
    local product = 1.0
    for _, s in ipairs(speed[d]) do product = product * s end
    x:quantity { "mean speed, " .. design[1],
        heddle = product ^ (1 / #programs) }
    if d > 1 then
        chart.series[d - 1] = { name = design[1], values = speed[d] }
    end
end
x:quantity { "counters in which Lua and C differ", paper = 0, heddle = #apart,
    unit = "counters" }
if #apart > 0 then
    x:say("Lua and C differ: %s", table.concat(apart, ", ", 1, math.min(#apart, 5)))
end
x:table("what the policies do", rows)
x:bars(chart)
x:close()
