--- latencies.lua - what an access takes in an empty machine, on every preset.
--
-- One warp loads, with nothing else under way; cycles of the core.  A hit in the
-- L1 or the L2 and DRAM with a closed bank are the whole load, without
-- translation; an L2 TLB hit and a page walk are what the translation takes, from
-- the miss of the L1 TLB to its answer at the core.  A walk reads four levels,
-- each from the L2 cache or each from DRAM (the first of all, so that banks are
-- closed); walk caches are off, and pages have 4 KB, since otherwise fewer are
-- read or they are elsewhere.  Machines without an L2 TLB have no hit in it.
--
-- What there is beside them is no preset's: MAFIA's means over all loads of
-- programs that load its memory lightly (the Fermi run of
-- github.com/adwaitjog/mafia; NN 142, others up to 250), the cycles that the
-- released simulator adds before the L2 and before DRAM, and a measured TU104.
--
--     heddle run scenarios/characterise/latencies.lua [man=1]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"

local arg = H.args {
    man = 0, -- 1: the rows as heddle_model(7) has them
}

local PAGE = 4096 // 4 -- elements

--- One warp of 32 loads these elements, one after the other; the least, the sum
-- and the number of what the histogram `of` has.
local function hist(machine, settings, list, of)
    local app = k.app { name = "loads", source = "this script",
        buffers = function() return { k.i32("a", 1 << 20) } end,
        kernels = function(_, b) return {
            k.kernel("loads", { block = 32 }, function(t)
                for _, i in ipairs(list) do
                    t:load(b.a, i)
                    t:alu(1) -- waits for it
                end
            end) } end }
    local sim <close> = H.sim { machine = machine, settings = settings,
        progress = false, apps = { H.program(app) } }
    sim:run()
    for _, h in ipairs(sim:results().histograms) do
        if h.name == of then
            return h.apps[1].sum, h.apps[1].count
        end
    end
end

--- What the last of the loads takes.
local function last(machine, settings, list, of)
    local all = hist(machine, settings, list, of)
    local before = #list > 1 and hist(machine, settings,
        table.move(list, 1, #list - 1, 1, {}), of) or 0
    return math.tointeger(all - before)
end

local function join(a, b)
    local t = {}
    for _, from in ipairs { a, b } do
        for name, v in pairs(from) do
            t[name] = v
        end
    end
    return t
end

local DATA = { ["sim.translation"] = "off" }
local WALK = { ["vm.page"] = "4K", ["pwc.mode"] = "off" }

--- One line in the L1, one entry in the L1 TLB, so that the second access
-- throws out the first.
local function one_line(m)
    local line = m:get "l1cache.line"
    return { ["l1cache.ways"] = 1, ["l1cache.bytes"] = line }
end
local ONE_ENTRY = { ["l1tlb.entries"] = 1, ["l1tlb.ways"] = 0,
    ["l1tlb.large_entries"] = 0 }

local COLUMNS = {
    { "L1 hit", function(m)
        return last(m, DATA, { 0, 0 }, "load_latency")
    end },
    { "L2 hit", function(m)
        return last(m, join(DATA, one_line(m)), { 0, 64, 0 }, "load_latency")
    end },
    { "DRAM", function(m)
        return last(m, DATA, { 0 }, "load_latency")
    end },
    { "L2 TLB hit", function(m)
        return m:get "l2tlb.mode" ~= "off" and last(m, join(WALK, ONE_ENTRY),
            { 0, PAGE, 0 }, "translation_latency") or nil
    end },
    { "walk, L2", function(m)
        return last(m, WALK, { 0, PAGE }, "translation_latency")
    end },
    { "walk, DRAM", function(m)
        return last(m, WALK, { 0 }, "translation_latency")
    end },
}

local rows = { { "machine" } }
for i, c in ipairs(COLUMNS) do
    rows[1][i + 1] = c[1]
end
for _, name in ipairs(H.machines.names()) do
    local m, row = H.machine(name), { name }
    for i, c in ipairs(COLUMNS) do
        row[i + 1] = tostring(c[2](m) or "-")
    end
    rows[#rows + 1] = row
end

if arg.man ~= 0 then
    for i = 2, #rows do
        io.write(".It ", table.concat(rows[i], " Ta "), "\n")
    end
    return
end
rows[#rows + 1] = "-"
for _, row in ipairs {
    { "MAFIA, all loads", "", "142 to 250" },
    { "release adds", "", "85", "+ 30" },
    { "TU104, measured", "", "236", "", "", "", "472, the load" },
} do
    rows[#rows + 1] = row
end
io.write("Core cycles in an empty machine\n\n", H.report.table(rows))
