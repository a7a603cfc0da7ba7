-- 745-machines.lua - pins: every machine of the papers, under every design,
-- runs a streaming, a divergent and a random application, alone and as a pair,
-- with all invariants checked; an ideal L1 TLB of zero latency gives the
-- cycles of no translation; and `aggressive` stays what it is, whatever becomes
-- of the machine that it derives from: results that were published with it can
-- be had again.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local whole = require "lib.whole"

local function run(machine, apps, more)
    local o = { machine = machine, apps = apps, check = true,
        progress = false, budget = 4000 }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    local sim <close> = H.sim(o)
    local word = sim:run()
    sim:check()
    return word, sim:results()
end

local function apps(...)
    local out = {}
    for i, name in ipairs { ... } do
        out[i] = H.app(name, { size = "T" })
    end
    return out
end

for _, name in ipairs(H.machines.names()) do
    local m = H.machine(name)
    for _, d in ipairs { { "as it is", function(x) return x end },
        { "Ideal", H.designs.ideal }, { "SharedTLB", H.designs.sharedtlb },
        { "PWCache", H.designs.pwcache }, { "Off", H.designs.off } } do
        local failed = {}
        for _, list in ipairs { { "BP" }, { "ATAX" }, { "GUP" },
            { "ATAX", "BFS2" } } do
            local ok, word = pcall(run, d[2](m), apps(table.unpack(list)))
            if not ok or word ~= "done" then
                failed[#failed + 1] = table.concat(list, "+") .. ": "
                    .. tostring(word)
            end
        end
        tap.is(table.concat(failed, "\n"), "", name .. ", " .. d[1])
    end
end

for _, app in ipairs { "BP", "GUP", "CONS" } do
    local m = H.machine("maxwell")
    local _, off = run(H.designs.off(m), apps(app))
    local _, ideal = run(H.designs.ideal(m) { ["l1tlb.latency"] = 0 },
        apps(app))
    tap.is(ideal.cycles, off.cycles,
        app .. ": an ideal L1 TLB of zero latency is no translation")
end

-- Cycles; counters; sums of the latencies of loads and of translations.
local COUNTED = { "core.time_tlb", "core.time_walk", "core.time_data",
    "core.time_lsu", "l1tlb.hits", "l1tlb.misses", "l1tlb.merges", "mmu.hits",
    "walk.walks", "walk.references", "walk.busy_cycles", "l2cache.read_hits",
    "dram.reads", "dram.row_hits" }
for _, case in ipairs {
    { "random", whole.random(32, 8, 16), "31429 235640331 15159186 6198264 0 "
        .. "294 16090 19 1633 12832 51328 1944201 1151 14346 487 921395 "
        .. "24474956" },
    { "stream", whole.stream(64), "1144 2363688 25798572 36524448 0 0 768 576 "
        .. "0 48 192 8196 0 1024 994 286736 39392" },
    { "column", whole.column(16, 24), "170028 31641948 3134844 708428430 0 "
        .. "23552 1024 0 0 1024 4096 487004 10 23094 20148 2664202 2992447" },
} do
    local sim <close> = whole.sim({ case[2] }, { ["dram.bus_bytes"] = 32 },
        { machine = "aggressive" })
    sim:run()
    local counters, out = sim:counters(), { sim.now }
    for _, name in ipairs(COUNTED) do
        local component, counter = name:match "(.+)%.(.+)"
        out[#out + 1] = counters[component][counter]
    end
    for _, h in ipairs(sim:results().histograms) do
        if h.name == "load_latency" or h.name == "translation_latency" then
            out[#out + 1] = h.apps[1].sum
        end
    end
    tap.is(table.concat(out, " "), case[3], "aggressive: " .. case[1])
end

return tap.done()
