-- 161-part-tags.lua - pins: a TLB and a cache alone from Lua give the same as
-- the file that holds the same accesses; a policy in Lua hits where the same
-- one in C does, from the shell too, is told where it is, has epochs, and may
-- be a table; errors are raised in words, and an error of a policy stays.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local part = require "heddle.part"

local pages = {}
local x = 1
for i = 1, 5000 do
    x = (x * 1103515245 + 12345) % 2147483648
    pages[i] = (x >> 8) % 100
end
local path = os.tmpname()
files.write(path, table.concat(pages, "\n") .. "\n")

for _, policy in ipairs { "lru", "fifo", "random", "srrip" } do
    local settings = { entries = 64, ways = 8, policy = policy }
    local a, b = part.tlb(settings), part.tlb(settings)
    local hits = 0
    for _, p in ipairs(pages) do
        hits = hits + (a:access(p) and 1 or 0)
    end
    local r = b:load(path):result()
    tap.ok(hits > 1000 and hits < 5000 and r.hits == hits
        and r.accesses == 5000 and r.misses == 5000 - hits
        and a:result().evictions == r.evictions, policy .. " from Lua and a file")
end

-- One set of two lines: the store's line is pushed out by the third.
do
    local name = os.tmpname()
    files.write(name, "# a comment\n0x80 W\n\n128 R\n0x0\n0x100 R\r\n0x200\n"
        .. "0x100\n")
    tap.same(part.cache({ bytes = 256, ways = 2 }):load(name):result(),
        { accesses = 6, hits = 2, misses = 4, writes = 1, write_hits = 0,
            evictions = 2, write_backs = 1 }, "a file of a cache")
    for text, words in pairs { ["1\n2 W\n"] = ":2: the end of the line",
        ["-1\n"] = ":1: a page number", ["0x1ffffffffffffffff\n"] = ":1: a page",
        ["0x10000000000000\n"] = ":1: page 4503599627370496 is" } do
        files.write(name, text)
        tap.raises(function() part.tlb():load(name) end, words,
            "wrong in a file: " .. words)
    end
    files.write(name, "0x80 W\n0x80 X\n")
    tap.raises(function() part.cache():load(name) end, ":2: R, W",
        "neither R nor W")
    os.remove(name)
    tap.raises(function() part.tlb():load(name) end, "No such file", "no file")
end

-- Policies in Lua, beside those in C: access by access, and from the shell.
local HEDDLE = files.HEDDLE
local function shell(what, policy, more)
    local pipe <close> = assert(io.popen(("%s part %s %s policy=%s %s 2>&1")
        :format(HEDDLE, what, path, policy, more or "")))
    return pipe:read "a"
end
for _, name in ipairs { "lru", "fifo", "random", "srrip" } do
    local file = "policies/" .. name .. ".lua"
    for _, make in ipairs { function(policy)
        return part.tlb { entries = 64, ways = 8, policy = policy, seed = 3 }
    end, function(policy)
        return part.cache { bytes = 2048, line = 32, policy = policy }
    end } do
        local a, b, apart = make(name), make(file), 0
        for i, p in ipairs(pages) do
            apart = apart + (a:access(p * 37, i % 5 == 0)
                ~= b:access(p * 37, i % 5 == 0) and 1 or 0)
        end
        local r, s = a:result(), b:result()
        tap.ok(apart == 0 and r.hits > 500 and not tap.differ(r, s),
            file .. " hits where " .. name .. " does", tap.differ(r, s))
    end
    tap.is(shell("tlb", file, "entries=64 ways=8"),
        shell("tlb", name, "entries=64 ways=8"), name .. " from the shell")
    tap.ok(shell("cache", file):find '"hits": [1-9]', "and on a cache")
end
tap.is(shell("tlb", "policies/srrip.lua", "policy.bits=3"),
    shell("tlb", "srrip", "policy.bits=3"), "with a parameter")
tap.ok(shell("tlb", "srrip", "policy.bits=3") ~= shell("tlb", "srrip"),
    "which matters")

local function most(entries)
    return part.tlb { entries = entries, policy = {
        name = "most", params = { why = { default = 0, min = 0, max = 1,
            unit = "none|much" } },
        every = { 10, function(cycle, s) s.cycle = cycle end },
        init = function(s, p, place)
            s.why = p.why
            s.shape = ("%s %d %d %d"):format(place.at, place.instances,
                place.sets, place.ways)
        end,
        repl_victim = function(q, s)
            if q.key == 77 then
                error(("%s %s %s"):format(s.shape, s.why, s.cycle))
            end
            return q.key == 78 and 4 or 3
        end,
    }, ["policy.why"] = "much" }
end
local t = most(4)
for page = 1, 5 do
    t:access(page)
end
tap.ok(t:access(1) and t:access(2) and t:access(3) and not t:access(4),
    "a table replaces the most recent")
for page = 100, 125 do
    t:access(page)
end
local _, told = pcall(t.access, t, 77)
tap.ok(told.code == -7 and told.message:find("tlb 1 1 4 much 30", 1, true),
    "it knows its place, its parameters and its epochs", told.message)
_, told = pcall(t.access, t, 1)
tap.ok(told.code == -7 and told.message:find("much 30", 1, true),
    "what is wrong stays", told.message)
t = most(4)
for page = 1, 4 do
    t:access(page)
end
_, told = pcall(t.access, t, 78)
tap.ok(told.code == -7 and told.message:find("policy most answered 4 to "
    .. "repl_victim of tlb at cycle 4, expected 0 to 3", 1, true),
    "an answer is checked", told.message)
local out = shell("tlb", "policies/mask.lua")
tap.ok(out:find("one that replaces is expected, not 'mask'", 1, true)
    and out:find("repl_victim", 1, true), "not one that does not replace", out)
tap.ok(shell("tlb", "policies/none.lua"):find("policies/none.lua", 1, true),
    "nor one that is not there")

-- A cache asks whether a line enters.
local skip = part.cache { policy = { name = "odd", cache_insert = function(q)
    return q.line % 2 == 1 and "skip" or nil
end } }
tap.ok(not skip:access(0) and skip:access(0) and not skip:access(128)
    and not skip:access(128), "cache_insert leaves out every other line")
_, told = pcall(function()
    part.tlb { policy = { name = "in", cache_insert = function() end } }
        :access(0)
end)
tap.ok(told.code == -3 and told.message:find("not 'in'", 1, true),
    "which no TLB asks", told.message)
for _ = 1, 20 do
    part.tlb { policy = "policies/lru.lua" }:access(1)
end
collectgarbage()
tap.is(part.tlb { policy = "policies/lru.lua" }:access(1), false,
    "a part that is gone takes its policy along")
os.remove(path)

local c = part.cache { { "bytes", 256 }, { "ways", 2 } }
tap.ok(not c:access(0, true) and c:access(64) and not c:access(128)
    and not c:access(256), "a cache hits by line")
local r = c:result()
tap.ok(r.write_backs == 1 and r.evictions == 1 and r.writes == 1,
    "the dirty line went")
local ok, err = pcall(c.set, c, "bytes", 512)
tap.ok(not ok and tostring(err):find("frozen"), "settings are frozen")
ok, err = pcall(part.tlb, { entires = 4 })
tap.ok(not ok and tostring(err):find("'entries'"), "the nearest setting")
tap.ok(shell("tlb", "lru", "per_request=1"):find("no setting 'per_request'"),
    "what only the DRAM has")
-- What a cache cannot have, it does not silently have less of.
for _, wrong in ipairs { { bytes = 1000 }, { ways = 3 }, { line = 100 },
    { policy = "lur" }, { policy = "gto" }, { policy = "srrip",
        ["policy.bits"] = 9 } } do
    ok, err = pcall(function() part.cache(wrong):access(0) end)
    tap.ok(not ok and err.code == -3, "not a cache: " .. tostring(err))
end
tap.ok(not part.cache({ bytes = 12288, ways = 3 }):access(0), "three ways")
tap.done()
