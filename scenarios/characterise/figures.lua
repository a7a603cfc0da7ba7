--- figures.lua - what is known of an access, an item, a kernel, at full size.
--
-- Lines and pages of a warp's access as they follow from the sources' index
-- arithmetic or were measured by others with real inputs, instructions an item
-- as they stand in MAFIA's PTX, which the papers' simulator ran, coalescing
-- factors of whole programs; for warps of 32 threads, as published.  Surveys
-- alone, no machine's time; a figure holds at the sizes that it names.  t/432
-- checks such figures at small sizes, one function at a time; this is the whole
-- program at the size that experiments use.
--
-- Within 5 % is agreement.
--
--     heddle run scenarios/characterise/figures.lua [size=M] [jobs=2]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local agree = require "agree"

local arg = H.args { size = "M", jobs = 2, json = "" }

local TOLERANCE = 0.05

-- ---- what can be asked of a row ------------------------------------------------

local function kernels_of(row, pattern)
    local out = {}
    for _, k in ipairs(row.survey.kernels) do
        if k.name:find("^" .. pattern .. "$") then
            out[#out + 1] = k
        end
    end
    return out
end

--- Mean of a field (lanes, lines, pages) of the uses of a buffer by a kernel
-- (a pattern).
local function use(kernel, kind, buffer, field)
    return function(row)
        local sum, n = 0, 0
        for _, k in ipairs(kernels_of(row, kernel)) do
            for _, u in ipairs(k.uses) do
                if u.kind == kind
                    and row.survey.buffers[u.buffer].name == buffer then
                    sum, n = sum + u[field], n + u.instructions
                end
            end
        end
        return n > 0 and sum / n or nil
    end
end

--- Lanes a line of the loads of a kernel.
local function factor(kernel)
    return function(row)
        local lanes, lines = 0, 0
        for _, k in ipairs(kernels_of(row, kernel)) do
            lanes, lines = lanes + k.load_lanes, lines + k.load_lines
        end
        return lines > 0 and lanes / lines or nil
    end
end

local function sum_of(row, kernel, field)
    local sum = 0
    for _, k in ipairs(kernels_of(row, kernel)) do
        sum = sum + k[field]
    end
    return sum
end

--- Instructions of threads of a kernel, over what fn(row, parameters) counts.
local function each(kernel, fn)
    return function(row, p)
        return sum_of(row, kernel, "thread_instructions") / fn(row, p)
    end
end

local function launched(kernel, items)
    return function(row, p)
        return sum_of(row, kernel, "launches") * items(p)
    end
end

local function metric(name)
    return function(row)
        return row.metrics[name]
    end
end

local function lanes_of_loads(row)
    return row.survey.sum.load_lanes
end

--- Elements that threads load from a buffer.
local function lanes_of(row, buffer)
    local sum = 0
    for _, k in ipairs(row.survey.kernels) do
        for _, u in ipairs(k.uses) do
            if u.kind == "load"
                and row.survey.buffers[u.buffer].name == buffer then
                sum = sum + u.lanes
            end
        end
    end
    return sum
end

-- ---- the figures ----------------------------------------------------------------

--- Of a memory instruction: application, sizes, published mean, kernel (a
-- pattern), what it does, with which buffer, what is counted, its name.
local USES = [[
ATAX    TSML 32   atax1           load   A      lines a load of A by rows
ATAX    TSML 32   atax1           load   A      pages a load of A by rows
ATAX    TSML 1    atax2           load   A      pages a load of A by columns
BICG    SML  32   bicg2           load   A      pages a load of A by rows
MVT     SML  32   mvt1            load   a      pages a load of a by rows
GESUMMV SML  32   gesummv         load   A      pages a load of A
GESUMMV SML  32   gesummv         load   B      pages a load of B
CORR    SML  32   corr            store  symmat pages a store of symmat
COVAR   SML  32   covar           store  symmat pages a store of symmat
GRM     SML  32   scale           load   A      pages a load of A by columns
GRM     SML  32   scale           store  Q      pages a store of Q
BFS2    M    5.8  bfs1            load   edge   lanes the edge loop
BFS2    M    1.09 bfs1            load   edge   pages a load of edge
BFS2    M    5.6  bfs1            load   vis    pages a gather of vis
BFS2    M    5.7  bfs1            store  cost   pages a scatter to cost
BP      SML  2    forward         load   w      lines a load of w
BP      SML  1.03 forward         load   w      pages a load of w
CONS    TSML 2    rows            load   In     pages a load of rows
CONS    TSML 2    columns         load   Buf    pages a load of columns
FFT     TSML 2    fft_X           load   X      lines a load
FFT     TSML 1    fft_X           store  Y      pages a store
GUP     S    31.5 update          atomic Tab    lines an update
GUP     S    30.5 update          atomic Tab    pages an update
GUP     M    31.9 update          atomic Tab    pages an update
HISTO   SML  30   merge           load   Part   lines a load of the merge
HISTO   SML  8.5  merge           load   Part   pages a load of the merge
HS      SML  31.6 hotspot.*       load   power  lanes a load
HS      SML  2.9  hotspot.*       load   power  lines a load
HS      SML  2    hotspot.*       load   power  pages a load
KMEANS  SML  32   invert          load   F      lines a load of the inversion
KMEANS  SML  2    invert          load   F      pages a load of the inversion
LUH     SM   31   addForces       load   fxe    lanes a gather by corner
LUH     SML  3.0  integrateStress load   x      lines a gather by node
LUH     SM   1.06 integrateStress load   x      pages a gather by node
LUH     SM   3.5  addForces       load   fxe    lines a gather by corner
LUH     SM   1.67 addForces       load   fxe    pages a gather by corner
LUD     TSML 2    internal        load   m      lines an access of internal
LUD     SML  2    internal        load   m      pages an access of internal
MM      SML  2    sgemm           load   B      pages a load of B
NW      SML  1.5  needle_.        load   ref    lines a load of ref
SAD     S    2    blocks          load   ref    pages a texture fetch
SC      TSML 8    pgain           load   pt     lines a load of pt
SCAN    TSML 4    bottom_scan     load   in     lines a load of the bottom scan
SCAN    TSML 1    bottom_scan     load   in     pages a load of the bottom scan
QTC     S    19   main            load   dist   lanes a load of dist
QTC     S    19   main            load   dist   pages a load of dist
]]

local IRREGULAR = "lanes a line of all loads"
--- Others: application, sizes, what, published, function of a row and parameters.
local FIGURES = {
    { "ATAX", "TSML", "lanes a line, first kernel", 1.9, factor "atax1" },
    { "ATAX", "TSML", IRREGULAR, 3.7, metric "etc_factor" },
    { "GESUMMV", "SML", IRREGULAR, 2.8, metric "etc_factor" },
    { "CORR", "SML", IRREGULAR, 16, metric "etc_factor" },
    { "COVAR", "SML", IRREGULAR, 16, metric "etc_factor" },
    { "MUM", "S", "child fetches a read", 20.5, function(row, p)
        return lanes_of(row, "child") / p.reads
    end },
    { "MUM", "S", "node fetches a read", 24.9, function(row, p)
        return lanes_of(row, "node") / p.reads
    end },
    { "LPS", "S", "reads an element", 1.57, function(row, p)
        return lanes_of_loads(row) / (p.nx * p.ny * p.nz)
    end },
    -- Instructions of an item.
    { "BLK", "SML", "instructions an option", 97,
        each("price", launched("price", function(p) return p.n end)) },
    { "SCP", "SML", "instructions a pair of elements", 23.3,
        each("scalar_product", function(_, p) return p.v * p.l end) },
    { "RED", "ML", "instructions a round of two loads", 11,
        each("reduce", function(row) return lanes_of_loads(row) / 2 end) },
    { "FWT", "SML", "instructions a butterfly of four", 58,
        each("pass_D", function(row)
            return sum_of(row, "pass_D", "blocks") * 256
        end) },
    { "HISTO", "SML", "instructions a word", 57,
        each("histogram", launched("histogram",
            function(p) return p.words end)) },
    { "GUP", "SM", "instructions an update", 20.7,
        each("update", function(row, p)
            local n = p.updates > 0 and p.updates or 4 * 2 ^ p.m / p.threads
            return sum_of(row, "update", "launches") * p.threads * n
        end) },
    { "NN", "SML", "instructions a multiply and add", 8.3,
        each(".*", function(row)
            local n = 0
            for _, k in ipairs(row.survey.kernels) do
                for _, u in ipairs(k.uses) do
                    if row.survey.buffers[u.buffer].name:find "w$" then
                        n = n + u.lanes
                    end
                end
            end
            return n
        end) },
    { "SRAD", "SML", "instructions a pixel of srad", 127,
        each("srad", launched("srad", function(p)
            return p.rows * p.cols
        end)) },
    { "SRAD", "SML", "instructions a pixel of srad2", 73,
        each("srad2", launched("srad2", function(p)
            return p.rows * p.cols
        end)) },
    { "MUM", "S", "instructions a read", 1713,
        each(".*", function(_, p) return p.reads end) },
    { "RAY", "S", "instructions a pixel", 956,
        each(".*", function(_, p) return p.width * p.height end) },
}

for line in USES:gmatch "[^\n]+" do
    local f = { line:match(("(%S+)%s+"):rep(7) .. "(.*)") }
    FIGURES[#FIGURES + 1] = { f[1], f[2], f[7] .. " of " .. f[8],
        tonumber(f[3]), use(f[4], f[5], f[6], f[7]) }
end

--- Why a figure is not met, where the cause is known.
local WHY = {
    ["SAD: pages of a texture fetch"] = "the published addresses give 2.27: "
        .. "lanes begin 16 rows of 352 bytes apart",
    ["BFS2: pages of a scatter to cost"] = "the published mean is of the "
        .. "addresses of all lanes in the edge loop; the store is made by "
        .. "those whose neighbour is new, half of them",
}

-- ---- the check -------------------------------------------------------------------

local wanted, names = {}, {}
for _, f in ipairs(FIGURES) do
    if f[2]:find(arg.size, 1, true) and not wanted[f[1]] then
        wanted[f[1]] = true
        names[#names + 1] = f[1]
    end
end
local rows, by_name = {}, {}
if #names > 0 then
    rows = H.characterise.all(agree.present(names, arg.size), {
        size = arg.size, machine = H.machine "maxwell" { core = {
            lanes = 32, width = 32, threads = 2048, regs = 65536,
        } }, timed = false,
    }, arg.jobs)
end
for _, row in ipairs(rows) do
    by_name[row.name] = not row.error and row or nil
end

local checks = agree.new()
for _, f in ipairs(FIGURES) do
    local row = f[2]:find(arg.size, 1, true) and by_name[f[1]]
    if row then
        local library = require "heddle.app"
        local p = library.size(library.get(f[1]), arg.size).params
        local what = f[1] .. ": " .. f[3]
        checks:within(what, f[4], f[5](row, p), TOLERANCE, WHY[what])
    end
end
checks:print(("Figures at size %s, 32-thread warps"):format(arg.size))
agree.cuts(rows)
if arg.json ~= "" then
    H.report.emit(H.characterise.json(rows), arg.json)
end
