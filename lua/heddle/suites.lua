--[[
suites.lua - the programs of the papers, and how the papers put them together; and
programs of today, by what they are for.

    local suites = require "heddle.suites"          -- also H.suites
    suites.names()             { "mask", "mosaic", "etc", "mesc", "pichai",
                               "modern", "llm", "graph", "db", "sparse",
                               "recsys" }
    suites.get("etc")          { name, paper, size, note, apps = { "2DCONV",
                               ... }, class = { ["2DCONV"] = "regular", ... } }
    suites.input("mesc", "BICG")       a suite's own input, options of H.app:
                               { size = "S", nx = 1024, ny = 1024 }; or nil
    suites.pairs()             MASK's 35 pairs
    suites.homogeneous(n)      Mosaic's 27 sets of n copies
    suites.heterogeneous(n [, seed])   its 25 sets of n applications
    suites.hmr { "3DS", "BP" }         how many of them are High/High
    suites.load(set, options)  a list of H.app, for H.sim's apps

A set (of applications that share the GPU) is { name = "3DS_BP", apps = { "3DS",
"BP" }, hmr = 1 }; the order of apps is that of address spaces and cores.

MASK and Mosaic run the same 27 programs, those of the simulator they share.
MASK's table 2 classes each by its miss rate in a 64-entry L1 and a 512-entry L2
TLB, above or below 20 %; n-HMR is a set of which n have both high.  The classes
depend on sizes (GUP is High/Low only while its table nearly fits), so a
scenario should measure and print its own beside these.

How sets were formed, as far as it is known:
  pairs          MASK draws 35 pairs at random and shows them one by one.  The
                 35 here are recalled from its figures, not compared with a
                 copy; every pair that other sources name is among them.
  homogeneous    each of the 27 programs, 1 to 5 copies: 135 sets.
  heterogeneous  25 sets each of 2, 3, 4 and 5 programs drawn at random: 100.
                 The public release has a list of 60 random pairs.  The 25 here
                 are its first 25 of two different programs of the 27, not
                 counting a pair that was there before; HS-CONS and NW-HISTO of
                 Mosaic's figure 10 are among them.  Lists of 3 to 5 are not
                 public: they are drawn here with a seed, different programs,
                 no set twice.
Together 235 sets, which is Mosaic's count.

The size is the preset that comes nearest to what is known of the inputs.  MESC's
has inputs of its own, too, which its figures are scored with.  The paper gives
none.  One free number, n = 1024, is the side of PolyBench's matrices and NW's; it
was chosen by the IOMMU's hit ratio in figure 3 (of 55.4 % in the paper), before
any figure of performance was run.  ATAX, BICG and MVT then have 1,027 to 1,028
pages of 4 KB, GESUMMV, CORR and COVAR 2,051 to 2,058, NW 2,054; the mean of these
six of PolyBench's is 1,541.  All others have the size that comes nearest to that
mean: sides that are multiples of 16 (GRM 720, 1,521 pages; 2DCONV 896, 1,568; HS
720, 1,521; LUD 1264, 1,561; SRAD 448, 1,572; COLOR's grid 416, 1,521; SSSP's roads
432, 1,572), and for BFS a multiple of 512 nodes (161,792, 1,543).  What a run is
cut to (cap, steps, iterations) is S's.  Without cap CORR and COVAR have some 173
million warp instructions each instead of 3.9 and 2.8, which is five minutes of a
core each and design (550,000 a second), where all fifteen take half a minute as
they are.

No paper chose the programs of today: `modern` has all of them, the others those of a
field.  Their size is M, the largest that a machine with little memory runs at once;
L and XL are for memory that is too small (vm.memory_bytes).

SPDX-License-Identifier: MIT
]]
local M = {}

local function words(text)
    local out = {}
    for word in text:gmatch "%S+" do out[#out + 1] = word end
    return out
end

-- { HISTO = "Low/High", ... } from { ["Low/High"] = "HISTO ..." }.
local function classes(groups)
    local of = {}
    for class, names in pairs(groups) do
        for _, name in ipairs(words(names)) do of[name] = class end
    end
    return of
end

-- ---- suites ---------------------------------------------------------------------

local MOSAIC = "3DS BFS2 BLK BP CFD CONS FFT FWT GUP HISTO HS LPS LUD LUH MM "
    .. "MUM NN NW QTC RAY RED SAD SC SCAN SCP SRAD TRD"

local MASK_CLASS = classes {
    ["Low/Low"] = "LUD NN",
    ["Low/High"] = "BFS2 FFT HISTO NW QTC RAY SAD SCP",
    ["High/Low"] = "BP GUP HS LPS",
    ["High/High"] = "3DS BLK CFD CONS FWT LUH MM MUM RED SC SCAN SRAD TRD",
}

local TODAY = "PAGEDATTN EMBBAG GRAPHX HASHJOIN PCHASE PREFILL GNN XSBENCH MOE "
    .. "KVSWAP SPMV TRAINCYC RADIX ANNS HPCG KMER MD"

local FIELD = classes {
    llm = "PAGEDATTN PREFILL MOE KVSWAP TRAINCYC",
    graph = "GRAPHX GNN",
    db = "HASHJOIN RADIX",
    sparse = "SPMV HPCG",
    recsys = "EMBBAG ANNS",
    science = "XSBENCH KMER MD",
    probe = "PCHASE",
}

-- A suite of the programs of a field.
local function of_field(name, note)
    local apps = {}
    for _, app in ipairs(words(TODAY)) do
        if FIELD[app] == name then apps[#apps + 1] = app end
    end
    return { name = name, paper = "programs of today", size = "M", note = note,
        apps = apps, class = {} }
end

local SUITES = {
    {
        name = "mask", paper = "MASK (ASPLOS 2018)", size = "M",
        note = "L1 / L2 TLB miss rate above 20 % or not (table 2); at M "
            .. "programs have 17 to 160 MB, as Mosaic says of them (10 to 362); "
            .. "with the release's inputs (R) some, RED and SCAN among them, "
            .. "are within the reach of the TLBs",
        apps = words(MOSAIC), class = MASK_CLASS,
    },
    {
        name = "mosaic", paper = "Mosaic (MICRO 2017)", size = "M",
        note = "MASK's programs; working sets of 10 to 362 MB, 81.5 MB on "
            .. "average",
        apps = words(MOSAIC), class = MASK_CLASS,
    },
    {
        name = "etc", paper = "ETC (ASPLOS 2019)", size = "S",
        note = "ETC's own classes; footprints of 7.28 to 70 MB, 22.5 MB on "
            .. "average",
        apps = words("2DCONV 3DCONV SAD CORR COVAR FDTD LPS LUD SRAD CONS "
            .. "SCAN ATAX BICG GESUMMV MVT"),
        class = classes {
            ["regular"] = "2DCONV 3DCONV SAD CORR COVAR FDTD LPS",
            ["regular, sharing"] = "LUD SRAD CONS SCAN",
            ["irregular"] = "ATAX BICG GESUMMV MVT",
        },
    },
    {
        name = "mesc", paper = "MESC (Yu, Bai, Wang)", size = "M",
        note = "the paper's two groups (VI.A), sensitive to translation and "
            .. "not; its GMV is GESUMMV here; last, the inputs that its figures "
            .. "are scored with",
        apps = words("ATAX BFS BICG CORR COVAR GESUMMV GRM MVT NW 2DCONV "
            .. "COLOR HS LUD SRAD SSSP"),
        inputs = {
            ATAX = { nx = 1024, ny = 1024 }, BICG = { nx = 1024, ny = 1024 },
            CORR = { m = 1024, n = 1024 }, COVAR = { m = 1024, n = 1024 },
            GESUMMV = { n = 1024 }, MVT = { n = 1024 }, NW = { n = 1024 },
            GRM = { n = 720 }, BFS = { n = 161792 }, COLOR = { n = 416 * 416 },
            SSSP = { n = 432 * 432 }, ["2DCONV"] = { n = 896 }, HS = { n = 720 },
            LUD = { n = 1264 }, SRAD = { rows = 448, cols = 448 },
        },
        class = classes {
            sensitive = "ATAX BFS BICG CORR COVAR GESUMMV GRM MVT NW",
            insensitive = "2DCONV COLOR HS LUD SRAD SSSP",
        },
    },
    {
        name = "pichai", paper = "Pichai et al. (ASPLOS 2014)", size = "XL",
        note = "bfs, kmeans, streamcluster, mummergpu, pathfinder and "
            .. "memcached; their miss rates need more than 1 GB",
        apps = words "BFS KMEANS STREAMCLUSTER MUM PATHFINDER MEMC",
        class = {},
    },
    {
        name = "modern", paper = "programs of today", size = "M",
        note = "by field; no paper chose them, scenarios/characterise/modern.lua "
            .. "has what they ask for",
        apps = words(TODAY), class = FIELD,
    },
    of_field("llm", "language models: decode, prompt, experts, a cache that moves, "
        .. "training"),
    of_field("graph", "search of a graph, and sampling for a neural network"),
    of_field("db", "a join and a sort"),
    of_field("sparse", "a sparse matrix, and a stencil as one"),
    of_field("recsys", "embeddings, and search for nearest neighbours"),
}

--- Names of the suites, as above.
function M.names()
    local out = {}
    for i, s in ipairs(SUITES) do out[i] = s.name end
    return out
end

local function find(name)
    for _, s in ipairs(SUITES) do
        if s.name == name then return s end
    end
end

--- A suite.
function M.get(name)
    local names = M.names()
    return find(name) or error(require("heddle.core").error(-2,
        ("there is no suite '%s'%s; known: %s"):format(tostring(name),
            require("heddle.index").meant(name, names),
            table.concat(names, ", "))), 0)
end

--- A suite's own input of a program: options for H.app; nil: it has none.
function M.input(suite, program)
    local own = M.get(suite).inputs
    if not (own and own[program]) then return nil end
    local out = { size = "S" }
    for k, v in pairs(own[program]) do out[k] = v end
    return out
end

-- ---- sets -----------------------------------------------------------------------

--- How many of a list of names are High/High in MASK's table 2.
function M.hmr(apps)
    local n = 0
    for _, name in ipairs(apps) do
        n = n + (MASK_CLASS[name] == "High/High" and 1 or 0)
    end
    return n
end

local function set_of(apps, separator)
    return { name = table.concat(apps, separator or "_"), apps = apps,
        hmr = M.hmr(apps) }
end

local MASK_PAIRS = [[
    3DS_BP 3DS_HISTO BLK_LPS CFD_MM CONS_LPS CONS_LUH FWT_BP HISTO_GUP
    HISTO_LPS LUH_BFS2 LUH_GUP MM_CONS MUM_HISTO NW_HS NW_LPS RAY_GUP RAY_HS
    RED_BP RED_GUP RED_MM RED_RAY RED_SC SCAN_CONS SCAN_HISTO SCAN_SAD
    SCAN_SRAD SCP_GUP SCP_HS SC_FWT SRAD_3DS TRD_HS TRD_LPS TRD_MUM TRD_RAY
    TRD_RED]]

local RELEASED_PAIRS = [[
    BFS2-FWT QTC-RED BFS2-MUM LUH-RED SCAN-GUP HS-LUH LUD-MUM NN-GUP BFS2-LUD
    FWT-SCP BP-LUD NW-HISTO LUH-FFT RED-BFS2 3DS-FFT SRAD-TRD RAY-BLK CONS-QTC
    SCP-FFT SAD-SRAD SCAN-MM LUH-GUP 3DS-NN HS-CONS FWT-SCAN]]

local function listed(text, separator)
    local out = {}
    for i, name in ipairs(words(text)) do
        out[i] = set_of(words((name:gsub("[_-]", " "))), separator)
    end
    return out
end

--- MASK's 35 pairs, in alphabetical order.
function M.pairs()
    return listed(MASK_PAIRS, "_")
end

local function check(n, least)
    if math.type(n) ~= "integer" or n < least or n > 5 then
        error(("suites: %s applications; expected %d to 5"):format(
            tostring(n), least), 0)
    end
end

--- Mosaic's 27 sets of n copies of one program, n = 1 to 5.
function M.homogeneous(n)
    check(n, 1)
    local out = {}
    for i, name in ipairs(words(MOSAIC)) do
        local apps = {}
        for k = 1, n do apps[k] = name end
        out[i] = set_of(apps, "-")
    end
    return out
end

-- The first n of a seeded permutation of the 27 programs.
local function draw(n, seed)
    local generate = require "heddle.generate"
    local all, apps = words(MOSAIC), {}
    local order = generate.permutation { n = #all, seed = seed }
    for i = 1, n do apps[i] = all[order[i - 1] + 1] end
    return apps
end

--- Mosaic's 25 sets of n different programs, n = 2 to 5.  Without a seed: the
-- released pairs for n = 2, else seed 1.  The same seed gives the same sets.
function M.heterogeneous(n, seed)
    check(n, 2)
    if n == 2 and seed == nil then return listed(RELEASED_PAIRS, "-") end
    local out, seen, k = {}, {}, 0
    while #out < 25 do
        local apps = draw(n, (seed or 1) * 1000000 + n * 1000 + k)
        local sorted = table.move(apps, 1, n, 1, {})
        table.sort(sorted)
        local key = table.concat(sorted, " ")
        if not seen[key] then
            seen[key] = true
            out[#out + 1] = set_of(apps, "-")
        end
        k = k + 1
    end
    return out
end

--- Descriptions of a set's applications (or of a list of names), for H.sim.
function M.load(set, options)
    local app, out = require "heddle.workload".app, {}
    if type(set) ~= "table" then
        error(require("heddle.core").error(-2, ("suites: a set or a list of "
            .. "names is expected, not a %s"):format(type(set))), 0)
    end
    for i, name in ipairs(set.apps or set) do out[i] = app(name, options) end
    return out
end

-- ---- for people -----------------------------------------------------------------

-- Sets of `least` to 5 programs, in one list.
local function all_of(sets_of, least)
    local out = {}
    for n = least, 5 do
        local sets = sets_of(n)
        table.move(sets, 1, #sets, #out + 1, out)
    end
    return out
end

local COLLECTIONS = {
    {
        name = "mask-pairs", summary = "MASK's pairs",
        source = "MASK, recalled from its figures",
        sets = function() return M.pairs() end,
    },
    {
        name = "mosaic-homogeneous", summary = "1 to 5 copies of a program",
        source = "Mosaic 5",
        sets = function() return all_of(M.homogeneous, 1) end,
    },
    {
        name = "mosaic-heterogeneous", summary = "2 to 5 different programs",
        source = "pairs: list of the Mosaic release; 3 to 5: drawn, seed 1",
        sets = function() return all_of(M.heterogeneous, 2) end,
    },
}

--- Rows for `heddle list suites`.
function M.rows()
    local out = {}
    for _, s in ipairs(SUITES) do
        out[#out + 1] = { s.name, #s.apps .. " programs", s.paper .. ": "
            .. table.concat(s.apps, " ") }
    end
    for _, c in ipairs(COLLECTIONS) do
        out[#out + 1] = { c.name, #c.sets() .. " sets", c.summary }
    end
    return out
end

-- What a program allocates at a size, or nothing where it lacks it.
local function footprint(name, size)
    local library = require "heddle.app"
    local app = library.find(name)
    if not app or not app.sizes[size] then return "" end
    return library.bytes(library.size(app, size).footprint)
end

local function explain_suite(s)
    local out = { ("%s (suite, %d programs)"):format(s.name, #s.apps),
        "  source   " .. s.paper, "  size     " .. s.size,
        "  note     " .. s.note }
    for _, name in ipairs(s.apps) do
        local line = ("    %-13s  %-8s  %s"):format(name,
            footprint(name, s.size), s.class[name] or "")
        if s.inputs then -- and the suite's own
            local texts, own = {}, s.inputs[name]
            for i, k in ipairs(require("heddle.config").sorted_keys(own)) do
                texts[i] = ("%s=%s"):format(k, own[k])
            end
            line = ("    %-13s  %-8s  %-11s  %s"):format(name,
                footprint(name, s.size), s.class[name], table.concat(texts, " "))
        end
        out[#out + 1] = (line:gsub("%s+$", ""))
    end
    return out
end

--- Lines that explain a suite or a collection of sets, or nil.
function M.explain(name)
    local s = find(name)
    if s then return explain_suite(s) end
    for _, c in ipairs(COLLECTIONS) do
        if c.name == name then
            local sets = c.sets()
            local out = { ("%s (%d sets): %s"):format(name, #sets, c.summary),
                "  source   " .. c.source }
            for _, set in ipairs(sets) do
                out[#out + 1] = ("    %-28s  %d-HMR"):format(set.name, set.hmr)
            end
            return out
        end
    end
end

return M
