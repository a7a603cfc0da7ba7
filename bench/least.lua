--- least.lua - how the Lua benchmarks measure, and how they print.
--
-- A simulation does the same work on every run, so one slice of it (so many
-- cycles) takes the same time but for what disturbs the machine.  A run is cut
-- into slices, repeated, and counts as the sum of the least time of each slice:
-- a disturbance costs nothing unless it strikes the same slice in every turn.
--
-- Variants that are compared run side by side, a slice of each in turn, so that
-- a slow spell of the machine strikes all of them.  The ratio of two is that
-- of neighbouring slices: the median over the turns for each slice, and the
-- mean of these, weighed by the slices' times.  Times are of the processor.
--
-- Every benchmark prints rows of one form, which summary.lua reads:
--
--     name   value   unit   remark
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local runner = require "heddle.runner"

local least = {}

--- The machine of what is promised: arithmetic without dependences, misses under
-- misses, short ways to memory, so that a cycle has most to do.  Rows that end
-- in .maxwell are of that preset.
least.machine = H.machine "aggressive"

function least.row(name, value, unit, remark)
    print(("%-22s %10.3f  %-18s %s"):format(name, value, unit, remark or ""))
end

--- Calls fn in a process of its own; returns the most bytes that were resident
-- there, what was so before included, and the numbers that fn returns.
function least.apart(fn)
    local numbers
    runner.spread(1, 1, function()
        local said = { fn() }
        table.insert(said, 1, 1024 * io.open("/proc/self/status"):read "a"
            :match "VmHWM:%s*(%d+)")
        return { ok = true, result = said }
    end, function(_, m)
        assert(m.ok, m.result.message)
        numbers = m.result
    end)
    return table.unpack(numbers)
end

--- Builds a variant's simulation and, unless `whole`, maps its pages.
local function begin(v)
    local clock = v.clock or os.clock
    local t = clock()
    local sim = v.make()
    if not v.whole then
        sim.core:run(1)
        t = clock()
    end
    return {
        v = v, sim = sim, word = "ok", left = v.cycles or math.maxinteger,
        times = {}, spent = clock() - t, clock = clock,
    }
end

--- One slice of a run.
local function go(r)
    local n = math.min(r.left, r.v.slice)
    local t = r.clock()
    r.word = r.sim.core:run(n)
    r.times[#r.times + 1] = r.clock() - t + r.spent
    r.left, r.spent = r.left - n, 0
end

--- All variants once, side by side: [variant][slice] seconds.
local function turn(variants, facts)
    local runs, out = {}, {}
    collectgarbage()
    for i, v in ipairs(variants) do
        runs[i] = begin(v)
    end
    while runs[1].word == "ok" and runs[1].left > 0 do
        for _, r in ipairs(runs) do
            go(r)
        end
    end
    for i, r in ipairs(runs) do
        assert(r.word == runs[1].word, "the variants do different work")
        facts[i] = r.v.done and r.v.done(r.sim)
        out[i] = r.times
        r.sim:close()
    end
    return out
end

local function median(list)
    table.sort(list)
    local n = #list
    return (list[(n + 1) // 2] + list[n // 2 + 1]) / 2
end

--- Measures variants of one run, which take as many slices each.  A variant:
--     make()     builds the simulation (heddle.sim's)
--     whole      time that, too, and the mapping of pages
--     clock      seconds so far (of the processor, unless given)
--     slice      cycles of a slice
--     cycles     cycles in all (to the end)
--     done(sim)  called when a run has ended
-- Returns the seconds of each, their ratios to the first, and what `done`
-- returned, as lists.
function least.runs(variants, turns)
    local all, facts, seconds, ratios = {}, {}, {}, {}
    for n = 1, turns do
        all[n] = turn(variants, facts)
    end
    local base = {}
    for i = 1, #variants do
        local sum, scaled, whole = 0, 0, 0
        for k = 1, #all[1][1] do
            local best, over = math.huge, {}
            for n = 1, turns do
                best = math.min(best, all[n][i][k])
                over[n] = all[n][i][k] / all[n][1][k]
            end
            base[k] = base[k] or best
            sum = sum + best
            whole = whole + base[k]
            scaled = scaled + base[k] * median(over)
        end
        seconds[i], ratios[i] = sum, scaled / whole
    end
    return seconds, ratios, facts
end

return least
