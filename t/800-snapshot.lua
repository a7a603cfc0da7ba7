-- 800-snapshot.lua - pins: a straight run = snapshot + restore + continue,
-- byte for byte in every counter, histogram, kernel record and in all state,
-- whatever runs (programs with contents and a host, atomics, streams, two
-- applications, a trace) and whatever policy is bound, wherever it is cut;
-- the same in another simulation built alike (a fork), with the memory of an
-- old snapshot used again; a snapshot of other settings, workloads or
-- policies is refused, and what refused it runs on.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local function fingerprint(sim)
    local out = whole.statistics(sim)
    out[#out + 1] = ("now %d, %d instructions"):format(sim.now,
        sim.instructions)
    out[#out + 1] = ("state %x"):format(sim:state_hash())
    return out
end

--- Runs on from where the cut was, after going somewhere else in between.
local function check(title, build, parts)
    local straight = build()
    straight:run()
    local want, last = fingerprint(straight), straight.now
    straight:close()
    local cuts = parts or { 0, 1, 7, 500, 993 }
    local bad
    for _, part in ipairs(cuts) do
        local at = last * part // 1000
        local a, b = build(), build()
        a:run(at)
        local before = fingerprint(a)
        local snap = a:snapshot()
        -- Back in the same simulation, after it went on.
        a:run(last // 3 + 100)
        a:restore(snap)
        local d = whole.difference(before, fingerprint(a))
        bad = bad or d and ("cut at %d, restored: %s"):format(at, d)
        a:run()
        d = whole.difference(want, fingerprint(a))
        bad = bad or d and ("cut at %d, run on: %s"):format(at, d)
        -- And from the end, in a fork.
        b:restore(snap)
        b:run()
        d = whole.difference(want, fingerprint(b))
        bad = bad or d and ("cut at %d, fork: %s"):format(at, d)
        a:restore(snap)
        a:run()
        d = whole.difference(want, fingerprint(a))
        bad = bad or d and ("cut at %d, again from the end: %s"):format(at, d)
        a:close()
        b:close()
    end
    tap.ok(not bad, title .. (" (%d cycles)"):format(last), bad)
end

local of = whole.maker

check("stream", of { whole.stream(32) })
check("column", of { whole.column(8, 32) })
check("random", of { whole.random(8, 16) })
for _, name in ipairs { "BFS2", "GUP", "LUD", "HS", "NN", "MM" } do
    check(name, of { name })
end
check("BFS2 on the default machine", of({ "BFS2" }, {}), { 400 })
check("GUP with BFS2, relaunched", of { "GUP", "BFS2" })
check("MM with GUP, budget and warm-up", of({ "MM", "GUP" }, nil,
    { budget = 4000, warmup = 700 }))
check("3DS with TRD, 64 KB pages, prefix walk cache", of({ "3DS", "TRD" },
    whole.join(whole.SMALL, { ["vm.page"] = "64K", ["pwc.mode"] = "full",
        ["pwc.style"] = "prefix" })))
check("MM on pichai", of({ "MM" }, { ["core.count"] = 3 },
    { machine = "pichai" }))
check("GUP with refresh, closed rows, ready-first", of({ "GUP" },
    whole.join(whole.SMALL, { ["dram.refresh"] = true,
        ["dram.page"] = "closed", ["dram.scheduler"] = "ready-first",
        ["dram.trefi"] = 500 })))
check("MM with write-back L1", of({ "MM" }, whole.join(whole.SMALL,
    { ["l1cache.write"] = "back", ["core.scheduler"] = "lrr" })))

for _, name in ipairs { "vecadd", "gather" } do
    local path = H.here("../scenarios/data/" .. name .. ".hdt")
    local f = io.open(path, "rb")
    if f then
        f:close()
        check("trace " .. name, of({ H.trace(path) }, nil,
            { stop_cycles = 6000 }), { 7, 500 })
    else
        tap.skip("trace " .. name, "there is no " .. path)
    end
end

-- ---- policies ----------------------------------------------------------------

check("Lua policies with state", of({ "GUP", "MM" }, nil, nil, {
    { "policies/random.lua", { at = "l2tlb" } },
    { "policies/srrip.lua", { at = "l2cache" } },
    { "policies/lrr.lua" },
    { "policies/mask.lua", { epoch = 1000 } },
}), { 300 })
check("C policies with state", of({ "GUP", "MM" }, nil, nil, {
    { "random", { at = "l2tlb" } }, { "srrip", { at = "l2cache" } },
    { "random", { at = "l1cache" } }, { "fifo", { at = "l1tlb" } },
    { "frfcfs" }, { "lrr" },
}))

local function counting()
    return {
        name = "counting", state = { n = 0, seen = {} },
        tlb_fill = function(q, s)
            local k = q.vpn % 64 + 1
            s.n = s.n + 1
            s.seen[k] = (s.seen[k] or 0) + 1
            return s.seen[k] % 3 == 0 and "none" or nil
        end,
    }
end

check("a policy whose answers depend on its tables", function()
    local sim = whole.sim { "GUP", "MM" }
    sim:use(counting())
    return sim
end)

-- ---- memory used again, and refusals -------------------------------------------

do
    local sim, snap = whole.sim { "BFS2" }, nil
    local want = {}
    for i = 1, 5 do
        sim:run(1500)
        snap = sim:snapshot(snap)
        want[i] = fingerprint(sim)
    end
    sim:run(4000)
    sim:restore(snap)
    tap.same(fingerprint(sim), want[5], "a snapshot that was used again")
    local free = whole.sim { "BFS2" }
    free:restore(snap)
    tap.same(fingerprint(free), want[5], "in a simulation that never ran")
end

do
    local sim = whole.sim { "MM" }
    sim:run(1000)
    local snap = sim:snapshot()
    local function refuses(other, words, title)
        other:run(500)
        local before = fingerprint(other)
        tap.raises(function() other:restore(snap) end, words, title)
        tap.same(fingerprint(other), before, title .. ": nothing changed")
        local rest = other.core:run()
        tap.is(rest, "done", title .. ": it runs on")
        other:close()
    end
    local failed = whole.sim { "MM" }
    failed:use { name = "p", tlb_fill = function() error "mine" end }
    local _, why = pcall(failed.run, failed)
    tap.raises(function() failed:restore(snap) end, "policies", "a failed one")
    local _, again = pcall(failed.run, failed)
    tap.ok(why.message:find "mine" and again.message == why.message,
        "what it has failed of is told again, and not the restore",
        tostring(again))
    refuses(whole.sim({ "MM" }, whole.join(whole.SMALL,
        { ["l2tlb.latency"] = 11 })), "settings", "other settings")
    refuses(whole.sim({ "MM" }, nil, { seed = 2 }), "settings", "another seed")
    refuses(whole.sim { "TRD" }, "workload", "another workload")
    refuses(whole.sim { H.app("MM", { size = "S" }) }, "workload",
        "another size")
    refuses(whole.sim { "MM", "TRD" }, "workload", "more applications")
    local other = whole.sim { "MM" }
    other:use("srrip", { at = "l2tlb" })
    refuses(other, "policies", "another policy")
    other = whole.sim { "MM" }
    other:use("srrip", { at = "l2tlb" })
    local bound = other:snapshot()
    tap.raises(function() sim:restore(bound) end, "policies", "no policy")
    other = whole.sim { "MM" }
    other:use("srrip", { at = "l2tlb", bits = 3 })
    tap.raises(function() other:restore(bound) end, "policies",
        "another parameter")
end

tap.done()
