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
-- paper: gain over GPU-MMU, distance to Ideal (%).
function speedup.report(x, by, all, paper)
    local gain, of_means = sharing.gain(all, "Mosaic", "GPU-MMU")
    local near = sharing.gain(all, "Mosaic", "Ideal")
    x:quantity { "Mosaic over GPU-MMU", unit = "%", paper = paper.gain,
        heddle = 100 * (gain - 1), why = suite.why.gain }
    x:quantity { "Mosaic over GPU-MMU, ratio of means", unit = "%",
        heddle = 100 * (of_means - 1) }
    x:quantity { "Mosaic below Ideal", unit = "%", paper = paper.ideal,
        heddle = 100 * (1 - near), why = suite.why.near }
    x:quantity { "GPU-MMU below Ideal", unit = "%",
        heddle = 100 * (1 - sharing.gain(all, "GPU-MMU", "Ideal")) }
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
        x:order { groups[i], paper = { "Ideal", "Mosaic", "GPU-MMU" },
            heddle = mean[i], slack = 0.01, why = suite.why.order }
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
    local name = ("%s, the release's machine (%d sets)")
    local function percent(what, paper_has, value, why)
        x:quantity { name:format(what, #sets), unit = "%", paper = paper_has,
            heddle = 100 * value, why = why }
    end
    percent("Mosaic over GPU-MMU", paper.gain,
        sharing.gain(r, "Mosaic", "GPU-MMU") - 1, suite.why.released)
    percent("Mosaic below Ideal", paper.ideal,
        1 - sharing.gain(r, "Mosaic", "Ideal"), suite.why.released)
    percent("GPU-MMU below Ideal", nil,
        1 - sharing.gain(r, "GPU-MMU", "Ideal"))
    suite.sets_table(x, "2 applications, the release's machine", sets,
        speedup.designs, r)
end

return speedup
