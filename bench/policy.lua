--- policy.lua - what a Lua policy costs a whole run.
--
-- The same simulation with nobody bound, with a Lua policy asked on every
-- return of a walk to the L2 TLB (it reads four fields and answers as the
-- default does, so the machine does the same work), with the steered form, and
-- with a policy on a cold point.  Host time, the least of several runs.
--
--     heddle run bench/policy.lua [rounds=3]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"

local arg = H.args { rounds = 3, cycles = 200000 }

local ASKED = {
    name = "asked",
    params = { warps = { default = 64, max = 64, source = "the benchmark" } },
    tlb_fill = function(q, _, p)
        if q.warp < p.warps and q.core >= 0 and q.vpn > 0 and q.app >= 0 then
            return "l2tlb"
        end
        return "bypass"
    end,
}

local COLD = {
    name = "cold",
    alloc = function() end,
    core_partition = function() end,
    every = { 10000, function() end },
}

local FORMS = {
    { "nobody" }, { "Lua tlb_fill, asked", ASKED },
    { "tokens, steered", "tokens" }, { "cold points", COLD },
}

local WORK = {
    gather = function()
        return { machine = "maxwell",
                 apps = { H.trace "scenarios/data/gather.hdt" } }, math.maxinteger
    end,
    ["3DS + BP"] = function()
        return { machine = "maxwell",
                 apps = { H.app("3DS", { size = "M" }),
                          H.app("BP", { size = "M" }) } }, arg.cycles
    end,
}

local function seconds(make, policy)
    local least, asked = math.huge, 0
    for _ = 1, arg.rounds do
        local options, cycles = make()
        local sim = H.sim(options)
        if policy then
            sim:use(policy)
        end
        local t = os.clock()
        sim.core:run(cycles)
        least = math.min(least, os.clock() - t)
        asked = 0
        for name, v in pairs(sim:counters().policy) do
            asked = asked + (name:find "%.asked$" and v or 0)
        end
        sim:close()
    end
    return least, asked
end

print(("%-10s  %-20s %8s %10s %7s"):format("run", "policy", "seconds",
    "questions", "ratio"))
for _, name in ipairs { "gather", "3DS + BP" } do
    local base
    for _, form in ipairs(FORMS) do
        local t, asked = seconds(WORK[name], form[2])
        base = base or t
        print(("%-10s  %-20s %8.3f %10d %7.3f"):format(name, form[1], t,
            asked, t / base))
    end
end
