-- 313-core-laws.lua - pins what holds of cores however they are set: a program
-- executes the same instructions, which touch the same pages and lines; what is
-- looked up hits, misses, joins or parks, and what leaves a core is what the
-- level below sees; times of warps sum up, of every core; what can be looked at
-- in the middle agrees with itself and with the settings.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local H = require "heddle"

local CORES, WARPS, BLOCKS = 2, 16, 12
local WORDS = 1 << 18 -- of a buffer

local program = whole.kinds(BLOCKS)

local SETTINGS = whole.join(whole.SMALL, { ["core.count"] = CORES,
    ["core.warps"] = WARPS, ["sim.relaunch"] = false })

--- What of a core is wrong when it is looked at, or nil.
local function odd(sim, m)
    for i = 0, CORES - 1 do
        local missed, n, parked, warps = {}, 0, 0, {}
        for _, r in ipairs(sim:look("l1tlb", i)) do
            if r.kind == "miss" then
                n = n + 1
                if missed[r.vpn] then
                    return ("page %d is missed twice"):format(r.vpn)
                end
                missed[r.vpn] = true
            elseif r.kind == "parked" then
                parked = parked + 1
            end
        end
        if not m["vm.paging"] and n > m["l1tlb.mshrs"] then
            return ("%d misses"):format(n)
        elseif parked > 0 and m["l1tlb.blocking"] ~= "hits" then
            return ("%d parked"):format(parked)
        end
        for _, r in ipairs(sim:look("core", i)) do
            if r.kind == "queued" and (r.lines_done > r.lines or r.pages > r.lines) then
                return ("%d of %d lines of %d pages"):format(r.lines_done,
                    r.lines, r.pages)
            elseif r.kind == "warp" then
                if warps[r.warp] or r.warp >= WARPS or r.index > 2
                    or r.block >= BLOCKS or r.waits_for & ~r.pending ~= 0 then
                    return ("warp %d of block %d"):format(r.warp, r.block)
                end
                warps[r.warp] = true
            end
        end
    end
end

local base -- what the program does, by its first run

local function check(title, more, policy)
    local m = whole.join({ ["l1tlb.mshrs"] = 16, ["l1tlb.blocking"] = "hits" },
        SETTINGS, more)
    local sim <close> = whole.sim({ program }, m, { check = true })
    if policy then
        sim:use(policy)
    end
    local bad, wrong, word = {}
    repeat
        word = sim:run(701)
        wrong = wrong or sim.now < 60000 and odd(sim, m) or nil
    until word ~= "ok"
    sim:check()
    tap.is(word, "done", title .. " ends")
    tap.is(wrong, nil, title .. ": what is looked at")
    local c, hist = sim:counters(), {}
    for _, h in ipairs(sim.core:hists()) do
        hist[h.component .. "." .. h.name] = h.apps[1]
    end
    local function same(what, a, b)
        if a ~= b then
            bad[#bad + 1] = ("%s: %s and %s"):format(what, a, b)
        end
    end
    local core, tlb, l1 = c.core, c.l1tlb, c.l1cache
    base = base or core
    for _, name in ipairs { "instructions", "thread_instructions", "loads",
        "stores", "atomics", "load_lanes", "load_lines", "pages", "lines",
        "blocks", "barriers" } do
        same(name, core[name], base[name])
    end
    same("accesses", core.mem_instructions, core.loads + core.stores
        + core.atomics)
    same("pages and lines of each", hist["core.pages"].n, core.mem_instructions)
    same("pages", hist["core.pages"].sum, core.pages)
    same("lines", hist["core.lines"].sum, core.lines)
    same("loads", hist["core.load_latency"].n, core.loads)
    if m["sim.translation"] ~= "off" then
        local sent = tlb.misses - tlb.merges - tlb.parked_hits
        same("look-ups", tlb.lookups, tlb.hits + tlb.misses)
        same("look-ups of pages", tlb.lookups + tlb.untranslated, core.pages)
        same("answers", hist["core.translation_latency"].n, sent)
        same("requests", c.mmu.requests, sent - (c.l1side and c.l1side.hits
            or 0) + (c.fault and c.fault.requests or 0))
        same("filled", tlb.fills, policy and tlb.fills or sent)
        if m["l1tlb.blocking"] ~= "hits" then
            same("parked", tlb.parked + tlb.parked_hits, 0)
        end
    end
    same("L1 look-ups", l1.reads, l1.read_hits + l1.read_misses)
    if m["l1cache.mode"] ~= "off" then
        same("loads of lines", l1.reads, core.load_lines)
    end
    if m["l1cache.mode"] == nil then
        same("reads below", c.l2cache.read_lookups, l1.read_misses
            - l1.read_merges)
        same("writes below", c.l2cache.write_lookups,
            m["l1cache.write"] == "back" and l1.writebacks or l1.writes)
        same("atomics below", c.l2cache.atomic_lookups, core.lines - l1.reads
            - l1.writes)
    end
    for i = 0, CORES - 1 do
        local sum = 0
        for name, v in pairs(sim:counters { instance = i }.core) do
            sum = sum + (name:find "^time_" and v or 0)
        end
        same("times of core " .. i, sum, sum // WARPS * WARPS)
        same("time of core " .. i, -(-sum // (WARPS * sim.core:ticks())),
            sim.core:apps()[1].cycles)
    end
    tap.is(bad[1], nil, title .. ": what is counted")
end

check("small", {})
for _, under in ipairs { "none", "hits", "full" } do
    for _, overlap in ipairs { "ahead", "off" } do
        check(("blocking %s, overlap %s"):format(under, overlap), {
            ["l1tlb.blocking"] = under, ["l1tlb.overlap"] = overlap,
            ["l1tlb.ports"] = overlap == "off" and 3 or 1 })
    end
    check("blocking " .. under .. ", few of everything", {
        ["l1tlb.blocking"] = under, ["l1tlb.mshrs"] = 1, ["core.parked"] = 64,
        ["l1cache.mshrs"] = 2, ["core.queue"] = 1, ["l1cache.stores"] = 1 })
    check("blocking " .. under .. ", pages on the host", {
        ["l1tlb.blocking"] = under, ["l1tlb.mshrs"] = 2,
        ["vm.paging"] = "fault", ["link.latency"] = 300 })
end
check("the TLB before the L1", { ["l1cache.order"] = "after" })
check("no translation", { ["sim.translation"] = "off" })
check("no L1", { ["l1cache.mode"] = "off" })
check("an L1 that writes back", { ["l1cache.write"] = "back" })
check("an L1 that writes back, and little room", { ["l1cache.write"] = "back",
    ["l1cache.stores"] = 1, ["l1cache.mshrs"] = 1, ["l1cache.bytes"] = 2048 })
check("LRR", { ["core.scheduler"] = "lrr", ["core.ilp"] = 2 })
check("a victim TLB", { ["l1side.entries"] = 4 }, "victim_tlb")
check("atomics past the TLBs", { ["core.translate_atomics"] = false })

-- ---- why an entry is filled ------------------------------------------------------------

-- By a walk, its own or another's that it joined, or by a hit in the L2 TLB: as
-- many of these as that had hits.
do
    local sim <close> = whole.sim({ program }, whole.join(SETTINGS,
        { ["l2tlb.entries"] = 64, ["l2tlb.ways"] = 8 }), { check = true })
    sim:use { name = "why", state = { walk = 0, hit = 0 },
        tlb_insert = function(q, s)
            if q.level == 1 then
                s[q.cause] = s[q.cause] + 1
            end
        end }
    sim:run()
    local s, c = sim:used()[1].state, sim:counters()
    tap.ok(c.mmu.merges > 20 and s.hit > 20, "walks are joined", c.mmu.merges)
    tap.is(s.hit, c.mmu.hits, "entries that are filled by a hit below")
    tap.is(s.walk, c.mmu.misses, "and by a walk")
end

-- ---- threads that change their warps ------------------------------------------------

-- Who limits warps is asked again where threads have met and others run.
do
    local split = H.program(kernel.app { name = "split",
        buffers = function() return { kernel.i32("m", WORDS) } end,
        kernels = function(_, b) return {
            kernel.kernel("split", { grid = 2, block = 96 }, function(t)
                t:loop(6, function(j)
                    t:when(((t.lane + j) % 3):eq(t.warp), function()
                        t:load(b.m, t.gid * 64 + j)
                    end, function()
                        t:load(b.m, t.gid + j * 512)
                    end)
                end)
            end) } end })
    local sim <close> = whole.sim({ split }, whole.join(SETTINGS,
        { ["core.count"] = 1, ["core.compact"] = true }), { check = true })
    sim:use { name = "running", state = { running = 0 },
        warp_limit = function(q, s)
            s.running = q.running
            return -1 >> 64 - q.n, math.maxinteger
        end }
    local off, most, word = 0, 0
    repeat
        word = sim:run(1)
        local running = 0
        for _, r in ipairs(sim:look("core", 0)) do
            if r.kind == "warp" and r.state ~= "exited" then
                running = running | 1 << r.warp
            end
        end
        off = running ~= sim:used()[1].state.running and off + 1 or 0
        most = math.max(most, off)
    until word ~= "ok"
    tap.ok(sim:counters().core.formed_warps > 0, "warps are formed")
    tap.ok(most <= 1, "what is asked knows who runs, a cycle later at most",
        most)
end

tap.done()
