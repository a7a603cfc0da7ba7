--- common.lua - what the experiments of MESC have in common: how they are opened,
-- and where memory's frames are.
--
-- Yu, Bai, Wang: sixteen compute units behind an IOMMU (preset mesc), whose TLB
-- covers contiguous subregions of 64 pages with one entry.  How contiguous memory
-- is, is a policy: runs draws it, buddy allocates it from what a hog has left
-- (heddle explain runs, buddy).
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"

local common = {}

--- An experiment, open; `more`: arguments beside those of all.
function common.open(figure, title, more)
    return experiment.open { name = "mesc/" .. figure,
        arg = H.args(experiment.args(more)),
        source = "MESC (Yu, Bai, Wang), "
            .. figure:gsub("fig0?", "figure "):gsub("table2", "table II"),
        title = title }
end

-- ---- placement ------------------------------------------------------------------

--- The paper's table II: percent of memory that memhog has, defrag, percent of the
-- footprint in contiguous subregions, and the share in short runs, per mille,
-- that this comes from.
common.TABLE2 = {
    { hog = 25, defrag = true, paper = 48.7, broken = 457 },
    { hog = 50, defrag = true, paper = 42.8, broken = 524 },
    { hog = 75, defrag = true, paper = 38.9, broken = 567 },
    { hog = 25, defrag = false, paper = 44.3, broken = 507 },
    { hog = 50, defrag = false, paper = 42.3, broken = 529 },
    { hog = 75, defrag = false, paper = 34.7, broken = 613 },
}

--- The generator at a share in short runs.
function common.runs(broken)
    return { policies = { { use = "runs", broken = broken } }, settings = {} }
end

--- The buddy on what a hog has left.  Of a torn block of 4 MB the hog keeps 5 %,
-- so 973 of its frames are in short runs: as many blocks are torn as hold the
-- share in short runs of a footprint.
function common.buddy(hog, defrag, broken, pages)
    return { policies = { { use = "buddy", defrag = defrag and "hog" or "off" } },
        settings = { ["memory.hog"] = hog, ["memory.hog_torn"] =
            math.floor(broken * pages / 1000 / 973 + 0.5) } }
end

--- A job that maps what an application has, and no more.
function common.mapped(app, place, seed)
    local job = { machine = "mesc", seed = seed, apps = { app }, budget = 1,
        policies = place.policies, settings = { ["vm.scan"] = true } }
    for k, v in pairs(place.settings) do
        job.settings[k] = v
    end
    return job
end

local function counter(r, name)
    return H.report.counter(r, "memory." .. name)
end

--- Percent of what is mapped in contiguous subregions, and in whole regions.
function common.coverage(r)
    local all = counter(r, "mapped_peak")
    return 100 * counter(r, "contiguous_peak") / all,
        100 * counter(r, "contiguous_2m_peak") / all
end

--- The lengths of an application's runs of contiguous pages, where it is put.
function common.run_lengths(app, place, seed)
    local sim <close> = H.sim(common.mapped(app, place, seed))
    local out = {}
    sim:run(1)
    for i, r in ipairs(sim:look("pagetable", 0)) do
        out[i] = r.pages
    end
    return out
end

function common.mean(list)
    local sum = 0.0
    for _, v in ipairs(list) do
        sum = sum + v
    end
    return sum / #list
end

return common
