-- 162-part-recorded.lua - pins: over a million recorded accesses of real
-- applications, a TLB and a cache alone hit exactly where naive LRU stacks
-- say.  The stream is the lines and pages of each warp instruction, in the
-- order of a walk without a machine.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local part = require "heddle.part"
local survey = require "heddle.survey"

--- A stack of keys for each set, the latest first.
local function stack(sets, ways)
    local all = {}
    for s = 0, sets - 1 do
        all[s] = {}
    end
    return function(key)
        local k = all[key % sets]
        for i = 1, #k do
            if k[i] == key then
                table.move(k, 1, i - 1, 2)
                k[1] = key
                return true
            end
        end
        table.insert(k, 1, key)
        k[ways + 1] = nil
        return false
    end
end

local function compare(name, stream, new, access)
    local model, twin = new()
    local hits = 0
    for i = 1, #stream do
        local hit = access(model, stream[i])
        if hit ~= twin(stream[i]) then
            tap.ok(false, name, "access " .. i)
            return
        end
        hits = hits + (hit and 1 or 0)
    end
    tap.ok(hits > 0 and model:result().hits == hits, name)
end

local MOST = 110000
local total = 0

for _, name in ipairs { "BFS2", "GUP", "MM", "ATAX" } do
    local pages, lines = {}, {}
    local app = H.app(name, { size = "S" })
    survey.each(app:make(), function(e)
        if not e.addr then
            return
        end
        local page, line = {}, {}
        for lane = 0, 63 do
            local a = e.addr[lane]
            if a then
                if not page[a >> 12] then
                    page[a >> 12] = true
                    pages[#pages + 1] = a >> 12
                end
                if not line[a >> 7] then
                    line[a >> 7] = true
                    lines[#lines + 1] = a >> 7
                end
            end
        end
        return #lines > MOST
    end)
    total = total + 2 * #pages + #lines
    compare(name .. ": 16 entries, fully associative", pages, function()
        return part.tlb { entries = 16 }, stack(1, 16)
    end, function(t, page) return t:access(page) end)
    compare(name .. ": 33 entries in 11 sets", pages, function()
        return part.tlb { entries = 33, ways = 3 }, stack(11, 3)
    end, function(t, page) return t:access(page) end)
    compare(name .. ": a cache of 32 sets", lines, function()
        return part.cache {}, stack(32, 4)
    end, function(c, line) return c:access(line << 7) end)
end
tap.ok(total > 1000000, "a million accesses", tostring(total))
tap.done()
