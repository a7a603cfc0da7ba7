-- 777-demo.lua - pins what `make demo` shows: fewer than 25 lines, the effect first;
-- and that the chart of the README, man/tlb-contention.svg, is what it writes: the
-- same words, groups, sections and papers' values as a small run of it, the numbers
-- of the README's table, and a drawing of just its own numbers.
--
-- The full run takes a minute and a half, so its numbers are compared with the
-- README's, which `make demo` prints.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"

local dir = files.folder()
local read, quote = files.read, files.quote

files.write(dir .. "/demo.lua", ([[
    local H = require "heddle"
    local draw = H.svg.bars
    H.svg.bars = function(o) -- keeps how the scenario describes its chart
        for _, s in ipairs(o.series) do
            for g = 1, #o.groups do
                s.marks[g] = s.marks[g] or H.json.null
            end
        end
        H.report.emit(H.json.encode(o), %q)
        return draw(o)
    end
    dofile "scenarios/tlb-contention.lua"
]]):format(dir .. "/spec.json"))
local printed = files.output(("%s run %s cycles=1000 warmup=0 size=T svg=%s 2>%s")
    :format(files.HEDDLE, quote(dir .. "/demo.lua"), quote(dir .. "/x.svg"),
    quote(dir .. "/err")))
local _, lines = printed:gsub("\n", "")
local _, warnings = read(dir .. "/err"):gsub("\n", "")
tap.ok(lines + warnings < 25 and lines > 15, "fewer than 25 lines", lines + warnings)
tap.ok(printed:find "^Two applications on one GPU[^\n]* reach [%d.]+ %% of the "
    .. "performance of\nan ideal TLB; ", "the effect first", printed)

-- ---- the chart of the README ---------------------------------------------------------

local kept, small = read "man/tlb-contention.svg", read(dir .. "/x.svg")
tap.ok(read "README.md":find("](man/tlb-contention.svg)", 1, true),
    "the README shows it")

--- What stands in a chart but numbers: words of titles, labels, legend and note.
local function words(text)
    local out = {}
    for word in text:gmatch "<text[^>]*>([^<]*)<" do
        out[#out + 1] = word:find "%a" and word or nil
    end
    return table.concat(out, "\n")
end
tap.is(words(kept), words(small), "it has the words of what the demo writes")

--- Bars by group and series: the values, from their titles.
local function bars(text)
    local out, n = {}, 0
    for group, name, value in text:gmatch "<title>([^<]*), ([^<,:]*): ([^<]*)</title>" do
        out[group] = out[group] or {}
        out[group][name] = tonumber(value)
        n = n + 1
    end
    return out, n
end
local values, count = bars(kept)
local _, of_small = bars(small)
tap.ok(count == of_small and count == 28, "all bars of it", count)

local spec = H.json.decode(read(dir .. "/spec.json"))
for _, s in ipairs(spec.series) do
    for g, group in ipairs(spec.groups) do
        s.values[g] = values[group] and values[group][s.name]
    end
end
local again = H.svg.bars(spec)
files.write(dir .. "/again.svg", again)
tap.ok(again == kept, "drawn again with its own numbers it is the same",
    files.output(("diff man/tlb-contention.svg %s || true"):format(
        quote(dir .. "/again.svg"))))
local papers = { SharedTLB = 59.4, PWCache = 55.0, Mosaic = 93.2 }
local right = 0
for _, s in ipairs(spec.series) do
    for g = 4, 7 do
        right = right + (math.abs((s.marks[g] or 0) - (papers[s.name] or 0)) < 1e-9
            and 1 or 0)
    end
end
tap.is(right, 16, "with the papers' means as marks")

--- The README's table says what the chart does.
local wrong, rows = {}, 0
for _, group in ipairs { "maxwell", "maxwell-literal", "released", "aggressive" } do
    local row = read "README.md":match("\n" .. group:gsub("%-", "%%-")
        .. " +([-%d. %%]+)\n")
    local found = {}
    for v in (row or ""):gmatch "(-?[%d.]+) %%" do
        found[#found + 1] = v
    end
    for i, name in ipairs { "SharedTLB", "PWCache", "2 MB", "Mosaic" } do
        local loss = H.report.percent(1 - (values[group] or {})[name] / 100)
        rows = rows + 1
        wrong[#wrong + 1] = loss ~= (found[i] or "?") .. " %" and group .. ", " .. name
            .. ": " .. loss .. ", " .. tostring(found[i]) or nil
    end
end
tap.ok(rows == 16 and #wrong == 0, "its numbers are those of the README's table",
    table.concat(wrong, "\n"))

os.execute("rm -rf " .. quote(dir))
tap.done()
