-- 560-policy-page.lua - the lists of heddle_policy(7) are those of points.def,
-- notes.def and the steering tables, every word of a choice is there with its name
-- in C, and its example runs.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"

local page = files.read "man/heddle_policy.7"
local held = page:match 'dev/points%.lua\n(.-)\\" end of lists'
held = held and held:gsub("%.$", "")
local written = files.output(files.HEDDLE
    .. " run src/dev/points.lua")
tap.is(held, written, "the lists are up to date (src/dev/points.lua)")

local missing, words = {}, 0
for name, word in files.read "src/engine/points.h"
    :gmatch '\n    (HEDDLE_[%w_]+), /%* "([%w_]+)" %*/' do
    words = words + 1
    if not page:find("%f[%w_]" .. name .. "%f[^%w_]") or not page:find(word, 1, true) then
        missing[#missing + 1] = name
    end
end
tap.ok(words > 60 and #missing == 0, "the page has every word's name in C",
    table.concat(missing, ", "))

local example = page:match "%.Bd %-literal\n(return {.-\n})\n%.Ed"
local policy = H.policy.env()
local quota = assert(load(example, "=page", "t", policy))()
local sim = H.sim {
    machine = "maxwell", settings = { ["core.count"] = 2, ["l1tlb.entries"] = 4,
        ["l2tlb.entries"] = 16 },
    apps = { H.app("GUP", { size = "S" }) },
}
sim:use(quota, { warps = 2 })
sim:run(10000)
local c = sim:counters()
tap.ok(c.policy["tlb_fill.asked"] > 100, "the example is asked")
tap.is(c.policy["tlb_fill.passed"], 0, "and always answers")
tap.done()
