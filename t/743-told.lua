-- 743-told.lua - pins: results have warnings on what their run was:
-- a first kernel that was cut, a policy that nothing asks, walks whose results
-- are kept nowhere, pages that are smaller than vm.page, what is wrong with a
-- trace; of a series, less memory that was faster than memory for all; and pages
-- are counted by their size, as the page table has them.  A plain run is told
-- nothing.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local function tiny(name)
    return H.app(name, { size = "T" })
end

--- What is told of a run, one text a line; its results.
local function told(more)
    local o = { machine = "maxwell", apps = { tiny "ATAX" }, check = true }
    local sim <close> = H.sim(whole.join(o, more))
    sim:run()
    local r = sim:results()
    local text = table.concat(r.told or {}, "\n")
    local shown = H.report.format(r)
    for _, line in ipairs(r.told or {}) do
        tap.ok(shown:find("\n" .. line .. "\n", 1, true), "shown: " .. line,
            shown)
    end
    return text, r
end

tap.is(told {}, "", "nothing is told of a plain run")

-- ---- runs that were cut -----------------------------------------------------

tap.is(told { apps = { tiny "LUD" }, budget = 300 }, "LUD was cut in its first "
    .. "kernel (diagonal, 0 of 1 blocks done): its numbers say nothing of the 9 "
    .. "others", "a budget within the first kernel")
tap.is(told { apps = { tiny "LUD" }, stop_cycles = 300 }, "LUD was cut in its "
    .. "first kernel (diagonal, 0 of 1 blocks done): its numbers say nothing of "
    .. "the 9 others", "a run that was stopped there")
tap.is(told { apps = { tiny "GUP" }, stop_cycles = 300 },
    "GUP was cut in its only kernel (update, 0 of 4 blocks done)",
    "in the only one")
tap.is(told { apps = { tiny "LUD" }, stop_cycles = 100000 }, "",
    "not a run that was cut later")
do
    local _, full = told { apps = { tiny "LUD" } }
    local text, r = told { apps = { tiny "LUD" },
        budget = full.kernels[1].instructions + 50 }
    tap.ok(r.apps[1].truncated and text == "",
        "nor one that was ended behind its first kernel", text)
end

-- ---- policies -----------------------------------------------------------------

local function pass() end
tap.is(told { policies = { { name = "own", region_coalesce = pass, region_split = pass } } },
    "policy own was never asked (it answers region_coalesce, region_split)",
    "a policy that was never asked")
tap.is(told { policies = { { name = "own", region_split = pass, tlb_fill = pass } } }, "",
    "one that was asked something")
tap.is(told { policies = { { name = "own", tlb_fill = pass,
    page_prefetch = pass, page_compress = pass } } }, "policy own answers "
    .. "page_prefetch, page_compress, which this machine never asks",
    "points of structures that are off")
for _, use in ipairs { "cpm", "policies/cpm.lua" } do
    tap.is(told { policies = { { use = use } } }, "policy cpm answers thread_join, "
        .. "which this machine never asks: core.compact is false",
        use .. " without compaction")
end
tap.is(told { policies = { { name = "own", watch = { walk_done = pass } } } }, "",
    "one that only watches")
local function aside() return "bypass" end
local text, r = told { policies = { { name = "own", tlb_fill = aside } } }
local lost = H.report.counter(r, "mmu.unfilled")
tap.is(text, ("the results of %d walks were kept nowhere: a policy sends them to "
    .. "the bypass cache, or to none, and bypass.entries is 0"):format(lost),
    "a bypass cache that is off")
tap.ok(lost > 0, "as counted", lost)
tap.is(told { policies = { { name = "own", tlb_fill = aside } },
    settings = { ["bypass.entries"] = 32 } }, "", "and one that is there")
tap.ok(told { apps = { tiny "BFS2", tiny "GUP" }, policies = { { use = "mask",
    epoch = 1000 } } }:find("kept nowhere", 1, true), "MASK without it")

-- ---- pages ----------------------------------------------------------------------

for _, page in ipairs { "4K", "64K", "2M" } do
    local sim <close> = H.sim { machine = "maxwell", check = true,
        apps = { tiny "ATAX", H.app("GUP", { size = "S" }) },
        settings = { ["vm.page"] = page, ["vm.memory_bytes"] = 1 << 30 } }
    sim:run(500)
    local got, want = {}, {}
    for app = 0, 1 do
        local c, by = sim:counters { app = app }, { ["64 KB"] = 0, ["2 MB"] = 0 }
        for _, run in ipairs(sim:look("pagetable", app)) do
            by[run.size] = (by[run.size] or 0) + run.pages
        end
        got[app + 1] = c.memory.pages_64k_peak .. " " .. c.memory.pages_2m_peak
        want[app + 1] = by["64 KB"] // 16 .. " " .. by["2 MB"] // 512
    end
    tap.same(got, want, ("vm.page = %s: pages are counted by size"):format(page))
    tap.ok(page == "4K" or got[2] ~= "0 0", "and some are large", got[2])
end

local function small(settings)
    return told { apps = { tiny "ATAX" }, settings = settings }
end
tap.is(small { ["vm.page"] = "2M" }, "ATAX: vm.page = 2M, but 67 of 67 base pages "
    .. "(100.0 %) are pages of 4 KB, where allocations have no whole page; "
    .. "vm.round = true rounds them up", "a page size that cannot be had")
tap.is(small { ["vm.page"] = "64K" }, "ATAX: vm.page = 64K, but 3 of 67 base "
    .. "pages (4.5 %) are pages of 4 KB, where allocations have no whole page; "
    .. "vm.round = true rounds them up", "in part")
tap.is(small { ["vm.page"] = "64K", ["vm.round"] = true }, "",
    "nothing where it is rounded up")

-- ---- traces -----------------------------------------------------------------------

local files = require "lib.files"
local dir = files.folder()

--- A trace of one warp, whose header says `registers`; it ends with `last`.
local function trace(name, registers, last)
    files.write(dir .. "/" .. name, ([[
-kernel name = k
-kernel id = 1
-grid dim = (1,1,1)
-block dim = (32,1,1)
-nregs = %d
-binary version = 20
-accelsim tracer version = 4
#traces format = x
#BEGIN_TB
thread block = 0,0,0
warp = 0
insts = 4
0000 00000003 0 STG.E 2 R1 R4 4 1 0x0 4 0
0010 00000003 0 STG.E 2 R1 R4 4 0 0x100 0x0 0
0020 00000003 0 FROB 2 R1 R4 4 1 0x100 4 0
0030 ffffffff 0 EXIT 0 0 0
%s]]):format(registers, last))
    return dir .. "/" .. name
end

do
    local path = trace("w.traceg", 300, "")
    require("heddle.trace").convert(path, dir .. "/w.hdt")
    local want = {}
    for i, line in ipairs {
        "2 memory instructions with address 0 in an active lane; first: %s:13",
        "1 unknown opcodes with addresses, taken as ALU; first: %s:15",
        "1 files whose last thread block has no #END_TB; first: %s:16",
        "1 kernels of more than 255 registers a thread; first: %s:5",
        "1 kernels of a binary version below 35; first: %s:6" } do
        want[i] = "w: " .. line:format(path)
    end
    want = table.concat(want, "\n")
    for _, name in ipairs { "/w.traceg", "/w.hdt" } do
        tap.is(told { apps = { H.trace(dir .. name, { label = "w" }) } }, want,
            "what is wrong with a trace: " .. name)
    end
    local good = files.read(path):gsub("= 300", "= 255"):gsub("= 20", "= 35")
        :gsub("insts = 4\n.*\n(0030)", "insts = 1\n%1") .. "#END_TB\n"
    files.write(dir .. "/good.traceg", good)
    tap.is(told { apps = { H.trace(dir .. "/good.traceg") } }, "",
        "nothing of another")
    local fixed = { registers = 32, binary_version = 70, shared_bytes = 0 }
    local repaired = told { apps = { H.trace(path, fixed) } }
    tap.ok(repaired:find "#END_TB" and not repaired:find "kernels",
        "nor of a header that is repaired", repaired)
    fixed.strict = true
    for _, name in ipairs { "/w.traceg", "/w.hdt" } do
        local ok, err = pcall(H.sim, { machine = "maxwell",
            apps = { H.trace(dir .. name, fixed) } })
        tap.ok(not ok and err.code == -4 and err.message:find(path
            .. ":13: memory instructions with address 0", 1, true),
            "strict: an error with its place: " .. name, err.message)
    end
end

-- ---- who looks at a number alone ------------------------------------------------

do
    local function said(body)
        files.write(dir .. "/x.lua", ([[
            local H = require "heddle"
            local o = { machine = "maxwell", apps = { H.app("ATAX",
                { size = "T" }) }, settings = { ["vm.page"] = "2M" } }
            local sim = H.sim(o)
            sim:run()
            %s]]):format(body))
        files.output(("(%s run %s/x.lua >/dev/null 2>%s/err)"):format(
            files.HEDDLE, files.quote(dir), files.quote(dir)))
        return files.read(dir .. "/err")
    end
    local TEXT = "^heddle: ATAX: vm.page = 2M, but 67 of 67 [^\n]*\n$"
    tap.ok(said [[print(H.report.metric(sim:results(), "ipc"))]]:find(TEXT),
        "it is said when the command ends", files.read(dir .. "/err"))
    tap.ok(said [[H.run { o, { machine = o.machine, apps = o.apps, seed = 2,
        settings = o.settings } }]]:find(TEXT), "of jobs, too, and once",
        files.read(dir .. "/err"))
    tap.is(said "H.report.text(sim:results())", "", "not what a report shows")
    tap.ok(said [[local list = {}
        for i = 1, 9 do
            list[i] = { machine = "maxwell", apps = o.apps,
                stop_cycles = 20000, policies = { { name = "p" .. i,
                region_split = function() end } } }
        end
        H.run(list)]]:find("^heddle: ATAX was cut in its first [^\n]*\n"
        .. "heddle: policies that were never asked: p1, p2, p3, p4, p5, p6, "
        .. "%.%.%. %(9 warnings, in results%.told%)\n$"),
        "one line for each kind", files.read(dir .. "/err"))
    tap.is(said [[for _, text in ipairs {
            "A was cut in its only kernel (k, 26 of 512 blocks done)",
            "the results of 7 walks were kept nowhere: a policy ...",
            "B was cut in its only kernel (m, 3 of 64 blocks done)",
            "A: vm.page = 2M, but 67 of 67 base pages (100.0 %) are pages of 4 KB, w",
            "A was cut in its only kernel (k, 26 of 512 blocks done)",
            "B: vm.page = 2M, but 3 of 67 base pages (4.5 %) are pages of 4 KB, w",
            "the results of 9 walks were kept nowhere: a policy ...",
            "A was cut in its only kernel (k, 5 of 512 blocks done)" } do
            require("heddle.script").warn { told = { text } }
        end]], "heddle: cut in the only kernel, 3 to 26 of 64 to 512 blocks done: A, B "
        .. "(3 warnings, in results.told)\nheddle: results of walks were kept nowhere, "
        .. "since a policy sends them to the bypass cache, or to none, and "
        .. "bypass.entries is 0: 7 to 9 walks (2 warnings, in results.told)\n"
        .. "heddle: pages of 4 KB where vm.page is larger, and allocations have no "
        .. "whole page, 4.5 to 100.0 % of the base pages: A, B (2 warnings, in "
        .. "results.told)\n", "with the range of its numbers, and whom it is about")
    tap.ok(said [[for i = 1, 9 do
            require("heddle.script").warn { told = { "text " .. i } }
        end]]:find "text 6\nheddle: and 3 more warnings, in results.told\n$",
        "nor more than a few", files.read(dir .. "/err"))
    trace("large.traceg", 21971, "#END_TB\n")
    tap.ok(said([[H.sim { machine = "maxwell", apps = { H.trace(H.here(
        "large.traceg")) } }:run()]]):find("^heddle: large.traceg: 2 memory "
        .. "[^\n]*\nheddle: [^\n]*\nheddle: large.traceg: 1 kernels of more "
        .. "than 255 registers a thread; first: [^\n]*:5\nheddle: [^\n]*version "
        .. "below 35[^\n]*\nheddle: [^\n]*does not fit a core"),
        "nor is it lost where the run fails", files.read(dir .. "/err"))
    for n = 1, 2 do
        local function jobs(options)
            return said(([[local function job(seed)
                return { machine = "maxwell", seed = seed,
                    apps = { H.trace(H.here("large.traceg")) } }
            end
            local list = H.run({ job(1), job(2) }, { jobs = %d, %s })
            print(#list)]]):format(n, options))
        end
        for _, options in ipairs { "", "keep = true" } do
            text = jobs(options)
            tap.ok(text:find("^heddle: large.traceg: 2 memory [^\n]*\nheddle: "
                .. "[^\n]*\nheddle: large.traceg: 1 kernels of more than 255 "
                .. "[^\n]*\nheddle: [^\n]*version below 35[^\n]*\n")
                and not text:find "address 0.*address 0"
                and (options ~= "") == not text:find "does not fit a core",
                ("nor where a job fails, %d at once %s"):format(n, options), text)
        end
        tap.ok(said(([[H.run({ function()
                local s <close> = H.sim { machine = "maxwell", apps = { H.trace(
                    H.here("w.hdt")) }, settings = { ["vm.page"] = "2M" } }
                s:run()
                return s:results().cycles
            end, function() return 1 end }, { jobs = %d })]]):format(n))
            :find "^heddle: w: 2 memory .*\nheddle: w: vm.page = 2M",
            n .. " at once: what a function's results report is said, too",
            files.read(dir .. "/err"))
    end
    do
        local path = files.quote(dir)
        local function apps(words)
            return files.output(("(%s apps %s 2>&1)"):format(files.HEDDLE, words))
        end
        text = apps(path .. "/w.hdt kernels=0")
        tap.ok(text:find "\nw: 2 memory instructions with address 0 [^\n]*:13\nw: "
            and select(2, text:gsub("address 0", "")) == 1,
            "heddle apps says what is wrong with a trace", text)
        text = apps(path .. "/w.hdt timed=0 format=json")
        tap.ok(text:find '"told": ?%[%s*"w: 2 memory', "in JSON, too", text)
        text = apps(path .. "/large.traceg survey=0")
        tap.ok(text:find "does not fit a core.*\nlarge.traceg: 2 memory ",
            "and of one that cannot be run", text)
    end
end

-- ---- less memory that was faster ------------------------------------------------

-- Cycles are set here: whether such a run exists is the machine's business.
do
    local function run(bytes)
        local sim <close> = H.sim { machine = "maxwell", apps = { tiny "GUP" },
            settings = { ["core.count"] = 2, ["vm.paging"] = "fault",
                ["vm.table_frames"] = 256, ["vm.memory_bytes"] = bytes,
                ["evict.unit"] = "4K", ["link.latency"] = 1000 } }
        sim:run()
        return sim:results()
    end
    local much, little, less = run(16 << 20), run(265 * 4096), run(262 * 4096)
    local function evicted(x)
        return H.report.counter(x, "evict.evictions") > 0
    end
    tap.ok(not evicted(much) and evicted(little) and evicted(less),
        "there is memory for all, and two have too little")
    local function series(cycles, ...)
        local jobs = {}
        for i, x in ipairs { much, little, less } do
            jobs[i] = function()
                x.cycles = cycles[i]
                return x
            end
        end
        return H.run({ table.unpack(jobs, 1, ... or 3) }, { jobs = 1,
            progress = false })
    end
    local TEXT = "GUP is faster with less memory: 90 core cycles in 1085440 "
        .. "bytes, and 100 in 16777216, where nothing is evicted"
    local got = series { 100, 90, 110 }
    tap.is(table.concat(got[2].told or {}, "\n"), TEXT, "it is told so")
    tap.ok(not got[1].told and not got[3].told, "and no other is")
    require("heddle.script").series = {}
    got = series { 100, 100, 120 }
    tap.ok(not got[2].told and not got[3].told, "of equal ones none is")
    local kind, about = require("heddle.warnings").kind(TEXT)
    tap.ok(kind:find "^faster with less memory" and about == "GUP", "it is a kind of its own", kind)
    -- The run with memory for all may be of an earlier series.
    require("heddle.script").series = {}
    series({ 100, 0, 0 }, 1)
    local alone = H.run({ function()
        little.cycles = 90
        return little
    end }, { jobs = 1, progress = false })
    tap.is(table.concat(alone[1].told or {}, "\n"), TEXT, "in another series, too")
    much.config["l2tlb.entries"] = "1"
    require("heddle.script").series = {}
    got = series { 100, 90, 110 }
    tap.ok(not got[2].told, "but not of another machine")
end

os.execute("rm -rf " .. dir)
tap.done()
