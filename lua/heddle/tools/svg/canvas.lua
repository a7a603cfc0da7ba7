--- canvas.lua - what charts are drawn on: texts, numbers, round steps.
--
-- A canvas is a list of SVG elements, in the order in which they are on each
-- other; what the charts are is svg.lua's business.  No font is at hand, so the
-- width of a text is estimated, wide rather than narrow.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local canvas = {}

local FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"

-- ---- numbers and texts ------------------------------------------------------

local function escape(s)
    return (core.escape(tostring(s)):gsub("[&<>'\"]", {
        ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["'"] = "&#39;",
        ['"'] = "&quot;",
    }))
end

--- A number with at most 2 decimals, for coordinates.
local function n(v)
    return (("%.2f"):format(v):gsub("%.?0+$", ""))
end

canvas.escape, canvas.n = escape, n

--- Estimated width of a text, in pixels; wide rather than narrow.
function canvas.width_of(text, size, bold)
    local sum = 0
    for c in tostring(text):gmatch(utf8.charpattern) do
        sum = sum + (c:find "[MWmw@%%]" and 0.95 or c:find "[%u%d_+=<>]"
            and 0.7 or c:find "[ilj.,:;'|!()%[%]/ ]" and 0.38 or 0.62)
    end
    return sum * size * (bold and 1.1 or 1)
end

--- A text in lines no wider than `room`, broken at spaces.
function canvas.wrap(text, room, size, bold)
    local lines, line = {}, nil
    for word in tostring(text or ""):gmatch "%S+" do
        local longer = line and line .. " " .. word or word
        if line and canvas.width_of(longer, size, bold) > room then
            lines[#lines + 1], line = line, word
        else
            line = longer
        end
    end
    lines[#lines + 1] = line
    return lines
end

--- A round step so that about `count` of them cover `range`.
function canvas.step_of(range, count)
    local raw = range / count
    local power = 10.0 ^ math.floor(math.log(raw, 10))
    for _, m in ipairs { 1, 2, 2.5, 5, 10 } do
        if m * power >= raw then
            return m * power
        end
    end
    return 10 * power
end

function canvas.label_of(v, step)
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

-- ---- the picture ------------------------------------------------------------

local Canvas = {}
Canvas.__index = Canvas

function Canvas:add(format, ...)
    self[#self + 1] = format:format(...)
end

function Canvas:text(x, y, text, o)
    o = o or {}
    self:add("<text x='%s' y='%s' font-size='%s' fill='%s'%s%s%s>%s</text>",
        n(x), n(y), n(o.size or 12), o.fill or "#333",
        o.anchor and " text-anchor='" .. o.anchor .. "'" or "",
        o.bold and " font-weight='bold'" or "",
        o.turn and (" transform='rotate(-%d %s %s)'"):format(o.turn, n(x),
            n(y)) or "", escape(text))
end

--- Lines of text, one below the other.
function Canvas:lines(x, y, lines, height, o)
    for i, line in ipairs(lines) do
        self:text(x, y + (i - 1) * height, line, o)
    end
end

--- The short dashed line of a value of a paper.
function Canvas:mark(x1, x2, y)
    self:add("<line class='mark' x1='%s' y1='%s' x2='%s' y2='%s' "
        .. "stroke='#000' stroke-width='2' stroke-dasharray='4 2'/>", n(x1),
        n(y), n(x2), n(y))
end

--- An empty picture.
function canvas.new(width, height)
    local c = setmetatable({}, Canvas)
    width, height = math.ceil(width), math.ceil(height)
    c:add("<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
        .. "viewBox='0 0 %d %d' %s>", width, height, width, height, FONT)
    c:add("<rect class='bg' width='%d' height='%d' fill='white'/>", width,
        height)
    return c
end

--- The picture as text.
function Canvas:finish()
    self:add("</svg>")
    return table.concat(self, "\n") .. "\n"
end

return canvas
