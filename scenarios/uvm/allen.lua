--- uvm/allen.lua - the driver's batches beside measurements of a real card.
--
-- Allen and Ge (In-depth analyses of unified virtual memory, SC 2021) instrumented
-- NVIDIA's driver (460.27) on a Titan V and published what each batch was and took,
-- and the programs (uvm-eval); their numbers here are read off their figures and
-- logs, to about 10 %.  The terms of uvm.mode=driver were fitted to the pictures of
-- three programs, regular, stream and sgemm: these are printed beside the published
-- curves, and never counted (calibrated).  The tests are what nothing was fitted to:
-- programs of other shapes, batches of other sizes, prefetching, two tenants of a
-- card (gpu_ext, a card of 32 GB), and sums that other cards reported (nvprof).
--
-- Sizes are scaled, and stated; what is compared is time a page and ratios.  Of sgemm
-- of n = 16,384 the first columns are computed, all rows of them, from the first
-- columns of A: so as many blocks share a page as at that n, which decides how many
-- faults a batch has of one page (a square of 1,024 has 96 % duplicates, and takes 6.4
-- us a page).  Of other n it is a square whose arithmetic is multiplied by the paper's
-- n over ours, so that it is to its pages what it is at the paper's n.  The CPU has
-- written the buffers before, as in the programs (uvm.host_mapped).  uTLBs are grouped
-- as the Titan V's: one for the two SMs of a TPC (uvm.utlb_cores), so 40 of them, each
-- with at most 56 faults in the buffer.
--
-- Accesses that wait for one page have one packet (uvm.utlb_merge), or, shown beside,
-- one each, which the two SMs of a uTLB write in turns.  Neither meets all: a batch of
-- a stream has 55 pages on the card, 230 with one packet and 78 with one each, a page
-- of it takes 2.6 us, 1.5 and 2.6; but a page of the stencil 4.1, 3.7 and 5.8.  What
-- was tried besides, at most 5, 4 or 2 packets a page of a core, gave the stream 64,
-- 78 and 75 pages a batch and 2.6, 2.4 and 2.3 us, and no source says such a number.
--
-- Left out on purpose: the CPU's time before and after kernels; the shares of a
-- batch's time that only their driver tells apart; hosts whose pages are 64 KB.
--
--     heddle run scenarios/uvm/allen.lua [scale=full] [only=regular,sgemm]
--
-- Quick took 80 seconds of one core of an AMD EPYC, full 8 minutes.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local programs = require "programs"
local uvm = require "common"

local arg = H.args(experiment.args { only = "" }) -- programs; empty: all
local full = arg.scale == "full"
local ONLY = uvm.words(arg.only)

local x = experiment.open { name = "uvm/allen",
    source = "Allen and Ge, SC 2021; gpu_ext; nvprof",
    title = "the driver's batches beside a real card's", arg = arg }

-- ---- the machine -----------------------------------------------------------------

local CARD, MODE = "Titan V", "its programs"
local MACHINE = { -- what differs from `maxwell-tu104`, or is needed here
    { "clock.core", 1455000000, CARD .. ": boost clock, data sheet" },
    { "core.count", 80, CARD .. ": 80 SMs" },
    { "core.lanes", 32, CARD .. ": a warp" },
    { "core.issue", 4, "Volta's white paper: 4 schedulers an SM" },
    { "core.width", 16, "Volta's white paper: 16 FP32 units each" },
    { "core.threads", 2048, "Volta's white paper" },
    { "core.alu_latency", 4, "Jia et al., 2018: 4 cycles" },
    { "vm.paging", "fault", MODE },
    { "vm.page", "4K", "an x86 host" },
    { "vm.memory_bytes", 12 << 30, CARD .. ": 12 GB" },
    { "link.curve", "uvmsmart", "UVMSmart: PCIe 3.0 x16" },
    { "link.bandwidth", 12884901888, "UVMSmart: PCIe 3.0 x16" },
    { "uvm.mode", "driver", MODE },
    { "uvm.block_latency", 14000, "the default" },
    { "uvm.host_mapped", true, "uvm-eval: the CPU writes all buffers first" },
    { "uvm.perf_prefetch_enable", false, "unless said" },
    { "sim.relaunch", false, "one run" },
}

--- Batches of a run, kept as they end.  Blocks are all that took their turns, those of
-- stale packets among them.
local function recorder()
    return { name = "record", state = { list = {} }, watch = {
        batch_served = function(b, s)
            s.list[#s.list + 1] = { cycles = b.cycles + b.interrupt,
                packets = b.packets, duplicates = b.duplicates,
                pages = b.pages, block = b.block, bytes = b.bytes,
                first = b.unmap + b.dma, evictions = b.evictions }
        end } }
end

--- A run of apps: seconds, batches (time in us), and what crossed the link.
local function measure(apps, more)
    return function()
        local settings = {}
        for _, row in ipairs(MACHINE) do
            settings[row[1]] = row[2]
        end
        for name, v in pairs(more or {}) do
            settings[name] = v
        end
        local sim <close> = H.sim { machine = "maxwell-tu104", seed = arg.seed,
            apps = apps, settings = settings, policies = { recorder() } }
        sim:run()
        local clock, c = settings["clock.core"], sim:counters()
        local batches = sim:used()[1].state.list
        for _, b in ipairs(batches) do
            b.us, b.first = b.cycles / clock * 1e6, b.first / clock * 1e6
            b.blocks = math.floor(b.block / clock * 1e9
                / settings["uvm.block_latency"] + 0.5)
        end
        return { us = sim.now / clock * 1e6, batches = batches,
            kb = c.link.bytes / 1024, copies = c.link.transfers,
            mb = c.fault.pages / 256 }
    end
end

-- ---- what is run -----------------------------------------------------------------

--- Quick, full; the paper's is beside.
local SIZE = {
    regular = full and 1 << 17 or 1 << 16, -- pages; 2^20
    stream = full and 1 << 24 or 1 << 22,  -- doubles an array; 125,000,704
    sgemm = full and 2048 or 1024,         -- rows; 16,384 unless said
    slab = full and 512 or 256,            -- columns, of 16,384 rows
    stencil = full and 128 or 64,          -- points along a box; 128
    strided = full and 1 << 22 or 1 << 20, -- complex numbers; 80,004,096
    hotspot = full and 2304 or 1024,       -- rows; 40,000 are 60 % of 32 GB
    kmeans = full and 240000 or 28672,     -- points
    read = full and 256 or 64,             -- MB; 2,048
    write = full and 256 or 64,            -- MB; 80,000
}
local BATCH, PREFETCH = "uvm.perf_fault_batch_count", "uvm.perf_prefetch_enable"
local ON = { [PREFETCH] = true }
local jobs, names, of = {}, {}, {}

local function wanted(part)
    if not ONLY then
        return true
    end
    for _, name in ipairs(ONLY) do
        if name == part then
            return true
        end
    end
    return false
end

--- A run that is called `name`, of a part.
local function add(part, name, apps, more)
    if wanted(part) then
        jobs[#jobs + 1], names[#jobs + 1] = measure(apps, more), name
    end
end

local function sgemm(paper)
    return programs.sgemm(SIZE.sgemm, paper // SIZE.sgemm)
end

local function slab()
    return programs.slab(16384, SIZE.slab, SIZE.slab)
end

local function with(a, b)
    local out = {}
    for _, t in ipairs { a, b } do
        for name, v in pairs(t) do
            out[name] = v
        end
    end
    return out
end

--- Memory of so many bytes beside that of page tables, in blocks of 2 MB.
local TABLES = 8192
local function memory(bytes)
    return { ["vm.table_frames"] = TABLES, ["vm.memory_bytes"] = TABLES * 4096
        + math.floor(bytes / (2 << 20)) * (2 << 20) }
end

local STREAM = 24 * SIZE.stream
add("regular", "regular", { programs.regular(SIZE.regular) })
add("regular", "regular, prefetch", { programs.regular(SIZE.regular) }, ON)
for _, n in ipairs { 32, 256, 1024 } do
    local batch = { [BATCH] = n }
    add("stream", "stream, " .. n, { programs.stream(SIZE.stream) }, batch)
    add("sgemm", "sgemm, " .. n, { slab() }, batch)
end
add("stream", "stream, prefetch", { programs.stream(SIZE.stream) }, ON)
add("stream", "stream, evicting", { programs.stream(SIZE.stream) },
    memory(STREAM * 3 / 4))
add("sgemm", "sgemm 16384, prefetch", { slab() }, ON)
-- 28,672 fits, 32,768 is 12.9 GB of 12
local LITTLE = memory(12 * SIZE.sgemm ^ 2 * 12 / 12.9)
for _, c in ipairs { { 28672, {} }, { 32768, LITTLE } } do
    local name = ("sgemm %d"):format(c[1])
    add("prefetch", name, { sgemm(c[1]) }, c[2])
    add("prefetch", name .. ", prefetch", { sgemm(c[1]) }, with(c[2], ON))
end
-- One setting changed, beside what was fitted.
local EACH = { ["uvm.utlb_merge"] = false }
add("stream", "stream, a packet each", { programs.stream(SIZE.stream) }, EACH)
add("stream", "stream, CPU's pages unmapped", { programs.stream(SIZE.stream) },
    with(ON, { ["uvm.host_mapped"] = false }))
add("sgemm", "sgemm, a packet each", { slab() }, EACH)
if full then
    add("regular", "regular, replay once", { programs.regular(SIZE.regular) },
        { ["uvm.perf_fault_replay_policy"] = "once" })
end
add("stencil", "stencil", { programs.stencil(SIZE.stencil) })
add("stencil", "stencil, a packet each", { programs.stencil(SIZE.stencil) }, EACH)
add("strided", "strided", { programs.strided(SIZE.strided) })

-- Two tenants: alone with all of the memory, then both; each touches a share of it.
local TENANTS = {
    { "GEMM", 0.6, 5.9, 12 * SIZE.sgemm ^ 2,
        function() return sgemm(40000) end, "sgemm, most of whose blocks are "
            .. "resident at once at this size" },
    { "stencil", 0.6, 10.8, 12 * SIZE.hotspot ^ 2,
        function() return H.app("HS", { n = SIZE.hotspot }) end, "HS of 3 steps; "
            .. "how many theirs has is not published" },
    { "k-means", 0.9, 11, 276 * SIZE.kmeans,
        function() return H.app("KMEANS", { np = SIZE.kmeans }) end, "KMEANS of 2 "
            .. "iterations, which read half of what it touches" },
}
for _, t in ipairs(TENANTS) do
    local room = with(memory(t[4] / t[2]), ON)
    add("tenants", t[1] .. " alone", { t[5]() }, room)
    add("tenants", t[1] .. " twice", { t[5](), t[5]() }, room)
end

--- Other cards: cores, clock (data sheets), and what else differs.
local function card(cores, mhz, more)
    return with({ ["core.count"] = cores, ["clock.core"] = mhz * 1000000,
        [PREFETCH] = true }, more or {})
end
local PASCAL = { ["core.width"] = 32, ["uvm.utlb_cores"] = 1 } -- GP104: TPCs of an SM
local AMPERE = { ["uvm.utlb_cores"] = 1, ["link.bandwidth"] = 27357118464 }
local V100, P4000 = card(80, 1380), card(14, 1480, PASCAL)
local GTX1080, TI = card(20, 1733, PASCAL), card(28, 1582, PASCAL)
local A100 = card(108, 1410, AMPERE) -- PCIe 4: 25.4 GB/s measured
local FILL = SIZE.write << 20
add("cards", "V100 sgemm", { sgemm(20000) }, V100)
add("cards", "P4000 sgemm", { sgemm(20000) }, P4000)
add("cards", "1080 read", { programs.read(SIZE.read) }, GTX1080)
add("cards", "V100 page", { programs.page() }, V100)
add("cards", "1080 Ti page", { programs.page() }, TI)
add("cards", "A100 fill", { programs.write(SIZE.write, 1) }, A100)
for rounds = 1, 2 do
    add("cards", "A100 twice, " .. rounds, { programs.write(2 * SIZE.write,
        rounds) }, with(A100, memory(FILL)))
end

-- ---- what is measured ------------------------------------------------------------

--- Means over batches.
local function sum(r, field)
    local s = 0.0
    for _, b in ipairs(r.batches) do
        s = s + b[field]
    end
    return s
end

local function per(r, field)
    return sum(r, field) / #r.batches
end

--- Least squares: us = c[1] + c[2] blocks + c[3] pages, of the batches in which no
-- block is unmapped, mapped for DMA or evicted.
local function plane(r)
    local m = { { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } }
    for _, b in ipairs(r.batches) do
        if b.first == 0 and b.evictions == 0 then
            local v = { 1, b.blocks, b.pages, b.us }
            for i = 1, 3 do
                for j = 1, 4 do
                    m[i][j] = m[i][j] + v[i] * v[j]
                end
            end
        end
    end
    for i = 1, 3 do
        for k = 1, 3 do
            local f = k ~= i and m[k][i] / m[i][i] or 0
            for j = 1, 4 do
                m[k][j] = m[k][j] - f * m[i][j]
            end
        end
    end
    return { m[1][4] / m[1][1], m[2][4] / m[2][2], m[3][4] / m[3][3] }
end

--- How much longer batches with evictions take than that plane says, without what
-- unmapping takes: us an eviction.
local function eviction(r, c)
    local n, us = 0, 0.0
    for _, b in ipairs(r.batches) do
        if b.evictions > 0 then
            n = n + b.evictions
            us = us + b.us - b.first - c[1] - c[2] * b.blocks - c[3] * b.pages
        end
    end
    return us / n
end

--- Unmapping and first touch, of the batches that do so: us a batch.
local function first(r)
    local n = 0
    for _, b in ipairs(r.batches) do
        n = n + (b.first > 0 and 1 or 0)
    end
    return sum(r, "first") / n
end

--- A field of batches: the 5th and the 95th percentile.
local function spread(r, field)
    local list = {}
    for i, b in ipairs(r.batches) do
        list[i] = b[field]
    end
    table.sort(list)
    return ("%d to %d"):format(list[#list // 20 + 1], list[#list - #list // 20])
end

for i, r in ipairs(x:run(jobs)) do
    of[names[i]] = r
end

-- ---- what was fitted -------------------------------------------------------------

--- A claim, which has a source; f(run, ...) is its value, if the runs are there.
local function claim(row, f, ...)
    local runs = {}
    for i, name in ipairs { ... } do
        runs[i] = of[name]
        if not runs[i] then
            row.skip = "not run: only=" .. arg.only
        end
    end
    local v = not row.skip and f(table.unpack(runs)) or nil
    row.heddle = v == v and v or nil
    x:quantity(row)
end

local function fitted(row, f, ...)
    row.calibrated = true
    row[1] = "fitted: " .. row[1]
    claim(row, f, ...)
end

--- A value beside that of a row: with a setting changed, in a run; before: in the
-- row's.
local function also(setting, f, run, before)
    return of[run] and { { setting, f(of[run]), setting = setting,
        before = of[before] and f(of[before]) } } or nil
end

local function us_a_page(r)
    return sum(r, "us") / sum(r, "pages")
end

local function us_a_kb(r)
    return sum(r, "us") / (sum(r, "bytes") / 1024)
end

local function pages_a_batch(r)
    return per(r, "pages")
end

local function gbps(r)
    return r.mb * 1048576 / 1e9 / (r.us / 1e6)
end

local function at(blocks, pages)
    return function(r)
        local c = plane(r)
        return c[1] + c[2] * blocks + c[3] * pages
    end
end

local function fixed(r)
    return plane(r)[1]
end

local function share(r)
    return 100 * sum(r, "duplicates") / sum(r, "packets")
end

local MERGE, ONCE = "uvm.utlb_merge=false", "uvm.perf_fault_replay_policy=once"
fitted({ "regular: a page", unit = "us", paper = 2.7,
    also = also(ONCE, us_a_page, "regular, replay once", "regular") },
    us_a_page, "regular")
fitted({ "stream: a page", unit = "us", paper = 2.6,
    also = also(MERGE, us_a_page, "stream, a packet each", "stream, 256") },
    us_a_page, "stream, 256")
fitted({ "sgemm: a page", unit = "us", paper = 5.0,
    also = also(MERGE, us_a_page, "sgemm, a packet each", "sgemm, 256") },
    us_a_page, "sgemm, 256")
fitted({ "regular: pages a batch", paper = 256,
    also = also(ONCE, pages_a_batch, "regular, replay once", "regular") },
    pages_a_batch, "regular")
fitted({ "stream: pages a batch", paper = 55,
    also = also(MERGE, pages_a_batch, "stream, a packet each", "stream, 256") },
    pages_a_batch, "stream, 256")
fitted({ "regular: blocks a batch", from = 10, to = 60 }, function(r)
    return per(r, "blocks")
end, "regular")
fitted({ "regular: a batch", unit = "us", paper = 720, said = "690 to 750 us" },
    function(r) return per(r, "us") end, "regular")
fitted({ "regular: 256 pages of 10 blocks", unit = "us", paper = 390 }, at(10, 256),
    "regular")
fitted({ "regular: 256 pages of 60 blocks", unit = "us", paper = 1100 },
    at(60, 256), "regular")
for _, name in ipairs { "regular", "sgemm, 256" } do
    fitted({ name:match "%a+" .. ": fixed part of a batch", unit = "us",
        paper = 37.5, said = "35 to 40 us" }, fixed, name)
end
fitted({ "stream: unmapping and first touch, a batch", unit = "us", paper = 115,
    said = "100 to 130 us" }, first, "stream, 256")
fitted({ "stream: an eviction", unit = "us", paper = 210 }, function(r, all)
    return eviction(r, plane(all))
end, "stream, evicting", "stream, 256")
for _, name in ipairs { "regular", "stream", "sgemm" } do
    local run = name == "sgemm" and "sgemm 16384, prefetch" or name .. ", prefetch"
    fitted({ name .. ": with prefetching, a KB", unit = "us", paper = 0.21,
        also = name == "stream" and also("uvm.host_mapped=false", us_a_kb,
            "stream, CPU's pages unmapped", run) or nil }, us_a_kb, run)
    fitted({ name .. ": with prefetching, each further KB", unit = "us",
        paper = 0.21 }, function(r) return plane(r)[3] / 4 end, run)
end
fitted({ "regular: all of it", unit = "GB/s", paper = 0.9 }, gbps, "regular")

-- ---- what was not ----------------------------------------------------------------

claim({ "stencil (hpgmg): a page", unit = "us", paper = 4.1,
    also = also(MERGE, us_a_page, "stencil, a packet each", "stencil") },
    us_a_page, "stencil")
claim({ "strided (cufft): a page", unit = "us", paper = 5.5 }, us_a_page, "strided")
for _, p in ipairs { "sgemm", "stream" } do
    for _, c in ipairs { { 32, 79 / 36 }, { 1024, 32 / 36 } } do
        claim({ ("%s: batches of %d, times those of 256"):format(p, c[1]),
            kind = "count", unit = "times", paper = p == "sgemm" and c[2] or nil },
            function(r, base)
                return #r.batches / #base.batches
            end, ("%s, %d"):format(p, c[1]), p .. ", 256")
    end
end
for _, c in ipairs { { 32, 68 }, { 256, 87 } } do
    claim({ ("sgemm: duplicates in batches of %d"):format(c[1]), unit = "%",
        paper = c[2] }, share, "sgemm, " .. c[1])
end
for _, c in ipairs { { 16384, 3.3 }, { 28672, 3.0 }, { 32768, 2.6 } } do
    local name = ("sgemm %d"):format(c[1])
    claim({ ("sgemm of n = %d: time without prefetching"):format(c[1]),
        unit = "times", paper = c[2] }, function(off, on)
            return off.us / on.us
        end, c[1] == 16384 and "sgemm, 256" or name, name .. ", prefetch")
end
for _, t in ipairs(TENANTS) do
    claim({ ("two tenants, %s, %.0f %% of memory each: of one alone twice"):format(
        t[1], 100 * t[2]), unit = "times", paper = t[3],
        note = t[6] }, function(both, alone)
            return both.us / 2 / alone.us
        end, t[1] .. " twice", t[1] .. " alone")
end

-- Other cards (nvprof): a group is a batch.
local function mb_a_group(r)
    return r.kb / 1024 / #r.batches
end

local function kb_a_copy(r)
    return r.kb / r.copies
end

local SGEMM = { { "V100", 4145.8, 74761, 3272, 1172.8, 2264.9 },
    { "P4000", 4577.6, 81282, 6262, 1632.3, 4593.0 } }
for _, c in ipairs(SGEMM) do
    local name, mb, copies, groups, ms, whole = table.unpack(c)
    claim({ name .. ", sgemm: a group", unit = "us", paper = 1000 * ms / groups },
        function(r) return per(r, "us") end, name .. " sgemm")
    claim({ name .. ", sgemm: a group's memory", unit = "MB", paper = mb / groups },
        mb_a_group, name .. " sgemm")
    claim({ name .. ", sgemm: a copy", unit = "KB", paper = mb * 1024 / copies },
        kb_a_copy, name .. " sgemm")
    claim({ name .. ", sgemm: all of it", unit = "us a MB", paper = 1000 * whole / mb },
        function(r) return r.us / (r.kb / 1024) end, name .. " sgemm")
end
claim({ "GTX 1080, read: all of it", unit = "GB/s", paper = 2147 / 386.6 }, gbps,
    "1080 read")
claim({ "GTX 1080, read: a copy", unit = "KB", paper = 2147e3 / 1.024 / 30078 },
    kb_a_copy, "1080 read")
claim({ "V100, a page of 64 KB: its group", unit = "us", paper = 152 }, function(r)
    return per(r, "us")
end, "V100 page")
claim({ "GTX 1080 Ti, a page of 64 KB: its group", unit = "us", paper = 228 },
    function(r) return per(r, "us") end, "1080 Ti page")
claim({ "A100, filled by faults", unit = "GB/s", from = 80 / 21.26,
    to = 80 / 16.97, said = "3.76 to 4.71 GB/s" }, gbps, "A100 fill")
claim({ "A100, in and out by faults", unit = "GB/s", from = 320 / 47.37,
    to = 320 / 37.98, said = "6.76 to 8.43 GB/s" }, function(two, one)
        return 4 * FILL / 1e9 / ((two.us - one.us) / 1e6)
    end, "A100 twice, 2", "A100 twice, 1")
for _, row in ipairs {
    { "V100 at a POWER9, sgemm", "its host has pages of 64 KB" },
    { "P100, montecarlo", "the program is not public" },
    { "GTX 1080, A100, prefetched", "no faults: the link's own bandwidth" },
    { "32 GB card, random pages", "its five runs differ by 2.4 times" },
} do
    x:quantity { row[1], skip = row[2] }
end

-- ---- details ---------------------------------------------------------------------

local machine = { { "setting", "value", "source" } }
for i, row in ipairs(MACHINE) do
    machine[i + 1] = { row[1], tostring(row[2]), row[3] }
end
local sizes = { { "program", "size" } }
for _, name in ipairs { "regular", "stream", "sgemm", "slab", "stencil",
    "strided", "hotspot", "kmeans", "read", "write" } do
    sizes[#sizes + 1] = { name, SIZE[name] }
end
local rows = { { "run", "ms", "batches", "us a batch", "pages", "5 to 95 %",
    "blocks", "5 to 95 %", "us a page", "duplicates", "fixed", "a block",
    "a page" } }
for _, name in ipairs(names) do
    local r = of[name]
    local c = plane(r)
    local function number(format, v)
        return v == v and math.abs(v) < math.huge and format:format(v) or "-"
    end
    rows[#rows + 1] = { name, ("%.2f"):format(r.us / 1000), #r.batches,
        ("%.0f"):format(per(r, "us")), ("%.1f"):format(per(r, "pages")),
        spread(r, "pages"), ("%.1f"):format(per(r, "blocks")),
        spread(r, "blocks"), ("%.2f"):format(us_a_page(r)),
        H.report.percent(share(r) / 100), number("%.1f", c[1]),
        number("%.1f", c[2]), number("%.2f", c[3]) }
end
x:table("settings that differ from the preset maxwell-tu104", machine)
x:table("sizes", sizes)
x:table("batches; their time is fixed + a block + a page, by least squares", rows)
x:bars { title = "Time a page", unit = "us", xlabel = "program",
    groups = { "regular", "stream", "sgemm",
    "stencil", "strided" }, series = {
        { name = CARD, values = { 2.7, 2.6, 5.0, 4.1, 5.5 } },
        { name = "heddle", values = (function()
            local out = {}
            for i, name in ipairs { "regular", "stream, 256", "sgemm, 256",
                "stencil", "strided" } do
                out[i] = of[name] and us_a_page(of[name])
            end
            return out
        end)() } } }
x:close()
