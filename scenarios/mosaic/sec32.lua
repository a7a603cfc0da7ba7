--- mosaic/sec32.lua - memory that pages of 2 MB waste.
--
-- Mosaic (MICRO 2017), section 3.2: an application that gets only pages of 2 MB
-- holds 40.2 % more memory on average than one that gets pages of 4 KB, 367 % in
-- the worst case.
--
-- Memory held is what the page tables map when all buffers are there: with
-- 2 MB, every page that a buffer touches is whole, and neighbours share one.
-- Buffers follow each other at multiples of 256 bytes, as a GPU's allocator puts
-- them; `align` sets that apart: at 2 MB every buffer starts a page of its own.
--
--     heddle run scenarios/mosaic/sec32.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local report = require "heddle.report"
local suite = require "common"
local library = require "heddle.app"

local PAGE = 2 << 20

local x = suite.open("sec32", "section 3.2", "memory bloat of pages of 2 MB")
local size = suite.options(x, {}, {}).size
local sets = x.full and H.suites.homogeneous(1)
    or suite.sets(x, "homogeneous", 1)

--- A machine with an application on it, stopped as soon as its pages are there.
local function job(name, design)
    return { machine = design.apply(suite.machine(x)), stop_cycles = 1,
        apps = { H.app(name, { size = size }) }, seed = x.arg.seed }
end

local jobs = {}
for _, set in ipairs(sets) do
    for _, d in ipairs { suite.gpummu, suite.large } do
        jobs[#jobs + 1] = job(set.apps[1], d)
    end
end
local results = x:run(jobs)

--- Base pages when every buffer starts a page of 2 MB of its own.
local function apart(name)
    local n, buffers = 0, library.get(name):instance(size).buffers
    for _, b in ipairs(buffers) do
        n = n + (b.width * b.count + PAGE - 1) // PAGE * 512
    end
    return n, #buffers
end

local list, rows = {}, { { "program", "buffers", "4 KB", "2 MB", "bloat",
    "buffers apart", "bloat" } }
for i, set in ipairs(sets) do
    local name = set.apps[1]
    local base = results[2 * i - 1].apps[1].pages
    local large = results[2 * i].apps[1].pages
    local own, buffers = apart(name)
    list[i] = { name = name, bloat = 100.0 * (large - base) / base,
        apart = 100.0 * (own - base) / base }
    rows[i + 1] = { name, buffers, base, large,
        report.percent(list[i].bloat / 100), own,
        report.percent(list[i].apart / 100) }
end

local function worst(field)
    local top = 0.0
    for _, v in ipairs(list) do
        top = math.max(top, v[field])
    end
    return top
end

x:say("%d programs, size %s; memory that the page tables map", #sets, size)
x:scope(#sets, suite.count("homogeneous", 1), "programs")
for _, q in ipairs { { "bloat", "" }, { "apart", ", every buffer apart" } } do
    local field, name = q[1], q[2]
    x:quantity { "mean" .. name, unit = "%", kind = "count", paper = 40.2,
        shown = field == "apart",
        heddle = suite.mean(list, function(v) return v[field] end) }
    x:quantity { "worst" .. name, unit = "%", kind = "count", paper = 367,
        shown = field == "apart", heddle = worst(field) }
end
x:table("Base pages mapped", rows)
local groups = {}
for i, v in ipairs(list) do
    groups[i] = v.name
end
suite.chart(x, x.title, "bloat, %", groups, { { name = "bloat" },
    { name = "apart" } }, function(g, name) return list[g][name] end)
x:close()
