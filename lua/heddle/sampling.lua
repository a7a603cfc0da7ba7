--- sampling.lua - estimates of a whole run from the part of it that was simulated
-- in detail: results.sample, and what follows from it for the rest of the results.
--
--     local sim = H.sim { machine = "maxwell", apps = { H.app("BFS") },
--         sample = { every = 400000, window = 10000, warm = 10000 } }
--     sim:run()
--     local s = sim:results().sample
--     print(s.cycles, s.low, s.high, s.share)
--
-- Windows (src/engine/sample.c).  The run's cycles are estimated as instructions of the
-- run x cycles of all windows / their instructions, a ratio estimator: windows are
-- of equal length, but for the last.  Its variance is that of the windows' cycles
-- about what the ratio gives each (Cochran, Sampling techniques, 1977, 6.4), with
-- the correction for a finite population; the interval is Student's at 95 %.
-- Systematic windows are taken for random ones, as SMARTS does (ISCA 2003): where
-- a program repeats in step with sample.every, the interval is too narrow.  It says
-- nothing of a bias that all windows share.  Counters are estimated by the same
-- ratio, each from its own sum over the windows.
--
-- Launches (src/engine/core/cluster.c).  Each launch that was simulated has a weight, the
-- instructions of its cluster by its own; cycles and counters are sums of launches
-- by weight.  One launch of a cluster has no variance, so there is no interval.
--
-- Instances of a counter share what their sum gained.  Counts of no application
-- go with the cycles.  Peaks and histograms stay those of what was simulated in
-- detail.  Where nothing was skipped, results are those of the run itself.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local sampling = {}

local CONFIDENCE = 0.95

--- Student's t for 95 % (two-sided) and n degrees of freedom: exact for 1 and 2,
-- else by the expansion of Abramowitz and Stegun, 26.7.5.
function sampling.student(n)
    if n == 1 then
        return 12.7062
    elseif n == 2 then
        return 4.30265
    end
    local z = 1.959964
    local z3 = z ^ 3
    return z + (z3 + z) / (4 * n)
        + (5 * z ^ 5 + 16 * z3 + 3 * z) / (96 * n ^ 2)
        + (3 * z ^ 7 + 19 * z ^ 5 + 17 * z3 - 15 * z) / (384 * n ^ 3)
        + (79 * z ^ 9 + 776 * z ^ 7 + 1482 * z ^ 5 - 1920 * z3 - 945 * z)
        / (92160 * n ^ 4)
end

--- The ratio of cycles to instructions of windows, and the half width of its
-- interval for a run of so many instructions (nil: of fewer than two windows).
function sampling.ratio(windows, instructions)
    local n, c, i, sum = #windows, 0, 0, 0
    for _, w in ipairs(windows) do
        c, i = c + w.cycles, i + w.instructions
    end
    if i == 0 then
        return nil
    end
    for _, w in ipairs(windows) do
        sum = sum + (w.cycles - c / i * w.instructions) ^ 2
    end
    if n < 2 then
        return c / i
    end
    return c / i, sampling.student(n - 1)
        * math.sqrt(sum / (n - 1) / n * math.max(0, 1 - i / instructions))
        / (i / n)
end

local function round(v)
    return math.floor(v + 0.5)
end

--- The estimate of windows, and what a counter is estimated as.
local function of_windows(sim, s, instructions)
    local windows = sim.core:sample_windows()
    local ratio, half = sampling.ratio(windows, instructions)
    s.windows = #windows
    s.measured = sim.core:sample().instructions
    s.detailed = instructions - sim.core:sample().skipped
    if not ratio then
        return nil
    end
    s.cpi, s.cycles = ratio, round(ratio * instructions)
    if half then
        s.low = round((ratio - half) * instructions)
        s.high = round((ratio + half) * instructions)
    end
    local sums, before = sim.core:sample_counters()
    local weight = instructions / s.measured
    return function(n)
        return before[n] + sums[n] * weight
    end
end

--- Estimates from sampled launches; list: the results' kernels.
local function of_launches(sim, s, kernels, simulated)
    local stands, gains, weights = sim.core:stands(), {}, {}
    local cycles = sim.core:now()
    s.simulated, s.launches, s.unlike = 0, 0, 0
    for i, k in ipairs(kernels) do
        local of = stands[i]
        k.stands_for = of.stands_for
        k.weight = 1 + of.stands_for_instructions / math.max(1, k.instructions)
        s.simulated = s.simulated + k.launches
        s.launches = s.launches + k.launches + of.stands_for
        s.unlike = s.unlike + of.unlike
        cycles = cycles + k.cycles * (k.weight - 1)
        gains[i], weights[i] = sim.core:counter_kernel(i), k.weight - 1
    end
    s.detailed = simulated
    s.cycles = round(cycles)
    return function(n, raw)
        for i, weight in ipairs(weights) do
            raw = raw + gains[i][n] * weight
        end
        return raw
    end
end

--- What a sampled run's results say of it, or nil; makes cycles, instructions and
-- counters of the results estimates.
function sampling.apply(sim, results)
    local counted = sim.core:sample()
    if not counted then
        return nil
    end
    local config, app = results.config, results.apps[1]
    local launches = config["sample.launches"] == "true"
    local simulated = app.instructions
    if launches then
        app.instructions = app.instructions + counted.skipped
    end
    local s = { kind = launches and "launches" or "windows",
        instructions = app.instructions, simulated_cycles = results.cycles,
        confidence = not launches and CONFIDENCE or nil }
    local estimate
    if launches then
        estimate = of_launches(sim, s, results.kernels, simulated)
    else
        estimate = of_windows(sim, s, app.instructions)
    end
    s.share = app.instructions > 0 and s.detailed / app.instructions or 1.0
    results.sample = s
    if counted.skipped == 0 then
        s.cycles, s.low, s.high = app.cycles, app.cycles, app.cycles
        return s
    elseif not estimate then
        return s
    end
    local pace = s.cycles / math.max(1, results.cycles)
    for n, c in ipairs(results.counters) do
        if not c.peak then
            local was = c.apps[1]
            c.apps[1] = round(estimate(n, was))
            c.none = round(c.none * pace)
            c.total = c.apps[1] + c.none
            for i, v in ipairs(c.instances) do
                c.instances[i] = was > 0 and round(v * (c.apps[1] / was)) or v
            end
        end
        if c.component == "core" and c.name == "thread_instructions" then
            app.thread_instructions = c.apps[1]
        end
    end
    app.cycles, results.cycles, results.counted = s.cycles, s.cycles, s.cycles
    results.instructions = app.instructions
    app.ipc = app.cycles > 0 and app.instructions / app.cycles or 0.0
    return s
end

--- The half width of the interval as a share of the estimate, or nil.
function sampling.half(s)
    return s.low and s.cycles and s.cycles > 0
        and (s.high - s.low) / 2 / s.cycles or nil
end

--- A sampled run in a sentence.
function sampling.text(s)
    local half = sampling.half(s)
    if not s.cycles then
        return ("sampled: no window was reached in %d warp instructions; "
            .. "so there is no estimate; a smaller sample.every is expected")
            :format(s.instructions)
    elseif s.share >= 1 then
        return "sampled: nothing was skipped, so this is no estimate"
    end
    return ("cycles, rates and counters are estimates%s, from %s, %.2f %% of %d "
        .. "warp instructions in detail"):format(half
        and (" (cycles %d to %d, 95 %%: +- %.1f %%)"):format(s.low, s.high,
            100 * half) or "",
        s.kind == "windows" and ("%d windows"):format(s.windows)
        or ("%d of %d launches%s"):format(s.simulated, s.launches, s.unlike > 0
        and (", %d of them unlike the one that stands for them"):format(
            s.unlike) or ""), 100 * s.share, s.instructions)
end

local FIELDS = { every = true, window = true, warm = true, launches = true,
    mix = true, timed = true }

--- The settings of H.sim's option `sample`.
function sampling.settings(o)
    if type(o) ~= "table" then
        error(core.error(-2, ("H.sim: sample: a table is expected, such as { "
            .. "every = 400000, window = 10000, warm = 10000 }, not a %s")
            :format(type(o))), 0)
    end
    local out = {}
    for _, k in ipairs(core.keys(o)) do
        if not FIELDS[k] then
            local names = require("heddle.config").sorted_keys(FIELDS)
            error(core.error(-2, ("H.sim: sample has no field '%s'%s"):format(
                tostring(k), require("heddle.index").meant(k, names))), 0)
        end
        out["sample." .. k] = o[k]
    end
    return out
end

return sampling
