-- 603-which.lua - pins: where several conditions are to hold, the message names the
-- one that does not, with the numbers: of settings, of buffers and their data, of
-- policies, of files of parts.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local part = require "heddle.part"
local program = require "heddle.program"
local generate = require "heddle.generate"

local function machine(settings, apps)
    return function()
        H.sim { machine = "maxwell", settings = settings,
            apps = apps or { H.app("GUP", { size = "T" }) }, progress = false }:close()
    end
end

-- ---- settings ----------------------------------------------------------------

for _, case in ipairs {
    { { ["vm.memory_bytes"] = (64 << 20) + 1 }, "vm.memory_bytes: 67108865 is not "
        .. "a multiple of the 4096 bytes of a frame" },
    { { ["vm.memory_bytes"] = 1 << 20, ["vm.table_frames"] = 256 },
        "vm.memory_bytes: 1048576 are 256 frames; more than vm.table_frames = 256 "
        .. "are expected" },
    { { ["vm.memory_bytes"] = 16 << 40, ["vm.paging"] = "fault" },
        "vm.memory_bytes: 17592186044416; with vm.paging=fault at most "
        .. "8796093022208 (8 TB) are expected" },
    { { ["l2tlb.sub_ways"] = 4, ["walk.mode"] = "fixed:100" },
        "walk.mode = fixed: with l2tlb.sub_ways = 4 only full is possible, as "
        .. "other walks read no page table" },
    { { ["l2tlb.sub_ways"] = 4, ["l2tlb.mode"] = "ideal" },
        "l2tlb.mode = ideal: with l2tlb.sub_ways = 4 only full is possible, as "
        .. "there are no entries otherwise" },
    { { ["l2tlb.sub_ways"] = 9, ["l2tlb.ways"] = 8 }, "l2tlb.sub_ways = 9: at "
        .. "most the 8 ways of a set (l2tlb.ways) are possible" },
    { { ["l2tlb.sub_ways"] = 4, ["l2tlb.ways"] = 32 }, "l2tlb.ways = 32, sets of "
        .. "32: with l2tlb.sub_ways = 4 at most 16 ways are possible" },
    { { ["l1tlb.ranges"] = true, ["l1tlb.large_entries"] = 8,
        ["l1tlb.large_ways"] = 2 }, "l1tlb.ranges: large_entries are expected in "
        .. "one set (large_ways = 0), not in 4" },
    { { ["l1tlb.ranges"] = true, ["l1tlb.large_entries"] = 8,
        ["l1tlb.group_index"] = true }, "l1tlb.ranges: group_index = false is "
        .. "expected" },
    { { ["l1tlb.merge_pages"] = 5 }, "l1tlb.merge_pages: 5; a group of 2, 4, 8 or "
        .. "16 pages is expected" },
    { { ["pwc.mode"] = "full", ["pwc.entries"] = 6, ["pwc.ways"] = 4 },
        "pwc.entries: 6; a multiple of pwc.ways = 4 is expected" },
    { { ["pwc.mode"] = "full", ["pwc.line"] = 24 }, "pwc.line: 24; a power of two "
        .. "of at least 8 is expected" },
    { { ["uvm.mode"] = "driver", ["vm.paging"] = "fault",
        ["fault.serial"] = true, ["fault.batch"] = 1 }, "fault.serial=false is "
        .. "expected with it" },
    { { ["uvm.mode"] = "driver", ["vm.paging"] = "fault", ["fault.batch"] = 3 },
        "fault.batch=1 is expected with it" },
    { { ["l2cache.partition"] = true, ["l2cache.ways"] = 32 },
        "l2cache.partition: 32 ways; at most 16 can be shared" },
} do
    tap.raises(machine(case[1]), case[2], case[2])
end

-- ---- buffers -----------------------------------------------------------------

local function buffer(type, count, data)
    return function() program.new "p":buffer("b", type, count, true, data) end
end
local data = generate.ints { n = 100, lo = 0, hi = 9 }
tap.raises(buffer("u32", 100, data), "its data is of type i32, and the buffer of "
    .. "u32", "another type")
tap.raises(buffer("i32", 64, data), "its data has 100 elements, and the buffer 64",
    "more elements")

-- ---- policies ----------------------------------------------------------------

local function policy(fields)
    return function() H.policy.describe(fields) end
end
for _, case in ipairs {
    { { name = ("x"):rep(32) }, "1 to 31 bytes are expected, not 32" },
    { { name = "a b" }, "letters, digits and signs are expected, not ' '" },
    { { name = "p", counters = { ["1x"] = {} } }, "counters.1x: a name of letters" },
    { { name = "p", counters = { [("x"):rep(31)] = {} } }, "a name of at most 30 "
        .. "bytes is expected, not of 31" },
    { { name = "p", counters = { x = { unit = "u", meaning = "m", kind = "sum" } } },
        "counters.x.kind is one of count, peak, histogram, series, not 'sum'" },
    { { name = "p", counters = { x = { unit = "u" } } }, "counters.x.meaning: a "
        .. "text is expected, not a nil" },
    { { name = "p", params = { x = 1.5 } }, "params.x must be a table or an "
        .. "integer, not a float" },
    { { name = "p", every = { 0, print } }, "or the name of a parameter, not 0" },
} do
    tap.raises(policy(case[1]), case[2], case[2])
end

for form, name in pairs { C = "mask", Lua = "policies/mask.lua" } do
    for want, settings in pairs {
        ["l2tlb.mode = full is expected"] = { ["l2tlb.mode"] = "off" },
        ["walk.per_core = false is expected"] = { ["walk.per_core"] = true },
    } do
        tap.raises(function()
            local sim <close> = H.sim { machine = "maxwell", settings = settings,
                apps = { H.app("GUP", { size = "T" }) }, progress = false,
                policies = { name } }
            sim:run(1000)
        end, want, ("mask in %s: %s"):format(form, want))
    end
end

-- ---- the rest ----------------------------------------------------------------

local path = os.tmpname()
for text, want in pairs {
    ["0x40 REA\0D\n"] = ":1: byte 9 of the line is a NUL",
    ["0x40 READ" .. (" "):rep(5000) .. "\n"] = ":1: the line has 5010 bytes; at "
        .. "most ",
} do
    files.write(path, text)
    tap.raises(function() part.dram({}):load(path) end, want, want)
end
os.remove(path)

local function loads(vec, type)
    return machine({}, { H.kernel.app { name = "a",
        buffers = function() return { H.kernel[type]("b", 4096) } end,
        kernels = function(_, b) return { H.kernel.kernel("k", { block = 32 },
            function(t) t:load(b.b, t.gid * vec, { vec = vec }) end) }
        end } })
end
tap.raises(loads(3, "f32"), "vec is 1, 2, 4, 8 or 16, not 3", "a vector of three")
tap.raises(loads(4, "f64"), "vec = 4 of f64 are 32 bytes; at most 16 are expected",
    "one too long")
tap.raises(function()
    local sim <close> = H.sim { machine = "maxwell", progress = false,
        apps = { H.generator { name = "g", source = "this test",
            buffers = { H.kernel.f32("a", 4096) },
            kernels = { { name = "k", grid = 1, block = 32,
                warp = function(t) t.load(5) end } } } } }
    sim:run()
end, "the t of the warp is expected, not a number", "a call without the t")

return tap.done()
