-- common.lua - what the pages of later proposals have in common: a program alone, or
-- a pair, on the papers' machine, without and with a policy.
--
-- Each page states the baseline of its paper as far as it is public, and what of it
-- heddle's machine has.  A direction is a claim, a size only where the baseline is
-- stated; constants that are not public are guesses, and say so (heddle explain of the
-- policy).  Everything runs for so many cycles after a warm-up: speed is warp
-- instructions in them.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local report = require "heddle.report"

local common = {}

--- Irregular programs, whose instructions touch many pages, and two that do not.
common.PROGRAMS = { "ATAX", "BFS2", "BICG", "GUP", "MVT", "SPMV", "CONS", "MM" }
local QUICK = 3 -- of them

--- Opens the experiment proposals/NAME; more arguments in `extra`.
function common.open(name, title, source, extra)
    local args = { programs = "", size = "", cycles = 0, warmup = 0 }
    for k, v in pairs(extra or {}) do args[k] = v end
    local arg = H.args(experiment.args(args))
    local x = experiment.open { name = "proposals/" .. name, arg = arg,
        source = source, title = title }
    x.arg, x.full = arg, arg.scale == "full"
    x.size = arg.size ~= "" and arg.size or x.full and "M" or "S"
    x.cycles = arg.cycles > 0 and arg.cycles or x.full and 200000 or 60000
    x.warmup = arg.warmup > 0 and arg.warmup or x.full and 100000 or 20000
    x.programs = {}
    for word in arg.programs:gmatch "[^,]+" do x.programs[#x.programs + 1] = word end
    if #x.programs == 0 then
        for i, word in ipairs(common.PROGRAMS) do
            if x.full or i <= QUICK + 1 then x.programs[i] = word end
        end
    end
    return x
end

--- A counter of all copies of a part, or 0.
function common.count(r, name)
    return report.counter(r, name) or 0
end

--- Runs each program alone under each design { name, use =, settings = }, with the policy
-- `memory` below all of them, if there is one: results[program][design].
function common.alone(x, machine, designs, memory)
    local jobs, out, k = {}, {}, 0
    for _, name in ipairs(x.programs) do
        for _, d in ipairs(designs) do
            jobs[#jobs + 1] = { machine = machine:with(d.settings or {}),
                apps = { H.app(name, { size = x.size }) }, warmup = x.warmup,
                stop_cycles = x.warmup + x.cycles, budget = math.maxinteger,
                seed = x.arg.seed, policies = { d.use or memory, d.use and memory } }
        end
    end
    local results = x:run(jobs)
    for _, name in ipairs(x.programs) do
        out[name] = {}
        for _, d in ipairs(designs) do
            k = k + 1
            out[name][d.name] = results[k]
        end
    end
    return out
end

--- How many times as fast a program is under a design as under the first.
function common.speed(all, name, design, base)
    local ran = all[name][base].apps[1].instructions
    if ran == 0 then
        error(("%s issues nothing in these cycles under %s: give more cycles=")
            :format(name, base), 0)
    end
    return all[name][design].apps[1].instructions / ran
end

--- Table, chart and claims of programs alone.  columns: { head, function(r) } of each
-- run; claim: design -> what to say of its mean speed over the first design.
function common.show(x, all, designs, columns, claims)
    local base = designs[1].name
    local rows = { { "program", "design", "speed" } }
    for _, c in ipairs(columns) do table.insert(rows[1], c[1]) end
    local chart = { title = ("Speed over %s"):format(base), groups = x.programs,
        series = {}, unit = "times as fast", xlabel = "program" }
    for d, design in ipairs(designs) do
        local values, product = {}, 1
        for i, name in ipairs(x.programs) do
            values[i] = common.speed(all, name, design.name, base)
            product = product * values[i]
        end
        if d > 1 then
            chart.series[d - 1] = { name = design.name, values = values }
            local q = { ("%s over %s, mean of programs"):format(design.name, base),
                unit = "%", kind = "gain",
                heddle = 100 * (product ^ (1 / #x.programs) - 1) }
            for k, v in pairs(claims[design.name] or {}) do q[k] = v end
            x:quantity(q)
        end
    end
    for _, name in ipairs(x.programs) do
        for _, design in ipairs(designs) do
            local r = all[name][design.name]
            local row = { name, design.name,
                ("%.3f"):format(common.speed(all, name, design.name, base)) }
            for _, c in ipairs(columns) do
                local v = c[2](r)
                row[#row + 1] = type(v) == "string" and v or math.type(v) == "integer"
                    and tostring(v) or v and ("%.1f"):format(v) or "-"
            end
            rows[#rows + 1] = row
        end
    end
    x:table("What each program did", rows)
    x:bars(chart)
end

--- A column of a metric.
function common.metric(head, name)
    return { head, function(r) return report.metric(r, name) end }
end

--- A column of a metric that is a share.
function common.percent(head, name)
    return { head, function(r) return report.percent(report.metric(r, name)) end }
end

--- A column of a counter.
function common.counter(head, name)
    return { head, function(r) return common.count(r, name) end }
end

return common
