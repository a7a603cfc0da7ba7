--[[
431-load-pages.lua - lanes, lines and pages an instruction, as measured on the
original programs.

Pinned, through the lane engine at sizes where the figures are published
(a sample of the blocks where a whole run is long): 32 pages for ATAX's rows,
30.5 for GUP at m = 19, two lines for BP, 2.9 lines for HS, two pages for CONS
and for LUD's and MM's two-row accesses, the frontier statistics of BFS2's
(5,10) graph, the rounds of COLOR.  Also that any application of size M is
built in two seconds and 200 MB beside its buffers.
]]
local app = require "heddle.app"
local walk = require "heddle.walk"

package.path = "./?.lua;" .. package.path
local profile = require("t.apps.kit").profile

local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function near(got, want, percent, what)
    if math.abs(got - want) > want * percent / 100 then
        error(("%s: %.3f, expected %.3f within %g %%"):format(what, got, want,
            percent), 2)
    end
end

-- Most memory this process has had, in MB.
local function peak()
    local f = io.open("/proc/self/status")
    if not f then return 0 end
    local kb = f:read("a"):match("VmHWM:%s*(%d+)")
    f:close()
    return tonumber(kb) / 1024
end

-- The peak is that of the process: what went before is given back first.
test("size M: built in two seconds, and 200 MB beside the buffers", function()
    local largest = 0
    for _, name in ipairs(app.names()) do
        collectgarbage()
        local start = os.clock()
        local w = app.get(name):workload { size = "M" }
        local spent = os.clock() - start
        local mb = app.size(app.get(name), "M").footprint / 2 ^ 20
        largest = math.max(largest, mb)
        assert(w, name)
        assert(spent < 2, ("%s: %.2f s"):format(name, spent))
        assert(peak() < 200 + largest, ("%s: %.0f MB"):format(name, peak()))
    end
end)

test("ATAX: rows 32 lines and pages, columns one", function()
    local r = profile("ATAX", { size = "S", nx = 4096, ny = 1024 },
        { every = 5 })
    near(r["atax1 load A"].pages, 32, 0, "pages of rows")
    near(r["atax1 load A"].lines, 32, 0, "lines of rows")
    near(r["atax2 load A"].pages, 1, 0, "pages of columns")
    near(r["atax2 load tmp"].lines, 1, 0, "lines of a broadcast")
end)

test("GUP: 30.5 pages and 31.5 lines at m = 19", function()
    local r = profile("GUP", { size = "S" })["update atomic Tab"]
    near(r.pages, 30.5, 5, "pages")
    near(r.lines, 31.5, 5, "lines")
    near(r.count, 2 * 4 * 2 ^ 19 / 32, 0, "atomics")
end)

test("GUP: 31.9 pages at m = 23", function()
    local r = profile("GUP", { size = "M", updates = 8 }, { every = 8 })
    near(r["update atomic Tab"].pages, 31.9, 5, "pages")
end)

test("BP: two lines, 1.03 pages a weight access", function()
    local r = profile("BP", { size = "S" }, { every = 3 })
    near(r["forward load w"].lines, 2, 3, "lines")
    near(r["forward load w"].pages, 1.03, 1, "pages")
    near(r["forward load input"].lanes, 2, 0, "lanes that load the input")
end)

test("HS: 31.6 lanes, 2.9 lines, one page at 512, two from 1024", function()
    local small = profile("HS", { size = "S", n = 512, steps = 2 })
    local r = small["hotspot_temp0_2 load temp0"]
    near(r.lanes, 31.6, 1, "lanes")
    near(r.lines, 2.9, 3, "lines")
    near(r.pages, 1, 1, "pages at 512")
    r = profile("HS", { size = "S", steps = 2 })["hotspot_temp0_2 load temp0"]
    near(r.pages, 2, 1, "pages at 1024")
    -- 16 x 16 tiles at a distance of 12
    near(r.count * r.lanes / 1024 ^ 2, (16 / 12) ^ 2, 1, "reads a cell")
end)

test("CONS: two pages in both kernels, 1.25 and 1.5 reads", function()
    local r = profile("CONS", { size = "S", repeats = 1 })
    local pixels = 3072 * 1536
    near(r["rows load In"].pages, 2, 0.1, "pages of rows")
    near(r["columns load Buf"].pages, 2, 0.1, "pages of columns")
    near(r["rows load In"].count * 32 / pixels, 1.5, 2, "reads of rows")
    near(r["columns load Buf"].count * 32 / pixels, 1.5, 2, "of columns")
    near(r["rows store Buf"].count * 32 / pixels, 1, 0, "stores")
end)

test("LUD: two lines, one page at 512, two from 2048", function()
    local r = profile("LUD", { size = "S", n = 512, steps = 1 })
    near(r["internal load m"].pages, 1, 0, "pages at 512")
    near(r["internal load m"].lines, 2, 0, "lines")
    r = profile("LUD", { size = "S", steps = 1 }, { every = 16 })
    near(r["internal load m"].pages, 2, 0, "pages at 2048")
    near(r["perimeter load m"].lanes, 16, 0, "lanes of half a warp")
end)

test("MM: A one line, B two pages, a new page each round", function()
    local r = profile("MM", { size = "S", rounds = 4 }, { every = 7 })
    near(r["sgemm load A"].lines, 1, 0, "lines of A")
    near(r["sgemm load B"].pages, 2, 3, "pages of B")
    near(r["sgemm load C"].pages, 1, 0, "pages of C")
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

test("NN: one page, 25 lanes", function()
    local r = profile("NN", { size = "T" })
    near(r["layer2 load L2n"].lanes, 25, 0, "lanes")
    near(r["layer2 load L2n"].pages, 1.1, 10, "pages")
    near(r["layer3 load L3w"].lanes, 1, 0, "one thread")
end)

-- The published 6.2 pages of cost[] count every neighbour, visited or not.
test("BFS2: lanes and pages of the (5,10) graph", function()
    local r = profile("BFS2", { size = "S" })
    near(r["bfs1 load edge"].lanes, 8.0, 10, "active lanes")
    near(r["bfs1 load edge"].pages, 1.27, 10, "pages of the lists")
    near(r["bfs1 load vis"].pages, 3.8, 10, "pages of vis")
    local w = app.get("BFS2"):workload { size = "S" }
    local vis = walk.buffers(w)[5]
    assert(vis.name == "vis", "fifth buffer")
    local gathers, pages = 0, 0
    walk.each(w, function(e)
        if e.kind ~= "load" or e.kernel ~= "bfs1" then return end
        local seen, n = {}, 0
        for _, at in pairs(e.addr) do
            local v = at - vis.base
            if v < 0 or v >= vis.bytes then return end
            local page = 4 * v >> 12
            if not seen[page] then seen[page], n = true, n + 1 end
        end
        gathers, pages = gathers + 1, pages + n
    end)
    near(pages / gathers, 6.2, 10, "pages of cost")
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
    local before = profile("COLOR", { size = "S" }, { launches = 4 })
    local after = profile("COLOR", { size = "S" }, { launches = 6 })
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
    local r = profile("COLOR", { size = "S", n = 1000000, width = 1000 })
    near(r["color1 exit"].count, 8 * 31256, 0, "warps of color1")
    near(r["color1 store max"].count * r["color1 store max"].lanes / 1e6,
        1 + .60 + .23 + .05 + .006, 5, "nodes without a colour, all rounds")
end)

print("1.." .. #tests)
for i, t in ipairs(tests) do
    local ok, err = pcall(t[2])
    print((ok and "ok " or "not ok ") .. i .. " - " .. t[1])
    if not ok then print("# " .. tostring(err):gsub("\n", "\n# ")) end
end
