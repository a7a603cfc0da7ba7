-- 778-pictures.lua - pins how pictures look, as far as their text says it: in those of
-- the manual, in the gallery and in charts of every kind no text is outside, on another text, over
-- the edge of a box or under an arrow; charts have titles of their axes; all bars
-- have their value on them, or none has; sections are apart; the gallery's charts are
-- what their commands draw.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local picture = require "lib.picture"
local H = require "heddle"

local function none(what, list)
    tap.is(table.concat(list, ", "), "", what)
end

-- ---- of the manual --------------------------------------------------------------------

local pipeline = picture.read(files.read "man/pipeline.svg")
tap.ok(#pipeline.texts > 80 and #pipeline.lines > 40 and #pipeline.rects > 15,
    "the data path has parts, points and arrows", #pipeline.lines)
none("all of it is inside", pipeline:outside())
none("no arrow runs through a text", pipeline:crossed())
none("no text is on another", pipeline:overlapping())
none("or over the edge of a box", pipeline:over_edges())
local wrong = picture.read [[<svg viewBox="0 0 90 90"><rect x="2" y="2" width="40"
    height="40"/><text x="10" y="20">too long a text</text><text x="12" y="22">x</text>
    <path d="M20 0V15H80"/><text x="80" y="80">abc</text></svg>]]
tap.ok(#wrong:outside() == 2 and #wrong:crossed() == 2
    and #wrong:overlapping() == 1 and #wrong:over_edges() == 1,
    "what is wrong is seen")
local demo = picture.read(files.read "man/tlb-contention.svg")

-- ---- charts ---------------------------------------------------------------------------

--- How many bars there are, and how many have their value above (or below) them.
local function valued(p)
    local bars, values = 0, 0
    for _, r in ipairs(p.rects) do
        local text = r.title and r.title:match ": (%S+)$"
        if text then
            local v = tonumber(text)
            local label, found = (math.abs(v) >= 1000 and "%.0f" or "%.3g"):format(v)
            for _, t in ipairs(p.texts) do
                found = found or t.text == label and t.x1 < r.x2 + 1
                    and t.x2 > r.x1 - 1
            end
            bars, values = bars + 1, values + (found and 1 or 0)
        end
    end
    return bars, values
end

--- A chart's texts have room, and its axes titles; the same with the note.
local function chart(what, text, titles)
    local p = picture.read(text)
    none(what .. ": all is inside", p:outside())
    none(what .. ": no text is on another", p:overlapping())
    none(what .. ": nor a mark on one", p:crossed "mark")
    for _, title in ipairs(titles) do
        local found = 0
        for _, t in ipairs(p.texts) do
            found = found + (t.text == title and 1 or 0)
        end
        tap.is(found, 1, what .. ": the title of an axis, " .. title)
    end
    return p
end
chart("the demo", files.read "man/tlb-contention.svg",
    { "performance, % of an ideal TLB's" })
do
    local bars, values = valued(demo)
    tap.ok(bars == 28 and values == 28, "each bar of the demo has its value", values)
end

local function series_of(n, groups, of)
    local out = {}
    for i = 1, n do
        out[i] = { name = "series " .. i, values = {}, marks = {} }
        for g = 1, groups do
            out[i].values[g] = of(i, g)
            out[i].marks[g] = g % 2 == 0 and of(i, g) * 1.02 or nil
        end
    end
    return out
end
local function names(n, of)
    local out = {}
    for g = 1, n do
        out[g] = of .. g
    end
    return out
end
for _, n in ipairs { { 1, 3 }, { 4, 7 }, { 2, 25 }, { 6, 30 }, { 3, 70 } } do
    for _, sign in ipairs { 1, -1 } do
        local what = ("bars, %d groups of %d%s"):format(n[2], n[1], sign < 0
            and ", below zero" or "")
        local p = chart(what, H.svg.bars { title = "a title", unit = "times as many",
            groups = names(n[2], "HISTO + GUP "), xlabel = "pairs of applications",
            mark = "paper", series = series_of(n[1], n[2], function(i, g)
                return sign ^ g * (37.21 * i + 11.7 * g)
            end) }, { "times as many", "pairs of applications" })
        local bars, values = valued(p)
        tap.ok(bars == n[1] * n[2] and (values == bars or values == 0),
            what .. ": all have their values, or none", values)
    end
end
for _, small in ipairs { 0.5, 5 } do
    local p = picture.read(H.svg.bars { stacked = true, groups = { "a", "b" },
        unit = "u", series = { { name = "s", values = { 10, 12 } },
            { name = "t", values = { small, 11 } } } })
    local bars, values = valued(p)
    tap.ok(bars == 4 and values == (small > 1 and 4 or 0),
        "parts of bars have their values, or none", values)
end

--- Sections: a gap, a line and a name.
do
    local spec = { title = "t", unit = "u", groups = names(5, "g"),
        series = series_of(2, 5, function(i, g) return i + g end),
        sections = { { name = "the first two", count = 2 },
            { name = "the other three", count = 3 } } }
    local p = chart("sections", H.svg.bars(spec), { "the first two",
        "the other three" })
    local x = {}
    for _, t in ipairs(p.texts) do
        x[t.text] = (t.x1 + t.x2) / 2
    end
    local step = x.g2 - x.g1
    tap.ok(math.abs(x.g3 - x.g2 - 1.5 * step) < 0.1
        and math.abs(x.g4 - x.g3 - step) < 0.1, "are half a group apart")
    tap.ok(math.abs(x["the first two"] - (x.g1 + x.g2) / 2) < 0.1
        and math.abs(x["the other three"] - x.g4) < 0.1, "with their names below")
    spec.sections[1].count = 1
    tap.raises(function() H.svg.bars(spec) end, "sections of 4 groups, and there are 5",
        "and of all groups")
    spec.sections[1] = { name = "x" }
    tap.raises(function() H.svg.bars(spec) end, "section 1: expected { name",
        "each with its number")
end

chart("lines", H.svg.lines { title = "t", unit = "us", xlabel = "rounds", series = {
    { name = "a", values = { 1, 3, 2 } } } }, { "us", "rounds" })
chart("a map", H.svg.map { title = "t", columns = 2, rows = 2, width = 2, height = 2,
    cell = function(c, r) return c * r end, xlabel = "time", ylabel = "pages" },
    { "time", "pages" })

-- ---- the gallery ------------------------------------------------------------------------

-- Its charts are drawn well, too; those that take a second are drawn again: each has the
-- words, and the numbers of axes, that the command draws.
do
    local again = files.folder()
    local function words(text)
        local out = {}
        for word in text:gmatch "<text[^>]*>([^<]*)<" do
            out[#out + 1] = word
        end
        return table.concat(out, "\n")
    end
    local TITLES = { ["tlb-size"] = { "warp instructions a cycle",
        "entries of the L2 TLB" }, waits = { "% of their time",
        "page size, and the cycles of the run" }, ATAX = { "page" },
        fig03 = { "pages" }, ["tlb-contention"] = {} }
    for _, g in ipairs(dofile "man/gallery/list.lua") do
        local path = (g.from or "man/gallery") .. "/" .. g.name .. ".svg"
        local kept = files.read(path)
        tap.ok(kept and #kept < 20000, path .. " is there, and small")
        chart(path, kept, TITLES[g.name])
        tap.ok(not g.script or g.command:find(g.script, 1, true)
            and files.read("man/gallery/" .. g.script), "with its script")
        if g.name == "waits" or g.name == "ATAX" then
            local ok, said = files.command(("%s run src/dev/html/draw.lua only=%s out=%s")
                :format(files.HEDDLE, g.name, files.quote(again)))
            tap.ok(ok, "its command draws it", said)
            tap.is(words(files.read(again .. "/" .. g.name .. ".svg") or ""), words(kept),
                "as it is kept (heddle run src/dev/html/draw.lua)")
        end
    end
    os.execute("rm -rf " .. files.quote(again))
end

-- ---- charts of the experiments ----------------------------------------------------------

-- A script that draws bars or lines says what its axes are; sections of bars are as
-- good as a title below them.
do
    local missing, count = {}, 0
    local function titled(text)
        return text:find "unit *=" and (text:find "xlabel *=" or text:find "sections *=")
    end
    for path in files.output "grep -rlE '[a-z]:(bars|lines)\\b|svg\\.(bars|lines)' scenarios"
        :gmatch "[^\n]+" do
        local text = files.read(path)
        for kind, call in text:gmatch "[:.](%l+) *(%b{})" do
            if kind == "bars" or kind == "lines" then
                count = count + 1
                missing[#missing + 1] = not titled(call) and path or nil
            end
        end
        for kind in text:gmatch "%l[:.](%l+)%(" do -- described in a table before
            if kind == "bars" or kind == "lines" then
                count = count + 1
                missing[#missing + 1] = not titled(text) and path or nil
            end
        end
    end
    tap.ok(count > 55, "there are many", count)
    none("charts of scenarios have titles of their axes: " .. count, missing)
end

tap.done()
