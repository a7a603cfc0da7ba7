--[[
431-load-pages.lua - lanes, lines and pages an instruction, as measured on the
original programs.

Pinned, through the lane engine, at sizes that 432 leaves out: CONS' reads of a
pixel, one page and line for the streams, the frontiers of a graph of a million
nodes, the rounds of COLOR.  Also that no application of size M takes more than
200 MB beside its buffers to build.

SPDX-License-Identifier: MIT
]]
local app = require "heddle.app"
local runner = require "heddle.runner"

package.path = "./?.lua;" .. package.path
local profile = require("t.apps.kit").profile

local test, run = require "lib.suite"()

local function near(got, want, percent, what)
    if math.abs(got - want) > want * percent / 100 then
        error(("%s: %.3f, expected %.3f within %g %%"):format(what, got, want,
            percent), 2)
    end
end

-- What fn returns, computed in a process of its own.
local function apart(fn)
    local got
    runner.spread(1, 1, function()
        return { ok = true, result = fn() }
    end, function(_, m) got = m end)
    return got.ok and got.result or error(got.result.message, 0)
end

-- Most memory that a process has when it has built an application, in bytes.
local function peak(name)
    return apart(function()
        local w <close> = app.get(name):workload { size = "M" }
        assert(w)
        local f <close> = assert(io.open("/proc/self/status"))
        return f:read("a"):match("VmHWM:%s*(%d+)") * 1024
    end)
end

-- AddressSanitizer keeps what was freed for a while.
local ROOM = (os.getenv "HEDDLE_BUILD" or ""):find "address" and 300e6 or 200e6

test("size M: built in 200 MB beside the buffers", function()
    local most = 0
    for _, name in ipairs(app.names()) do
        local more = peak(name) - app.size(app.get(name), "M").footprint
        most = math.max(most, more)
        assert(more < ROOM, ("%s: %.0f MB"):format(name, more / 1e6))
    end
    -- a tree takes more than its arrays while it is built
    assert(most > 10e6, most)
end)

test("CONS: 1.5 reads a pixel in both kernels", function()
    local r = profile("CONS", { size = "S", repeats = 1 })
    local pixels = 3072 * 1536
    near(r["rows load In"].count * 32 / pixels, 1.5, 2, "reads of rows")
    near(r["columns load Buf"].count * 32 / pixels, 1.5, 2, "of columns")
    near(r["rows store Buf"].count * 32 / pixels, 1, 0, "stores")
end)

test("streams: one page, one line", function()
    for name, key in pairs { BLK = "price load S", RED = "reduce load in",
        TRD = "triad0 load A0", FWT = "pass_D load D",
        ["3DS"] = "stencil store out" } do
        local r = profile(name, { size = "T" })[key]
        near(r.pages, 1, 0, name .. " pages")
        near(r.lines, 1, 0, name .. " lines")
    end
end)

test("BFS2: the (2,4) graph of a million nodes", function()
    local r = profile("BFS2", { size = "M" })
    near(r["bfs1 load mask"].count, 12 * 31250, 0, "twelve rounds")
    near(r["bfs1 load edge"].lanes, 5.8, 2, "active lanes")
    near(r["bfs1 load edge"].pages, 1.09, 2, "pages of the lists")
    near(r["bfs1 load vis"].pages, 5.6, 2, "pages of vis")
end)

-- Round 3 is the sixth launch: what it adds to a walk.
test("COLOR: the third round of the random graph", function()
    local random = { graph = "random", n = 299067 }
    local before = profile("COLOR", random, { launches = 4 })
    local after = profile("COLOR", random, { launches = 6 })
    local function added(key, what)
        local a, b = after["color1 " .. key], before["color1 " .. key]
        if what == nil then return a.count - b.count end
        return a.count * a[what] - b.count * b[what]
    end
    local n = 299067
    near(added("store max", "lanes") / n, .48, 5, "nodes without a colour")
    -- the lists are loaded for color[], and once more for value[]; color[] is
    -- loaded by a node for itself and for its neighbours
    local gathers = added "load col" - added "load value"
    local own = added "load color" - gathers
    near((added("load color", "lanes") - n) / gathers, 9.4, 5, "lanes")
    near((added("load color", "pages") - own) / gathers, 9.0, 5, "pages")
end)

test("COLOR: eight rounds on the grid of ecology1", function()
    local r = profile("COLOR", { size = "S" })
    near(r["color1 exit"].count, 8 * 31256, 0, "warps of color1")
    near(r["color1 store max"].count * r["color1 store max"].lanes / 1e6,
        1 + .60 + .23 + .05 + .006, 5, "nodes without a colour, all rounds")
end)

run()
