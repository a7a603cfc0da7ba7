-- 161-part-tags.lua - pins: a TLB and a cache alone from Lua give the same as
-- the file that holds the same accesses; errors are raised in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local part = require "heddle.part"

local pages = {}
local x = 1
for i = 1, 5000 do
    x = (x * 1103515245 + 12345) % 2147483648
    pages[i] = (x >> 8) % 100
end
local path = os.tmpname()
local f = assert(io.open(path, "w"))
for _, p in ipairs(pages) do
    f:write(p, "\n")
end
f:close()

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
-- What a cache cannot have, it does not silently have less of.
for _, wrong in ipairs { { bytes = 1000 }, { ways = 3 }, { line = 100 },
    { policy = "lur" }, { policy = "gto" }, { policy = "srrip",
        ["policy.bits"] = 9 } } do
    ok, err = pcall(function() part.cache(wrong):access(0) end)
    tap.ok(not ok and err.code == -3, "not a cache: " .. tostring(err))
end
tap.ok(not part.cache({ bytes = 12288, ways = 3 }):access(0), "three ways")
tap.done()
