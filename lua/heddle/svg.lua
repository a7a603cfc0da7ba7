--- svg.lua - small charts as SVG: grouped bars, lines, maps.
--
--     local svg = H.svg.bars {
--         title = "...", unit = "weighted speedup",
--         groups = { "A + B", "C + D" },
--         series = { { name = "Ideal", values = { 2.0, 1.9 } }, ... },
--         note = "a line below the chart",
--     }
--     H.svg.write("out/chart.svg", svg)
--
-- One file, no dependencies, readable on light and dark pages: the background
-- is part of the picture.  Colours are from the set of Okabe and Ito, which
-- can be told apart by everybody.  Equal input gives equal bytes.
--
-- SPDX-License-Identifier: MIT
local svg = {}

local COLOURS = {
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
    "#f0e442", "#666666",
}
local FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"

local function escape(s)
    return (tostring(s):gsub("[&<>'\"]", {
        ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["'"] = "&#39;",
        ['"'] = "&quot;",
    }))
end

--- A number with at most 2 decimals, for coordinates.
local function n(v)
    return (("%.2f"):format(v):gsub("%.?0+$", ""))
end

--- A round step so that about `count` of them cover `range`.
local function step_of(range, count)
    local raw = range / count
    local power = 10.0 ^ math.floor(math.log(raw, 10))
    for _, m in ipairs { 1, 2, 2.5, 5, 10 } do
        if m * power >= raw then
            return m * power
        end
    end
    return 10 * power
end

local function label_of(v, step)
    if step >= 1 and v == math.floor(v) then
        return ("%d"):format(math.floor(v))
    end
    local decimals = math.max(0, math.ceil(-math.log(step, 10) - 1e-9))
    if math.abs(step * 10 ^ decimals - math.floor(step * 10 ^ decimals + .5))
        > 1e-6 then
        decimals = decimals + 1
    end
    return ("%." .. decimals .. "f"):format(v)
end

local Canvas = {}
Canvas.__index = Canvas

function Canvas:add(format, ...)
    self[#self + 1] = format:format(...)
end

function Canvas:text(x, y, text, o)
    o = o or {}
    self:add("<text x='%s' y='%s' font-size='%d' fill='%s'%s%s%s>%s</text>",
        n(x), n(y), o.size or 12, o.fill or "#333",
        o.anchor and " text-anchor='" .. o.anchor .. "'" or "",
        o.bold and " font-weight='bold'" or "",
        o.turn and (" transform='rotate(-90 %s %s)'"):format(n(x), n(y))
            or "", escape(text))
end

local function canvas(width, height)
    local c = setmetatable({}, Canvas)
    c:add("<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
        .. "viewBox='0 0 %d %d' %s>", width, height, width, height, FONT)
    c:add("<rect width='%d' height='%d' fill='white'/>", width, height)
    return c
end

--- Draws title, y axis with grid, legend and note; returns the plot area.
local function frame(c, o, width, height, top, low)
    local left, right, head = 64, width - 20, o.title and 64 or 40
    local base = height - (o.note and 62 or 44)
    if o.title then
        c:text(left, 24, o.title, { size = 15, bold = true, fill = "#111" })
    end
    local step = step_of(top - low, 5)
    local last = math.ceil(top / step - 1e-9) * step
    local function y(v)
        return base - (v - low) / (last - low) * (base - head)
    end
    local k = 0
    while low + k * step <= last + step / 1000 do
        local v = low + k * step
        c:add("<line x1='%d' y1='%s' x2='%d' y2='%s' stroke='%s'/>", left,
            n(y(v)), right, n(y(v)), k == 0 and "#333" or "#ddd")
        c:text(left - 8, y(v) + 4, label_of(v, step), { anchor = "end" })
        k = k + 1
    end
    if o.unit then
        c:text(18, (head + base) / 2, o.unit,
            { anchor = "middle", turn = true })
    end
    local x = left
    for i, s in ipairs(o.series) do
        c:add("<rect x='%s' y='%d' width='12' height='12' fill='%s'/>", n(x),
            head - 26, COLOURS[(i - 1) % #COLOURS + 1])
        c:text(x + 17, head - 16, s.name)
        x = x + 30 + 7.4 * (utf8.len(s.name) or #s.name)
    end
    if o.note then
        c:text(left, height - 12, o.note, { size = 11, fill = "#666" })
    end
    return { left = left, right = right, base = base, y = y, last = last }
end

local function finish(c)
    c:add("</svg>")
    return table.concat(c, "\n") .. "\n"
end

local function top_of(series)
    local top = 0
    for _, s in ipairs(series) do
        for _, v in pairs(s.values) do
            top = math.max(top, v)
        end
        for _, v in pairs(s.marks or {}) do
            top = math.max(top, v)
        end
    end
    return top > 0 and top or 1
end

--- Grouped bars.  A series may have `marks`: values drawn as a short line
-- across its bar (what a paper says), by group; groups may lack values.
function svg.bars(o)
    local width, height = o.width or 720, o.height or 360
    local c = canvas(width, height)
    local f = frame(c, o, width, height, o.top or top_of(o.series), 0)
    local slot = (f.right - f.left) / #o.groups
    local bar = math.min(44, slot * 0.8 / #o.series)
    local marked = false
    for g, group in ipairs(o.groups) do
        local middle = f.left + (g - 0.5) * slot
        for i, s in ipairs(o.series) do
            local v = s.values[g]
            local x = middle + (i - 1 - #o.series / 2) * bar
            if v then
                c:add("<rect x='%s' y='%s' width='%s' height='%s' "
                    .. "fill='%s'><title>%s, %s: %s</title></rect>",
                    n(x + 1), n(f.y(v)), n(bar - 2), n(f.base - f.y(v)),
                    COLOURS[(i - 1) % #COLOURS + 1], escape(group),
                    escape(s.name), n(v))
                if bar >= 26 then
                    c:text(x + bar / 2, f.y(v) - 4, ("%.2f"):format(v),
                        { anchor = "middle", size = 10 })
                end
            end
            local mark = s.marks and s.marks[g]
            if mark then
                marked = true
                c:add("<line x1='%s' y1='%s' x2='%s' y2='%s' stroke='#000' "
                    .. "stroke-width='2' stroke-dasharray='4 2'/>", n(x - 2),
                    n(f.y(mark)), n(x + bar + 2), n(f.y(mark)))
            end
        end
        c:text(middle, f.base + 18, group, { anchor = "middle" })
    end
    if marked and o.mark then
        c:add("<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='#000' "
            .. "stroke-width='2' stroke-dasharray='4 2'/>", width - 150, 42,
            width - 130, 42)
        c:text(width - 124, 46, o.mark)
    end
    return finish(c)
end

--- Lines: series = { { name =, values = { y, ... }, x = { x, ... } } }; without
-- x the values are at 1, 2, ...
function svg.lines(o)
    local width, height = o.width or 720, o.height or 360
    local c = canvas(width, height)
    local f = frame(c, o, width, height, o.top or top_of(o.series), 0)
    local low, high = math.huge, -math.huge
    for _, s in ipairs(o.series) do
        for i in ipairs(s.values) do
            local x = s.x and s.x[i] or i
            low, high = math.min(low, x), math.max(high, x)
        end
    end
    if high <= low then
        high = low + 1
    end
    local function at(x)
        return f.left + (x - low) / (high - low) * (f.right - f.left)
    end
    local step = step_of(high - low, 8)
    local v = math.ceil(low / step) * step
    while v <= high + step / 1000 do
        c:add("<line x1='%s' y1='%d' x2='%s' y2='%d' stroke='#333'/>",
            n(at(v)), f.base, n(at(v)), f.base + 4)
        c:text(at(v), f.base + 18, label_of(v, step), { anchor = "middle" })
        v = v + step
    end
    if o.xlabel then
        c:text((f.left + f.right) / 2, f.base + 34, o.xlabel,
            { anchor = "middle" })
    end
    for i, s in ipairs(o.series) do
        local points = {}
        for k, y in ipairs(s.values) do
            points[k] = n(at(s.x and s.x[k] or k)) .. "," .. n(f.y(y))
        end
        c:add("<polyline points='%s' fill='none' stroke='%s' "
            .. "stroke-width='2'/>", table.concat(points, " "),
            COLOURS[(i - 1) % #COLOURS + 1])
    end
    return finish(c)
end

-- ---- maps ---------------------------------------------------------------------

--- From few to many.
local SHADES = { "#c6dbef", "#6baed6", "#2171b5", "#08306b" }

--- The shade of a value, 1 to 4, in equal steps of its logarithm; 0: none.
local function shade_of(v, top)
    if v <= 0 then
        return 0
    elseif top <= 1 then
        return #SHADES
    end
    return math.min(#SHADES,
        1 + math.floor(math.log(v) / math.log(top) * #SHADES))
end

--- Cells of one shade as one path: runs of cells of a column are one stroke.
local function shade_paths(c, o, top)
    local paths = {}
    for i = 1, #SHADES do
        paths[i] = {}
    end
    for x = 1, o.columns do
        local from, shade = 1, 0
        for y = 1, o.rows + 1 do
            local now = y <= o.rows and shade_of(o.cell(x, y), top) or 0
            if now ~= shade then
                if shade > 0 then
                    local p = paths[shade]
                    p[#p + 1] = ("M%d %dv%d"):format(x - 1, from - 1, y - from)
                end
                from, shade = y, now
            end
        end
    end
    for i, p in ipairs(paths) do
        if #p > 0 then
            c:add("<path d='%s' stroke='%s'/>", table.concat(p), SHADES[i])
        end
    end
end

--- Labels of an axis at round numbers from 0 to `range`.
local function ticks(range, count, draw)
    local step = step_of(range, count)
    local v = 0
    while v <= range + step / 1000 do
        draw(v, label_of(v, step))
        v = v + step
    end
end

--- Names beside the plot, at least a line apart; each { at, name }.
local function side_names(c, names, x, y)
    local last = math.huge
    for _, name in ipairs(names or {}) do
        local at = y(name[1])
        if last - at >= 11 then
            c:text(x, at + 4, name[2], { size = 10, fill = "#666" })
            last = at
        end
    end
end

--- A map: how many in each cell of a grid.  columns, rows, cell(column, row)
-- (from 1, row 1 at the bottom); width and height of the grid in the units of
-- the axes; xlabel, ylabel; names = { { y, text }, ... } from the bottom up,
-- at the right; marks = { x, ... }, ticks at the top; title, note.
function svg.map(o)
    local W, H = o.pixels or 760, o.tall or 420
    local c = canvas(W, H)
    local left, right, head, base = 70, W - 90, 44, H - 62
    local top = 0
    for x = 1, o.columns do
        for y = 1, o.rows do
            top = math.max(top, o.cell(x, y))
        end
    end
    c:text(left, 24, o.title, { size = 15, bold = true, fill = "#111" })
    local sx, sy = (right - left) / o.columns, (base - head) / o.rows
    c:add("<g transform='translate(%s %d) scale(%.5f %.5f)' fill='none' "
        .. "stroke-width='1.05'>", n(left + sx / 2), base, sx, -sy)
    shade_paths(c, o, top)
    c:add("</g>")
    c:add("<rect x='%d' y='%d' width='%d' height='%d' fill='none' "
        .. "stroke='#333'/>", left, head, right - left, base - head)
    local function x_of(v)
        return left + v / o.width * (right - left)
    end
    local function y_of(v)
        return base - v / o.height * (base - head)
    end
    ticks(o.width, 8, function(v, label)
        c:text(x_of(v), base + 16, label, { anchor = "middle", size = 11 })
    end)
    ticks(o.height, 6, function(v, label)
        c:text(left - 6, y_of(v) + 4, label, { anchor = "end", size = 11 })
    end)
    for _, x in ipairs(o.marks or {}) do
        c:add("<line x1='%s' y1='%d' x2='%s' y2='%d' stroke='#d55e00'/>",
            n(x_of(x)), head - 6, n(x_of(x)), head)
    end
    side_names(c, o.names, right + 6, y_of)
    c:text((left + right) / 2, base + 34, o.xlabel or "",
        { anchor = "middle" })
    c:text(16, (head + base) / 2, o.ylabel or "",
        { anchor = "middle", turn = true })
    if o.note then
        c:text(left, H - 10, o.note, { size = 11, fill = "#666" })
    end
    return finish(c)
end

--- Writes a chart, making its directory if that is missing.
function svg.write(path, text)
    local dir = path:match("^(.*)/[^/]*$")
    if dir then
        require("heddle.process").mkdir(dir)
    end
    require("heddle.report").emit(text, path)
    return path
end

return svg
