-- 826-contig.lua - the bits of vm.scan beside what else becomes of pages.
--
-- The part's check compares them with a walk for every page, at every step of
-- what follows.  Pages that come from the host 64 KB at a time make a subregion
-- contiguous with its last; each change leaves the walk cache, which costs reads
-- and no result.  Under eviction, freeing and compaction they stay true.  Of a
-- region that is coalesced the large bit wins, and compressed pages are neither
-- coalesced nor contiguous, unless a policy has them stored as they are.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

local HOST = { ["vm.paging"] = "fault", ["link.latency"] = 1000,
    ["link.bandwidth"] = 100000000000, ["sim.relaunch"] = false }
local UNITS = whole.join(HOST, { ["fault.transfer"] = "64K",
    ["evict.unit"] = "64K" })

--- Counters at the end of a run with the bits, and its statistics.
local function run(apps, settings, policies, machine)
    local sim <close> = whole.sim(apps, whole.join(whole.SMALL,
        { ["vm.scan"] = true }, settings), { check = true,
        machine = machine or "mesc" })
    for _, p in ipairs(policies or {}) do
        sim:use(table.unpack(p))
    end
    for _ = 1, 40 do
        if sim:run(2000) == "done" then
            break
        end
        sim:check()
    end
    sim:run(1 << 40)
    sim:check()
    return sim:counters(), whole.statistics(sim)
end

for n = 3, 5 do
    local c = run({ whole.touch(n, 64 << 10, "load") }, UNITS)
    tap.is(c.fault.pages, n * 16, n .. " units of 64 KB came")
    tap.is(c.memory.contiguous_peak, n >= 4 and 64 or 0,
        n .. ": contiguous when all four are there")
end

-- a subregion more each 64 pages, eight of which are all there is
local small = { whole.touch(512, 4096, "load") }
local c = run(small, HOST)
tap.is(c.memory.contiguous_peak, 512, "page by page all are")
tap.is(c.memory.contiguous_2m_peak, 512, "and the region is, as a whole")
tap.is(c.pwc.invalidations > 0, true, "its entry left the walk cache")
local plain = run(small, whole.join(HOST, { ["vm.scan"] = false }))
tap.is(plain.pwc.invalidations, 0, "which nothing does without the bits")
tap.is(plain.memory.contiguous_peak, 0, "that nobody counts then")
tap.is(plain.walk.walks, c.walk.walks, "walks are the same")
tap.ok(plain.walk.references_level3 < c.walk.references_level3,
    "and read more", c.walk.references_level3)

c = run(small, whole.join(HOST, { ["pwc.style"] = "physical" }))
tap.ok(c.pwc.invalidations > plain.pwc.invalidations,
    "by its address, too", c.pwc.invalidations)

-- Two buffers of 1 MB side by side: what may only be read is not one with what may
-- be written.
local function two(advise)
    return { H.program(kernel.app { name = "two", source = "this test",
        align = 4096,
        buffers = function()
            return { kernel.i64("a", 1 << 17, { advise = advise }),
                kernel.i64("b", 1 << 17) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("touch", { grid = 1, block = 1 },
                function(t)
                    for _, x in ipairs { b.a, b.b } do
                        t:loop(256, function(j)
                            t:alu(1, { uses = { t:load(x, j * 512) } })
                        end)
                    end
                end) }
        end }) }
end
for _, read in ipairs { false, true } do
    c = run(two(read and { read_mostly = true } or nil), HOST)
    tap.is(c.memory.contiguous_peak, 512, "all subregions are contiguous")
    tap.is(c.memory.contiguous_2m_peak, read and 0 or 512,
        "all together only with equal permissions")
end

-- half of what is touched fits
c = run({ whole.touch(64, 64 << 10, "both", 2) }, whole.join(UNITS, {
    ["vm.memory_bytes"] = (512 + 256) << 12, ["vm.table_frames"] = 256 }))
tap.ok(c.evict.pages > 512 and c.memory.contiguous_peak >= 256,
    "what leaves is contiguous no more", c.evict.pages)
c = run({ whole.freer(700, 12, "x"), whole.freer(1500, 8, "y") },
    { ["memory.free_at_end"] = true })
tap.ok(c.memory.freed > 0 and c.memory.contiguous_peak > 0, "nor what is freed")

-- ---- large pages --------------------------------------------------------------

local function freers()
    return { whole.freer(700, 12, "x"), whole.freer(1500, 8, "y") }
end
for early = 0, 1 do
    c = run(freers(), whole.join(HOST, { ["fault.transfer"] = "2M",
        ["memory.fragment_index"] = early * 40 }),
        { { "mosaic", { early = early } } }, "mosaic")
    tap.ok(c.memory.coalesced > 0 and c.memory.contiguous_peak > 0,
        "regions become one page; of others, subregions",
        c.memory.coalesced .. " " .. c.memory.contiguous_peak)
end
c = run(freers(), { ["memory.free_at_end"] = true,
    ["memory.fragment_index"] = 40 }, { { "mosaic" } }, "mosaic")
tap.ok(c.memory.splintered > 0, "and single ones again", c.memory.splintered)
c = run({ whole.touch(4, 1 << 20, "load") }, { ["vm.page"] = "2M" })
tap.is(c.memory.contiguous_peak, 0, "a page of 2 MB needs no such bits")
c = run({ whole.touch(4, 1 << 20, "load") }, { ["vm.page"] = "64K" })
tap.is(c.memory.contiguous_2m_peak, 1024, "pages of 64 KB have them")

-- ---- compressed pages ---------------------------------------------------------

local PACKED = whole.join(HOST, { ["compress.enable"] = true,
    ["compress.ratio"] = "200", ["fault.transfer"] = "2M" })
for _, kept in ipairs { false, true } do
    local what = kept and "stored as they are" or "compressed"
    local policies = { { "mosaic" } }
    if kept then
        policies[2] = { { name = "kept", page_compress = function()
            return false
        end } }
    end
    c = run({ whole.touch(4, 512 << 10, "load"), whole.touch(4, 512 << 10, "load") },
        PACKED, policies, "mosaic")
    tap.is(c.memory.contiguous_peak > 0, kept, what .. ": contiguous?",
        c.memory.contiguous_peak)
    tap.is(c.memory.coalesced > 0, kept, what .. ": one page?",
        c.memory.coalesced)
    tap.is(c.memory.contiguous_packed, kept and 0 or 1024,
        what .. ": pages kept from being contiguous")
    tap.is(c.memory.coalesced_packed, kept and 0 or 1024,
        what .. ": and from being one page")
end
tap.done()
