--[[
572-policy-tlbs.lua - mechanisms that scripts invent: the prefetchers, the
predictor and the victim TLB of policies/ do what they say, in Lua as in C.

Pinned: both forms give the same counters, their own included, under sim.check,
and the same after a snapshot; what is brought is useful, unused or still there; counters,
peaks, histograms and series of a policy's own are what it told, in results,
intervals and reports;
bad arguments are refused in words; the scenario that compares them runs.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"

local SETTINGS = whole.join(whole.SMALL, { ["l1side.entries"] = 4,
    ["l1tlb.entries"] = 8, ["l2tlb.entries"] = 32, ["l2tlb.ways"] = 4,
    ["sim.budget"] = 2500 })

--- All counters of a run with a policy, as text, and the simulation's.
local function run(apps, use, options)
    local sim <close> = whole.sim(apps, SETTINGS, { check = true })
    sim:use(use, options)
    sim:run(3000)
    local snap = sim:snapshot()
    sim:run()
    sim:check()
    local d = whole.again(sim, snap, 997)
    local out, c = {}, sim:counters()
    for part, of in pairs(c) do
        for name, v in pairs(of) do
            out[#out + 1] = ("%s.%s %d"):format(part, name, v)
        end
    end
    table.sort(out)
    return table.concat(out, "\n"), c, d
end

local CASES = {
    next_page = { { degree = 2 }, { to = "l1tlb" }, { to = "l1side" } },
    distance = { {}, { rows = 3, to = "l1side" } },
    dead_entry = { { dead_at = 2 }, { dead_at = 1, how = "skip", counters = 7 } },
    victim_tlb = { {} },
    pte_line = { {}, { reach = 32 }, { to = "l1tlb" } },
}
for _, apps in ipairs { { "ATAX", "GUP" }, { "BFS2" } } do
    for name, list in pairs(CASES) do
        for i, options in ipairs(list) do
            local text, c, d = run(apps, name, options)
            local lua = run(apps, "policies/" .. name .. ".lua", options)
            local what = ("%s %d with %s"):format(name, i, apps[1])
            tap.is(lua, text, what .. ": Lua and C are the same")
            tap.ok(not d, what .. ": and after a restore", d and tostring(d))
            local p = c.prefetch
            local asked = c.fill.filled -- with a walk's answer
            if name:find "_page" or name == "distance" or name == "pte_line" then
                tap.ok(p.filled + asked > (apps[2] and 20 or 0), what .. ": it acts",
                    p.filled + asked)
            end
            tap.ok(p.filled >= p.useful + p.unused and p.started + asked
                >= p.dropped + p.redundant + p.absent, what .. ": what became of them adds up")
        end
    end
end

-- ---- words ----------------------------------------------------------------------

local function refused(what, policy, pattern, settings)
    local sim <close> = whole.sim({ "GUP" }, whole.join(SETTINGS, settings or {}),
        {})
    local ok, err = pcall(function()
        if type(policy) == "table" and policy.use then
            sim:use(policy.use, { level = policy.level })
        else
            sim:use(policy)
        end
        sim:run()
    end)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(pattern), what, err)
end
local function asks(...)
    local args = table.pack(...)
    return { name = "asks", watch = { tlb_miss = function()
        translate(table.unpack(args, 1, args.n))
    end } }
end
refused("an application that is none", asks(7, 1), "no application 7")
refused("a core that is none", asks(0, 1, { core = 99 }), "core 99")
refused("a page that cannot be", asks(0, 1 << 40), "page 0x10000000000")
refused("a place that is none", asks(0, 1, { to = "l3tlb" }), "l2tlb|l1tlb|l1side")
refused("a buffer that is not there", asks(0, 1, { to = "l1side" }),
    "no l1side that takes", { ["l1side.entries"] = 0 })
refused("a victim TLB without room", "policies/victim_tlb.lua", "never asks",
    { ["l1side.entries"] = 0 })
for _, name in ipairs { "victim_tlb", "policies/victim_tlb.lua" } do
    refused("the wrong one: " .. name, { use = name, level = 2 },
        "victim_tlb.*bypass.entries is 0")
end
refused("a filter on a field that is none", { name = "f", watch = {
    tlb_hit = { levl = 2, function() end } } }, "did you mean 'level'")
refused("a counter that is not declared", { name = "c", watch = {
    tlb_miss = function() tally "x" end } }, "declares no counter 'x'")
refused("a setting that is none", { name = "s",
    init = function() return setting "l2tlb.size" end }, "no 'l2tlb.size'")

-- ---- who watches one level leaves the other alone -------------------------------

local heard
do
    local sim <close> = whole.sim({ "GUP" }, SETTINGS, {})
    sim:use { name = "two", state = { n = { 0, 0 } }, watch = {
        tlb_hit = { level = 2, function(n, s) s.n[n.level] = s.n[n.level] + 1 end },
        cache_hit = { kind = "walk", function(n) assert(n.kind == "walk") end } } }
    sim:run()
    heard = sim:used()[1].state.n
end
tap.ok(heard[1] == 0 and heard[2] > 0, "a filter keeps the others out",
    table.concat(heard, " "))

-- ---- behind what cores ask for --------------------------------------------------

do
    local sim <close> = whole.sim({ "GUP" }, whole.join(SETTINGS, {
        ["walk.walkers"] = 3, ["prefetch.queue"] = 6, ["prefetch.walks"] = 2 }), {})
    sim:use { name = "eager", init = function()
        for k = 0, 49 do translate(0, 0x7f0000000 + k) end
    end, watch = { tlb_miss = { level = 2, function(n)
        for k = 1, 3 do translate(n.app, n.vpn + k, { core = n.core }) end
    end } } }
    sim:step() -- (some are looked up in the first cycle)
    local c = sim:counters().prefetch
    tap.ok(c.started == 50 and c.dropped + c.lookups >= 44 and c.dropped <= 44,
        "the queue has so much room", c.dropped)
    local begun, before, waited, bad = {}, false, 0, nil
    local most, queued = 0, 0
    while sim.now < 1500 and sim:step() == "ok" do
        local waits, mine, now = false, 0, {}
        for _, w in ipairs(sim:look "walks") do
            if w.requesters > 0 then
                waits = waits or w.state == "waits"
            elseif w.state ~= "waits" then
                mine, now[w.vpn] = mine + 1, true
            end
        end
        for vpn in pairs(now) do
            bad = bad or not begun[vpn] and waits and before and sim.now
        end
        waited = waited + (waits and 1 or 0)
        begun, before = now, waits
        most, queued = math.max(most, mine), math.max(queued, #sim:look "prefetch")
    end
    tap.ok(waited > 100 and not bad, "none is walked for while a miss waits",
        bad or waited)
    tap.ok(most == 2 and queued <= 6, "and never more than set",
        most .. " " .. queued)
end

-- ---- program counters ----------------------------------------------------------

--- Every question that has a program counter has one of an instruction that was
-- issued, and of a walk the one that its notes tell.
local function counted(settings)
    local sim <close> = whole.sim({ "ATAX" }, whole.join(SETTINGS, settings), {})
    local p = { name = "pcs", state = { issued = { [0] = true }, n = {}, bad = {},
        step = {} }, watch = {
        access = function(n, s) s.issued[n.pc] = true end,
        walk_read = function(n, s)
            local want = s.step[n.vpn]
            if want and want ~= n.pc then s.bad.walk_read = n.pc end
        end } }
    local function see(s, name, pc)
        if not s.issued[pc] then s.bad[name] = pc end
        s.n[name] = (s.n[name] or 0) + (pc ~= 0 and 1 or 0)
    end
    for _, name in ipairs { "tlb_fill", "tlb_merge", "tlb_insert", "l2_bypass",
        "cache_insert" } do
        p[name] = function(q, s) see(s, name, q.pc) end
    end
    for _, name in ipairs { "repl_touch", "repl_fill" } do
        p.watch[name] = function(n, s) see(s, name, n.pc) end
    end
    function p.walk_step(q, s)
        see(s, "walk_step", q.pc)
        s.step[q.vpn] = q.pc
    end
    for _, name in ipairs { "walk_pick", "walk_reference" } do
        p[name] = function(q, s)
            for i = 1, q.n do see(s, name, q.pc[i]) end
        end
    end
    sim:use(p)
    sim:run()
    return sim:used()[1].state
end
do
    local a = counted { ["walk.walkers"] = 1, ["l1tlb.merge_pages"] = 8,
        ["l2tlb.merge_pages"] = 8 }
    local b = counted { ["walk.walkers"] = 1, ["walk.batch"] = 8,
        ["walk.queue"] = 64 }
    for _, name in ipairs { "tlb_fill", "tlb_merge", "tlb_insert", "l2_bypass",
        "repl_touch", "repl_fill", "cache_insert", "walk_step", "walk_pick" } do
        tap.ok((a.n[name] or 0) > 0 and a.bad[name] == nil, name
            .. ": of an instruction that was issued", a.bad[name])
    end
    tap.ok((b.n.walk_reference or 0) > 0 and b.bad.walk_reference == nil,
        "walk_reference, too", b.bad.walk_reference)
    tap.ok(not a.bad.walk_read and not b.bad.walk_read, "as notes of walks tell")
end

-- ---- counters of its own ----------------------------------------------------

do
    local H = require "heddle"
    local sim <close> = whole.sim({ "GUP", "ATAX" }, SETTINGS, { interval = 700,
        relaunch = false })
    sim:use { name = "own", state = { n = 0, last = {} }, counters = {
        n = { unit = "walks", meaning = "walks that it saw" },
        most = { unit = "cycles", meaning = "the longest", kind = "peak" },
        now = { unit = "cycles", meaning = "the last one's", kind = "series" },
        all = { unit = "cycles", meaning = "all of them", kind = "histogram" } },
        watch = { walk_done = function(n, s)
            s.n = s.n + 1
            s.last[#s.last + 1] = { n.cycle, n.app, n.cycles }
            tally("n", 1, n.app)
            tally("most", n.cycles, n.app)
            tally("now", n.cycles, n.app)
            tally("all", n.cycles, n.app)
        end } }
    sim:run(5000)
    sim:reset_counters()
    local before = sim:used()[1].state.n
    sim:run()
    local r, s = sim:results(), sim:used()[1].state
    local want = { n = { 0, 0 }, most = { 0, 0 }, now = { 0, 0 } }
    for i, walk in ipairs(s.last) do
        local a = walk[2] + 1
        if i > before then
            want.n[a] = want.n[a] + 1
            want.most[a] = math.max(want.most[a], walk[3])
        end
        want.now[a] = walk[3]
    end
    for name, by in pairs(want) do
        tap.same({ H.report.counter(r, "policy.own." .. name, 0),
            H.report.counter(r, "policy.own." .. name, 1) }, by,
            "counted: " .. name)
    end
    local bad
    local value, seen = {}, 0 -- of walks in their order, those that ended long before
    for _, i in ipairs(r.intervals) do -- the series has the last of each
        while s.last[seen + 1] and s.last[seen + 1][1] <= i.to - 100 do
            seen = seen + 1
            value[s.last[seen][2] + 1] = s.last[seen][3]
        end
        local near, k = {}, seen + 1
        while s.last[k] and s.last[k][1] <= i.to + 100 do
            near[s.last[k][2] + 1] = true
            k = k + 1
        end
        local got = i.counters["policy.own.now"] or {}
        for a = 1, 2 do
            bad = bad or not near[a] and (got[a] or 0) ~= (value[a] or 0)
                and ("%d: %s, not %s"):format(i.to, got[a], value[a])
        end
    end
    tap.ok(#r.intervals > 5 and not bad, "intervals have the series", bad)
    local shown = H.report.format(r)
    tap.ok(shown:find "\nCounters of policies\n" and shown:find(
        "\n  policy.own.now +%d+ +%d+ +%d+ +cycles +the last one's\n")
        and shown:find "\n  policy.own.all +GUP", "and reports show them", shown)
    for _, k in ipairs(r.kernels) do
        bad = k.counters["policy.own.now"] or bad
    end
    tap.ok(not bad, "launches have no difference of a series", bad)
end
tap.ok(files.output(files.HEDDLE .. " explain policy.distance.predicted"):find(
    "counter of the policy distance.*translations"), "explain knows them")

local out = files.folder()
local ok, text = files.command(files.HEDDLE .. " run scenarios/tlb-policies.lua "
    .. "scale=quick programs=ATAX,BFS2 cycles=4000 warmup=2000 jobs=2 out=" .. out)
files.output("rm -r " .. files.quote(out))
tap.ok(ok and text:find "victim_tlb", "the scenario runs", text)

tap.done()
