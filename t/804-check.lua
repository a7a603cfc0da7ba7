-- 804-check.lua - pins: two applications with the same virtual addresses
-- never see each other's translations (every entry of every TLB belongs to
-- its application and says what that application's page table says, and no
-- frame belongs to both); --check stays silent over all applications on all
-- presets; and on settings that make rare paths common (queues of one, one
-- MSHR, TLBs of one entry, one walker, large pages, tiny caches) everything
-- still comes to its end.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

-- ---- who sees what ------------------------------------------------------------

--- The entries among the rows of a TLB (misses in flight are rows too).
local function entries(sim, name, i)
    local list = {}
    for _, row in ipairs(sim:look(name, i)) do
        if row.kind == "entry" then
            list[#list + 1] = row
        end
    end
    return list
end

--- Rows of the TLBs against the page tables; returns a complaint or nil, and
-- counts the entries of each application.
local function compare(sim, seen)
    local where = {}
    for _, o in ipairs(sim:objects()) do
        where[o.name] = o.instances
    end
    for _, name in ipairs { "l1tlb", "l2tlb", "bypass" } do
        for i = 0, (where[name] or 0) - 1 do
            for _, row in ipairs(entries(sim, name, i)) do
                local pa, bytes = sim:translate(row.app, row.vpn << 12)
                if not pa then
                    return ("%s %d: app %d, page %x is not mapped"):format(
                        name, i, row.app, row.vpn)
                end
                if pa >> 12 ~= row.pfn then
                    return ("%s %d: app %d, page %x in frame %x, not %x"):
                        format(name, i, row.app, row.vpn, row.pfn, pa >> 12)
                end
                local last = row.vpn + row.pages - 1
                local pb = sim:translate(row.app, last << 12)
                if pb >> 12 ~= row.pfn + row.pages - 1 then
                    return ("%s %d: page %x ends the range elsewhere"):format(
                        name, i, last)
                end
                if name == "l1tlb" and sim:look("core", i)[1]
                    and sim:look("core", i)[1].app ~= row.app then
                    return ("core %d holds a page of application %d"):format(i,
                        row.app)
                end
                if row.vpn << 12 & bytes - 1 ~= 0 and row.pages > 1 then
                    return ("%s %d: page %x does not begin a page"):format(
                        name, i, row.vpn)
                end
                seen[name] = seen[name] or {}
                seen[name][row.app] = (seen[name][row.app] or 0) + 1
            end
        end
    end
end

--- Frames of all pages: each belongs to one page of one application.
local function frames(sim)
    local owner, pages = {}, 0
    for _, app in ipairs { 0, 1 } do
        for _, row in ipairs(sim:look("pagetable", app)) do
            if row.vpn and row.pfn and (row.pages or 1) > 0 then
                for k = 0, (row.pages or 1) - 1 do
                    local f = row.pfn + k
                    if owner[f] then
                        return ("frame %x belongs to two pages"):format(f)
                    end
                    owner[f] = app
                    pages = pages + 1
                end
            end
        end
    end
    if pages == 0 then
        return "no pages were seen"
    end
    return nil, pages
end

for _, page in ipairs { "4K", "64K", "2M" } do
    local settings = whole.join(whole.SMALL, { ["vm.page"] = page,
        ["pwc.mode"] = "full", ["bypass.entries"] = 8 })
    local sim = whole.sim({ whole.random(8, 8), whole.random(8, 8) }, settings,
        { check = true })
    sim:use { name = "alternate", state = { n = 0 }, tlb_fill = function(_, s)
        s.n = s.n + 1
        return s.n % 3 == 0 and "bypass" or nil
    end }
    local seen, bad = {}, nil
    while not bad do
        local word = sim:run(500)
        bad = compare(sim, seen)
        if word ~= "ok" then
            break
        end
    end
    tap.ok(not bad, page .. " pages: every entry is its page table's", bad)
    local l2 = seen.l2tlb or {}
    local side = seen.bypass or {}
    tap.ok((l2[0] or 0) > 20 and (l2[1] or 0) > 20 and (side[0] or 0) > 2
        and (side[1] or 0) > 2, page .. " pages: both applications were in "
        .. "the shared TLB and in the bypass cache")
    local why, pages = frames(sim)
    tap.ok(not why, ("%s pages: no frame belongs to both (%d pages)"):format(
        page, pages or 0), why)
    local same, both = 0, 0
    for _, row in ipairs(sim:look("pagetable", 0)) do
        if row.vpn then
            local va = row.vpn << 12
            local a, b = sim:translate(0, va), sim:translate(1, va)
            both = both + (a and b and 1 or 0)
            same = same + (a and a == b and 1 or 0)
        end
    end
    tap.ok(both > 0 and same == 0, page .. " pages: the same addresses, other "
        .. "frames", ("%d shared, %d equal"):format(both, same))
    sim:close()
end

-- ---- everything, checked --------------------------------------------------------

local function finishes(names, settings, options)
    local sim = whole.sim(names, settings, whole.join({ check = true,
        settings = whole.join(settings or {},
            { ["sim.stuck_cycles"] = 300000 }) }, options or {}))
    local ok, word = pcall(sim.run, sim)
    local why
    if not ok then
        why = type(word) == "table" and word.message or tostring(word)
    elseif word ~= "done" then
        why = "it ended with " .. word
    else
        sim:check()
    end
    sim:close()
    return why
end

for _, preset in ipairs(whole.PRESETS) do
    local bad = {}
    for _, name in ipairs(whole.APPS) do
        local why = finishes({ name }, {}, { machine = preset })
        if why then
            bad[#bad + 1] = name .. ": " .. why
        end
    end
    tap.ok(#bad == 0, preset .. ": all applications, checked",
        table.concat(bad, "\n"))
end

local STRESS = {
    { "one entry in each TLB", { ["l1tlb.entries"] = 1,
        ["l2tlb.entries"] = 1, ["l2tlb.ways"] = 1 } },
    { "one MSHR everywhere", { ["l1tlb.mshrs"] = 1, ["l1cache.mshrs"] = 1,
        ["l2tlb.mshrs"] = 1, ["l2cache.mshrs"] = 1 } },
    { "no merging", { ["l1cache.merges"] = 1, ["l2cache.merges"] = 1 } },
    { "queues of one", { ["core.queue"] = 1, ["l1cache.stores"] = 1,
        ["walk.queue"] = 1, ["l2cache.queue"] = 1, ["dram.queue"] = 1,
        ["dram.queue_silver"] = 1, ["dram.queue_golden"] = 1 } },
    { "one walker", { ["walk.walkers"] = 1, ["walk.queue"] = 2 } },
    { "a parking place of 64 lines", { ["core.parked"] = 64,
        ["l1tlb.entries"] = 1 } },
    { "one core, LRR", { ["core.count"] = 1, ["core.scheduler"] = "lrr" } },
    { "64 KB pages", { ["vm.page"] = "64K" } },
    { "2 MB pages, whole", { ["vm.page"] = "2M", ["vm.round"] = true } },
    { "2 MB pages in arrays of their own", { ["vm.page"] = "2M",
        ["vm.round"] = true, ["l1tlb.large_entries"] = 1,
        ["l2tlb.large_entries"] = 2 } },
    { "a TLB that blocks", { ["l1tlb.blocking"] = "full",
        ["l1tlb.entries"] = 2 } },
    { "a TLB whose hits pass misses", {
        ["l1tlb.blocking"] = "hits", ["l1tlb.entries"] = 2 } },
    { "the same with two MSHRs and a parking place of 64 lines", {
        ["l1tlb.blocking"] = "hits", ["l1tlb.entries"] = 2,
        ["l1tlb.mshrs"] = 2, ["core.parked"] = 64 } },
    { "a TLB whose misses pass misses", {
        ["l1tlb.blocking"] = "none", ["l1tlb.entries"] = 2 } },
    { "walkers in each core", { ["walk.per_core"] = true,
        ["walk.walkers"] = 1, ["l2tlb.mode"] = "off" } },
    { "a walk cache by prefix, tiny", { ["pwc.mode"] = "full",
        ["pwc.style"] = "prefix", ["pwc.entries"] = 2, ["pwc.ways"] = 1 } },
    { "a walk cache by address, tiny", { ["pwc.mode"] = "full",
        ["pwc.entries"] = 2, ["pwc.ways"] = 1, ["pwc.ports"] = 1 } },
    { "write back, allocate", { ["l1cache.write"] = "back" } },
    { "write back in tiny caches", { ["l1cache.write"] = "back",
        ["l1cache.bytes"] = 256, ["l1cache.ways"] = 1,
        ["l2cache.bytes"] = 4096, ["l2cache.ways"] = 1 } },
    { "no L1", { ["l1cache.mode"] = "off" } },
    { "no L2", { ["l2cache.mode"] = "off" } },
    { "no caches, no L2 TLB", { ["l1cache.mode"] = "off",
        ["l2cache.mode"] = "off", ["l2tlb.mode"] = "off" } },
    { "no L1 TLB", { ["l1tlb.mode"] = "off" } },
    { "one channel, one bank", { ["dram.channels"] = 1, ["dram.banks"] = 1,
        ["dram.groups"] = 1, ["l2cache.slices"] = 1 } },
    { "refresh, closed rows", { ["dram.refresh"] = true,
        ["dram.trefi"] = 400, ["dram.page"] = "closed" } },
    { "8 lanes wide, two issue slots", { ["core.width"] = 8,
        ["core.issue"] = 2 } },
    { "one warp", { ["core.warps"] = 16, ["core.blocks"] = 1 } },
    { "32 lanes, short lines", { ["core.lanes"] = 32, ["core.width"] = 32,
        ["l1cache.line"] = 32, ["l2cache.line"] = 32,
        ["core.warps"] = 32 } },
    { "everything small at once", {
        ["l1tlb.entries"] = 1, ["l2tlb.entries"] = 1, ["l2tlb.ways"] = 1,
        ["l1tlb.mshrs"] = 1, ["l1cache.mshrs"] = 1, ["l2tlb.mshrs"] = 1,
        ["l2cache.mshrs"] = 1, ["core.queue"] = 1, ["l1cache.stores"] = 1,
        ["walk.queue"] = 1, ["walk.walkers"] = 1, ["l2cache.queue"] = 1,
        ["dram.queue"] = 1, ["l1cache.merges"] = 1, ["l2cache.merges"] = 1,
        ["l1cache.bytes"] = 256, ["l1cache.ways"] = 1, ["core.parked"] = 64,
        ["l2cache.bytes"] = 4096, ["l2cache.ways"] = 1,
        ["dram.queue_silver"] = 1, ["dram.queue_golden"] = 1 } },
}

-- Atomics, barriers, stores, gathers, a host function; and two at once.
local LOADS = { { "GUP" }, { "BFS2" }, { "HS" }, { "MM" }, { "3DS", "GUP" } }

for _, s in ipairs(STRESS) do
    local bad = {}
    for _, names in ipairs(LOADS) do
        local settings = whole.join({ ["core.count"] = 2 }, s[2])
        if settings["core.count"] >= #names then
            local why = finishes(names, settings)
            if why then
                bad[#bad + 1] = table.concat(names, " + ") .. ": " .. why
            end
        end
    end
    tap.ok(#bad == 0, s[1], table.concat(bad, "\n"))
end

-- Stores are bounded by the store queue, write-backs too: more than that never
-- waits at the L2, however slow the memory is.  (Write-backs once went out
-- without a limit, and a slow DRAM made them overrun the pool of requests.)
for _, write in ipairs { "evict", "through", "back" } do
    local cores, stores, mshrs = 8, 4, 4
    local sim = whole.sim({ whole.column(32, 16, "store", 32) }, {
        ["core.count"] = cores, ["l1cache.stores"] = stores,
        ["l1cache.mshrs"] = mshrs, ["l1cache.write"] = write,
        ["sim.translation"] = "off", ["dram.channels"] = 1,
        ["dram.banks"] = 1, ["dram.groups"] = 1, ["l2cache.slices"] = 1,
        ["l2cache.bytes"] = 65536, ["dram.queue"] = 4,
    }, { check = true })
    tap.is(sim:run(), "done", "stores into a slow memory, " .. write)
    local c = sim:counters()
    tap.ok(c.l2cache.peak_input <= cores * (stores + mshrs)
        and c.l1cache.store_full > 0, "at most the store queues wait, "
        .. write, ("%d waited, %d stalls"):format(c.l2cache.peak_input,
        c.l1cache.store_full))
    sim:close()
end

tap.done()
