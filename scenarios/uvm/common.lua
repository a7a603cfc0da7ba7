--- common.lua - runs of programs in less memory than they touch.
--
-- A list of programs runs once with memory for all, which says how many pages of
-- 64 KB they touch; then in memory for a share of these.  All pages are on the
-- host at cycle 0, and nothing is launched again.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"

local common = {}

local PAGE, TABLES = 65536, 4096

common.total = H.report.counter

--- A job of H.run: programs (names) of a size, in memory for so many pages of
-- 64 KB (nil: for all); o: machine ("etc"), policies, settings, and what else a
-- job has.
function common.job(x, programs, size, pages, o)
    o = o or {}
    local settings = { ["vm.paging"] = "fault", ["vm.table_frames"] = TABLES,
        ["vm.memory_bytes"] = pages and TABLES * 4096 + pages * PAGE
            or 3 << 30, ["sim.relaunch"] = false }
    for k, v in pairs(o.settings or {}) do
        settings[k] = v
    end
    local apps = {}
    for i, name in ipairs(programs) do
        apps[i] = H.app(name, { size = size })
    end
    return { machine = o.machine or "etc", seed = x.arg.seed, apps = apps,
        policies = o.policies, settings = settings, interval = o.interval }
end

--- Pages of 64 KB that migrated, of all applications.
function common.touched(r)
    return (H.report.counter(r, "fault.pages") * 4096 + PAGE - 1) // PAGE
end

--- Each program, or pair "A+B", runs with memory for all; then in each share of
-- what it touches and each case.  o: programs, size, shares (anything), cases
-- ({ name, .. }), job(case, share): what else a job has; pages(touched, share):
-- those of memory, by default of which so many percent are touched, 0: all that
-- it wants; label(name, share): a group of the chart; value(run).  The runs:
-- { name, share, case, whole, result, value, group }, in this order; a chart of
-- the values, a series a case, as `chart` says; and mean[share][name of a case].
function common.squeeze(x, o)
    local jobs, runs, chart, mean = {}, {}, o.chart, {}
    local function job(name, pages, case, share)
        return common.job(x, common.words(name, nil, "+"), o.size, pages,
            o.job(case, share))
    end
    for i, name in ipairs(o.programs) do
        jobs[i] = job(name, nil, o.cases[1], o.shares[1])
    end
    local whole = x:run(jobs)
    jobs = {}
    chart.groups, chart.series = {}, {}
    for i, name in ipairs(o.programs) do
        local touched = common.touched(whole[i])
        for _, share in ipairs(o.shares) do
            local pages = o.pages and o.pages(touched, share)
            if not o.pages and share > 0 then
                pages = touched * 100 // share
            end
            chart.groups[#chart.groups + 1] = o.label(name, share)
            for _, case in ipairs(o.cases) do
                jobs[#jobs + 1] = job(name, pages, case, share)
                runs[#jobs] = { name = name, share = share, case = case,
                    whole = whole[i], group = #chart.groups }
            end
        end
    end
    for i, r in ipairs(x:run(jobs)) do
        local run, k = runs[i], (i - 1) % #o.cases + 1
        run.result = r
        run.value = o.value and o.value(run) or r.cycles / run.whole.cycles
        chart.series[k] = chart.series[k] or { name = run.case[1], values = {} }
        chart.series[k].values[run.group] = run.value
        local of = mean[run.share] or {}
        of[run.case[1]] = (of[run.case[1]] or 0.0) + run.value / #o.programs
        mean[run.share] = of
    end
    return runs, mean
end

--- A table of the values of squeeze's runs, a column a case.
function common.rows(runs, name, memory, value, share)
    local rows = { { name, memory } }
    for _, run in ipairs(runs) do
        local row = rows[run.group + 1]
            or { run.name, share:format(run.share) }
        rows[run.group + 1] = row
        row[#row + 1] = value:format(run.value)
        if run.group == 1 then
            rows[1][#row] = run.case[1]
        end
    end
    return rows
end

--- The words of a list separated by commas (or what `by` says), or another list.
function common.words(text, otherwise, by)
    local out = {}
    for word in text:gmatch("[^" .. (by or ",") .. "]+") do
        out[#out + 1] = word
    end
    return #out > 0 and out or otherwise
end

--- Words that are pairs "A+B".
function common.pairs(text, otherwise)
    local list = common.words(text, otherwise)
    for _, pair in ipairs(list) do
        if not pair:match "^[^+]+%+[^+]+$" then
            error(("pairs: '%s' is not A+B"):format(pair), 0)
        end
    end
    return list
end

return common
