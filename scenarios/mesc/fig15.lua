--- mesc/fig15.lua - energy of translation.
--
-- MESC (Yu, Bai, Wang), figure 15: dynamic energy of translation saved over the baseline
-- (heddle explain energy).  What a reference to DRAM costs decides nearly all of it; the
-- paper does not say, so there are two columns, 16.3 nJ by the chips' currents and 174 pJ
-- as its source, Karakostas et al., charges an access to the L1 cache.  MESC+CoLT
-- stands twice, as in figure 11: VI.D's 30 % of the insensitive programs are out of
-- reach where CoLT merges on walks alone.  What is saved on torn memory, where head
-- PTEs are read, is shown beside it (common.lua).
--
--     heddle run scenarios/mesc/fig15.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local report = require "heddle.report"
local STATIC = "translation_leakage"
local x = mesc.open_runs("fig15", "energy of translation")
local all = mesc.measure(x, mesc.designs(mesc.ALL))
local PAPER = { CoLT = { 14 }, ["full CoLT"] = { 43.6 }, MESC = { 76.4, 2.5 },
    ["MESC+CoLT"] = { 79.7, 30 } }

for _, column in ipairs { { "translation_energy", 16300, "16.3 nJ" },
    { "translation_energy_low", 174, "174 pJ" } } do
    local metric, reference, name = table.unpack(column)
    local shown = reference ~= 16300 -- by the chips' currents is what is scored
    local function total(row, d, other)
        return report.metric(row[d], other or metric)
    end
    local function saved(row, d)
        return 100 * (1 - total(row, d) / total(row, "baseline"))
    end
    for _, d in ipairs(mesc.REST) do
        for g, only in ipairs(d ~= "baseline"
            and { mesc.sensitive, mesc.insensitive } or {}) do
            local paper, calibrated = mesc.said(PAPER, d)
            mesc.quantity(x, all, { ("%s saves, %s, DRAM at %s"):format(d,
                g == 1 and "sensitive" or "insensitive", name), unit = "%",
                kind = "loss", paper = paper[g], shown = shown,
                calibrated = calibrated },
                function(row) return saved(row, d) end, only)
        end
    end
    mesc.quantity(x, all, { "DRAM's share of the baseline at " .. name,
        unit = "%" }, function(row)
            return 100 * report.counter(row.baseline, "dram.walk_reads")
                * reference / total(row, "baseline")
        end)
    mesc.quantity(x, all, { "leakage beside the baseline at " .. name,
        unit = "%" }, function(row)
            return 100 * total(row, "baseline", STATIC) / total(row, "baseline")
        end)
    mesc.groups(x, all, "saved by MESC, DRAM at " .. name,
        { "sensitive", "insensitive" }, function(row)
            return saved(row, "MESC")
        end, shown)
    mesc.order(x, all, "saved, sensitive, DRAM at " .. name, { "MESC+CoLT",
        "MESC", "full CoLT", "CoLT" }, saved, mesc.sensitive, shown)
    mesc.show(x, all, { table.unpack(mesc.REST, 2) },
        "Energy of translation saved, %, DRAM at " .. name, saved, "%")
end
local torn = mesc.measure(x, mesc.designs(mesc.REST, nil, mesc.torn()))
local function saved_torn(row, d)
    return 100 * (1 - report.metric(row[d], "translation_energy")
        / report.metric(row.baseline, "translation_energy"))
end
for _, d in ipairs { table.unpack(mesc.REST, 2) } do
    for g, only in ipairs { mesc.sensitive, mesc.insensitive } do
        mesc.quantity(x, torn, { ("%s saves, %s, DRAM at 16.3 nJ, torn memory")
            :format(d, g == 1 and "sensitive" or "insensitive"), unit = "%",
            kind = "loss", paper = mesc.said(PAPER, d)[g], shown = true },
            function(row) return saved_torn(row, d) end, only)
    end
end
mesc.show(x, torn, { table.unpack(mesc.REST, 2) },
    "Energy of translation saved, %, DRAM at 16.3 nJ, torn memory", saved_torn, "%")
mesc.show(x, all, mesc.REST, "Leakage of what translates, mW times the time, nJ",
    function(row, d) return report.metric(row[d], STATIC) / 1000 end, "nJ")
x:close()
