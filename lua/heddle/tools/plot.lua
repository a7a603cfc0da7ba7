--- plot.lua - a curve over time as text, for terminals.
--
--     print(sim:plot("ipc"))
--     print(plot.text(title, series, 0, { width = 78, height = 12 }))
--
-- A series is what H.report.series returns; the number is the cycle at which its
-- first interval begins.  A column of the plot is the mean of the intervals that
-- are in it, by their cycles; where it has none it is empty.
-- Columns are drawn in eighths of a character where the terminal shows UTF-8, with
-- # else.  The axis begins at 0, and ends at a round number.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local plot = {}

local EIGHTHS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local HEIGHT, LEAST = 10, 10

--- Whether the terminal's locale has UTF-8.
local function is_utf8()
    for _, name in ipairs { "LC_ALL", "LC_CTYPE", "LANG" } do
        local v = os.getenv(name)
        if v and v ~= "" then
            return v:lower():gsub("-", ""):find("utf8", 1, true) ~= nil
        end
    end
    return false
end

--- The least of 1, 2, 5 times a power of ten that is not below v.
local function round_up(v)
    if v <= 0 then
        return 1
    end
    local p = 10.0 ^ math.floor(math.log(v, 10))
    for _, f in ipairs { 1, 2, 5, 10 } do
        if v <= f * p * (1 + 1e-9) then
            return f * p
        end
    end
end

--- Means by column; nil where no interval has a value.
local function columns_of(series, from, n)
    local to, first = series.x[#series.x], from
    local sums, weights, out = {}, {}, {}
    for i, last in ipairs(series.x) do
        local value = series.values[i]
        for c = (first - from) * n // (to - from),
            value and ((last - from) * n - 1) // (to - from) or -1 do
            local lo = math.max(first, from + (to - from) * c / n)
            local hi = math.min(last, from + (to - from) * (c + 1) / n)
            sums[c] = (sums[c] or 0) + value * (hi - lo)
            weights[c] = (weights[c] or 0) + hi - lo
        end
        first = last
    end
    for c = 0, n - 1 do
        out[c + 1] = weights[c] and weights[c] > 0 and sums[c] / weights[c]
            or nil
    end
    return out, to
end

--- The character of a column in a row whose floor and ceiling are given.
local function cell(v, low, high, utf8)
    if not v or v <= low and (low > 0 or v <= 0) then
        return " "
    elseif v >= high then
        return utf8 and EIGHTHS[8] or "#"
    end
    local part = (v - low) / (high - low)
    if utf8 then
        return EIGHTHS[math.max(1, math.floor(8 * part + 0.5))]
    end
    return part >= 0.5 and "#" or low == 0 and "." or " "
end

--- The plot of a series as text.  Options: width and height, in characters.
function plot.text(title, series, from, o)
    local height, utf8 = o and o.height or HEIGHT, is_utf8()
    local most = 0
    for i in ipairs(series.x) do
        most = math.max(most, series.values[i] or 0)
    end
    local top = round_up(most)
    local labels, margin = {}, 0
    for row = height, 0, -1 do
        local marked = row == height or row == 0 or height % 2 == 0
            and row == height // 2
        labels[row] = marked and ("%.4g"):format(top * row / height) or ""
        margin = math.max(margin, #labels[row])
    end
    local width = math.max(LEAST, (o and o.width or 78) - margin - 2)
    local values, to = columns_of(series, from, width)
    local out = { title }
    for row = height, 1, -1 do
        local line = {}
        for c = 1, width do
            line[c] = cell(values[c], top * (row - 1) / height,
                top * row / height, utf8)
        end
        out[#out + 1] = ("%" .. margin .. "s |%s"):format(labels[row],
            table.concat(line)):gsub("%s+$", "")
    end
    out[#out + 1] = ("%" .. margin .. "s +%s"):format(labels[0],
        ("-"):rep(width))
    local left, right = ("%d"):format(from), ("%d core cycles"):format(to)
    out[#out + 1] = (" "):rep(margin + 2) .. left
        .. (" "):rep(math.max(1, width - #left - #right)) .. right
    return table.concat(out, "\n")
end

--- "ipc, warp instructions a cycle: IPC"
local function title_of(results, what, series)
    local name, unit, meaning
    for _, m in ipairs(require("heddle.metrics").list()) do
        if m[2] == what then
            name, unit, meaning = series.name, m[3], m[4]
        end
    end
    for _, c in ipairs(results.counters) do
        if c.component .. "." .. c.name == what then
            name, unit, meaning = series.name, c.unit, c.meaning
        end
    end
    return name .. (unit ~= "" and ", " .. unit or "") .. ": " .. meaning
end

local OPTIONS = { app = 0, width = 20, height = 2 }
plot.options = { "app", "height", "width" }

--- sim:plot(what [, { app =, width =, height = }])
function plot.of(sim, what, options)
    local o = options or {}
    if type(o) ~= "table" then
        error(core.error(-2, ("plot: options are a table, not a %s"):format(
            type(o))), 0)
    end
    for _, k in ipairs(core.keys(o)) do
        local v = OPTIONS[k] and math.tointeger(o[k])
        if not OPTIONS[k] then
            error(core.error(-2, ("plot has no option '%s'; it takes %s")
                :format(tostring(k), table.concat(plot.options, ", "))), 0)
        elseif not v or v < OPTIONS[k] then
            error(core.error(-2, ("plot: %s: a whole number of at least %d is "
                .. "expected, not '%s'"):format(k, OPTIONS[k], tostring(o[k]))),
                0)
        end
    end
    local results = sim:results()
    if #results.intervals == 0 then
        error(core.error(-2, sim.interval and "plot: nothing has run yet"
            or "plot: nothing was sampled: H.sim has the option interval, in "
            .. "core cycles, or \"auto\""), 0)
    end
    local series = require("heddle.report").series(results, what, o.app)
    return plot.text(title_of(results, what, series), series,
        results.intervals[1].from, o)
end

return plot
