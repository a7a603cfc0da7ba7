--[[
app.lua - the library of applications: names, sizes, descriptions.

    local app = require "heddle.app"
    app.names()          { "3DS", "ATAX", ... }
    app.get("ATAX")      the application (kernel.lua), an error names the
                         nearest known one
    app.list()           a table of what is there, for people
    app.explain("ATAX")  lines of text

Each application is a file of its own in lua/heddle/apps/, in lower case, whose
head says where the program comes from, what its kernels are, what drives their
addresses, and what is approximated.  Sizes are T (tests), S, M and L; S and L
span the working sets of the MASK and Mosaic papers (10 to 362 MB), M the
upper end of ETC's.  The 27 programs of these two have R, too: the input that
comes with their release, which is S for all but HS and LUD.  The six programs
of Pichai et al. have XL, too: the 1 GB that their TLB miss rates need; building
one takes seconds and, where contents drive the addresses, as much memory as the
buffers.  Programs of today have an XL of 4 to 17 GB, for machines
with less memory; it begins in seconds and takes some 100 MB, since what would need memory
is computed.  PCHASE, EMBBAG, TRAINCYC, RADIX and KVSWAP have XXL, 100 to
137 GB, for cards of 80 GB and less, which takes the host no more.  The footprint of a
size does not depend on where a long run is cut off; a cut is said in words by
truncated(p).  Papers call some programs by other
names; these aliases are found, too, and explain shows them.

SPDX-License-Identifier: MIT
]]
local M = {}

local NAMES = {
    "2DCONV",
    "3DCONV",
    "3DS",
    "ANNS",
    "ATAX",
    "BFS",
    "BFS2",
    "BICG",
    "BLK",
    "BP",
    "CFD",
    "COLOR",
    "CONS",
    "CORR",
    "COVAR",
    "EMBBAG",
    "FDTD",
    "FFT",
    "FWT",
    "GESUMMV",
    "GNN",
    "GRAPHX",
    "GRM",
    "GUP",
    "HASHJOIN",
    "HISTO",
    "HPCG",
    "HS",
    "KMEANS",
    "KMER",
    "KVSWAP",
    "LPS",
    "LUD",
    "LUH",
    "MD",
    "MEMC",
    "MM",
    "MOE",
    "MUM",
    "MVT",
    "NN",
    "NW",
    "PAGEDATTN",
    "PATHFINDER",
    "PCHASE",
    "PREFILL",
    "QTC",
    "RADIX",
    "RAY",
    "RED",
    "SAD",
    "SC",
    "SCAN",
    "SCP",
    "SPMV",
    "SRAD",
    "SSSP",
    "STREAMCLUSTER",
    "TRAINCYC",
    "TRD",
    "XSBENCH",
}

-- What else a program is called, and where.
local ALIASES = {
    { "FDTD-2D", "FDTD", "PolyBench-GPU" },
    { "GMV", "GESUMMV", "MESC" },
    { "GRAMSCHM", "GRM", "PolyBench-GPU" },
    { "GUPS", "GUP", "HPCC, Mosaic" },
    { "MEMCACHED", "MEMC", "Pichai" },
}
local SIZES = { "T", "R", "S", "M", "L", "XL", "XXL" } -- R and from XL on: some have it

-- Names in alphabetical order; a copy.
function M.names()
    return table.move(NAMES, 1, #NAMES, 1, {})
end

-- The application of that name or alias in any case, or nil.
function M.find(name)
    local wanted = tostring(name):upper()
    for _, alias in ipairs(ALIASES) do
        if alias[1] == wanted then wanted = alias[2] end
    end
    for _, known in ipairs(NAMES) do
        if known == wanted then
            local a = require("heddle.apps." .. known:lower())
            a.library = true
            return a
        end
    end
    return nil
end

-- What else an application is called: { { alias, who calls it so }, ... }.
function M.aliases(name)
    local out = {}
    for _, alias in ipairs(ALIASES) do
        if alias[2] == name then out[#out + 1] = { alias[1], alias[3] } end
    end
    return out
end

function M.get(name)
    local a, known = M.find(name), M.names()
    if a then return a end
    for _, alias in ipairs(ALIASES) do known[#known + 1] = alias[1] end
    error(require("heddle.core").error(-2,
        ("there is no application '%s'%s; known: %s"):format(tostring(name),
            require("heddle.index").meant(name, known),
            table.concat(NAMES, ", "))), 0)
end

-- The sizes that an application has, from small to large.
function M.sizes(a)
    local out = {}
    for _, size in ipairs(SIZES) do
        if a.sizes[size] then out[#out + 1] = size end
    end
    return out
end

-- Parameters of one size, defaults included.
local function params_of(a, size)
    local p = {}
    for k, v in pairs(a.params) do p[k] = v end
    for k, v in pairs(a.sizes[size]) do p[k] = v end
    return p
end

-- What a size allocates (bytes, by the formula) and where its run is cut.
function M.size(a, size)
    local p = params_of(a, size)
    return { params = p, footprint = a.footprint(p),
        truncated = a.truncated and a.truncated(p) or nil }
end

function M.list()
    local rows = {}
    for i, name in ipairs(NAMES) do
        local a = M.get(name)
        local sizes = {}
        for _, size in ipairs(M.sizes(a)) do sizes[size] = M.size(a, size) end
        rows[i] = { name = name, suite = a.suite, source = a.source,
            summary = a.summary, sizes = sizes }
    end
    return rows
end

--- A number of bytes for people: "1.10 GB".
function M.bytes(n)
    if n >= 1e9 then return string.format("%.2f GB", n / 1e9) end
    if n >= 10e6 then return string.format("%.0f MB", n / 1e6) end
    if n >= 1e6 then return string.format("%.1f MB", n / 1e6) end
    return string.format("%.1f kB", n / 1e3)
end

-- Registers of a thread, kernel by kernel, and where the numbers come from.
local function registers(a)
    local parts = {}
    for i, k in ipairs(a:instance("T").kernels) do
        parts[i] = k.name .. " " .. k.regs
    end
    return ("  registers: %s (%s)"):format(table.concat(parts, ", "),
        a.registers)
end

local function settings(p)
    local parts = {}
    for i, k in ipairs(require("heddle.config").sorted_keys(p)) do
        parts[i] = k .. "=" .. tostring(p[k])
    end
    return table.concat(parts, " ")
end

function M.explain(name)
    local a = M.find(name)
    if not a then return nil end
    local out = { string.format("%s (application, %s)", a.name, a.suite),
        "  " .. a.summary, "  source: " .. a.source }
    for _, alias in ipairs(M.aliases(a.name)) do
        out[#out + 1] = ("  also called %s (%s)"):format(alias[1], alias[2])
    end
    out[#out + 1] = registers(a)
    local sizes = M.sizes(a)
    for _, size in ipairs(sizes) do
        local s = M.size(a, size)
        out[#out + 1] = string.format("  size %s:%s %-8s %s%s", size,
            (" "):rep(#sizes[#sizes] - #size), M.bytes(s.footprint),
            settings(s.params),
            s.truncated and " (" .. s.truncated .. ")" or "")
    end
    return out
end

return M
