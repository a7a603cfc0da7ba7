--- common.lua - cards beside heddle: figures of cards, curves and what is found in
-- them, rows with a tolerance.
--
-- Figures, in the files beside this one, are numbers only; each is of
--
--   latency-*.txt, l2-bandwidth-*.txt    github.com/RRZE-HPC/gpu-benches 1038c5d,
--       gpu-latency and gpu-l2-cache: kB, and cycles of a load or GB/s
--   tlb-p100-*, tlb-k80-*, tlb-sharing-sms    github.com/gcoe-dresden/cuda-gpu-tlb
--       6c9edc6, results: MB, and cycles at each stride of the heading (kB); groups
--       of cores, and medians.  Its A30 rows: a derivative of 0x5ec1ab/gpu-tlb
--   tlb-a100-stride-range-ns.csv    github.com/yqg9651/cuda_test dade57b
--   window.lua    two numbers of Walker, arXiv 2405.11425
--   kernels-rtx2060-ms.csv    github.com/R100001/Programming-Massively-Parallel-
--       Processors a972fb5, its NvBench results: ms, cold and launched back to back
--   counters-v100-kernels.csv    github.com/accel-sim/accel-sim-framework (dev),
--       util/accelwattch/accelwattch_hw_profiler/hw_perf.csv: sectors of 32 bytes
--   mt4g-cards.csv    github.com/caps-tum/mt4g 4cc5566, sample_results
--
-- A row is fit where something of a preset was chosen by it or by figures that it is
-- part of, and test else; tests alone say how good a card is, and no preset was
-- changed after one was looked at, but for what cards.lua says of the A40.  What a
-- row's tolerance is was settled with the experiment, before its first run.
--
-- What is found in a curve, by one rule for measured ones and heddle's:
--   plateau   the median of the values in a range of abscissae
--   knee      where the curve leaves a plateau for the next one: the abscissa at which
--             it has a twentieth of the step (2 cycles at least: what is measured is
--             whole cycles that differ by one from run to run), between points by their
--             logarithms
--   apart     exp(mean |ln ratio|) over the measured points of a range, heddle's
--             between its own points by their logarithms
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"

local common = {}

-- ---- figures -------------------------------------------------------------------

--- Lines of a file of numbers, "#" lines left out: lists of cells.
function common.figures(name)
    local out = {}
    for line in io.lines(H.here(name)) do
        if not line:find "^#" then
            local row = {}
            for cell in line:gmatch(line:find "," and "([^,\r]*),?" or "%S+") do
                row[#row + 1] = tonumber(cell) or cell
            end
            out[#out + 1] = row
        end
    end
    return out
end

--- A curve of a file of two columns: { { x, y }, ... }.
function common.curve(name)
    local out = {}
    for i, row in ipairs(common.figures(name)) do
        out[i] = { row[1], row[2] }
    end
    return out
end

--- The curves of a file of Karnagel et al.: by stride in kB, over MB.
function common.karnagel(name)
    local strides, out
    for line in io.lines(H.here(name)) do
        local cells = {}
        for cell in line:gmatch "([^,]*),?" do
            cells[#cells + 1] = tonumber(cell) or false
        end
        if not line:find "^#T" then
            if not strides then
                strides, out = cells, {}
            end
            for i = 2, #strides do
                local s = strides[i]
                if s and line:find "^#" then
                    out[s] = {}
                elseif s and cells[i] then
                    table.insert(out[s], { cells[1], cells[i] })
                end
            end
        end
    end
    return out
end

--- Those of a list of cards, { name, ... } each, that arg.only names; empty: all.
function common.only(arg, cards)
    local out, named, known = {}, {}, {}
    for name in arg.only:gmatch "[^,]+" do
        named[name] = true
    end
    for i, c in ipairs(cards) do
        known[i] = c[1]
        if arg.only == "" or named[c[1]] then
            out[#out + 1] = c
        end
        named[c[1]] = nil
    end
    local wrong = next(named)
    if wrong then
        error({ usage = ("only=%s: there is no card '%s' here; there are %s"):format(
            arg.only, wrong, table.concat(known, ", ")) }, 0)
    end
    return out
end

-- ---- curves --------------------------------------------------------------------

--- The median of the values from x = low to high; nil where there are none.
function common.plateau(curve, low, high)
    local list = {}
    for _, p in ipairs(curve) do
        if p[1] >= low and p[1] <= high then
            list[#list + 1] = p[2]
        end
    end
    table.sort(list)
    local n = #list
    return n > 0 and (list[(n + 1) // 2] + list[n // 2 + 1]) / 2 or nil
end

--- See the head; a, b: the values of the plateaus; low: where the search begins.
function common.knee(curve, a, b, low)
    local step = math.max(math.abs(b - a) / 20, 2)
    local level, before = b > a and a + step or a - step, nil
    for _, p in ipairs(curve) do
        if p[1] >= (low or 0) then
            if (p[2] - level) * (b - a) > 0 then
                if not before then
                    return p[1]
                end
                local part = (level - before[2]) / (p[2] - before[2])
                return before[1] * (p[1] / before[1]) ^ math.max(part, 0)
            end
            before = p
        end
    end
end

--- The value of a curve at x, or nil outside of it.
function common.at(curve, x)
    for i, p in ipairs(curve) do
        local q = curve[i - 1]
        if p[1] == x then
            return p[2]
        elseif p[1] > x then
            return q and q[2] + (p[2] - q[2]) * math.log(x / q[1])
                / math.log(p[1] / q[1])
        end
    end
end

--- How far heddle's curve is from a measured one from x = low to high, and where most:
-- exp(mean |ln ratio|), ratio, x, number of points.
function common.apart(measured, heddle, low, high)
    local sum, n, worst, where = 0.0, 0, 1, nil
    for _, p in ipairs(measured) do
        local v = p[1] >= low and p[1] <= high and common.at(heddle, p[1])
        if v then
            local r = math.log(v / p[2])
            sum, n = sum + math.abs(r), n + 1
            if math.abs(r) >= math.abs(math.log(worst)) then
                worst, where = v / p[2], p[1]
            end
        end
    end
    return n > 0 and math.exp(sum / n) or nil, worst, where, n
end

-- ---- an experiment -----------------------------------------------------------------

local Page = {}
Page.__index = Page

--- A page of rows; o as of experiment.open.
function common.open(o)
    return setmetatable({ x = experiment.open(o), rows = {} }, Page)
end

--- A row: { what, unit =, measured =, heddle =, use = "fit" or "test",
--   tolerance = 0.05 (of the ratio) or within = 2 (in its unit), thin =, note = }.
--   Where heddle has no value the row says `why` in its place.
function Page:row(r)
    local m, h, good = r.measured, r.heddle, nil
    if m and h then
        if r.within then
            good = math.abs(h - m) <= r.within
        else
            good = h <= m * (1 + r.tolerance) and h >= m / (1 + r.tolerance)
        end
    end
    r.good = good
    self.rows[#self.rows + 1] = r
end

local function text(v, unit)
    if not v then
        return "-"
    end
    local s = v == math.floor(v) and ("%.0f"):format(v)
        or math.abs(v) >= 1000 and ("%.0f"):format(v) or ("%.1f"):format(v)
    return unit ~= "" and s .. " " .. unit or s
end

--- How far heddle is from a measured value, and what is allowed.
local function distance(r)
    if not r.measured or not r.heddle then
        return "-", "-"
    elseif r.within then
        return ("%+.1f"):format(r.heddle - r.measured), ("within %g"):format(r.within)
    end
    return ("%.2f"):format(r.heddle / r.measured), ("%.0f %%"):format(r.tolerance * 100)
end

common.HEAD = { "row", "measured", "heddle", "apart", "tolerance", "within", "use",
    "thinned" }
common.ROWS = "Rows" -- the title of their table

--- How many rows of a use are within their tolerance, and of how many.
local function count(rows, use)
    local n, all = 0, 0
    for _, r in ipairs(rows) do
        if r.use == use and r.good ~= nil then
            n, all = n + (r.good and 1 or 0), all + 1
        end
    end
    return n, all
end

--- Prints and writes all of it.
function Page:close()
    local x, list = self.x, { common.HEAD }
    for _, r in ipairs(self.rows) do
        local apart, allowed = distance(r)
        list[#list + 1] = { r[1], text(r.measured, r.unit),
            not r.heddle and r.why and "not compared: " .. r.why
                or text(r.heddle, r.unit),
            apart, allowed, r.good == nil and "-" or r.good and "yes" or "no", r.use,
            r.thin or "" }
        local notes = {}
        for _, k in ipairs { "why", "note" } do
            notes[#notes + 1] = r[k]
        end
        x:quantity { r[1], unit = r.unit, kind = "count", paper = r.measured,
            heddle = r.heddle, shown = r.use == "test" or nil,
            calibrated = r.use == "fit" or nil, skip = r.why,
            note = #notes > 0 and table.concat(notes, "; ") or nil }
    end
    local tests, of = count(self.rows, "test")
    local fits, all = count(self.rows, "fit")
    x:say("Within their tolerance: %d of %d rows that are tests, %d of %d that are fit",
        tests, of, fits, all)
    table.insert(x.tables, 1, { title = common.ROWS, rows = list })
    return x:close()
end

--- A chart of a measured curve and heddle's, as sources draw them.
function Page:chart(title, xlabel, unit, measured, heddle, o)
    local series = {}
    for i, c in ipairs { { "measured", measured }, { "heddle", heddle } } do
        local s = { name = c[1], x = {}, values = {}, dashed = i == 1 }
        for j, p in ipairs(c[2]) do
            s.x[j], s.values[j] = p[1], p[2]
        end
        series[i] = s
    end
    self.x:lines { title = title, xlabel = xlabel, unit = unit, log = true,
        series = series, height = o and o.height or nil }
end

return common
