--- svg.lua - small charts as SVG: grouped bars and lines.
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
