--- validate.lua - cards beside heddle: all experiments of scenarios/validate, a table
-- of their rows and a page of all of it.
--
--     make validate                                          a first look
--     heddle run scenarios/validate.lua scale=full jobs=16
--     heddle run scenarios/validate.lua only=latency,tlb
--
-- A row is what was measured on a card, heddle's value, how far the two are apart and
-- the tolerance that was settled before the first run.  "fit" rows are those by which
-- something of a preset was chosen; "test" rows alone say how good it is.  quick leaves
-- out points of curves, which the column "thinned" says of each row.
--
-- Writes out/cards/validate.html, and of each experiment .json, .txt and .svg; what
-- is measured is kept, and an interrupted run continues (reproduce.lua).  The exit
-- status is 1 if an experiment failed, not if a row is off: pages say what is so.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local report = H.report

local ROWS, WITHIN, USE = "Rows", 6, 7 -- validate/common.lua

local arg = H.args(experiment.args {
    only = "",           -- experiments of scenarios/validate; empty: all
    force = false,       -- run again what is known
    out = "out/cards",
})

--- The rows of a doc, without their heading.
local function rows_of(doc)
    for _, t in ipairs(doc.tables) do
        if t.title == ROWS then
            return table.move(t.rows, 2, #t.rows, 1, {}), t.rows[1]
        end
    end
    return {}
end

--- "3 of 5 tests, 4 of 6 fit": rows within their tolerance, of those with a value.
local function fares(rows)
    local n = { test = { 0, 0 }, fit = { 0, 0 } }
    for _, r in ipairs(rows) do
        local of = n[r[USE]]
        of[1] = of[1] + (r[WITHIN] == "yes" and 1 or 0)
        of[2] = of[2] + (r[WITHIN] ~= "-" and 1 or 0)
    end
    return ("%d of %d tests, %d of %d fit"):format(n.test[1], n.test[2], n.fit[1],
        n.fit[2])
end

local function head(docs)
    local all, rows = {}, {}
    for _, d in ipairs(docs) do
        local list, heading = rows_of(d)
        rows[1] = rows[1] or heading
        for _, r in ipairs(list) do
            all[#all + 1], rows[#rows + 1] = r, r
        end
    end
    return { title = "heddle beside measured cards", rows = rows, lines = {
        ("Rows within their tolerance: %s."):format(fares(all)),
        "What was measured is of the sources that scenarios/validate/common.lua names; "
            .. "heddle explain CARD has the source of each value of a preset.  Rows "
            .. "marked fit chose something of a preset and say nothing of how good it "
            .. "is.",
    }, fares = function(d) return fares((rows_of(d))) end }
end

local only = {}
for name in arg.only:gmatch "[^,%s]+" do
    only[#only + 1] = "validate/" .. name:gsub("^validate/", "")
end
local status, docs = require("heddle.reproduce").run {
    scenarios = H.here ".", only = #only > 0 and table.concat(only, ",") or "validate",
    scale = arg.scale, jobs = arg.jobs, seed = arg.seed, out = arg.out,
    cache = arg.cache, force = arg.force, name = "validate", head = head,
}
local own = head(docs)
if own.rows[1] then
    io.write("\n", report.table(own.rows), own.lines[1], "\n")
end
return status
