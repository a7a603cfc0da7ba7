--[[
315-core-atomics.lua - the requests of atomics whose lanes share words.

Pinned: with core.atomics=word an atomic is, for each 32-byte sector that it
touches, as many requests as its most wanted word has lanes, which a count with
tables in Lua says as well, for regular patterns and for draws; each of them
reaches the L2; the values come out the same; with core.atomics=line it is one
request a line.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local k = require "heddle.kernel"

local WARPS, LANES, BINS = 24, 32, 256

local function app(word)
    return H.program(k.app { name = "bins", buffers = function()
        return { k.i32("bin", BINS, { contents = true }),
            k.i32("word", WARPS * LANES, { data = word }) }
    end, kernels = function(_, b)
        return { k.kernel("bins", { grid = WARPS / 8, block = 8 * LANES },
            function(t) t:atomic("add", b.bin, t:load(b.word, t.gid)) end) }
    end })
end

local function run(word, how)
    local sim = H.sim { machine = "maxwell", translation = "off",
        settings = { ["core.count"] = 2, ["core.lanes"] = LANES,
            ["core.width"] = LANES, ["core.atomics"] = how,
            ["sim.check"] = true },
        apps = { app(word) } }
    sim:run()
    local r = sim:results()
    return { requests = H.report.counter(r, "core.atomic_requests", 0),
        lines = H.report.counter(r, "core.lines", 0)
            - H.report.counter(r, "core.load_lines", 0),
        cycles = r.cycles }
end

-- Requests by counting.
local function naive(word)
    local sum, lines = 0, 0
    for w = 0, WARPS - 1 do
        local on, most, line = {}, {}, {}
        for i = w * LANES, w * LANES + LANES - 1 do
            local x = word(i)
            on[x] = (on[x] or 0) + 1
            most[x // 8] = math.max(most[x // 8] or 0, on[x])
            line[x // 32] = true
        end
        for _, n in pairs(most) do sum = sum + n end
        for _ in pairs(line) do lines = lines + 1 end
    end
    return sum, lines
end

local drawn, seed = {}, 12345
for i = 0, WARPS * LANES - 1 do
    seed = seed * 6364136223846793005 + 1442695040888963407
    drawn[i] = (seed >> 33) % BINS
end

local cycles = {}
for _, case in ipairs {
    { "one word", function() return 7 end, LANES * WARPS },
    { "words next to each other", function(i) return i % LANES end, 4 * WARPS },
    { "two lanes a word", function(i) return i % LANES // 2 end, 4 * WARPS },
    { "two words of one sector, one by 31 lanes",
        function(i) return i % LANES == 0 and 0 or 1 end, 31 * WARPS },
    { "a sector a lane", function(i) return i % LANES * 8 end, LANES * WARPS },
    { "draws", function(i) return drawn[i] end },
} do
    local name, word, want = table.unpack(case)
    local by_line, by_word = run(word, "line"), run(word, "word")
    local sum, lines = naive(word)
    if want then tap.is(sum, want, name .. ": by hand") end
    tap.is(by_word.requests, sum, name .. ": requests")
    tap.is(by_word.lines, sum, name .. ": each is a line of the unit")
    tap.is(by_line.requests, 0, name .. ": none by default")
    tap.is(by_line.lines, lines, name .. ": then one a line")
    cycles[name] = by_word.cycles - by_line.cycles
end
tap.ok(cycles["one word"] > 0, "lanes on one word take longer")
tap.is(cycles["words next to each other"] > cycles["one word"], false,
    "than those next to each other")

tap.done()
