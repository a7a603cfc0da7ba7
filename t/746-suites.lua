--[[
746-suites.lua - the programs of the papers and the sets they form.

Pinned: the programs of the five suites and their numbers; MASK's classes (2, 8,
4 and 13 programs) and ETC's (7, 4 and 4); the 35 pairs with 8, 16 and 11 of
0-, 1- and 2-HMR; 27 homogeneous sets of each size; 25 heterogeneous ones, the
released pairs and the drawn sets by their first and by a sum over all, their
seeds; 235 sets in all; that a set can be loaded and run; what list and explain
print.  Every program is in the library, or among those still to be written.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local suites = H.suites

local function words(text)
    local out = {}
    for word in text:gmatch "%S+" do out[#out + 1] = word end
    return out
end

local function joined(list) return table.concat(list, " ") end

local function names_of(sets)
    local out = {}
    for i, s in ipairs(sets) do out[i] = s.name end
    return out
end

-- How many of a list have each value of f: "0:8 1:16".
local function tally(list, f)
    local count, keys = {}, {}
    for _, x in ipairs(list) do
        local key = tostring(f(x))
        if not count[key] then keys[#keys + 1] = key end
        count[key] = (count[key] or 0) + 1
    end
    table.sort(keys)
    for i, key in ipairs(keys) do keys[i] = key .. ":" .. count[key] end
    return joined(keys)
end

-- A number over all names in their order.
local function sum(sets)
    local h = 0
    for c in joined(names_of(sets)):gmatch "." do
        h = (h * 31 + c:byte()) & 0xffffffff
    end
    return ("%08x"):format(h)
end

-- ---- suites -------------------------------------------------------------------

tap.is(joined(suites.names()), "mask mosaic etc mesc pichai modern "
    .. "llm graph db sparse recsys", "suites")
tap.raises(function() suites.get "maks" end,
    "no suite 'maks' (did you mean 'mask'?)", "no other")
local SIZES = { mask = 27, mosaic = 27, etc = 15, mesc = 15, pichai = 6,
    modern = 17, llm = 5, graph = 2, db = 2, sparse = 2, recsys = 2 }
for _, name in ipairs(suites.names()) do
    local s = suites.get(name)
    tap.is(#s.apps, SIZES[name], name .. ": number of programs")
    local seen, twice = {}, {}
    for _, a in ipairs(s.apps) do
        if seen[a] then twice[#twice + 1] = a end
        seen[a] = true
    end
    tap.is(joined(twice), "", name .. ": none twice")
    for a in pairs(s.class) do
        if not seen[a] then twice[#twice + 1] = a end
    end
    tap.is(joined(twice), "", name .. ": classes are of its programs")
end

local unknown = {}
for _, name in ipairs(suites.names()) do
    for _, a in ipairs(suites.get(name).apps) do
        local app = H.index.app(a)
        if not app or app.name ~= a then
            unknown[#unknown + 1] = a
        end
    end
end
tap.is(joined(unknown), "", "programs are in the library, by its names")

local mask, etc = suites.get "mask", suites.get "etc"
tap.is(tally(mask.apps, function(a) return mask.class[a] end),
    "High/High:13 High/Low:4 Low/High:8 Low/Low:2", "MASK's classes")
tap.is(joined { mask.class.LUD, mask.class.GUP, mask.class.BFS2,
    mask.class.MUM }, "Low/Low High/Low Low/High High/High", "one of each")
tap.is(tally(etc.apps, function(a) return etc.class[a] end),
    "irregular:4 regular:7 regular, sharing:4", "ETC's classes")
local mesc = suites.get "mesc"
tap.is(tally(mesc.apps, function(a) return mesc.class[a] end),
    "insensitive:6 sensitive:9", "MESC's groups")
tap.is(joined { mesc.class.NW, mesc.class["2DCONV"] },
    "sensitive insensitive", "one of each")
tap.is(joined { etc.class.SAD, etc.class.SCAN, etc.class.ATAX },
    "regular regular, sharing irregular", "one of each")

-- ---- sets -----------------------------------------------------------------------

tap.is(suites.hmr { "MM", "BP", "CONS" }, 2, "High/High ones are counted")
local pairs_of_mask = suites.pairs()
tap.is(#pairs_of_mask, 35, "MASK's pairs")
tap.is(tally(pairs_of_mask, function(s) return s.hmr end), "0:8 1:16 2:11",
    "by class")
tap.is(sum(pairs_of_mask), "79ec12ad", "all of them")
local named = {}
for _, s in ipairs(pairs_of_mask) do named[s.name] = joined(s.apps) end
tap.is(named.MM_CONS, "MM CONS", "MM_CONS is one")
tap.is(named.RED_RAY, "RED RAY", "RED_RAY, too")

local all = 0
for n = 1, 5 do
    local sets = suites.homogeneous(n)
    all = all + #sets
    tap.is(#sets, 27, ("homogeneous sets of %d"):format(n))
    tap.is(joined(sets[4].apps), ("BP "):rep(n):sub(1, -2), "the fourth")
end

local SUMS = { nil, "be437710", "9cacee02", "91278c93", "99f55a0b" }
local inside = {}
for _, a in ipairs(mask.apps) do inside[a] = true end
for n = 2, 5 do
    local sets, bad, seen = suites.heterogeneous(n), {}, {}
    all = all + #sets
    tap.is(#sets, 25, ("heterogeneous sets of %d"):format(n))
    for _, s in ipairs(sets) do
        local sorted, own = { table.unpack(s.apps) }, {}
        for _, a in ipairs(s.apps) do
            if not inside[a] or own[a] then bad[#bad + 1] = s.name end
            own[a] = true
        end
        table.sort(sorted)
        if seen[joined(sorted)] or #s.apps ~= n then bad[#bad + 1] = s.name end
        seen[joined(sorted)] = true
    end
    tap.is(joined(bad), "", "different programs of the 27, no set twice")
    tap.is(sum(sets), SUMS[n], "the same sets on every machine")
end
tap.is(all, 235, "Mosaic's number of sets")
local released = joined(names_of(suites.heterogeneous(2)))
tap.ok(released:find "HS%-CONS" and released:find "NW%-HISTO",
    "the pairs that Mosaic names are among the released ones")
tap.is(sum(suites.heterogeneous(3, 1)), SUMS[3], "seed 1 is the default")
tap.ok(sum(suites.heterogeneous(3, 2)) ~= SUMS[3], "another seed, other sets")
tap.ok(sum(suites.heterogeneous(2, 1)) ~= SUMS[2],
    "with a seed pairs are drawn, too")
tap.raises(function() suites.homogeneous(6) end, "expected 1 to 5", "6 copies")
tap.raises(function() suites.heterogeneous(1) end, "expected 2 to 5",
    "one application is no mixture")

local s = H.sim {
    machine = H.machine "maxwell" { ["core.count"] = 2 },
    apps = suites.load(pairs_of_mask[27], { size = "T", budget = 500 }),
}
tap.is(s:run(), "done", "a set runs")
tap.is(joined { s:results().apps[1].name, s:results().apps[2].name },
    joined(pairs_of_mask[27].apps), "its applications")

-- ---- footprints -------------------------------------------------------------------

-- 20 to 160 MB a program, within 20 %; 81.5 on average (Mosaic), within 20 %.
local library, total = require "heddle.app", 0
local outside = {}
for _, name in ipairs(mask.apps) do
    local mb = library.size(library.get(name), mask.size).footprint / 1e6
    total = total + mb
    if mb < 20 * .8 or mb > 160 * 1.2 then
        outside[#outside + 1] = ("%s %.0f"):format(name, mb)
    end
end
tap.is(joined(outside), "", "working sets of MASK's and Mosaic's programs")
tap.ok(math.abs(total / #mask.apps / 81.5 - 1) < .2, "and their mean",
    total / #mask.apps)
tap.is(suites.get("mosaic").size, mask.size, "one size for both")

-- MESC's own inputs: n = 1024, and as many pages as PolyBench's programs have then.
local function pages_of(name)
    local pages = 0
    for _, b in ipairs(library.get(name):instance(suites.input("mesc", name)).buffers) do
        pages = pages + (b.scratch and 0 or (b.count * b.width + 4095) // 4096)
    end
    return pages
end
local six = 0
for _, name in ipairs(words "ATAX BICG MVT GESUMMV CORR COVAR") do
    six = six + pages_of(name)
end
tap.is(six // 6, 1541, "pages of six of PolyBench's programs")
tap.is(pages_of "NW", 2054, "NW, whose side is theirs")
for _, name in ipairs(words "GRM BFS COLOR SSSP 2DCONV HS LUD SRAD") do
    local n = pages_of(name)
    tap.ok(math.abs(n / 1541.3 - 1) < .03, name .. " has as many", n)
end
tap.is(suites.input("mask", "MM"), nil, "MASK has none of its own")

-- ---- list and explain -------------------------------------------------------------

tap.is(#H.index.rows "suites", 14, "rows of the list")
local lines = H.index.explain "mask-pairs"
tap.is(lines[1], "mask-pairs (35 sets): MASK's pairs", "explained")
tap.is(#lines, 37, "a line each")
tap.is(lines[3], "    3DS_BP                        1-HMR", "with its class")
lines = joined(H.index.explain "etc")
tap.ok(lines:find "SCAN +[%d.]+ MB +regular, sharing",
    "the classes of a suite, and what its programs allocate")

return tap.done()
