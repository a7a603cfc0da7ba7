--[[
241-fabric-whole.lua - a whole machine of several nodes.

Pinned: what leaves a node arrives at its home and is answered, whatever the program, the
links and the placement, and the L2 caches see each request once; a run that goes back to
snapshots in the middle of remote traffic, or is cut into steps, is the straight run, and
a snapshot of other links is refused; all is checked.  What links cannot be is refused in
words; what waits for a link is in the graph of waits; what one node alone can do is
refused with several.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local args = H.args { seed = 1, n = 12 }

local BASE = whole.join(whole.SMALL, { ["core.count"] = 8, ["l2cache.slices"] = 16,
    ["l2cache.bytes"] = 131072, ["dram.channels"] = 8, ["fabric.nodes"] = 2 })

-- ---- what leaves arrives -------------------------------------------------------------

--- Look-ups in the L2 caches.
local function lookups(c)
    local n = 0
    for k, v in pairs(c.l2cache) do
        n = n + (k:find "^%w+_lookups$" and v or 0)
    end
    return n
end

local function conserved(what, sim, header)
    local c = sim:counters()
    local f = c.fabric
    local out = f.reads + f.writes + f.atomics + f.walks
    tap.is(f.served, out, what .. ": what leaves arrives")
    tap.is(lookups(c), f["local"] + out, what .. ": each is looked up once")
    tap.ok(c.hop.messages >= 2 * out and c.hop.bytes >= header * c.hop.messages
        + 128 * f.reads, what .. ": and answered, with its bytes", c.hop.messages)
    return c, out
end

for _, x in ipairs {
    { "kinds", { whole.kinds(10) }, {} },
    { "walks at home", { whole.kinds(10) }, { ["fabric.tables"] = "copies" } },
    { "a ring", { whole.kinds(10) }, { ["fabric.nodes"] = 4,
        ["fabric.topology"] = "ring", ["fabric.placement"] = "interleave" } },
    { "write back", { whole.kinds(10) }, { ["l1cache.write"] = "back",
        ["l2cache.write"] = "through", ["fabric.placement"] = "interleave" } },
    { "two applications", { whole.kinds(8), whole.kinds(6) },
        { ["fabric.placement"] = "interleave" } },
} do
    local sim <close> = whole.sim(x[2], whole.join(BASE, { ["sim.relaunch"] = false },
        x[3]), { check = true })
    tap.is(sim:run(), "done", x[1])
    sim:check()
    local c, out = conserved(x[1], sim, 16)
    tap.ok(out > 300, x[1] .. ": something crosses", out)
    if x[3]["fabric.tables"] then
        tap.is(c.fabric.walks, 0, x[1] .. ": no walk does")
    end
    if not x[3]["fabric.nodes"] then
        tap.is(c.hop.messages, 2 * out, x[1] .. ": a message there and one back")
    end
end

-- ---- random machines -----------------------------------------------------------------

local x = args.seed * 7919 + 1

local function pick(list)
    x = x * 6364136223846793005 + 1442695040888963407
    return list[(x >> 33) % #list + 1]
end

local DRAWN = {
    { "fabric.nodes", { 2, 2, 4, 8 } },
    { "fabric.topology", { "all", "ring", "line" } },
    { "fabric.latency", { 0, 1, 78, 1500 } },
    { "fabric.bandwidth", { 150000000000, 6000000000, 7777777777 } },
    { "fabric.header", { 0, 16, 33 } },
    { "fabric.placement", { "touch", "touch", "interleave", "node" } },
    { "fabric.home", { 0, 1 } }, { "fabric.tables", { "one", "copies" } },
    { "fabric.blocks", { "contiguous", "round_robin" } },
    { "vm.page", { "4K", "4K", "64K", "2M" } }, { "vm.format", { "x86-64", "hopper" } },
    { "walk.per_core", { false, false, true } }, { "walk.port", { "own", "core" } },
    { "pwc.mode", { "off", "full" } }, { "l1tlb.mode", { "full", "full", "off", "ideal" } },
    { "l2tlb.mode", { "full", "full", "off", "ideal" } },
    { "l1cache.write", { "evict", "through", "back" } },
    { "l2cache.write", { "back", "through" } }, { "l2cache.mshrs", { 1, 4, 64 } },
    { "l2cache.slices", { 16, 32 } }, { "l2cache.halves", { 1, 1, 2 } },
    { "dram.channels", { 8, 16 } },
    { "dram.channel_hash", { "none", "xor" } }, { "l1cache.stores", { 1, 32 } },
    { "l1cache.order", { "beside", "virtual" } }, { "core.exit", { "issue", "stores" } },
    { "utlb1.entries", { 0, 0, 4 } }, { "utlb1.share", { 0, 1, 2, 3 } },
    { "sim.translation", { "full", "full", "full", "off" } },
}

local LOADS = { { "GUP" }, { "BFS2" }, { "ATAX", "GUP" }, { whole.random(4, 4) },
    { whole.column(4, 8, "atomic", 32), "MM" }, { whole.column(4, 8, "store", 32) } }

local ran, refused, bad = 0, 0, {}
for i = 1, args.n do
    local settings = { ["sim.stop_cycles"] = 60000, ["l1tlb.overlap"] = "line" }
    for _, d in ipairs(DRAWN) do
        settings[d[1]] = pick(d[2])
    end
    local load, cut = pick(LOADS), pick { 500, 1700, 4000, 9000 }
    local ok, err = pcall(function()
        local sim <close> = whole.sim(load, whole.join(BASE, settings), { check = true })
        whole.split(sim, cut)
    end)
    ran = ran + (ok and 1 or 0)
    if not ok and type(err) == "table" and err.code == -3 then
        refused = refused + 1
    elseif not ok then
        local text = {}
        for k, v in pairs(settings) do
            text[#text + 1] = ("%s=%s"):format(k, tostring(v))
        end
        bad[#bad + 1] = ("%d: %s\n%s"):format(i, tostring(type(err) == "table"
            and err.message or err), table.concat(text, " "))
    end
end
tap.is(table.concat(bad, "\n"), "", ("%d random machines, %d refused"):format(ran, refused))
tap.ok(ran > args.n // 2, "most ran", ran)

-- ---- in the middle -----------------------------------------------------------------------

whole.stress("remote traffic", whole.maker({ whole.kinds(8) }, whole.join(BASE,
    { ["fabric.nodes"] = 4, ["fabric.topology"] = "ring", ["sim.relaunch"] = false })),
    { step = 3001, snaps = 2, due = function(c) return c.fabric.served // 200 end,
        good = function(c, snaps)
            return c.fabric.reads > 100 and c.fabric.atomics > 100 and snaps == 2
        end })
whole.cut("nodes", whole.maker({ "GUP", "ATAX" }, whole.join(BASE,
    { ["fabric.placement"] = "interleave", ["sim.budget"] = 6000 })), 5, 700, 300)

do -- a message on each link is in a snapshot
    local sim <close> = whole.sim({ whole.random(24, 6) }, whole.join(BASE,
        { ["fabric.latency"] = 4000 }), { check = true })
    sim:run(3000)
    local rows = sim:look("fabric", 1) -- to the page tables
    tap.ok(rows[1].messages > 0 and rows[1].from == 1 and rows[1].to == 0,
        "messages are on their way", rows[1].messages)
    tap.ok(#rows > rows[1].messages and rows[2].what == "request" and rows[2].node == 1
        and rows[2].home == 0 and rows[2].bytes == 16, "each is shown", #rows)
    local snap = sim:snapshot()
    local other <close> = whole.sim({ whole.random(24, 6) }, whole.join(BASE,
        { ["fabric.latency"] = 4001 }), { check = true })
    local ok, err = pcall(other.restore, other, snap)
    tap.ok(not ok and err.message:find "fabric.latency", "other links are refused",
        ok or err.message)

    local text = ""
    for _, row in ipairs(sim:stuck()) do
        for _, k in ipairs { "who", "instance", "for", "from", "to", "n" } do
            text = text .. " " .. tostring(row[k])
        end
        text = text .. "\n"
    end
    tap.ok(text:find "fabric hop 1 messages to cross it 1 0 %d", "they are in the graph of "
        .. "waits", text)
    local behind
    for _ = 1, 900 do
        sim:run(10)
        for _, row in ipairs(sim:stuck()) do
            behind = behind or row["for"] == "answers of its node's l2cache"
        end
        if behind then break end
    end
    tap.ok(behind, "and so is who waits behind them")
end

-- ---- what cannot be ---------------------------------------------------------------------

for _, w in ipairs {
    { { ["fabric.topology"] = "0-1" }, 4, "no way from node 0 to node 2" },
    { { ["fabric.topology"] = "0-1 2-3" }, 4, "no way from node 0 to node 2" },
    { { ["fabric.topology"] = "0-1 1-0" }, 2, "1%-0 is there twice" },
    { { ["fabric.topology"] = "0-2" }, 2, "0%-2, but the nodes are 0 to 1" },
    { { ["fabric.topology"] = "1-1" }, 2, "joins a node to itself" },
    { { ["fabric.topology"] = "mesh" }, 2, "'mesh' is none of all, ring, line or pairs" },
    { { ["fabric.topology"] = "0-1," }, 2, "'0%-1,' is none of all" },
    { { ["fabric.topology"] = "0-1000" }, 2, "is none of all" },
    { { ["fabric.topology"] = "" }, 2, "no way from node 0 to node 1" },
    { { ["fabric.bandwidth"] = 0 }, 2, "fabric.bandwidth: 0 is out of range" },
    { { ["fabric.home"] = 2 }, 2, "fabric.home: there is no node 2" },
    { { ["fabric.nodes"] = 0 }, 0, "fabric.nodes: 0 is out of range" },
    { {}, 3, "core.count, 8 cores, is of all 3 nodes" },
    { { ["l2cache.slices"] = 20 }, 8, "l2cache.slices, 20 slices, is of all" },
    { { ["dram.channels"] = 2 }, 4, "dram.channels, 2 channels, is of all" },
    { { ["vm.memory_bytes"] = 4096 * 30001 }, 2, "vm.memory_bytes, 30001 frames, is of" },
    { { ["vm.memory_bytes"] = 32 << 20 }, 4, "2 MB of data at least" },
    { { ["vm.paging"] = "fault" }, 2, "vm.paging: .* none is expected" },
    { { ["vm.page"] = "512M", ["vm.format"] = "ampere" }, 2, "vm.page: .* is expected" },
    { { ["compress.enable"] = true }, 2, "compress.enable: .* is expected" },
    { { ["l2cache.halves"] = 2, ["l2cache.slices"] = 10, ["dram.channels"] = 10,
        ["core.count"] = 10 }, 2, "do not have two halves in each node" },
    { { ["dram.partition"] = true }, 2, "dram.partition: .* is expected" },
    { { ["sample.every"] = 100000 }, 2, "sample: .* is expected" },
    { { ["utlb1.entries"] = 4, ["utlb1.groups"] = "1x4 1x3" }, 2, "there are 4 cores" },
} do
    local ok, err = pcall(whole.sim, { "GUP" }, whole.join(BASE,
        { ["fabric.nodes"] = w[2] }, w[1]))
    tap.ok(not ok and err.message:find(w[3]), "refused: " .. w[3], ok or err.message)
end

tap.done()
