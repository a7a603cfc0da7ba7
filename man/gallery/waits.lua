-- SPDX-License-Identifier: MIT
-- What the warps of random updates wait for, with pages of three sizes.
local H = require "heddle"

local pages = { "4K", "64K", "2M" }
local parts = { { "a TLB", "time_tlb" }, { "the load/store unit", "time_lsu" },
    { "data", "time_data" }, { "other", nil } }
local jobs = {}
for i, page in ipairs(pages) do
    jobs[i] = { machine = "maxwell",
        settings = { ["vm.page"] = page, ["vm.round"] = true },
        apps = { H.app("GUP", { size = "S", updates = 2 }) } }
end
local series = {}
for s, part in ipairs(parts) do
    series[s] = { name = part[1], values = {} }
end
local groups = {}
for i, r in ipairs(H.run(jobs)) do
    local held = 1 - H.report.metric(r, "time_idle")
    local rest = 100
    for s, part in ipairs(parts) do
        local share = part[2] and 100 * H.report.metric(r, part[2]) / held or rest
        series[s].values[i], rest = share, rest - share
    end
    groups[i] = ("%s, %d cycles"):format(pages[i], r.cycles)
end
H.svg.write("waits.svg", H.svg.bars {
    title = "What warps of GUP wait for", unit = "% of their time",
    xlabel = "page size, and the cycles of the run", stacked = true,
    groups = groups, series = series,
})
