--- agree.lua - checks of what is measured against what a paper says.
--
--     local checks = agree.new()
--     checks:add("ATAX", "irregular", class, class == "irregular")
--     checks:within("bfs", 0.2, v, 0.05)      within 5 % of it
--     checks:print("ETC's classes")           a table, and "14 of 15 agree"
--
-- A check without a verdict (ok = nil) is shown and not counted: where the
-- paper gives no value, or the run was cut too early.  `why` is
-- said below the table where a check disagrees: its cause, as far as it was
-- found.
--
-- SPDX-License-Identifier: MIT
local report = require "heddle.report"

local Checks = {}
Checks.__index = Checks

local agree = {}

function agree.new()
    return setmetatable({ rows = {}, good = 0, all = 0, why = {} }, Checks)
end

--- A check: what, the paper's value, heddle's, whether they agree (nil: not
-- counted), and why they do not.
function Checks:add(what, paper, here, ok, why)
    if ok ~= nil then
        self.all = self.all + 1
        self.good = self.good + (ok and 1 or 0)
    end
    self.rows[#self.rows + 1] = { what, paper, here,
        ok == nil and "" or ok and "yes" or "NO" }
    if ok == false then
        self.why[#self.why + 1] = ("%s: %s"):format(what,
            why or "the cause was not found")
    end
end

--- A check of a number against one that was published or measured elsewhere.
function Checks:within(what, paper, here, tolerance, why)
    local ok = nil
    if here then
        ok = math.abs(here - paper) <= tolerance * math.abs(paper)
    end
    self:add(what, ("%.4g"):format(paper), here and ("%.4g"):format(here)
        or "-", ok, why)
end

--- The table, the count, and what is known of the disagreements.
function Checks:print(title)
    local rows = { { title, "paper", "heddle", "agrees" } }
    table.move(self.rows, 1, #self.rows, 2, rows)
    io.write(report.table(rows), ("%d of %d agree\n"):format(self.good,
        self.all))
    for _, why in ipairs(self.why) do
        io.write("  ", why, "\n")
    end
    io.write("\n")
end

--- Applications of a list that there are at a size; the others are listed.
function agree.present(names, size)
    local library = require "heddle.app"
    local out, missing = {}, {}
    for _, name in ipairs(names) do
        local a = library.find(name)
        local list = a and a.sizes[size] and out or missing
        list[#list + 1] = a and a.name or name
    end
    if #missing > 0 then
        io.write(("not at size %s: %s\n"):format(size,
            table.concat(missing, " ")))
    end
    return out
end

--- What was cut, a line each.
function agree.cuts(rows)
    for _, row in ipairs(rows) do
        local s, t = row.survey, row.timed
        if row.error then
            io.write(("%s failed: %s\n"):format(row.name, row.error))
        end
        if row.cut then
            io.write(("%s at %s: %s\n"):format(row.name, row.size, row.cut))
        end
        if s and s.cut then
            io.write(("%s at %s: survey cut after %d warp instructions\n")
                :format(row.name, row.size, s.limit))
        end
        if t and t.cut then
            io.write(("%s at %s: timed run cut after %d warp instructions and "
                .. "%d cycles%s\n"):format(row.name, row.size, t.instructions,
                t.cycles, s and not s.cut and (" (%.0f %% of the program)")
                :format(100 * t.instructions / s.sum.instructions) or ""))
        end
    end
end

return agree
