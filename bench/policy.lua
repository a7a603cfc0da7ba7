--- policy.lua - what a Lua policy costs a whole run.
--
--     heddle run bench/policy.lua [turns=3] [only=gather|demo] [cycles=60000]
--
-- One simulation with no policy bound, with a Lua policy asked on every
-- return of a walk to the L2 TLB (it reads four fields and answers as the
-- default does, so the machine does the same work), with the steered form, and
-- with a policy on cold points and an epoch.  The time of the run over that of
-- the run with no policy bound; mapping pages is not timed.
--
--   gather.*   the trace, whole
--   demo.*     the demo's three pairs, the first `cycles` cycles of each; the
--              mean of their ratios, weighed by their times
--   cold       all four of these runs
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local least = require "least"

local arg = H.args { turns = 3, cycles = 60000, only = "" }

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
    page_size = function() end,
    core_partition = function() end,
    every = { 10000, function() end },
}

local FORMS = {
    { "none" }, { "asked", ASKED }, { "steered", "policies/mask.lua" }, { "cold", COLD },
}

--- A variant of a run for each form of policy.
local function variants(apps, slice, cycles)
    local out = {}
    for i, form in ipairs(FORMS) do
        out[i] = {
            slice = slice, cycles = cycles,
            make = function()
                local sim = H.sim {
                    machine = H.designs.sharedtlb(least.machine),
                    apps = apps(),
                }
                if form[2] then
                    sim:use(form[2])
                end
                return sim
            end,
            done = function(sim)
                local asked = 0
                for name, v in pairs(sim:counters().policy) do
                    asked = asked + (name:find "%.asked$" and v or 0)
                end
                return asked
            end,
        }
    end
    return out
end

local function add(sum, seconds, ratios, asked)
    for i = 1, #FORMS do
        local t = sum[i] or { base = 0, scaled = 0, seconds = 0, asked = 0 }
        t.base = t.base + seconds[1]
        t.scaled = t.scaled + ratios[i] * seconds[1]
        t.seconds = t.seconds + seconds[i]
        t.asked = t.asked + asked[i]
        sum[i] = t
    end
end

local function row(name, t)
    least.row(name, t.scaled / t.base, "times", ("%d questions in %.0f ms")
        :format(t.asked, t.seconds * 1e3))
end

local all = {}

local function rows(name, sum)
    for i, t in ipairs(sum) do
        if FORMS[i][1] == "asked" or FORMS[i][1] == "steered" then
            row(name .. "." .. FORMS[i][1], t)
        end
    end
end

if arg.only ~= "demo" then
    local sum = {}
    local t, r, n = least.runs(variants(function()
        return { H.trace "scenarios/data/gather.hdt" }
    end, 10000), arg.turns)
    add(sum, t, r, n)
    add(all, t, r, n)
    rows("gather", sum)
end

if arg.only ~= "gather" then
    local sum = {}
    for _, pair in ipairs { { "BFS2", "M", "GUP", "S" },
        { "3DS", "M", "BP", "M" }, { "MM", "M", "CONS", "M" } } do
        local t, r, n = least.runs(variants(function()
            return { H.app(pair[1], { size = pair[2] }),
                H.app(pair[3], { size = pair[4] }) }
        end, 2000, arg.cycles), arg.turns)
        add(sum, t, r, n)
        add(all, t, r, n)
    end
    rows("demo", sum)
end

row("cold", all[#FORMS])
