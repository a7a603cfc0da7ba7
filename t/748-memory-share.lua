-- 748-memory-share.lua - pins: memory = "75%" of H.sim is this share of the bytes
-- that the applications touch, found in a run with memory for all, rounded up to
-- what migrates together, with the page tables on top; results, text and the
-- settings say so; the bytes do not depend on what a series compares, but on a
-- budget; they are found once, kept in the store, and by a series before its
-- processes begin; nothing that the command does with a script's simulations
-- reaches that run; what is wrong is refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local script = require "heddle.script"
local touched = require "heddle.touched"
local sims = require "heddle.sim"

script.store = files.folder()

--- Runs with memory for all that were made since the last question.
local runs, new = 0, sims.sim
function sims.sim(o)
    runs = runs + (o.label == "memory for all" and 1 or 0)
    return new(o)
end

local function made()
    local n = runs
    runs = 0
    return n
end

--- An application that loads from so many pages of 4 KB of a buffer of 256, again
-- and again where it never ends; loads: how often at first.
local function pages(n, endless)
    return H.generator {
        name = "pages" .. n, source = "this test", align = 2 << 20,
        buffers = { H.kernel.f32("data", 256 * 1024) },
        kernels = { { name = "touch", grid = 1, block = 32, warp = function(t, b)
            repeat
                for i = 0, n - 1 do
                    t:load(b.data, function(lane) return i * 1024 + lane end)
                    t:alu(1)
                end
            until not endless
        end } },
    }
end

local FORTY = pages(40)
local TABLES = 256 * 4096

local function options(more, settings)
    local o = { machine = "maxwell", apps = { FORTY }, memory = "75%",
        progress = false, settings = { ["core.count"] = 2,
            ["vm.paging"] = "fault", ["vm.table_frames"] = 256,
            ["link.latency"] = 1000 } }
    for k, v in pairs(settings or {}) do
        o.settings[k] = v
    end
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return o
end
--- What memory such a simulation has.
local function memory(more, settings)
    local sim <close> = H.sim(options(more, settings))
    return sim:results().memory
end

-- ---- numbers --------------------------------------------------------------------

local sim = H.sim(options())
tap.is(made(), 1, "a run finds what is touched")
sim:run()
local r = sim:results()
tap.same(r.memory, { share = "75%", touched = 40 * 4096, for_pages = 30 * 4096,
    bytes = TABLES + 30 * 4096 }, "75 % of 40 pages are 30, page tables on top")
tap.is(r.config["vm.memory_bytes"], tostring(TABLES + 30 * 4096),
    "the setting is what they need")
tap.ok(require("heddle.report").format(r):find("memory: 75% of the 163840 bytes "
    .. "that the applications touch: 122880 bytes, and 1048576 for page tables\n",
    1, true), "the text says so")
tap.ok(require("heddle.csv").long(r):find("sim,,memory_touched,bytes,163840", 1,
    true), "and CSV")
local path = script.store .. "/settings"
H.config_write(path, sim)
tap.ok(files.read(path):find("vm.memory_bytes = 1171456 *# bytes; 75%% of the "
    .. "163840 bytes that the applications touch"), "and the settings' source")
tap.ok(H.report.counter(r, "evict.evictions") > 0, "it is too little")
sim:close()
local full <close> = H.sim(options { memory = "100%" })
full:run()
tap.is(H.report.counter(full:results(), "evict.evictions"), 0,
    "100 % is enough")
tap.is(made(), 0, "without another run: it is known")
for share, want in pairs { ["150%"] = 60, [" 12.5 % "] = 5, ["51%"] = 21,
    ["0.1%"] = 1, ["1000%"] = 400 } do
    tap.is(memory({ memory = share }).for_pages, want * 4096,
        share .. ", rounded up to whole pages")
end

-- ---- what migrates together -----------------------------------------------------

for what, of in pairs {
    ["64 KB transfers"] = { 2, { ["fault.transfer"] = "64K" } },
    ["pages of 64 KB"] = { 2, { ["vm.page"] = "64K" } },
    ["pages of 2 MB"] = { 32 , { ["vm.page"] = "2M" } },
    ["the driver's chunks"] = { 32, { ["uvm.mode"] = "driver" } },
    ["the driver without chunks"] = { 30 / 16, { ["uvm.mode"] = "driver",
        ["uvm.chunks"] = false } },
} do
    local m = memory(nil, of[2])
    tap.ok(m.for_pages == of[1] * 65536 and m.touched == 40 * 4096,
        what .. ": whole ones of them, of the same touched bytes", m.for_pages)
end

-- ---- what they do not depend on ---------------------------------------------------

local DESIGNS = {
    { settings = { ["fault.prefetch"] = "locality" } },
    { settings = { ["fault.prefetch"] = "tree", ["evict.unit"] = "64K" } },
    { settings = { ["l2tlb.entries"] = 64, ["l1cache.mode"] = "off" } },
    { settings = { ["remote.access"] = "remote" } },
    { more = { policies = { "srrip" } } },
    { more = { machine = "mosaic" } },
}
made()
for i, d in ipairs(DESIGNS) do
    tap.is(memory(d.more, d.settings).touched, 40 * 4096,
        ("design %d has the same memory"):format(i))
end
tap.ok(made() <= 1, "which is found again for another machine at most")

local two = memory { apps = { FORTY, pages(24) } }
tap.is(two.touched, 64 * 4096, "of two applications it is the sum")

local cut = memory { apps = { H.program(FORTY, { budget = 20 }) } }
tap.is(cut.touched, 10 * 4096, "what a budget cuts off is not touched")
local by_setting = memory { budget = 20 }
tap.is(by_setting.touched, cut.touched, "as the option sets it")

-- ---- found once ---------------------------------------------------------------------

local function library(more)
    more = more or {}
    more.apps = { H.app("ATAX", { size = "T" }) }
    return memory(more)
end

made()
local first = library()
tap.is(made(), 1, "of a program of the library it is found")
tap.is(first.touched, 67 * 4096, "which touches 67 pages")
touched.known = {}
tap.same(library(), first, "another process finds the same")
tap.is(made(), 0, "in the store")
tap.is(#require("heddle.store").names(script.store), 1, "where it is one file")
touched.known = {}
library { seed = 2 }
tap.is(made(), 1, "with another seed it is found again")

touched.known = {}
made()
local series = H.run({
    options { apps = { H.app("BP", { size = "T" }) }, label = "75" },
    options { apps = { H.app("BP", { size = "T" }) }, label = "50",
        memory = "50%" },
    options { apps = { H.app("GUP", { size = "T" }) }, label = "other" },
}, { jobs = 2, progress = false })
tap.ok(series[1].memory.touched == series[2].memory.touched
    and series[2].memory.for_pages < series[1].memory.for_pages,
    "jobs of a series have their shares")
tap.is(#require("heddle.store").names(script.store), 4,
    "what they touch was found once for two applications")
tap.is(made(), 0, "in processes beside each other")
local own = pages(17)
H.run({ options { apps = { own }, memory = "80%" }, options { apps = { own } } },
    { progress = false })
tap.is(made(), 1, "of a program of the script, which has no text, here")

script.options.checkpoint = { path = script.store .. "/c", files = 0,
    seconds = 60 }
memory({ seed = 4 })
tap.is(script.options.checkpoint.files, 1,
    "for --checkpoint there is only the simulation of the script")
script.options.checkpoint = nil

-- ---- refused ------------------------------------------------------------------------

local function refused(more, settings, ...)
    local ok, err = pcall(memory, more, settings)
    local text = not ok and err.message or "it was taken"
    for _, part in ipairs { ... } do
        tap.ok(text:find(part, 1, true), "refused: " .. part, text)
    end
end

refused({ memory = "0%" }, nil, "more than 0 %", "'0%'")
refused({ memory = "0.0%" }, nil, "more than 0 %")
refused({ memory = "1001%" }, nil, "at most 1000 %")
for text, what in pairs { ["75"] = "'75'", [""] = "''", ["x%"] = "'x%'",
    ["-5%"] = "'-5%'", ["1.2.3%"] = "'1.2.3%'", [0.75] = "0.75",
    [true] = "a boolean" } do
    refused({ memory = text }, nil, 'such as "75%", not ' .. what,
        "vm.memory_bytes")
end
refused(nil, { ["vm.paging"] = "none" }, "vm.paging = fault, not none")
refused(nil, { ["vm.paging"] = "launch" }, "vm.paging = fault, not launch")
refused(nil, { ["vm.memory_bytes"] = 2 << 20 }, "not both")
touched.PATIENCE = 100000
refused({ apps = { pages(3, true) } }, nil, "one that never ends needs a budget",
    "touched no new page")
tap.is(memory({ apps = { pages(3, true) }, budget = 100 }).touched, 3 * 4096,
    "with one its share is found")

os.execute("rm -r " .. files.quote(script.store))
return tap.done()
