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
-- is part of the picture.  What a page may colour by its own style has a class:
-- bg, axis, grid, mark.  Colours are from the set of Okabe and Ito, which can
-- be distinguished by all readers.  Equal input gives equal bytes.
--
-- Nothing overlaps: widths of texts are estimated (no font is at hand), titles,
-- legends and notes are broken into lines, labels of groups are turned where
-- they are wider than their place, and the picture grows by what that takes.
--
-- SPDX-License-Identifier: MIT
local canvas = require "heddle.svg.canvas"

local escape, n, width_of, wrap = canvas.escape, canvas.n, canvas.width_of,
    canvas.wrap
local step_of, label_of = canvas.step_of, canvas.label_of

local svg = {}

local COLOURS = {
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
    "#f0e442", "#666666",
}
--- Rows of text: height of a line of a title, of a legend, of a note.
local TITLE, LEGEND, NOTE = 20, 19, 15
--- Narrowest bar and narrowest place of a group, in pixels.
local BAR, SLOT = 4, 14

-- ---- what is drawn ----------------------------------------------------------

local FRAME = "title unit note series width height top"
local FIELDS = {
    bars = FRAME .. " groups mark stacked xlabel sections",
    lines = FRAME .. " groups mark log xlabel cumulative",
    map = "title note columns rows cell width height xlabel ylabel names "
        .. "marks pixels tall",
}
local SERIES = { bars = "name values marks dashed",
    lines = "name values marks dashed x" }

local function misuse(format, ...)
    error(require("heddle.core").error(-2, format:format(...)), 0)
end

local function check_names(what, t, known, inside)
    local names = {}
    for name in known:gmatch "%S+" do
        names[#names + 1], names[name] = name, true
    end
    for _, k in ipairs(require("heddle.core").keys(t)) do -- in order
        if not names[k] then
            local meant = require("heddle.index").meant(k, names)
            misuse("%s has no field '%s'%s; it takes %s", what, tostring(k),
                meant ~= "" and meant or inside and (" " .. inside .. " "):find(" " .. tostring(k)
                    .. " ", 1, true) and " (a series has)" or "",
                table.concat(names, ", "))
        end
    end
end

--- What series have is numbers; absent ones are nil or, from JSON, null.
local function check_numbers(what, name, list, log)
    for k, v in pairs(list or {}) do
        if type(v) ~= "number" and v ~= require("heddle.json").null
            or log and v <= 0 then
            misuse("%s: %s %s is '%s', and %s is expected", what, name,
                tostring(k), tostring(v), log
                and "a number above 0 on a logarithmic axis" or "a number")
        end
    end
end

--- Sections have names, and all groups once.
local function check_sections(o)
    local sum = 0
    for i, s in ipairs(o.sections or {}) do
        if type(s) ~= "table" or type(s.name) ~= "string"
            or math.type(s.count) ~= "integer" or s.count < 1 then
            misuse("H.svg.bars: section %d: expected { name = \"...\", count = how "
                .. "many groups }", i)
        end
        sum = sum + s.count
    end
    if o.sections and sum ~= #o.groups then
        misuse("H.svg.bars: sections of %d groups, and there are %d", sum, #o.groups)
    end
end

--- A chart's description has what is drawn, and nothing that is not: svg.check
-- (kind, o), also before its values are known.
local function check(kind, o)
    if type(o) ~= "table" then
        misuse("H.svg.%s: a table is expected, not a %s", kind, type(o))
    end
    check_names("H.svg." .. kind, o, FIELDS[kind], SERIES[kind])
    if kind == "map" then
        return
    elseif type(o.series) ~= "table"
        or kind == "bars" and type(o.groups) ~= "table" then
        misuse("H.svg.%s: expected series = { { name =, values = {} }, ... }%s",
            kind, kind == "bars" and " and groups = { \"name\", ... }" or "")
    end
    check_sections(o)
    for i, s in ipairs(o.series) do
        local what = ("H.svg.%s: series %d"):format(kind, i)
        if type(s) ~= "table" or type(s.values) ~= "table" then
            misuse("%s: expected { name =, values = {} }", what)
        end
        check_names(what, s, SERIES[kind])
        check_numbers(what, "value", s.values)
        check_numbers(what, "mark", s.marks)
        check_numbers(what, "x", s.x, o.log)
        if s.x and #s.x < #s.values then
            misuse("%s has %d values for %d x", what, #s.values, #s.x)
        end
        if o.groups and #s.values > #o.groups then
            misuse("%s has %d values for %d group%s", what, #s.values,
                #o.groups, #o.groups == 1 and "" or "s")
        elseif o.groups and s.x then
            misuse("%s has x, and the chart has groups: only one of them "
                .. "can say where values are", what)
        elseif o.stacked and s.marks then
            misuse("%s has marks, which stacked bars cannot show", what)
        end
        for k, v in pairs((o.stacked or o.cumulative) and s.values or {}) do
            if type(v) == "number" and v < 0 then
                misuse("%s: value %s is %s, and values that add up are not below 0",
                    what, tostring(k), tostring(v))
            end
        end
        if type(s.name) ~= "string" then
            misuse("%s: its name, which the legend shows, is a text, not a %s",
                what, type(s.name))
        end
    end
end

svg.check = check

--- A value that can be drawn: absent ones are nil or, from JSON, null.
local function drawable(v)
    return type(v) == "number" and v == v and math.abs(v) < math.huge
end

-- ---- the frame of bars and lines ---------------------------------------------------

--- Lowest and highest value of the series and their marks, with 0 among them;
-- of what is stacked, the highest sum.
local function range_of(o)
    local low, top, sums = 0, 0, {}
    for _, s in ipairs(o.series) do
        for g, v in pairs(o.stacked and s.values or {}) do
            sums[g] = (sums[g] or 0) + (drawable(v) and v or 0)
            top = math.max(top, sums[g])
        end
        for _, list in ipairs { s.values, s.marks or {} } do
            for _, v in pairs(list) do
                if drawable(v) then
                    low, top = math.min(low, v), math.max(top, v)
                end
            end
        end
    end
    return low, top > low and top or low + 1
end

--- The scale of the y axis: { low, last, step, labels' width }.
local function scale_of(o)
    local low, top = range_of(o)
    top = o.top or top
    local step = step_of(top - low, 5)
    local s = { step = step, low = math.floor(low / step + 1e-9) * step,
        last = math.ceil(top / step - 1e-9) * step, wide = 0 }
    for k = 0, math.floor((s.last - s.low) / step + 0.5) do
        s.wide = math.max(s.wide, width_of(label_of(s.low + k * step, step),
            12))
    end
    return s
end

--- Entries of the legend in rows: { { x, text, colour or nil for a mark } }.
local function legend_of(o, room)
    local rows, x = { {} }, 0
    local function put(text, colour)
        local wide = 17 + width_of(text, 12) + 16
        if x > 0 and x + wide - 16 > room then
            rows[#rows + 1], x = {}, 0
        end
        local row = rows[#rows]
        row[#row + 1] = { x = x, text = text, colour = colour }
        x = x + wide
    end
    for i, s in ipairs(o.series) do
        put(s.name, COLOURS[(i - 1) % #COLOURS + 1])
    end
    for _, s in ipairs(o.mark and o.series or {}) do
        if s.marks and next(s.marks) then
            put(o.mark)
            break
        end
    end
    return rows
end

local function draw_legend(c, rows, left, y)
    for r, row in ipairs(rows) do
        for _, e in ipairs(row) do
            local x, top = left + e.x, y + (r - 1) * LEGEND
            if e.colour then
                c:add("<rect x='%s' y='%s' width='12' height='12' "
                    .. "fill='%s'/>", n(x), n(top), e.colour)
            else
                c:mark(x - 3, x + 13, top + 6)
            end
            c:text(x + 17, top + 10, e.text)
        end
    end
end

--- Draws title, legend, y axis with its grid, and note; returns the canvas and
-- the plot area.  below: pixels under the axis for its labels; above: over the plot,
-- for values on bars.
local function frame(o, width, left, below, above)
    local s, right = scale_of(o), width - 20
    local title = wrap(o.title, right - left, 15, true)
    local rows = legend_of(o, right - left)
    local note = wrap(o.note, right - left, 11)
    local head = 16 + #title * TITLE + #rows * LEGEND + 8 + (above or 0)
    local foot = below + (#note > 0 and #note * NOTE + 8 or 6)
    local height = math.max(o.height or 360, head + foot + 180)
    local base = height - foot
    local c = canvas.new(width, height)
    c:lines(left, 24, title, TITLE, { size = 15, bold = true, fill = "#111" })
    draw_legend(c, rows, left, 12 + #title * TITLE)
    local function y(v)
        return base - (v - s.low) / (s.last - s.low) * (base - head)
    end
    for k = 0, math.floor((s.last - s.low) / s.step + 0.5) do
        local v = s.low + k * s.step
        local zero = math.abs(v) < s.step / 1000
        c:add("<line class='%s' x1='%d' y1='%s' x2='%d' y2='%s' "
            .. "stroke='%s'/>", zero and "axis" or "grid", left, n(y(v)),
            right, n(y(v)), zero and "#333" or "#ddd")
        c:text(left - 8, y(v) + 4, label_of(zero and 0 or v, s.step),
            { anchor = "end" })
    end
    if o.unit then
        c:text(18, (head + base) / 2, o.unit,
            { anchor = "middle", turn = 90 })
    end
    c:lines(left, base + below + NOTE - 2, note, NOTE,
        { size = 11, fill = "#666" })
    return c, { left = left, right = right, base = base, y = y }
end

--- Where the plot begins: right of the labels of the y axis.
local function left_of(o)
    return math.max(64, math.ceil(40 + scale_of(o).wide))
end

-- ---- bars -----------------------------------------------------------------------------

--- A value in three significant digits.
local function short(v)
    return (math.abs(v) >= 1000 and "%.0f" or "%.3g"):format(v)
end

--- The attributes of an area in a colour, or of its edge alone.
local function fill_of(colour, dashed)
    return dashed and ("fill='none' stroke='%s' stroke-dasharray='6 4'")
        :format(colour) or ("fill='%s'"):format(colour)
end

--- How all bars have their values, or none has: "level", "upright" where bars are
-- narrower than a number, nil where they are narrower than a line of text; and the
-- pixels of the widest value.
local function values_of(o, bar)
    local wide = 0
    for _, s in ipairs(o.series) do
        for _, v in pairs(s.values) do
            wide = math.max(wide, drawable(v) and width_of(short(v), 10) or 0)
        end
    end
    return wide <= bar and "level" or bar >= 11 and not o.stacked and "upright"
        or nil, wide
end

--- Whether the values of all parts of stacked bars have room in them.
local function parts_fit(o, f)
    for _, s in ipairs(o.series) do
        for _, v in pairs(s.values) do
            if drawable(v) and v > 0 and f.y(0) - f.y(v) < 12 then
                return false
            end
        end
    end
    return true
end

--- The value of a bar that ends at y: next to its end, and clear of its mark.
local function draw_value(c, f, x, y, v, mark)
    local text = short(v)
    local up = f.values == "upright" and width_of(text, 10) or 9
    local at, down = v < 0 and y + 4 or y - 4, v < 0
    local m = drawable(mark) and f.y(mark)
    if m and (down and m > at - 4 and m < at + up + 2
        or not down and m < at + 4 and m > at - up - 2) then
        at = down and m + 4 or m - 4
    end
    if f.values == "upright" then
        c:text(x + 3.5, at, text, { size = 10, turn = 90,
            anchor = down and "end" or nil })
    else
        c:text(x, down and at + 8 or at, text, { size = 10, anchor = "middle" })
    end
end

--- One bar from `base` on with its value, if they have any, and its mark.
local function draw_bar(c, f, bar, x, what, fill, base, v, mark)
    if drawable(v) then
        local y0, y1 = f.y(base), f.y(base + v)
        c:add("<rect x='%s' y='%s' width='%s' height='%s' %s>"
            .. "<title>%s: %.6g</title></rect>", n(x + bar * 0.05),
            n(math.min(y0, y1)), n(bar * 0.9), n(math.abs(y0 - y1)), fill,
            escape(what), v)
        if f.values and f.stacked and v > 0 then
            c:text(x + bar / 2, (y0 + y1) / 2 + 4, short(v),
                { anchor = "middle", size = 10, fill = "#fff" })
        elseif f.values and not f.stacked then
            draw_value(c, f, x + bar / 2, y1, v, mark)
        end
    end
    if drawable(mark) then
        c:mark(x - 2, x + bar + 2, f.y(mark))
    end
end

-- ---- groups and sections --------------------------------------------------------------

--- Between two sections, in places of a group.
local GAP = 0.5

--- The place of each group from the left, in places of a group, and how many places
-- there are; sections are told apart by a gap.
local function places_of(o)
    local out, section, left = {}, 1, 0
    for g = 1, #o.groups do
        local now = o.sections and o.sections[section]
        if now and left == now.count and o.sections[section + 1] then
            section, left = section + 1, 0
        end
        left = left + 1
        out[g] = g - 0.5 + (section - 1) * GAP
    end
    return out, math.max(#o.groups, 1) + (section - 1) * GAP
end

--- A line below the labels of each section's groups, and its name.
local function draw_sections(c, f, o, places, slot, y)
    local g = 1
    for _, s in ipairs(o.sections) do
        local x1 = f.left + (places[g] - 0.5) * slot + 4
        local x2 = f.left + (places[g + s.count - 1] + 0.5) * slot - 4
        c:add("<line class='axis' x1='%s' y1='%s' x2='%s' y2='%s' "
            .. "stroke='#333'/>", n(x1), n(y), n(x2), n(y))
        c:lines((x1 + x2) / 2, y + 15, wrap(s.name, x2 - x1, 12), 14,
            { anchor = "middle" })
        g = g + s.count
    end
end

--- Lines of the longest name of the sections.
local function section_lines(o, slot)
    local most = 0
    for _, s in ipairs(o.sections or {}) do
        most = math.max(most, #wrap(s.name, s.count * slot - 8, 12))
    end
    return most
end

--- Widest line and most lines of the labels of groups broken to `room`.
local function broken(o, room)
    local wide, high = 0, 0
    for _, group in ipairs(o.groups) do
        local lines = wrap(group, room, 12)
        high = math.max(high, #lines)
        for _, line in ipairs(lines) do
            wide = math.max(wide, width_of(line, 12))
        end
    end
    return wide, high
end

--- How group labels stand: the angle (nil: level, in lines), and the pixels
-- that they take below and to the left of the middle of the first group.
local function stand(o, slot)
    local wide, high = broken(o, slot - 6)
    if wide <= slot - 6 and high <= 3 then
        return nil, 12 + 14 * high, 0
    end
    wide = broken(o, math.huge)
    if slot >= 20 then
        local reach = wide * math.sqrt(0.5)
        return 45, math.ceil(reach + 24), math.ceil(reach - slot / 2)
    end
    return 90, math.ceil(wide + 18), 0
end

--- Grouped bars.  A series may have `marks`: values drawn as a short line
-- across its bar (what a paper says; `mark` names it in the legend), by group;
-- groups may lack values.  Bars of negative values hang from zero.  With stacked
-- = true those of a group stand on each other, in the order of the series.  All bars
-- have their value on them, or none has, where some lack room.  sections = { {
-- name =, count = }, ... } tells groups apart by a gap and a name below them; xlabel
-- says what the groups are.  A chart with many groups is as wide as they need, unless
-- `width` is given.
function svg.bars(o)
    check("bars", o)
    local left, places, count = left_of(o), places_of(o)
    local beside = o.stacked and 1 or #o.series
    local width = o.width or math.ceil(math.max(720, left + 20
        + count * math.max(SLOT, beside * BAR / 0.8)))
    local turn, labels, reach = stand(o, (width - left - 20) / count)
    left = math.max(left, reach + 4)
    local slot = (width - 20 - left) / count
    local bar = math.min(44, slot * 0.8 / beside)
    local values, wide = values_of(o, bar)
    local room = values == "upright" and wide or 0
    local hang = range_of(o) < 0 and room or 0 -- values below the lowest bar
    local names = section_lines(o, slot)
    local c, f = frame(o, width, left, labels + hang + (names > 0 and names * 14 + 12
        or 0) + (o.xlabel and 20 or 0), room)
    f.stacked, f.values = o.stacked, values
    if o.stacked and not parts_fit(o, f) then
        f.values = nil
    end
    for g, group in ipairs(o.groups) do
        local middle, base = f.left + places[g] * slot, 0
        for i, s in ipairs(o.series) do
            local at = o.stacked and 0.5 or beside / 2 - i + 1
            draw_bar(c, f, bar, middle - at * bar,
                ("%s, %s"):format(group, s.name),
                fill_of(COLOURS[(i - 1) % #COLOURS + 1], s.dashed), base,
                s.values[g], s.marks and s.marks[g])
            base = base + (o.stacked and drawable(s.values[g])
                and s.values[g] or 0)
        end
        if turn then
            c:text(middle + 4, f.base + hang + 12, group, { anchor = "end",
                turn = turn })
        else
            c:lines(middle, f.base + hang + 18, wrap(group, slot - 6, 12), 14,
                { anchor = "middle" })
        end
    end
    local y = f.base + hang + labels
    if names > 0 then
        draw_sections(c, f, o, places, slot, y)
        y = y + names * 14 + 12
    end
    if o.xlabel then
        c:text((f.left + f.right) / 2, y + 14, o.xlabel, { anchor = "middle" })
    end
    return c:finish()
end

-- ---- lines ----------------------------------------------------------------------------

--- Where value k of a series stands: at its own x, at that of its group, or at k.
local function place_of(o, s, k)
    return s.x and s.x[k] or o.groups and tonumber(o.groups[k]) or k
end

--- The chart's options with the share of the sum so far for each value.
local function running(o)
    local out = setmetatable({ series = {} }, { __index = o })
    for i, s in ipairs(o.series) do
        local sum, all, values = 0, 0, {}
        for _, v in pairs(s.values) do
            all = all + (drawable(v) and v or 0)
        end
        for k = 1, math.max(#s.values, s.x and #s.x or 0) do
            sum = sum + (drawable(s.values[k]) and s.values[k] or 0)
            values[k] = all > 0 and sum / all or 0
        end
        out.series[i] = setmetatable({ values = values }, { __index = s })
    end
    return out
end

--- All x of the series in order, once each.
local function abscissae(o)
    local xs, seen = {}, {}
    for _, s in ipairs(o.series) do
        for i = 1, math.max(#s.values, s.x and #s.x or 0) do
            local x = place_of(o, s, i)
            if not seen[x] then
                seen[x] = true
                xs[#xs + 1] = x
            end
        end
    end
    table.sort(xs)
    return xs
end

--- Ticks of the x axis, labels where they have room.
local function x_axis(c, f, o, xs, at)
    local ticks, step = xs, 1
    local names = o.groups and not tonumber(o.groups[1]) and o.groups
    if not o.log and not names then
        ticks, step = {}, step_of(math.max(xs[#xs] - xs[1], 1e-9), 8)
        local whole = true
        for _, x in ipairs(xs) do
            whole = whole and x == math.floor(x)
        end
        step = whole and math.max(step, 1) or step
        local k = math.ceil(xs[1] / step - 1e-9)
        while k * step <= xs[#xs] + step / 1000 do
            ticks[#ticks + 1] = k * step
            k = k + 1
        end
    end
    local free = -math.huge
    for _, v in ipairs(ticks) do
        local text = names and (names[v] or "")
            or o.log and ("%.6g"):format(v) or label_of(v, step)
        local half = width_of(text, 12) / 2
        c:add("<line class='axis' x1='%s' y1='%d' x2='%s' y2='%d' "
            .. "stroke='#333'/>", n(at(v)), f.base, n(at(v)), f.base + 4)
        if at(v) - half > free then
            c:text(at(v), f.base + 18, text, { anchor = "middle" })
            free = at(v) + half + 4
        end
    end
    if o.xlabel then
        c:text((f.left + f.right) / 2, f.base + 36, o.xlabel,
            { anchor = "middle" })
    end
end

--- Lines of the same series as bars: series = { { name =, values = { y, ... },
-- marks = }, ... } at groups = { ... }, numbers or names; a series may have an x of
-- its own, { x, ... }, instead; without either the values are at 1, 2, ...; dashed =
-- true for values of a paper.  log = true: the x axis is logarithmic and has
-- a tick at each x.  cumulative = true: values are how many there are at each x, and
-- the line is the share of all of them up to there.
function svg.lines(o)
    check("lines", o)
    o = o.cumulative and running(o) or o
    local c, f = frame(o, o.width or 720, left_of(o), o.xlabel and 42 or 24)
    local xs = abscissae(o)
    xs[1] = xs[1] or 0
    local position = o.log and math.log or function(x) return x end
    local low, high = position(xs[1]), position(xs[#xs])
    local function at(x)
        return high > low and f.left + 10 + (position(x) - low)
            / (high - low) * (f.right - f.left - 20) or (f.left + f.right) / 2
    end
    x_axis(c, f, o, xs, at)
    for i, s in ipairs(o.series) do
        local points, colour = {}, COLOURS[(i - 1) % #COLOURS + 1]
        local dots = {}
        for k = 1, math.max(#s.values, s.x and #s.x or 0) do
            local v, x = s.values[k], place_of(o, s, k)
            if drawable(v) then
                points[#points + 1] = n(at(x)) .. "," .. n(f.y(v))
                dots[#dots + 1] = ("<circle cx='%s' cy='%s' r='3' fill='%s'>"
                    .. "<title>%s, %s: %.6g</title></circle>"):format(n(at(x)),
                    n(f.y(v)), colour, escape(s.name), escape(o.groups
                    and o.groups[k] or ("%.6g"):format(x)), v)
            end
            if s.marks and drawable(s.marks[k]) then
                c:mark(at(x) - 8, at(x) + 8, f.y(s.marks[k]))
            end
        end
        c:add("<polyline points='%s' fill='none' stroke='%s' "
            .. "stroke-width='2'%s/>", table.concat(points, " "), colour,
            s.dashed and " stroke-dasharray='6 4'" or "")
        c:add("%s", table.concat(dots))
    end
    return c:finish()
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

--- Names beside the plot, each { at, name }: those that are a line away from
-- all before them in the list.
local function side_names(c, names, x, y)
    local placed = {}
    for _, name in ipairs(names or {}) do
        local at, room = y(name[1]), true
        for _, other in ipairs(placed) do
            room = room and math.abs(other - at) >= 11
        end
        if room then
            c:text(x, at + 4, name[2], { size = 10, fill = "#666" })
            placed[#placed + 1] = at
        end
    end
end

--- A map: how many in each cell of a grid.  columns, rows, cell(column, row)
-- (from 1, row 1 at the bottom); width and height of the grid in the units of
-- the axes; xlabel, ylabel; names = { { y, text }, ... } at the right, the
-- most important first; marks = { x, ... }, ticks at the top; title, note.
function svg.map(o)
    check("map", o)
    local W, H = o.pixels or 760, o.tall or 420
    local c = canvas.new(W, H)
    local left, head = 70, 44
    local margin = 20
    for _, name in ipairs(o.names or {}) do
        margin = math.min(math.max(margin, 12 + width_of(name[2], 10)), W / 3)
    end
    local title = wrap(o.title, W - left - 20, 15, true)
    local note = wrap(o.note, W - left - 20, 11)
    head = head + math.max(0, #title - 1) * TITLE
    local right, base = W - margin, H - 46 - #note * NOTE
    local top = 0
    for x = 1, o.columns do
        for y = 1, o.rows do
            top = math.max(top, o.cell(x, y))
        end
    end
    c:lines(left, 24, title, TITLE, { size = 15, bold = true, fill = "#111" })
    local sx, sy = (right - left) / o.columns, (base - head) / o.rows
    c:add("<g transform='translate(%s %d) scale(%.5f %.5f)' fill='none' "
        .. "stroke-width='1.05'>", n(left + sx / 2), base, sx, -sy)
    shade_paths(c, o, top)
    c:add("</g>")
    c:add("<rect class='axis' x='%d' y='%d' width='%s' height='%d' "
        .. "fill='none' stroke='#333'/>", left, head, n(right - left),
        base - head)
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
        { anchor = "middle", turn = 90 })
    c:lines(left, base + 52, note, NOTE, { size = 11, fill = "#666" })
    return c:finish()
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
