--[[
827-energy.lua - energy is counts times coefficients.

Pinned: to the last digit, for every preset and for MESC's unified array, with the
table's own numbers written out here; the metrics say the same; one coefficient
changed changes its row by that much and nothing else; a size that the table does
not have lies between its neighbours, and is marked; an organisation of one size
is refused in words, unless its coefficients are given; leakage grows with time.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local energy = require "heddle.energy"

local function run(machine, policies)
    local sim <close> = H.sim { machine = machine, policies = policies,
        apps = { H.app("GUP", { size = "T" }), H.app("ATAX", { size = "T" }) },
        progress = false }
    sim:run()
    return sim:results()
end

local function count(r, name) return H.report.counter(r, name) end

local function row(e, name)
    for _, x in ipairs(e.rows) do
        if x.name == name then
            return x
        end
    end
end

-- ---- to the last digit ---------------------------------------------------------------

local mesc = H.designs.get("MESC").apply(H.machine "mesc")
local r = run(mesc)
local e = H.energy.of(r)
local function c(name) return count(r, name) end
local want = {
    { "l1tlb", c "l1tlb.lookups" * 2.60
        + (c "l1tlb.fills" + c "l1tlb.invalidations") * 1.63 },
    { "l2tlb", (c "l2tlb.lookups" - c "l2tlb.sub_hits") * 10.0
        + (c "l2tlb.fills" + c "l2tlb.invalidations" - c "l2tlb.sub_fills")
        * 12.1 },
    { "l2tlb.subregions", c "l2tlb.lookups" * 5.10
        + c "l2tlb.sub_fills" * 6.24 },
    { "msc", c "msc.lookups" * 1.91
        + (c "msc.fills" + c "msc.invalidations") * 5.37 },
    { "pwc", c "pwc.lookups" * 11.5
        + (c "pwc.fills" + c "pwc.invalidations") * 18.2 },
    { "l2cache.walks", 0 },
    { "dram.walks", (c "walk.references" + c "msc.reads") * 16300 },
}
local sum = 0
tap.is(c "l2tlb.sub_invalidations", 0, "nothing is invalidated")
for _, w in ipairs(want) do
    tap.ok(row(e, w[1]).dynamic == w[2], w[1], row(e, w[1]).dynamic)
    tap.ok(w[2] > 0 or w[1] == "l2cache.walks", "and there are some", w[2])
    sum = sum + w[2]
end
tap.is(e.total, sum, "translation is their sum")
tap.is(e.total_low, e.translation + row(e, "dram.walks").reads * 174.0,
    "and with 174 pJ a reference")
tap.is(e.dram_share, want[#want][2] / sum, "DRAM's share")
local seconds = r.counted / 700e6
tap.is(e.static, 0.97 * 16 * seconds * 1e9 + 7.30 * seconds * 1e9
    + 2.55 * seconds * 1e9 + 11.64 * seconds * 1e9,
    "leakage, of the unified array once")
tap.is(H.report.metric(r, "translation_energy"), e.total, "the metric")
tap.is(H.report.metric(r, "translation_energy_dram"), e.dram_share,
    "and that of DRAM")

-- Entries of subregions that are invalidated are written where they are; behind
-- large entries less is looked up.
for _, serial in ipairs { true, false } do
    local sim <close> = whole.sim({ whole.freer(700, 12),
        whole.freer(1500, 8, "y"), whole.column(6, 24) }, { ["core.count"] = 4,
        ["l2tlb.sub_ways"] = 8, ["l2tlb.serial"] = serial }, { machine = "mosaic" })
    sim:use "mosaic"
    sim:run()
    local x = sim:results()
    local function cx(name) return count(x, "l2tlb." .. name) end
    local given = { read = 1, write = 0, leak = 0 }
    local of = H.energy.of(x, { l2tlb = given, ["l2tlb.large"] = given })
    tap.ok(cx "sub_invalidations" > 0 and cx "sub_invalidations"
        < cx "invalidations", "subregions that are invalidated",
        cx "sub_invalidations" .. " " .. cx "large_hits")
    local regular, subs = row(of, "l2tlb"), row(of, "l2tlb.subregions")
    tap.is(subs.writes, cx "sub_fills" + cx "sub_invalidations",
        "are writes of their array")
    tap.is(regular.writes + subs.writes, cx "fills" + cx "invalidations",
        "and not of the other")
    tap.is(subs.reads, cx "lookups" - (serial and cx "large_hits" or 0),
        "look-ups behind large entries, or beside them")
    tap.is(regular.reads, cx "lookups" - cx "large_hits" - cx "sub_hits",
        "and those of all others")
end

for _, name in ipairs { "mosaic", "maxwell", "etc", "mesc", "pichai", "fermi",
    "integrated", "released", "aggressive", "maxwell-tu104" } do
    local x = H.energy.of(run(H.machine(name)))
    for _, s in ipairs(x.rows) do
        tap.ok(s.reads >= 0 and s.writes >= 0 and (s.name == "dram"
            or s.dynamic == s.reads * s.read + s.writes * s.write),
            name .. ": " .. s.name)
    end
    tap.ok(x.total > 0, name .. ": counts times coefficients", x.total)
end

-- DRAM for data: a burst takes as many chips as it is wide, a row is opened in
-- those whose pages make it.
for _, case in ipairs { { 32, 1, 1 }, { 64, 2, 1 }, { 128, 4, 1 } } do
    local bus, chips, opened = table.unpack(case)
    local x = run(H.machine "maxwell" { ["dram.bus_bytes"] = bus })
    local activates = H.report.counter(x, "dram.activates")
    local all = row(H.energy.of(x), "dram")
    local due = 1000 * (activates * 6.00 * opened + chips
        * (all.reads * 1.26 + all.writes * 1.42))
    tap.ok(activates > 0 and all.reads > 0
        and math.abs(all.dynamic - due) < 1e-6 * due,
        ("a bus of %d bytes: %d chips a burst, %d a row"):format(bus, chips,
        opened))
end

-- ---- coefficients --------------------------------------------------------------------------

local other = H.energy.of(r, { l2tlb = { read = 11.0 } })
tap.is(other.total - row(other, "l2tlb").dynamic,
    e.total - row(e, "l2tlb").dynamic, "one coefficient is one row's")
tap.is(row(other, "l2tlb").dynamic - row(e, "l2tlb").dynamic,
    row(e, "l2tlb").reads * 1.0, "and changes it by as much")
other = H.energy.of(r, { ["dram.walks"] = { reference = 20, low = 1 } })
tap.is(other.dram, row(e, "dram.walks").reads * 20000, "a reference's, too")

local between, marked = energy.coefficient("fa", 48, 3)
tap.ok(marked and between > 2.60 and between < 3.84, "between 32 and 64 entries",
    between)
tap.is(select(2, energy.coefficient("fa", 32, 3)), false, "the table's own")
between = energy.coefficient("fa", 512, 3)
tap.ok(math.abs(between - 10.8 * (10.8 / 7.13)) < 1e-9, "beyond: as before",
    between)
e = H.energy.of(run(H.machine "mesc" { ["l1tlb.entries"] = 48 }))
tap.ok(row(e, "l1tlb").marked and H.energy.text(e):find("l1tlb *", 1, true),
    "is marked")

r = run(H.machine "mesc" { ["l2tlb.entries"] = 1024 })
local ok, why = pcall(H.energy.of, r)
tap.ok(not ok and tostring(why):find "l2tlb, 16%-way of 1024: give",
    "one size tells of no other", tostring(why))
tap.is(H.report.metric(r, "translation_energy"), nil, "and there is no metric")
tap.ok(H.energy.of(r, { l2tlb = { read = 18, write = 21, leak = 14 } }),
    "unless it is given")

-- ---- the memories of dram.kind: pJ/bit as published, or said to be missing --------------

for kind, w in pairs { hbm2 = { 0.909, 3.48 }, hbm2e = { 0, 6.0 }, gddr6 = { 0, 7.5 },
    gddr6x = { 0, 7.25 }, hbm3 = {} } do
    local m = H.machine "maxwell" { ["dram.kind"] = kind,
        ["dram.bus_bytes"] = 32, ["dram.row_bytes"] = kind:find "gddr" and 2048
            or 1024 }
    local result = run(m)
    local data = row(H.energy.of(result), "dram")
    if #w == 0 then
        tap.ok(not data and H.energy.of(result).missing == kind
            and H.energy.text(H.energy.of(result)):find("no coefficients for "
                .. "dram.kind=hbm3", 1, true), kind .. ": there is no row, and words")
        tap.ok(row(H.energy.of(result, { dram = { read = 1 } }), "dram").read == 1000,
            "unless it is given")
    else
        local nj = count(result, "dram.activates") * w[1]
            + count(result, "dram.data_bursts") * 256 * w[2] / 1000
        tap.ok(math.abs(data.dynamic - 1000 * nj) < 1e-6 * data.dynamic,
            kind .. ": data", data.dynamic)
    end
    tap.ok(H.report.metric(result, "translation_energy"), "translation as ever")
end
tap.ok(table.concat(H.energy.explain(), "\n"):find "dram.kind=hbm3: no numbers",
    "explain says so")
tap.ok(H.energy.chart(e):find "<svg" and H.energy.chart {
    { name = "a", energy = e }, { name = "b", energy = other } }:find "msc",
    "a chart, of one run and of two")
tap.done()
