--[[
240-fabric.lua - several nodes, joined by links (fabric.nodes).

Pinned, to the cycle: a read of another node's memory takes what it takes at home, two
latencies a link, a header and a header with its bytes; a write that is waited for the
same the other way round, an atomic its bytes both ways; a step of a walk as a read; over
two links twice that.  A stream takes the link for its bytes, and no longer, one in each
direction no more than one alone; what is left of a tick is not lost.  A page is in memory
of the node that touches it first, of each in turn, or of one, and where that is full of
the nearest; page tables are in one node or in each.  Blocks are ranges, or take turns.
With one node, settings of links change nothing.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

-- A tick is a cycle, and a cycle moves 16 bytes.
local BASE = whole.join(whole.SMALL, whole.ROUND, { ["core.count"] = 6,
    ["l2cache.slices"] = 12, ["l2cache.bytes"] = 12 << 14, ["dram.channels"] = 6,
    ["vm.memory_bytes"] = 3 << 29, ["fabric.nodes"] = 2, ["fabric.latency"] = 100,
    ["fabric.bandwidth"] = 16000000000, ["fabric.header"] = 16,
    ["fabric.tables"] = "copies", ["sim.translation"] = "off" })

local function open(app, settings)
    return whole.sim(type(app) == "table" and app[1] and app or { app },
        whole.join(BASE, settings), { check = true })
end

local function run(app, settings)
    local sim = open(app, settings)
    tap.is(sim:run(1 << 40), "done", "it ends")
    sim:check()
    return sim.now, sim:counters(), sim
end

--- The first block, of node 0, alone: from here, and from the last node.
local function homes(app, settings, last)
    local near, c0 = run(app, whole.join({ ["fabric.placement"] = "node" }, settings))
    local far, c1 = run(app, whole.join({ ["fabric.placement"] = "node",
        ["fabric.home"] = last or 1 }, settings))
    tap.is(c0.hop.messages, 0, "at home nothing crosses")
    return far - near, c1
end

-- ---- one at a time -----------------------------------------------------------------

local N = 48

do -- a chase: each load waits for the one before
    local chase = whole.touch(N, 4096, "load")
    for _, x in ipairs { { 100, 16, 16, 1 + 9 }, { 101, 16, 16, 1 + 9 },
        { 0, 16, 16, 1 + 9 }, { 7, 0, 16, 0 + 8 }, { 7, 16, 1000, 1 + 1 },
        { 7, 17, 16, 2 + 10 }, { 7, 16, 8, 2 + 18 } } do
        local latency, header, bytes, cross = table.unpack(x)
        local title = ("latency %d, header %d, %d bytes a cycle"):format(latency,
            header, bytes)
        local d, c = homes(chase, { ["fabric.latency"] = latency,
            ["fabric.header"] = header, ["fabric.bandwidth"] = bytes * 1000000000 })
        tap.is(d, N * (2 * latency + cross), title .. ": a load")
        tap.is(c.fabric.reads, N, "all cross")
        tap.is(c.fabric.served, N, "and arrive")
        tap.is(c.hop.bytes, N * (2 * header + 128), "with their bytes")
    end
    local d, c = homes(chase, { ["fabric.nodes"] = 3, ["fabric.topology"] = "line" }, 2)
    tap.is(d, N * 2 * (200 + 10), "over two links, twice as much")
    tap.is(c.hop.messages, 4 * N, "each a message")
    local e = homes(chase, { ["fabric.nodes"] = 3, ["fabric.topology"] = "ring" }, 2)
    tap.is(e, N * (200 + 10), "and over one, where there is one")
    local f = homes(chase, { ["fabric.nodes"] = 3, ["fabric.topology"] = "2-1 0-2" }, 1)
    tap.is(f, N * 2 * (200 + 10), "by the node between, whichever it is")
end

do -- stores, one at a time in the store queue; atomics
    local d, c = homes(whole.touch(N, 4096, "store"), { ["l1cache.stores"] = 1,
        ["core.exit"] = "stores" })
    tap.is(c.fabric.writes, N, "stores cross")
    tap.is(c.hop.bytes, N * (16 + 8 + 16), "with a word, and a header back")
    tap.is(d, N * (200 + 2 + 1), "a store that is waited for")

    local atomics = H.program(kernel.app { name = "atomics", source = "this test",
        buffers = function() return { kernel.i64("m", N * 512) } end,
        kernels = function(_, b)
            return { kernel.kernel("add", { grid = 1, block = 1 }, function(t)
                t:loop(N, function(j)
                    local x = t:atomic("add", b.m, j * 512, 1)
                    t:alu(1, { uses = { x } })
                end)
            end) }
        end })
    d, c = homes(atomics, {})
    tap.is(c.fabric.atomics, N, "atomics cross")
    tap.is(c.hop.bytes % (2 * N), 0, "with as many bytes each way")
    tap.is(d, N * (200 + 2 * ((c.hop.bytes // (2 * N) + 15) // 16)), "an atomic")
end

-- ---- walks ------------------------------------------------------------------------------

do -- a chase over pages, whose tables are here or there
    local chase = whole.touch(N, 4096, "load")
    local function walked(tables, nodes)
        local now, c, sim = run(chase, { ["sim.translation"] = "full",
            ["fabric.tables"] = tables, ["fabric.home"] = nodes - 1,
            ["fabric.nodes"] = nodes, ["fabric.topology"] = "line",
            ["dram.mode"] = "fixed:20" })
        tap.is(c.walk.references, 4 * N, "each page is walked for")
        tap.is(c.fabric.touched, N, "and is of the node that touches it")
        tap.is(c.fabric.reads, 0, "so no load crosses")
        return now, c, sim
    end
    local near, c = walked("copies", 2)
    tap.is(c.fabric.walks, 0, "with copies no walk crosses")
    local far, d, sim = walked("one", 2)
    tap.is(d.fabric.walks, 4 * N, "with one place each reference does")
    tap.is(far - near, 4 * N * (200 + 1 + 2), "and takes so much longer")
    tap.is(d.hop.bytes, 4 * N * (16 + 16 + 8), "with an entry")
    tap.is(sim:counters { instance = 1 }.walk.walks, 0, "the other node walks nothing")
    near = walked("copies", 3)
    tap.is(walked("one", 3) - near, 4 * N * 2 * (200 + 1 + 2), "and over two links twice")
end

-- ---- bandwidth ------------------------------------------------------------------------

--- Blocks that read a line each time, none twice: `n` of 256 threads each.
local function stream(n, steps)
    return H.program(kernel.app { name = "stream", source = "this test",
        buffers = function() return { kernel.i32("m", n * 256 * steps) } end,
        kernels = function(_, b)
            return { kernel.kernel("read", { grid = n, block = 256 }, function(t)
                t:loop(steps, function(j)
                    t:load(b.m, t.gid + j * n * 256)
                end)
            end) }
        end })
end

do
    local BLOCKS, STEPS = 24, 6
    local lines = BLOCKS * STEPS * 8
    local app = stream(BLOCKS, STEPS)
    for _, rate in ipairs { 4000000000, 2333333333, 700000001 } do
        -- those of node 0 read node 1, which reads its own
        local now, c, sim = run(app, { ["fabric.bandwidth"] = rate,
            ["fabric.placement"] = "node", ["fabric.home"] = 1 })
        local back = sim:counters { instance = 1 }.hop
        tap.is(c.fabric.reads, lines // 2, "half of the lines cross")
        tap.is(back.bytes, lines // 2 * 144, "and their bytes")
        local least = back.bytes * 1000000000 / rate
        tap.ok(math.abs(back.busy_cycles - least) <= 1,
            ("%d bytes a second: the link is busy for its bytes"):format(rate),
            ("%d, not %.1f"):format(back.busy_cycles, least))
        tap.ok(now >= least and now < least + 900, "and the stream is no longer",
            ("%d of %.1f"):format(now, least))
        tap.ok(back.wait_cycles > 8 * now and back.peak > 80, "as many wait for it",
            back.peak)
    end
    local one = run(app, { ["fabric.bandwidth"] = 4000000000,
        ["fabric.placement"] = "node", ["fabric.home"] = 1 })
    -- interleaved pages: as many in each direction
    local both, c, sim = run(app, { ["fabric.bandwidth"] = 4000000000,
        ["fabric.placement"] = "interleave" })
    tap.is(c.fabric.reads, lines // 3, "both ways some lines cross")
    local a, b = sim:counters { instance = 0 }.hop, sim:counters { instance = 1 }.hop
    tap.is(a.bytes, b.bytes, "the same in each direction")
    tap.ok(both < one * 0.45, "at once: a third of the time", both / one)
end

-- ---- homes ----------------------------------------------------------------------------

--- Block i stores to page i.
local function pages(n)
    return H.program(kernel.app { name = "pages", source = "this test", align = 2 << 20,
        buffers = function() return { kernel.i64("m", n * 512) } end,
        kernels = function(_, b)
            return { kernel.kernel("touch", { grid = n, block = 1 }, function(t)
                t:store(b.m, t.gid * 512, 1)
                t:alu(500)
            end) }
        end })
end

--- The nodes of pages of the buffer, a digit each, "-" where there is none.
local function where(sim, n, nodes)
    local first, out = math.huge, {}
    local each = ((3 << 29) // 4096 // nodes - 4096) * 4096 -- 4096 frames of tables
    for _, r in ipairs(sim:look("pagetable", 0)) do
        first = math.min(first, r.vpn)
    end
    for i = 0, n - 1 do
        local pa = sim:translate(0, (first + i) << 12)
        out[#out + 1] = pa and pa // each or "-"
    end
    return table.concat(out)
end

do
    local function placed(settings, app, n, nodes)
        local _, c, sim = run(app or pages(12), settings)
        return where(sim, n or 12, nodes or 2), c, sim
    end
    local at, c, sim = placed({})
    tap.is(at, "000000111111", "pages are of the node that touches them: ranges")
    tap.is(c.fabric["local"], 12, "so all stores stay")
    tap.is(sim:counters { instance = 1 }.fabric.touched, 6, "half in the other node")
    tap.is(c.memory.mapped, 12, "and are mapped then")
    at = placed { ["fabric.blocks"] = "round_robin" }
    tap.is(at, "010101010101", "or by turns")
    at = placed({ ["fabric.nodes"] = 3 }, pages(7), 7, 3)
    tap.is(at, "0001122", "ranges of low nodes are the longer ones")
    at = placed({ ["fabric.nodes"] = 3, ["fabric.blocks"] = "round_robin" }, pages(7), 7, 3)
    tap.is(at, "0120120", "turns begin at node 0")
    at, c = placed { ["fabric.placement"] = "node", ["fabric.home"] = 1 }
    tap.is(at, "111111111111", "all in one node")
    tap.is(c.fabric.touched, 0, "before they are touched")
    tap.is(c.fabric.writes, 6, "where others write")
    at = placed { ["fabric.placement"] = "interleave" }
    tap.ok(at == "010101010101" or at == "101010101010", "each next in the next node", at)
    for _, mode in ipairs { "full", "off" } do -- an L1 TLB that always hits, or none
        at = placed { ["sim.translation"] = "full", ["l1tlb.mode"] = mode }
        tap.is(at, "000000111111", "touched with l1tlb.mode = " .. mode)
        at = placed { ["sim.translation"] = "full", ["l1tlb.mode"] = mode,
            ["l2tlb.mode"] = "off", ["walk.per_core"] = true }
        tap.is(at, "000000111111", "and by walkers in cores")
    end
    at = placed { ["sim.translation"] = "full", ["l1tlb.mode"] = "ideal" }
    tap.is(at, "000000111111", "touched by what is not looked up")
    at = placed { ["sim.translation"] = "full", ["l2tlb.mode"] = "ideal" }
    tap.is(at, "000000111111", "nor walked for")

    -- 64 KB: the block that touches one has all of it
    at = placed({ ["vm.page"] = "64K" }, pages(32), 32)
    tap.is(at, ("0"):rep(16) .. ("1"):rep(16), "pages of 64 KB come whole")

    -- two nodes of 2 MB: node 0 has room for 512 pages
    local small = { ["vm.memory_bytes"] = 4 << 20 | 64 << 12, ["vm.table_frames"] = 32,
        ["fabric.placement"] = "node" }
    local _, _, few = run(pages(700), small)
    local first, n = few:look("pagetable", 0)[1].vpn, { [0] = 0, 0 }
    for i = 0, 699 do
        local node = few:translate(0, (first + i) << 12) // (512 * 4096)
        n[node] = n[node] + 1
    end
    tap.is(n[0] .. " " .. n[1], "512 188", "a node that is full has the next one help")
    local ok, err = pcall(run, pages(1100), small)
    tap.ok(not ok and err.message:find "out of frames", "more than all nodes have",
        ok or err.message)
end

-- ---- applications ----------------------------------------------------------------------

do -- two: the first has the cores of nodes 0 and, in part, 1
    local _, c, sim = run({ pages(12), pages(12) }, { ["fabric.nodes"] = 3 })
    tap.is(c.fabric.touched, 24, "all pages of both are touched")
    tap.is(sim:counters { app = 0, instance = 2 }.fabric.touched, 0,
        "an application's blocks stay where its cores are")
    tap.is(sim:counters { app = 0, instance = 0 }.fabric.touched, 6, "in equal parts")
end

-- ---- one node ---------------------------------------------------------------------------

do
    local function stats(settings)
        local _, _, sim = run(whole.kinds(8), whole.join({ ["fabric.nodes"] = 1,
            ["sim.translation"] = "full" }, settings))
        return whole.statistics(sim)
    end
    tap.is(whole.difference(stats {}, stats { ["fabric.latency"] = 9,
        ["fabric.bandwidth"] = 5000000, ["fabric.placement"] = "interleave",
        ["fabric.tables"] = "copies", ["fabric.blocks"] = "round_robin",
        ["fabric.topology"] = "0-7", ["fabric.header"] = 3 }), nil,
        "with one node no setting of links changes anything")
end

tap.done()
