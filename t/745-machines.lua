-- 745-machines.lua - pins: every machine of the papers, under every design,
-- runs a streaming, a divergent and a random application, alone and as a pair,
-- with all invariants checked; an ideal L1 TLB of zero latency gives the
-- cycles of no translation.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"

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

return tap.done()
