--[[
725-characterise.lua - what heddle apps measures.

Pinned: a survey counts what a simulation counts, for every application at T:
instructions, lanes, lines, pages, loads, by machine width; a survey with one
block at a time, too; metrics of a program that is known by heart; classes at
their lines; cuts are told; samples; rows are the same in processes and one by
one, and their JSON has every metric.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local characterise = require "heddle.characterise"
local library = require "heddle.app"
local survey = require "heddle.survey"

-- ---- a survey is a run ---------------------------------------------------------

local COUNTS = {
    { "instructions", "instructions" },
    { "thread_instructions", "thread_instructions" },
    { "memory", "mem_instructions" }, { "loads", "loads" },
    { "stores", "stores" }, { "atomics", "atomics" },
    { "barriers", "barriers" }, { "lines", "lines" }, { "pages", "pages" },
    { "load_lines", "load_lines" }, { "load_lanes", "load_lanes" },
}

local function counted(name, machine)
    local sim <close> = H.sim { machine = machine,
        apps = { H.app(name, { size = "T" }) } }
    sim:run()
    return sim:counters().core
end

-- Warps of these fight for locks, for vertices without a label or for slots
-- of a table: how often each comes away empty depends on the order in which they run,
-- so counts are near, not equal.
local RACES = { MEMC = 0.3, GRAPHX = 0.2, HASHJOIN = 0.02, KMER = 0.2 }

for _, name in ipairs(library.names()) do
    for _, machine in ipairs { "maxwell", "pichai" } do
        local row = characterise.measure(name, { size = "T", timed = false,
            machine = machine })
        local core, bad = counted(name, machine), {}
        for _, c in ipairs(COUNTS) do
            local a, b = row.survey.sum[c[1]], core[c[2]]
            if math.abs(a - b) > (RACES[name] or 0) * b then
                bad[#bad + 1] = ("%s %d, run %d"):format(c[1], a, b)
            end
        end
        tap.ok(#bad == 0, name .. " on " .. machine
            .. ": a survey counts what a run counts", table.concat(bad, "; "))
    end
end

-- ---- a program known by heart -----------------------------------------------------

local k = require "heddle.kernel"
local known = k.app {
    name = "known", params = { n = 2048 },
    buffers = function(p) return { k.f32("a", p.n), k.f32("b", 32 * 1024),
        k.f32("never", 4096) } end,
    kernels = function(p, b) return {
        k.kernel("rows", { grid = p.n // 64, block = 64 }, function(t)
            t:load(b.a, t.gid)
            t:when(t.lane:lt(8), function()
                t:alu(3)
                t:store(b.b, t.lane * 1024)
            end)
        end),
        k.kernel("again", { grid = 1, block = 32 }, function(t)
            t:load(b.a, t.gid)
        end),
    } end,
}
local w <close> = H.program(known).make()
local s = survey.run(w, { lanes = 32 })
local sum = characterise.sum(s.kernels)
-- 64 warps of load, 3 ALU, store, exit; one of load, exit
tap.is(sum.instructions, 64 * 6 + 2, "instructions")
tap.is(sum.thread_instructions, 64 * (32 + 4 * 8 + 32) + 2 * 32, "lanes")
tap.is(sum.divergent, 64 * 4, "of which divergent")
tap.is(sum.lines, 64 * (1 + 8) + 1, "lines")
tap.is(sum.load_lanes // sum.load_lines, 32, "lanes a line of loads")
tap.is(s.allocated_pages, 2 + 32 + 4, "pages allocated")
tap.is(s.pages, 2 + 8, "pages touched")
tap.is(s.lines, 64 + 8, "lines touched")
tap.is(s.kernels[2].pages_other, 1, "a page of another kernel")
tap.is(s.reuse[7].accesses, 10, "first touches")
tap.is(s.reuse[1].accesses, 64 * 9 + 1 - 10, "all others are near")
tap.is(#s.launches, 2, "launches")
tap.is(s.launches[2].start, 128, "of which the second begins late")
tap.is(survey.run(w, { lanes = 64 }).kernels[1].loads, 32, "wider warps")
tap.raises(function() survey.run(w, { lanes = 33 }) end, "33 lanes",
    "warps of 33 lanes")

-- ---- the picture -------------------------------------------------------------------

local p = survey.run(w, { columns = 8, rows = 19 }).picture
local cells, top = 0, 0
for _, column in ipairs(p.cells) do
    for r = 1, p.rows do
        local n = ("<I4"):unpack(column, 4 * r - 3)
        cells = cells + n
        top = n > 0 and math.max(top, r) or top
    end
end
tap.is(cells, 64 * 9 + 1, "a picture has every access")
tap.ok(p.row_pages == 2 and p.rows == 19 and p.columns == #p.cells,
    "in rows of whole pages")
tap.is(top, 5, "and none where none was") -- 8 of the pages 2 to 33

-- ---- classes ------------------------------------------------------------------------

tap.is(characterise.mask_class(0.2, 0.2001), "Low/High", "20 % is low")
tap.is(characterise.mask_class(0.5, nil), "High/-", "no L2 TLB")
tap.is(characterise.mask_class(), nil, "no run, no class")
tap.is(characterise.etc_class(10), "regular", "10 lanes a line are regular")
tap.is(characterise.etc_class(9.99), "irregular", "less is not")
tap.is(characterise.etc_class(6, 5), "regular", "for a threshold of 5")

-- ---- rows ----------------------------------------------------------------------------

local row = characterise.measure("ATAX", { size = "T", sample = 20000 })
tap.ok(not row.timed.cut and not row.survey.cut, "whole runs are not cut")
tap.is(row.classes.etc, "irregular", "ATAX as a whole is irregular")
tap.ok(row.timed.samples.n > 2 and row.timed.samples.least
    < row.metrics.etc_factor and row.timed.samples.most
    > row.metrics.etc_factor, "samples see one kernel or the other")
tap.ok(row.timed.samples.regular > 0
    and row.timed.samples.regular < row.timed.samples.n,
    "and disagree about the class")
row = characterise.measure("ATAX", { size = "T", budget = 1000,
    limit = 2000 })
tap.ok(row.timed.cut and row.survey.cut, "cut runs say so")
tap.is(row.survey.limit, 2000, "and by what")

local function text(jobs)
    return characterise.json(characterise.all({ "BLK", "CONS", "MM" },
        { size = "T" }, jobs))
end
local json = text(1)
tap.is(json, text(2), "rows in processes are those one by one")
local missing = {}
for _, m in ipairs(characterise.metrics()) do
    if not json:find('"' .. m.name .. '":', 1, true) or not m.meaning:find "%a%a"
        then
        missing[#missing + 1] = m.name
    end
end
tap.is(table.concat(missing, " "), "", "JSON has every metric")
tap.ok(json:find('"cut": "1 of 10 repeats"', 1, true)
    or json:find('"cut":"1 of 10 repeats"', 1, true),
    "and what a size leaves out")

-- Ctrl-C: the applications that are done are printed.
do
    local script, io = require "heddle.script", _G.io
    local all, done = characterise.all, characterise.measure("BLK",
        { size = "T" })
    local said = {}
    characterise.all = function()
        script.partial_results = { done, false }
        error({ code = -130, message = "interrupted" }, 0)
    end
    _G.io = { write = function(words) said[#said + 1] = words end }
    local ok, err = pcall(require("heddle.cmd.apps").run, { "BLK", "MM" })
    characterise.all, _G.io, script.partial_results = all, io, nil
    tap.ok(not ok and err.code == -130
        and table.concat(said):find "1 application.*\nBLK ",
        "an interrupted one prints what is done")
end

return tap.done()
