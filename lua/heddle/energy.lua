--- energy.lua - what translation costs in energy: counts times a table.
--
--     local e = H.energy.of(result)          what sim:results() returns
--     e.total, e.dram_share                  pJ; of it, the share of DRAM
--     e.total_low, e.dram_share_low          the same at the lower coefficient
--     e.static                               pJ: leakage times time
--     for _, row in ipairs(e.rows) do ...    name, reads, writes, read, write,
--                                            dynamic, leak, static, marked
--     H.energy.text(e), H.energy.chart(e)    a table, a chart (SVG)
--     H.energy.of(result, { l2tlb = { read = 12, write = 14, leak = 8 } })
--
-- The model is Karakostas et al. (HPCA 2016), as MESC VI.D uses it: every access
-- to a structure is a read, hit or miss; every insertion and every invalidation
-- a write; what walks read in DRAM costs by reference.  Rows with scope "data" are
-- beside it: the caches and DRAM for data, in no sum of translation.
--
-- A size that the table does not have is taken from a power law between its neighbours
-- of the same organisation, or beyond two of them, and its row is marked; where an
-- organisation has one size only, the coefficients have to be given.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local energy = {}

local CACTI = "CACTI 7.0.3, 32 nm, itrs-hp, 360 K, 1 RW port, optimised ED^2"

--- { organisation, size, read pJ, write pJ, leakage mW (subthreshold and gate) }:
-- entries of TLBs and walk caches, bytes of caches.
energy.TABLE = {
    { "fa", 16, 1.80, 1.29, 0.64 },
    { "fa", 32, 2.60, 1.63, 0.97 },
    { "fa", 64, 3.84, 2.02, 1.61 },
    { "fa", 128, 7.13, 2.77, 2.99 },
    { "fa", 256, 10.8, 3.95, 4.87 },
    { "4-way", 128, 4.23, 5.96, 1.47 },
    { "4-way, 4 ports", 128, 8.19, 11.0, 3.81 },
    { "8-way", 256, 5.10, 6.24, 3.11 },
    { "16-way", 512, 10.0, 12.1, 7.30 },
    { "pwc", 1024, 11.5, 18.2, 11.64 },
    { "msc", 512, 1.91, 5.37, 2.55 },
    { "l1", 16384, 43.8, 57.3, 11.10 },
    { "l1", 32768, 47.2, 73.7, 20.90 },
    { "l2", 131072, 66, 179, 77 },
    { "l2", 262144, 90, 317, 151 },
    { "metadata", 32768, 123, 124, 22.7 },
}

--- A reference of a walk to DRAM, nJ: 64 bytes of a DDR3-1600 rank of 8 chips with
-- its row's activation; and what Karakostas et al. charge, an access to the L1.
energy.REFERENCE, energy.REFERENCE_LOW = 16.3, 0.174

--- DRAM for data, of one chip: nJ an activation with its precharge, nJ a read and
-- a write burst, by IDD of DRAMsim3's files, and the bytes of a burst.  A burst is
-- read from as many chips as it is wide.  An activation opens dram.row_bytes: the
-- chips of a DDR3 rank all do, of GDDR5 as many as have so much in their pages
-- (4 KB: 8 Gb in 16 banks of 16,384 rows), however wide a burst is.  So a bus of
-- 128 bytes, which no card has, opens no more rows than one of 32.
energy.DRAM = {
    gddr5 = { activate = 6.00, read = 1.26, write = 1.42, bytes = 32,
        page = 4096 },
    ddr3 = { activate = 1.23, read = 0.80, write = 0.59, bytes = 8 },
    -- dram.kind: a channel is one chip.  Of HBM2 a row of 1 KB, and what moves data:
    -- 1.51 + 1.17 pJ/bit on the die and 0.80 to the GPU.  Micron's are means of a
    -- device at work, with its activations, so that these count nothing.
    hbm2 = { activate = 0.909, read = 0.89088, write = 0.89088, bytes = 32,
        source = "O'Connor et al., MICRO 2017, Table 3: 909 pJ, 3.48 pJ/bit" },
    hbm2e = { activate = 0, read = 1.536, write = 1.536, bytes = 32,
        source = "Micron, Ultra-Bandwidth Solutions: 6.0 pJ/bit in all" },
    gddr6 = { activate = 0, read = 1.92, write = 1.92, bytes = 32,
        source = "Micron, Ultra-Bandwidth Solutions: 7.5 pJ/bit in all" },
    gddr6x = { activate = 0, read = 1.856, write = 1.856, bytes = 32,
        source = "Micron, Ultra-Bandwidth Solutions: 7.25 pJ/bit in all" },
}
local KINDS = { "hbm2", "hbm2e", "hbm3", "gddr6", "gddr6x" }

--- One coefficient (3 read, 4 write, 5 leakage) of a size of an organisation; true
-- if it is not the table's own.  nil: there are no two sizes to go by.
local function coefficient(organisation, size, what)
    local below, above
    for _, row in ipairs(energy.TABLE) do
        if row[1] == organisation then
            if row[2] == size then
                return row[what], false
            end
            if not above or above[2] < size then
                below, above = above, row
            end
        end
    end
    if not below then
        return nil
    end
    local slope = math.log(above[what] / below[what])
        / math.log(above[2] / below[2])
    return below[what] * (size / below[2]) ^ slope, true
end

energy.coefficient = coefficient

--- "fa", "4-way": an organisation by its ways.
local function by_ways(ways, entries)
    ways = ways == 0 and entries or math.min(ways, entries)
    return ways == entries and "fa" or ways .. "-way"
end

--- The structures of a machine: { name, organisation, size, reads, writes, copies
-- }, scope, leaks.  c(component, counter) counts, n(setting) is a number.
local function structures(c, n, config)
    local out = {}
    local function add(name, organisation, size, reads, writes, copies, scope)
        out[#out + 1] = { name = name, organisation = organisation,
            size = size, reads = reads, writes = writes, copies = copies or 1,
            scope = scope or "translation" }
        return out[#out]
    end
    local function on(part)
        return config[part .. ".mode"] == "full"
    end
    local cores = n "core.count"
    local units = config["walk.per_core"] == "true" and cores or 1
    local function tlb(part, copies, reads, writes)
        local ports = part == "l1tlb" and n "l1tlb.ports" or 1
        local large, size = n(part .. ".large_entries"), n(part .. ".entries")
        add(part, by_ways(n(part .. ".ways"), size)
            .. (ports > 1 and ", 4 ports" or ""), size, reads, writes, copies)
        if large > 0 then -- both take a look-up; fills are counted in one
            add(part .. ".large", by_ways(n(part .. ".large_ways"), large),
                large, c(part, "lookups"), 0, copies)
        end
    end
    if on "l1tlb" then
        tlb("l1tlb", cores, c("l1tlb", "lookups"),
            c("l1tlb", "fills") + c("l1tlb", "invalidations"))
        if (tonumber(config["l1side.entries"]) or 0) > 0 then
            add("l1side", "fa", n "l1side.entries", c("l1side", "lookups"),
                c("l1side", "fills") + c("l1side", "invalidations"), cores)
        end
    end
    if on "l2tlb" then
        local subs, ways = n "l2tlb.sub_ways", n "l2tlb.ways"
        local lookups, fills = c("l2tlb", "lookups"),
            c("l2tlb", "fills") + c("l2tlb", "invalidations")
        local large = c("l2tlb", "large_hits")
        local second = lookups -- what comes after the large array
            - (config["l2tlb.serial"] == "true" and large or 0)
        local written = c("l2tlb", "sub_fills") + c("l2tlb", "sub_invalidations")
        tlb("l2tlb", units, subs > 0 and lookups - large - c("l2tlb", "sub_hits")
            or second, fills - written)
        if subs > 0 then -- the unified array: its leakage is the other row's
            add("l2tlb.subregions", subs .. "-way",
                n "l2tlb.entries" * subs // ways, second, written, 0)
            if n "msc.entries" > 0 then
                add("msc", "msc", n "msc.entries", c("msc", "lookups"),
                    c("msc", "fills") + c("msc", "invalidations"), units)
            end
        end
        if n "bypass.entries" > 0 then
            add("bypass", "fa", n "bypass.entries", c("bypass", "lookups"),
                c("bypass", "fills") + c("bypass", "invalidations"), units)
        end
    end
    if on "pwc" then
        local entries = 0
        for level = 1, 6 do
            entries = entries + (tonumber(config["pwc.entries_level" .. level]) or 0)
        end
        entries = entries > 0 and entries or n "pwc.entries"
        add("pwc", "pwc", entries, c("pwc", "lookups"),
            c("pwc", "fills") + c("pwc", "invalidations"), units)
    end
    local slices = n "l2cache.slices"
    local function l2(name, reads, writes, copies, scope)
        if on "l2cache" then
            add(name, "l2", n "l2cache.bytes" // slices, reads, writes, copies,
                scope)
        end
    end
    local walks, walk_fills = 0, 0
    for level = 1, 4 do
        walks = walks + c("l2cache", ("walk%d_lookups"):format(level))
        walk_fills = walk_fills + c("l2cache", ("walk%d_misses"):format(level))
    end
    l2("l2cache.walks", walks, walk_fills, 0)
    if on "l1cache" then
        add("l1cache", "l1", n "l1cache.bytes", c("l1cache", "reads"),
            c("l1cache", "write_hits") + c("l1cache", "read_misses")
            - c("l1cache", "read_merges"), cores, "data")
    end
    l2("l2cache", c("l2cache", "read_lookups") + c("l2cache", "atomic_lookups"),
        c("l2cache", "write_lookups") + c("l2cache", "fills") - walk_fills,
        slices, "data")
    if config["compress.enable"] == "true" then
        add("compress.metadata", "metadata", 32768,
            c("compress", "metadata_hits") + c("compress", "metadata_misses"),
            c("compress", "metadata_misses"), 1, "data")
    end
    return out
end

--- The row of a structure: coefficients from `given`, or the table's.
local function priced(s, given, seconds)
    local own = given and given[s.name] or {}
    for i, what in ipairs { "read", "write", "leak" } do
        local v, marked = own[what], false
        if not v then
            v, marked = coefficient(s.organisation, s.size, i + 2)
        end
        s[what], s.marked = v, s.marked or marked
    end
    if not s.read then
        return nil, ("energy: there is no coefficient for %s, %s of %d: give { "
            .. "[\"%s\"] = { read =, write =, leak = } }, in pJ, pJ and mW")
            :format(s.name, s.organisation, s.size, s.name)
    end
    s.dynamic = s.reads * s.read + s.writes * s.write
    s.static = s.leak * s.copies * seconds * 1e9
    return s
end

--- Adds the row of DRAM for data, in nJ of `given` or the table's; nil where the
-- table has no numbers for dram.kind.
local function data_row(e, r, n, given)
    if r.config["dram.mode"] ~= "full" then
        return true
    end
    local kind = r.config["dram.kind"] or "none"
    if kind == "none" then -- 2 transfers a cycle are DDR's, 4 GDDR5's
        kind = n "dram.bl" >= 4 and "ddr3" or "gddr5"
    end
    local chip = energy.DRAM[kind] or { activate = 0, bytes = 32 }
    given = given or {}
    local activate, read_nj = given.activate or chip.activate, given.read or chip.read
    local write_nj = given.write or chip.write or read_nj
    if not read_nj then
        return nil
    end
    local bus = n "dram.bus_bytes"
    local chips = (bus <= 8 and 8 * bus or bus) / chip.bytes
    local opened = chip.page and math.min(chips,
        math.max(1, n "dram.row_bytes" / chip.page)) or chips
    local bursts, all = r.c("dram", "data_bursts"),
        r.c("dram", "reads") + r.c("dram", "writes")
    local read = all > 0 and bursts * r.c("dram", "reads") / all or 0
    local own = r.c("dram", "activates") -- of walks, too, where they miss
    e.rows[#e.rows + 1] = { name = "dram", scope = "data", reads = read,
        writes = bursts - read, read = 1000 * read_nj * chips,
        write = 1000 * write_nj * chips, leak = 0, static = 0,
        dynamic = 1000 * (opened * own * activate + chips * (read * read_nj
            + (bursts - read) * write_nj)) }
    return true
end

--- The energy of a reader (metrics.lua) over so many seconds; nil and why not.
function energy.count(r, seconds, given)
    local function n(name) return math.tointeger(tonumber(r.config[name])) end
    local e = { rows = {}, translation = 0, static = 0 }
    for _, s in ipairs(structures(r.c, n, r.config)) do
        local row, why = priced(s, given, seconds)
        if not row then
            return nil, why
        end
        e.rows[#e.rows + 1] = row
        if row.scope == "translation" then
            e.translation = e.translation + row.dynamic
            e.static = e.static + row.static
        end
    end
    e.missing = not data_row(e, r, n, given and given.dram) and r.config["dram.kind"]
        or nil
    local references = r.c("dram", "walk_reads")
    local given_dram = given and given["dram.walks"] or {}
    local high = 1000 * (given_dram.reference or energy.REFERENCE)
    local low = 1000 * (given_dram.low or energy.REFERENCE_LOW)
    e.rows[#e.rows + 1] = { name = "dram.walks", scope = "translation",
        reads = references, writes = 0, read = high, write = 0, leak = 0,
        static = 0, dynamic = references * high }
    e.dram, e.dram_low = references * high, references * low
    e.total, e.total_low = e.translation + e.dram, e.translation + e.dram_low
    e.dram_share = e.total > 0 and e.dram / e.total or nil
    e.dram_share_low = e.total > 0 and e.dram_low / e.total_low or nil
    return e
end

--- The energy of a run; `given`: coefficients of structures by name, and {
-- ["dram.walks"] = { reference =, low = }, dram = { activate =, read =, write = } }
-- in nJ.  Where there are none for dram.kind, e.missing is its name, and there is no
-- row `dram`.
function energy.of(result, given)
    local report = require "heddle.report"
    require("heddle.metrics").result(result, "H.energy.of")
    local e, why = energy.count({
        config = result.config,
        c = function(component, counter)
            return report.counter(result, component .. "." .. counter)
        end,
    }, result.counted / tonumber(result.config["clock.core"]), given)
    return e or error(core.error(-2, why), 0)
end

local function nj(v)
    return v and ("%.1f"):format(v / 1000) or "-"
end

--- A table of its rows, and the sums of translation, as text.
function energy.text(e)
    local list = { { "structure", "scope", "reads", "writes", "pJ read",
        "pJ write", "nJ", "leakage nJ" } }
    for _, row in ipairs(e.rows) do
        list[#list + 1] = { row.name .. (row.marked and " *" or ""), row.scope,
            ("%.0f"):format(row.reads), ("%.0f"):format(row.writes),
            ("%.2f"):format(row.read), ("%.2f"):format(row.write),
            nj(row.dynamic), nj(row.static) }
    end
    local function share(v) return v and ("%.1f %%"):format(100 * v) or "-" end
    return require("heddle.report").table(list)
        .. ("translation: %s nJ, DRAM %s of it, at %g nJ a reference; %s nJ, "
            .. "%s, at %g pJ; leakage %s nJ\n"):format(nj(e.total),
            share(e.dram_share), energy.REFERENCE, nj(e.total_low),
            share(e.dram_share_low), 1000 * energy.REFERENCE_LOW, nj(e.static))
        .. "* by a power law between sizes of the table\n"
        .. (e.missing and ("no row for data in DRAM: there are no coefficients for "
            .. "dram.kind=%s; give { dram = { activate =, read =, write = } }, in nJ\n")
            :format(e.missing) or "")
end

--- A chart of runs side by side: { { name =, energy = }, ... }, or of one.
function energy.chart(runs)
    if runs.rows then
        runs = { { name = "run", energy = runs } }
    end
    local chart = { title = "Energy of translation", unit = "nJ", groups = {},
        series = {} }
    for i, run in ipairs(runs) do
        chart.series[i] = { name = run.name, values = {} }
        for _, row in ipairs(run.energy.rows) do
            if row.scope == "translation" then
                local at
                for g, name in ipairs(chart.groups) do
                    at = name == row.name and g or at
                end
                at = at or #chart.groups + 1
                chart.groups[at] = row.name
                chart.series[i].values[at] = row.dynamic / 1000
            end
        end
    end
    for _, s in ipairs(chart.series) do
        for g = 1, #chart.groups do
            s.values[g] = s.values[g] or 0
        end
    end
    return require("heddle.svg").bars(chart)
end

--- Lines for `heddle explain energy`.
function energy.explain()
    local out = {
        "energy (metrics translation_energy, translation_energy_dram and "
            .. "translation_leakage)",
        "  counts times coefficients: Karakostas et al. (HPCA 2016), as MESC "
            .. "VI.D has it",
        ("  %-16s %8s %9s %9s %9s"):format("organisation", "size", "read pJ",
            "write pJ", "leak mW"),
    }
    for _, row in ipairs(energy.TABLE) do
        out[#out + 1] = ("  %-16s %8d %9.2f %9.2f %9.2f"):format(
            table.unpack(row))
    end
    out[#out + 1] = "  source   " .. CACTI .. "; TLBs: 8 bytes an entry"
    out[#out + 1] = ("  a walk's reference to DRAM: %g nJ (64 bytes of DDR3-1600 "
        .. "with an activation, by IDD), or %g pJ (Karakostas: an L1 access)")
        :format(energy.REFERENCE, 1000 * energy.REFERENCE_LOW)
    for _, name in ipairs { "gddr5", "ddr3" } do
        local d = energy.DRAM[name]
        out[#out + 1] = ("  data, %s: %.2f nJ an activation, %.2f a read, %.2f "
            .. "a write burst of a chip with %d bytes a burst (IDD of DRAMsim3's "
            .. "files)"):format(name, d.activate, d.read, d.write, d.bytes)
    end
    for _, name in ipairs(KINDS) do
        local d = energy.DRAM[name]
        out[#out + 1] = d and ("  data, dram.kind=%s: %.3f nJ an activation, %.3f a "
            .. "burst of 32 bytes (%s)"):format(name, d.activate, d.read, d.source)
            or ("  data, dram.kind=%s: no numbers"):format(name)
    end
    return out
end

return energy
