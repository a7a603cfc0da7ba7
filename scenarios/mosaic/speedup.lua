--- speedup.lua - weighted speedup of GPU-MMU, Mosaic and Ideal over sets of one
-- kind: what Mosaic's figures 8 and 9 measure, one scenario each.
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local report = require "heddle.report"
local suite = require "common"

local speedup = {}

speedup.designs = { suite.gpummu, suite.mosaic, suite.ideal }

--- Results by number of applications: { n =, sets =, results = }, and all of
-- them in one list.
function speedup.measure(x, kind)
    local by, all = {}, {}
    for i, n in ipairs(suite.counts(x, kind)) do
        local sets = suite.sets(x, kind, n)
        by[i] = { n = n, sets = sets,
            results = suite.measure(x, sets, speedup.designs) }
        table.move(by[i].results, 1, #sets, #all + 1, all)
    end
    return by, all
end

--- The quantities, a table by number of applications, a chart, the sets.
-- paper: gain over GPU-MMU, distance to Ideal (%), columns: what stands beside each.
function speedup.report(x, by, all, paper)
    local kind = by[1].n == 1 and "homogeneous" or "heterogeneous"
    local columns = paper.columns or {}
    x:scope(#all, suite.count(kind), "sets")
    local _, of_means = sharing.gain(all, "Mosaic", "GPU-MMU")
    x:quantity(sharing.claim({ "Mosaic over GPU-MMU", paper = paper.gain,
        also = columns.gain }, all, "Mosaic", "GPU-MMU"))
    x:quantity { "Mosaic over GPU-MMU, ratio of means", unit = "%",
        heddle = 100 * (of_means - 1) }
    x:quantity(sharing.claim({ "Mosaic below Ideal", kind = "loss",
        paper = paper.ideal, on = "Mosaic over GPU-MMU", also = columns.ideal },
        all, "Mosaic", "Ideal"))
    x:quantity(sharing.claim({ "GPU-MMU below Ideal", kind = "loss" }, all,
        "GPU-MMU", "Ideal"))
    local rows = { { "applications", "sets", "GPU-MMU", "Mosaic", "Ideal",
        "Mosaic over GPU-MMU", "Mosaic of Ideal" } }
    local mean, groups = {}, {}
    for i, b in ipairs(by) do
        mean[i] = {}
        for _, d in ipairs(speedup.designs) do
            mean[i][d.name] = sharing.mean(b.results, d.name)
        end
        groups[i] = b.n == 1 and "1 application" or b.n .. " applications"
        rows[i + 1] = { b.n, #b.sets, ("%.3f"):format(mean[i]["GPU-MMU"]),
            ("%.3f"):format(mean[i].Mosaic), ("%.3f"):format(mean[i].Ideal),
            report.percent(sharing.gain(b.results, "Mosaic", "GPU-MMU") - 1),
            report.percent(sharing.gain(b.results, "Mosaic", "Ideal")) }
        x:order(sharing.order({ groups[i], paper = { "Ideal", "Mosaic", "GPU-MMU" },
            n = #b.sets, of = suite.count(kind, b.n) }, b.results))
    end
    x:table("Weighted speedup by number of applications", rows)
    for i, b in ipairs(by) do
        suite.sets_table(x, groups[i], b.sets, speedup.designs, b.results)
    end
    suite.chart(x, x.title, "weighted speedup", groups, speedup.designs,
        function(g, name) return mean[g][name] end)
end

local FEW = 8 -- sets beside the main ones

--- The figure on the machine of the simulator that Mosaic's authors released
-- (heddle explain released), for few sets of two.
function speedup.released(x, kind, paper)
    local sets = suite.sets(x, kind, 2, FEW)
    local designs = suite.released(speedup.designs)
    local r = suite.measure(x, sets, designs)
    local name = ("the release's machine (%d sets)"):format(#sets)
    paper.columns = {
        gain = { { name, 100 * (sharing.gain(r, "Mosaic", "GPU-MMU") - 1) } },
        ideal = { { name, 100 * (1 - sharing.gain(r, "Mosaic", "Ideal")) } },
    }
    suite.sets_table(x, "2 applications, the release's machine", sets,
        speedup.designs, r)
end

return speedup
