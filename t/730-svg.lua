-- 730-svg.lua - pins: charts are well-formed XML with every value and label in
-- them, escape what they are given, and are equal for equal input.
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
tap.is(select(2, map:gsub("#d55e00", "")), 2, "marks")
tap.is(H.svg.map(drawn), map, "equal input, equal bytes")
return tap.done()
