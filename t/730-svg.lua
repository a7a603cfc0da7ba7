-- 730-svg.lua - pins: charts are well-formed XML with every value and label in
-- them, escape what they are given, and are equal for equal input; labels,
-- legends and titles have room; values below zero, logarithmic axes.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"

--- Checks tags, attributes and entities; returns the number of elements.
local function parse(text)
    local stack, count = {}, 0
    local at = 1
    while true do
        local from, to, close, name, rest, self =
            text:find("<(/?)([%a]+)(.-)(/?)>", at)
        local between = text:sub(at, (from or #text + 1) - 1)
        assert(not between:find("[<>]"), "stray bracket")
        for entity in between:gmatch("&([^;]*;?)") do
            assert(entity:find("^#?%w+;$"), "bad entity")
        end
        if not from then
            break
        end
        at = to + 1
        if close == "/" then
            assert(table.remove(stack) == name, "tags do not match")
        else
            count = count + 1
            local left = rest:gsub("%s+[%w:-]+='[^'<]*'", "")
            assert(not left:find("%S"), "bad attributes: " .. rest)
            if self ~= "/" then
                stack[#stack + 1] = name
            end
        end
    end
    assert(#stack == 0, "unclosed tag")
    return count
end

local spec = {
    title = "a < b & 'c'", unit = "speed", note = "note > \"x\"",
    mark = "paper",
    groups = { "A + B", "C & D", "E" },
    series = {
        { name = "Ideal", values = { 2, 1.5, 0.25 } },
        { name = "Shared <TLB>", values = { 1.234, nil, 1 },
            marks = { 1.1 } },
    },
}
local bars = H.svg.bars(spec)
local ok, n = pcall(parse, bars)
tap.ok(ok, "bars are well-formed", n)
tap.is(H.svg.bars(spec), bars, "equal input gives equal bytes")
local _, rects = bars:gsub("<title>", "")
tap.is(rects, 5, "there is a bar for each value")
tap.ok(bars:find("A + B, Ideal: 2<", 1, true), "a bar says its value")
tap.ok(bars:find("a &lt; b &amp; &#39;c&#39;", 1, true), "texts are escaped")
tap.ok(not bars:find("%-?nan") and not bars:find("inf"), "no odd numbers")

local lines = H.svg.lines {
    title = "t", unit = "u", xlabel = "x", series = {
        { name = "a", values = { 1, 4, 9 }, x = { 64, 128, 8192 } },
        { name = "b", values = { 0.001, 0.002 } },
    },
}
ok, n = pcall(parse, lines)
tap.ok(ok, "lines are well-formed", n)
local _, polylines = lines:gsub("<polyline", "")
tap.is(polylines, 2, "there is a line for each series")
for _, values in ipairs { { 0 }, { 1e-6 }, { 1e9, 3 } } do
    local text = H.svg.bars { groups = { "g", "h" },
        series = { { name = "s", values = values } } }
    ok, n = pcall(parse, text)
    tap.ok(ok and not text:find("nan"), "values as small or large as "
        .. values[1], n)
end

-- Places of the texts of a chart, by text: x, y, and the angle.
local function texts(chart)
    local out = {}
    for x, y, rest, text in chart:gmatch
        "<text x='([^']*)' y='([^']*)'([^>]*)>([^<]*)<" do
        local list = out[text] or {}
        out[text], list[#list + 1] = list, { x = tonumber(x), y = tonumber(y),
            turn = rest:match "rotate%(%-(%d+)" }
    end
    return out
end

local function groups_of(count, name)
    local groups, values = {}, {}
    for i = 1, count do
        groups[i], values[i] = name .. i, i
    end
    return { title = "t", groups = groups, series = { { name = "s",
        values = values } } }
end

-- Labels of groups lie level where they fit, else they are turned; the chart
-- grows where even that is too narrow.
tap.is(texts(H.svg.bars(groups_of(4, "A")))["A4"][1].turn, nil, "level")
local two = texts(H.svg.bars(groups_of(5, "rather a long label ")))
tap.ok(two["rather a long"] and two["label 5"]
    and two["label 5"][1].x == two["rather a long"][5].x, "in two lines")
tap.is(texts(H.svg.bars(groups_of(20, "HISTO+GUP")))["HISTO+GUP7"][1].turn,
    "45", "slanted")
local many = H.svg.bars(groups_of(35, "HISTO+GUP"))
tap.is(texts(many)["HISTO+GUP7"][1].turn, "90", "upright")
local high = tonumber(many:match "height='(%d+)'")
local foot = texts(many)["HISTO+GUP35"][1].y
tap.ok(high - foot > 60, "with the room that they take", high - foot)
tap.is(tonumber(many:match "width='(%d+)'"), 720, "as wide as ever")
local wide = H.svg.bars(groups_of(100, "HISTO+GUP"))
tap.ok(tonumber(wide:match "width='(%d+)'") >= 64 + 20 + 1400, "or wider")

-- Titles, legends and notes are broken into lines, and the plot moves down.
local long = ("words and more "):rep(14)
local function y_of(o, label)
    return texts(H.svg.bars(o))[label][1].y
end
local short = groups_of(2, "A")
local y0 = y_of(short, "2.0")
short.title = long
tap.ok(y_of(short, "2.0") >= y0 + 20, "a long title moves the plot")
local names = { title = "t", groups = { "g" }, series = {} }
for i = 1, 9 do
    names.series[i] = { name = "a series of its own " .. i, values = { i } }
end
local at = texts(H.svg.bars(names))
tap.ok(at["a series of its own 9"][1].y > at["a series of its own 1"][1].y
    and at["a series of its own 9"][1].x < 720 - 20 - 100,
    "a legend in several rows")
local broken, widest = 0, 0
for text in pairs(texts(H.svg.bars { title = long, note = long, groups = {},
    series = {} })) do
    if text:find "more" then
        broken, widest = broken + 1, math.max(widest, #text)
    end
end
tap.ok(broken >= 2 and widest < 110, "titles and notes in lines that fit",
    widest)

-- Below zero: bars hang from the line of zero.
local below = H.svg.bars { groups = { "a", "b" }, series = { { name = "s",
    values = { -10, 20 } } } }
local y1, h1 = below:match "y='([%d.]+)' width='[%d.]+' height='([%d.]+)'[^\n]*a, s: %-10<"
local y2, h2 = below:match "y='([%d.]+)' width='[%d.]+' height='([%d.]+)'[^\n]*b, s: 20<"
local zero = tonumber(below:match "class='axis' x1='%d+' y1='([%d.]+)'")
tap.ok(tonumber(y1) == zero and math.abs(y2 + h2 - zero) < 0.02
    and math.abs(2 * h1 - h2) < 0.02, "a negative bar")
tap.ok(texts(below)["-10"] and texts(below)["20"], "with its labels")
local odd = H.svg.bars { groups = { "a", "b", "c" }, series = { { name = "s",
    values = { 0 / 0, 1 / 0, 1 } } } }
tap.ok(parse(odd) and select(2, odd:gsub("<title>", "")) == 1
    and not odd:find "nan" and not odd:find "inf", "no bar for what is none")

-- Lines: a logarithmic axis has equal steps for equal factors, and whole
-- numbers have no fractions between them.
local sweep = texts(H.svg.lines { log = true, series = { { name = "a",
    x = { 64, 128, 8192 }, values = { 1, 2, 3 } } } })
tap.ok(math.abs((sweep["8192"][1].x - sweep["64"][1].x)
    / (sweep["128"][1].x - sweep["64"][1].x) - 7) < 0.01, "a factor is a step")
local counts = texts(H.svg.lines { series = { { name = "a",
    values = { 1, 2, 3 } } } })
tap.ok(counts["2"] and not counts["1.5"] and not counts["2.0"], "1, 2, 3")
tap.ok(parse(H.svg.lines { series = {} }) and parse(H.svg.lines { series = {
    { name = "a", values = { 5 } } } }), "a line of one point, or none")

local dir = os.tmpname()
os.remove(dir)
local path = H.svg.write(dir .. "/x.svg", bars)
local f = io.open(path)
tap.is(f and f:read("a"), bars, "write makes the directory")
f:close()
os.remove(path)
os.remove(dir)

-- A map: runs of equal cells of a column are one stroke.
local grid = { { 1, 1, 0, 100 }, { 0, 0, 0, 0 }, { 100, 100, 100, 100 } }
local drawn = {
    title = "<map>", columns = 3, rows = 4, width = 3, height = 8,
    cell = function(x, y) return grid[x][y] end, xlabel = "t", ylabel = "p",
    names = { { 0, "a & b" }, { 0.1, "hidden" }, { 4, "c" } },
    marks = { 0, 1.5 }, note = "n",
}
local map = H.svg.map(drawn)
tap.ok(parse(map) > 10, "a map is XML")
tap.ok(map:find("d='M0 0v2'", 1, true), "few: a stroke of two cells")
tap.ok(map:find("d='M0 3v1M2 0v4'", 1, true), "many: two strokes")
tap.ok(map:find("a &amp; b", 1, true) and map:find(">c<")
    and not map:find("hidden"), "names that have room")
drawn.names = { { 4, "c" }, { 0.1, "shown" }, { 0, "behind" }, { 8, "top" } }
local other = H.svg.map(drawn)
tap.ok(other:find(">shown<") and other:find(">top<")
    and not other:find("behind"), "the first of the list before others")
drawn.names = { { 0, "a & b" }, { 0.1, "hidden" }, { 4, "c" } }
tap.is(select(2, map:gsub("#d55e00", "")), 2, "marks")
tap.is(H.svg.map(drawn), map, "equal input, equal bytes")

-- What would not be drawn is refused.
tap.raises(function() H.svg.lines { x = { 1 }, series = {} } end,
    "no field 'x' (a series has)", "x of a chart")
tap.raises(function() H.svg.bars { groups = {}, serie = {} } end,
    "did you mean 'series'?", "a name with a mistake")
tap.raises(function() H.svg.bars { series = {} } end, "groups",
    "bars without groups")
tap.raises(function()
    H.svg.bars { groups = { "a" }, series = { { values = { 1, 2 } } } }
end, "2 values for 1 group", "more values than groups")
tap.raises(function() H.svg.lines { series = { { name = "s" } } } end,
    "series 1: expected", "a series without values")
tap.raises(function()
    H.svg.lines { groups = { 1 }, series = { { values = { 1 }, x = { 1 } } } }
end, "has x, and the chart has groups", "two places for a value")
tap.raises(function()
    H.svg.bars { groups = { 1 }, series = { { x = { 1 }, values = {} } } }
end, "series 1 has no field 'x'", "x of bars")

tap.raises(function()
    H.svg.lines { series = { { name = "s", values = { 1, 2 }, x = { 1 } } } }
end, "series 1 has 2 values for 1 x", "more values than places")
tap.raises(function()
    H.svg.bars { groups = { 1, 2 }, series = { { name = "s",
        values = { 1, "1.5" } } } }
end, "series 1: value 2 is '1.5', and a number", "a text for a value")
tap.raises(function()
    H.svg.lines { log = true, series = { { name = "s", values = { 1, 2 },
        x = { 0, 1 } } } }
end, "x 1 is '0', and a number above 0", "0 on a logarithmic axis")
tap.raises(function() H.svg.lines { series = { { values = { 1 } } } } end,
    "which the legend shows, is a text", "a series without a name")

-- One list of series as bars, as lines, and on each other.
local both = { groups = { 64, 128, 8192 }, mark = "paper", series = {
    { name = "a", values = { 0.00123, 12.34, 1234.5 }, marks = { 1 } },
    { name = "b", values = { 1, 2 }, dashed = true } } }
local as_bars, as_lines = H.svg.bars(both), H.svg.lines(both)
for _, text in ipairs { as_bars, as_lines } do
    tap.ok(parse(text) and select(2, text:gsub("class='mark'", "")) == 2
        and select(2, text:gsub("<title>", "")) == 5
        and select(2, text:gsub("stroke%-dasharray='6 4'", "")) >= 1
        and (text == as_lines or texts(text)["8192"]), "one series for bars and lines", text)
end
tap.ok(as_bars:find "64, a: 0.00123<" and as_lines:find "a, 64: 0.00123<"
    and as_lines:find "a, 128: 12.34<", "values are told in full")
local wide_bars = texts(H.svg.bars { groups = { "g", "h", "i", "j" },
    series = { { name = "s", values = { 0.01234, 12.34, 1234.5, -0.5 } } } })
tap.ok(wide_bars["0.0123"] and wide_bars["12.3"] and wide_bars["1234"]
    and wide_bars["-0.5"], "labels have three significant digits")
local named = texts(H.svg.lines { groups = { "one", "two" }, series = { {
    name = "s", values = { 1, 2 } } } })
tap.ok(named["one"] and named["two"] and named["one"][1].x
    < named["two"][1].x, "lines over names")

local pile = H.svg.bars { stacked = true, groups = { "g", "h" }, series = {
    { name = "a", values = { 30, 10 } }, { name = "b", values = { 10, nil } },
    { name = "c", values = { 40, 5 } } } }
local function box(what)
    local x, y, w, h = pile:match("<rect x='([%d.]+)' y='([%d.]+)' "
        .. "width='([%d.]+)' height='([%d.]+)'[^\n]*>" .. what .. "<")
    return tonumber(x), tonumber(y), tonumber(w), tonumber(h)
end
local ax, ay, aw, ah = box "g, a: 30"
local bx, by, _, bh = box "g, b: 10"
local _, cy, _, ch = box "g, c: 40"
tap.ok(parse(pile) and ax == bx and math.abs(by + bh - ay) < 0.02
    and math.abs(cy + ch - by) < 0.02 and math.abs(ah - 3 * bh) < 0.1
    and aw > 20 and cy > 20, "stacked bars stand on each other", pile)
tap.ok(texts(pile)["80"], "and the axis reaches their sum", pile)
local function stack(more)
    more.stacked, more.groups = true, { "g" }
    return function() H.svg.bars(more) end
end
tap.raises(stack { series = { { values = { -1 } } } }, "not below 0",
    "what is below zero cannot be stacked")
tap.raises(stack { series = { { values = { 1 }, marks = { 1 } } } },
    "stacked bars cannot show", "nor have a mark")

local curve = H.svg.lines { cumulative = true, series = { { name = "s",
    x = { 1, 10, 100 }, values = { 1, 2, 5 } } } }
for _, point in ipairs { "s, 1: 0.125", "s, 10: 0.375", "s, 100: 1" } do
    tap.ok(curve:find(point .. "<", 1, true), "a cumulative curve: " .. point,
        curve)
end
tap.raises(function() H.svg.lines { cumulative = true, series = { {
    values = { 1, -1 } } } } end, "value 2 is -1", "and it never falls")

return tap.done()
