--- figures.lua - what is known of an access, an item, a kernel, at full size.
--
-- Lines and pages of a warp's access as they follow from the sources' index
-- arithmetic or were measured by others with real inputs, instructions an item
-- as the papers' simulator counted them (MAFIA's single-application runs, its
-- PTX), coalescing factors of whole programs; for warps of 32 threads, as
-- published.  Surveys alone, no machine's time; a figure holds at the sizes
-- that it names.  t/432 checks such figures at small sizes, one function at a
-- time; this is the whole program at the size that experiments use.
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

-- ---- the figures: application, sizes, what, published, function ------------------

local IRREGULAR = "lanes a line of all loads"
local FIGURES = {
    { "ATAX", "TSML", "lines of a load of A by rows", 32,
        use("atax1", "load", "A", "lines") },
    { "ATAX", "TSML", "its pages", 32, use("atax1", "load", "A", "pages") },
    { "ATAX", "TSML", "pages of a load of A by columns", 1,
        use("atax2", "load", "A", "pages") },
    { "ATAX", "TSML", "lanes a line, first kernel", 1.9, factor "atax1" },
    { "ATAX", "TSML", IRREGULAR, 3.7, metric "etc_factor" },
    { "BICG", "SML", "pages of a load of A by rows", 32,
        use("bicg2", "load", "A", "pages") },
    { "MVT", "SML", "pages of a load of a by rows", 32,
        use("mvt1", "load", "a", "pages") },
    { "GESUMMV", "SML", "pages of a load of A", 32,
        use("gesummv", "load", "A", "pages") },
    { "GESUMMV", "SML", "pages of a load of B", 32,
        use("gesummv", "load", "B", "pages") },
    { "GESUMMV", "SML", IRREGULAR, 2.8, metric "etc_factor" },
    { "CORR", "SML", "pages of a store of symmat", 32,
        use("corr", "store", "symmat", "pages") },
    { "CORR", "SML", IRREGULAR, 16, metric "etc_factor" },
    { "COVAR", "SML", "pages of a store of symmat", 32,
        use("covar", "store", "symmat", "pages") },
    { "COVAR", "SML", IRREGULAR, 16, metric "etc_factor" },
    { "GRM", "SML", "pages of a load of A by columns", 32,
        use("scale", "load", "A", "pages") },
    { "GRM", "SML", "pages of a store of Q", 32,
        use("scale", "store", "Q", "pages") },
    { "BFS2", "M", "lanes of the edge loop", 5.8,
        use("bfs1", "load", "edge", "lanes") },
    { "BFS2", "M", "pages of a load of edge", 1.09,
        use("bfs1", "load", "edge", "pages") },
    { "BFS2", "M", "pages of a gather of vis", 5.6,
        use("bfs1", "load", "vis", "pages") },
    { "BFS2", "M", "pages of a scatter to cost", 5.7,
        use("bfs1", "store", "cost", "pages") },
    { "BP", "SML", "lines of a load of w", 2,
        use("forward", "load", "w", "lines") },
    { "BP", "SML", "its pages", 1.03, use("forward", "load", "w", "pages") },
    { "CONS", "TSML", "pages of a load of rows", 2,
        use("rows", "load", "In", "pages") },
    { "CONS", "TSML", "pages of a load of columns", 2,
        use("columns", "load", "Buf", "pages") },
    { "FFT", "TSML", "lines of a load", 2, use("fft_X", "load", "X", "lines") },
    { "FFT", "TSML", "pages of a store", 1, use("fft_X", "store", "Y", "pages") },
    { "GUP", "S", "lines of an update", 31.5,
        use("update", "atomic", "Tab", "lines") },
    { "GUP", "S", "its pages", 30.5, use("update", "atomic", "Tab", "pages") },
    { "GUP", "M", "pages of an update", 31.9,
        use("update", "atomic", "Tab", "pages") },
    { "HISTO", "SML", "lines of a load of the merge", 30,
        use("merge", "load", "Part", "lines") },
    { "HISTO", "SML", "its pages", 7.5, use("merge", "load", "Part", "pages") },
    { "HS", "SML", "lanes of a load", 31.6,
        use("hotspot.*", "load", "power", "lanes") },
    { "HS", "SML", "its lines", 2.9,
        use("hotspot.*", "load", "power", "lines") },
    { "HS", "SML", "its pages", 2, use("hotspot.*", "load", "power", "pages") },
    { "KMEANS", "SML", "lines of a load of the inversion", 32,
        use("invert", "load", "F", "lines") },
    { "KMEANS", "SML", "its pages", 2, use("invert", "load", "F", "pages") },
    { "LUH", "SM", "lanes of a gather by corner", 31,
        use("addForces", "load", "fxe", "lanes") },
    { "LUD", "TSML", "lines of an access of internal", 2,
        use("internal", "load", "m", "lines") },
    { "LUD", "SML", "its pages", 2, use("internal", "load", "m", "pages") },
    { "MM", "SML", "pages of a load of B", 2,
        use("sgemm", "load", "B", "pages") },
    { "NW", "SML", "lines of a load of ref", 1.5,
        use("needle_.", "load", "ref", "lines") },
    { "SAD", "S", "pages of a texture fetch", 2,
        use("blocks", "load", "ref", "pages") },
    { "SC", "TSML", "lines of a load of pt", 8,
        use("pgain", "load", "pt", "lines") },
    { "SCAN", "TSML", "lines of a load of the bottom scan", 4,
        use("bottom_scan", "load", "in", "lines") },
    { "SCAN", "TSML", "its pages", 1,
        use("bottom_scan", "load", "in", "pages") },
    { "QTC", "S", "lanes of a load of dist", 19,
        use("main", "load", "dist", "lanes") },
    { "QTC", "S", "its pages", 19, use("main", "load", "dist", "pages") },
    { "LUH", "SML", "lines of a gather by node", 3.0,
        use("integrateStress", "load", "x", "lines") },
    { "LUH", "SM", "its pages", 1.06,
        use("integrateStress", "load", "x", "pages") },
    { "LUH", "SM", "lines of a gather by corner", 3.5,
        use("addForces", "load", "fxe", "lines") },
    { "LUH", "SM", "its pages", 1.67,
        use("addForces", "load", "fxe", "pages") },
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
    { "BLK", "SML", "instructions an option", 58.6,
        each("price", launched("price", function(p) return p.n end)) },
    { "SCP", "SML", "instructions a pair of elements", 23.3,
        each("scalar_product", function(_, p) return p.v * p.l end) },
    { "RED", "ML", "instructions a round of two loads", 22.7,
        each("reduce", function(row) return lanes_of_loads(row) / 2 end) },
    { "FWT", "SML", "instructions a butterfly of four", 58,
        each("pass_D", function(row)
            return sum_of(row, "pass_D", "blocks") * 256
        end) },
    { "HISTO", "SML", "instructions a word", 53,
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

--- Why a figure is not met, where the cause is known.
local WHY = {
    ["SAD: pages of a texture fetch"] = "the published addresses give 2.27: "
        .. "lanes begin 16 rows of 352 bytes apart",
    ["BFS2: pages of a scatter to cost"] = "the published mean is of the "
        .. "addresses of all lanes in the edge loop; the store is made by "
        .. "those whose neighbour is new, half of them",
    ["HISTO: instructions a word"] = "what stands before and after the loop "
        .. "counts, too; the loop alone has 53 (t/432)",
    ["RED: instructions a round of two loads"] = "what follows the loop counts, "
        .. "too, and at this size the loop has 8 rounds",
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
