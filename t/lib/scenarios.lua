--- scenarios.lua - the experiments of a folder of scenarios/ at scale=quick:
-- what the tests of the papers have in common.
--
--     local mask = scenarios.of("mask", { other = { common = true },
--         words = { causes = "only=base" }, more = "cycles=12000" })
--     mask:all(18)               tests of each, of which there are so many or more
--     mask:only "fig03"          tests of one
--     mask:again "fig03"         a second run simulates nothing, says the same
--     local ok, text = mask:run("fig03", "with=l1tlb.mshrs=1")
--     mask:done()
--
-- Each runs, prints quantities beside the paper's, none of which is scored, leaves
-- JSON that says the same, its charts, and a row a quantity in the database;
-- every file of the folder but `other` is run.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local json = require "heddle.json"
local process = require "heddle.process"
local sqlite = require "heddle.sqlite"

local HEDDLE = files.HEDDLE

local Paper = {}
Paper.__index = Paper

local scenarios = {}

--- o.other: files that are no experiments; o.words: arguments of one of them;
-- o.more: those of all.
function scenarios.of(paper, o)
    local dir = files.folder()
    return setmetatable({ paper = paper, dir = dir, other = o.other,
        words = o.words or {}, more = o.more or "", said = {} }, Paper)
end

--- Whether it ran, and what it printed.
function Paper:run(name, words)
    return files.command(("%s run scenarios/%s/%s.lua scale=quick jobs=1 "
        .. "out=%s cache=%s/cache %s %s"):format(HEDDLE, self.paper, name,
        self.dir, self.dir, self.more, words or self.words[name] or ""))
end

--- All but the line that tells how long it took and how many runs it needed.
local function lasting(text)
    return (text:gsub("%d+ simulations run.*", ""))
end

local function rows_of(self, name)
    local db <close> = sqlite.open(self.dir .. "/results.sqlite")
    return db:exec("select * from quantity where experiment = ?", name)
end

local function test(self, name)
    local whole = self.paper .. "/" .. name
    local ok, text = self:run(name)
    tap.ok(ok, name .. " runs", text)
    self.said[name] = lasting(text)
    local doc = json.decode(files.read(("%s/%s.json"):format(self.dir, whole))
        or "{}")
    tap.ok(doc.name == whole and doc.scale == "quick"
        and #doc.quantities > 0 and doc.tally.claims == 0 and doc.tally.pairs == 0
        and text:find "a quick run: not comparable with the paper",
            name .. ": JSON says what is printed", text)
    local missing = {}
    for _, chart in ipairs(doc.charts or {}) do
        local path = ("%s/%s/%s"):format(self.dir, self.paper, chart.file)
        if not (files.read(path) or ""):find "</svg>" then
            missing[#missing + 1] = path
        end
    end
    tap.ok(#missing == 0 and #(doc.charts or {}) > 0, name .. ": charts",
        table.concat(missing, " "))
    tap.is(#rows_of(self, whole), #(doc.quantities or {})
        + #(doc.orders or {}), name .. ": rows of the database")
end

function Paper:all(least)
    local names = {}
    for _, file in ipairs(process.list("scenarios/" .. self.paper)) do
        local name = file:match "^(.*)%.lua$"
        if name and not self.other[name] then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    tap.ok(#names >= least, "experiments of " .. self.paper)
    for _, name in ipairs(names) do
        test(self, name)
    end
end

--- One of them, which all() leaves to another test.
function Paper:only(name) test(self, name) end

function Paper:again(name)
    local _, text = self:run(name)
    tap.ok(text:find "\n0 simulations run", "a second run simulates nothing",
        text)
    tap.is(lasting(text), self.said[name], "and says the same")
end

function Paper:done()
    files.command("rm -r " .. self.dir)
    tap.done()
end

return scenarios
