-- 702-follow.lua - pins heddle run --follow: every station of a load that misses
-- everywhere, in order of time, to the cycle that its latency ends at; what of
-- several there are is its own; and that the files which the table names tell
-- the notes that it comes from.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local follow = require "heddle.follow"

local dir = files.folder()

--- What a script prints, and the rows of its table.
local function told(script, words)
    local path = dir .. "/follow.lua"
    files.write(path, script)
    return files.output(("%s run --follow %s %s"):format(
        files.HEDDLE, words, files.quote(path)))
end

local function rows(script, words)
    local text = told(script, words)
    local out = {}
    for line in text:gmatch "[^\n]+" do
        local cycle, after, rest = line:match "^%s*(%d+)%s+(%d+)%s+(.*)$"
        if cycle then
            local station, what, file = rest:match "^(.-)  +(.-)  +(%S+)$"
            out[#out + 1] = { cycle = math.tointeger(cycle),
                after = math.tointeger(after), station = station, what = what,
                file = file }
        end
    end
    return out, text
end

local GUP = [[
local H = require "heddle"
local sim = H.sim { machine = "maxwell", settings = { ["sim.seed"] = 3 },
    apps = { H.app("GUP", { size = "T" }) } }
sim:run(%s)
]]

local list, text = rows(GUP:format "" .. "sim:close() sim:close()", "app=0,warp=0")
tap.is(text:match "^[^\n]*", "application 0 (GUP), core 0, warp 0", "who it is")

local seen, order = {}, {}
for _, r in ipairs(list) do
    local key = r.station .. ": " .. (r.what:match "level %d" or r.what:match
        "%a+$" or r.what:match "^%a+")
    seen[key] = (seen[key] or 0) + 1
    if not order[r.station] then
        order[#order + 1] = r.station
        order[r.station] = true
    end
end
tap.is(table.concat(order, ", "),
    "issue, coalescer, L1 TLB, L2 TLB, walker, L2 cache, DRAM, L1 cache",
    "the stations, in the order in which it comes to them")
for level = 1, 4 do
    tap.is(seen["walker: level " .. level] or #list, 1, "one read of level "
        .. level)
end
local last, ascending = 0, true
for _, r in ipairs(list) do
    ascending = ascending and r.cycle >= last
    last = r.cycle
end
tap.ok(ascending, "in order of time")
local stop = list[#list]
tap.is(stop.what, ("done, after %d cycles"):format(stop.after),
    "the end is its latency away")
local lines, back = list[2].what:match "^(%d+)", 0
for _, r in ipairs(list) do
    back = back + (r.station == "L1 cache" and r.what:find "there" and 1 or 0)
end
tap.is(back, tonumber(lines), "each of its lines comes back")

-- What missed the L2 is read from DRAM, once its row is open.
local missed, read, opened = 0, 0, 0
for _, r in ipairs(list) do
    missed = missed + (r.station == "L2 cache" and r.what:find "miss$" and 1 or 0)
    if r.station == "DRAM" then
        opened = opened + (r.what:find "opens row" and 1 or 0)
        read = read + (r.what:find "reads %d+ bursts*" and 1 or 0)
        if r.what:find "row hit" then opened = opened + 1 end
    end
end
tap.ok(missed == 8 and read == missed and opened == missed,
    ("%d lines missed the L2, %d were read, of %d open rows"):format(missed,
    read, opened))

-- Of the walks of others none is told: at most one read at a level and page.
list = rows([[
local H = require "heddle"
local sim = H.sim { machine = "maxwell", apps = { H.app("3DS",
    { size = "S" }) } }
sim:run(6000)
]], "warp=3")
local reads, walks = 0, 0
for _, r in ipairs(list) do
    walks = walks + (r.station == "walker" and r.what:find "reads level" and 1
        or 0)
    reads = reads + (r.what:find "of the walk" and 1 or 0)
end
tap.ok(walks > 0 and reads == walks, ("%d reads, %d at the L2"):format(walks,
    reads))
tap.ok(list[#list].what:find "^done", "it ends")

text = told(GUP:format "135", "app=0,warp=0")
tap.ok(text:find "which has not ended", "one that has not ended says so")
text = told(GUP:format "", "app=0,warp=63")
tap.is(text, "no such instruction was issued\n", "one that never was, too")
list = rows(GUP:format "", "app=0,warp=0,instruction=2")
tap.ok(list[1].cycle > 131 and list[#list].what:find "^done",
    "the second one is another one")
for _, words in ipairs { "app=0,wrap=3", "app", "warp=x", "app=-1" } do
    text = told(GUP:format "", words)
    tap.ok(text:find("--follow", 1, true) and text:find "expected", words
        .. " is refused in words")
end

-- The guide's files.
local NOTES = {
    issue = { "access_done" }, ["L1 TLB"] = { "translated" },
    ["L1 cache"] = { "line_back" }, walker = { "walk_read", "walk_done" },
    ["far faults"] = { "page_fault", "page_arrived" },
    DRAM = { "dram_command" },
}
for station, path in pairs(follow.STATIONS) do
    local source = files.read(path)
    tap.ok(source, station .. ": there is " .. path)
    for _, note in ipairs(NOTES[station] or {}) do
        tap.ok(source and source:find("HEDDLE_NOTE_" .. note, 1, true),
            ("%s tells %s"):format(path, note))
    end
end
os.remove(dir .. "/follow.lua")
os.remove(dir)
return tap.done()
