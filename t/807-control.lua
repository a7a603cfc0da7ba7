-- 807-control.lua - pins: what decides when a run counts, starts again and
-- ends.  The first application to finish starts again, at the same addresses
-- and with its first contents, and its counters stay as they were; a budget
-- counts exactly, and from the instruction that is its start; counters after
-- the warm-up, or after a reset, are the difference; the kernels that are
-- selected do what they do in a whole run; stop_cycles stops; a machine that
-- cannot move says what waits for what; and the modes of every level give the
-- run times that they must.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

-- ---- relaunch --------------------------------------------------------------------

do
    local names = { "BFS2", whole.column(8, 48) }
    local sim = whole.sim(names)
    local function of(app)
        return sim:counters { app = app }
    end
    local pa, frozen, hists = nil, nil, nil
    local function hist_values()
        local out = {}
        for i, h in ipairs(sim.core:hists()) do
            out[i] = h.apps[1]
        end
        return out
    end
    repeat
        local word = sim:run(97)
        pa = pa or sim:translate(0, sim:look("pagetable", 0)[1].vpn << 12)
        if not frozen and sim.core:apps()[1].finished then
            frozen, hists = of(0), hist_values()
        end
    until word ~= "ok"
    local apps = sim.core:apps()
    tap.ok(frozen and apps[1].completions >= 2 and apps[2].completions == 1,
        "the first to finish started again", ("%d and %d times"):format(
            apps[1].completions, apps[2].completions))
    tap.same(of(0), frozen, "its counters stayed as they were")
    tap.is(of(0).core.instructions, apps[1].instructions,
        "its instructions are those of one execution")
    tap.same(hist_values(), hists, "and its histograms")
    tap.is(sim:translate(0, sim:look("pagetable", 0)[1].vpn << 12), pa,
        "the same frames")
    local runs = {}
    for _, k in ipairs(sim.core:kernels()) do
        if k.app == 0 and k["end"] > 0 then
            runs[k.run] = runs[k.run] or {}
            table.insert(runs[k.run], ("%s %d %d %d"):format(k.name, k.id,
                k.blocks, k.instructions))
        end
    end
    tap.ok(#runs[0] > 5, "it has some launches", #runs[0])
    tap.same(runs[1], runs[0], "the second time it did the same work")
    local together = apps[2].cycles
    sim:close()

    sim = whole.sim(names, nil, { relaunch = false })
    sim:run()
    apps = sim.core:apps()
    tap.ok(apps[1].completions == 1 and apps[2].completions == 1,
        "without relaunch each runs once")
    tap.ok(apps[2].cycles <= together, "and disturbs the other less",
        ("%d, with relaunch %d"):format(apps[2].cycles, together))
    sim:close()
end

-- ---- budgets ----------------------------------------------------------------------

do
    local function run(names, options)
        local sim = whole.sim(names, nil, options)
        sim:run()
        local apps, now = sim.core:apps(), sim.now
        local c = sim:counters { app = 0 }
        sim:close()
        return apps, now, c
    end
    local full, all = run({ "MM" })
    for _, budget in ipairs { 1, 2, 1000, 2663, full[1].instructions } do
        local apps, now, c = run({ "MM" }, { budget = budget })
        tap.ok(apps[1].instructions == budget and apps[1].finished
            and now <= all, "a budget of " .. budget,
            ("%d instructions, %d cycles"):format(apps[1].instructions, now))
        tap.ok(c.core.instructions >= budget
            and c.core.instructions < budget + 600,
            "the counters stop with it", c.core.instructions)
        tap.is(apps[1].truncated, budget < full[1].instructions
            or apps[1].completions == 0, "whether it was cut is known")
    end
    local apps, now = run({ "MM" }, { budget = full[1].instructions + 1 })
    tap.ok(apps[1].instructions == full[1].instructions and now == all
        and not apps[1].truncated, "a budget that is not used up")
    apps = run({ "MM", "GUP" }, { budget = 1200 })
    tap.ok(apps[1].instructions == 1200 and apps[2].instructions == 1200,
        "each application has it", apps[2].instructions)
    apps = run({ "MM", "RED" }, { budget = 3800 })
    tap.ok(apps[2].instructions <= 3800 and apps[1].instructions == 3800,
        "one ends by itself, the other by its budget",
        apps[2].instructions)
end

-- An application's budget is used up at the instant at which so many instructions
-- have issued, whichever core is simulated first and however far it runs ahead: a
-- twin whose epochs of a cycle let none run ahead has begun as many the cycle
-- before.
do
    local settings = whole.join(whole.SMALL, { ["core.count"] = 6,
        ["core.ilp"] = 1 })
    local function make(options, policies)
        return whole.sim({ whole.column(9, 40), whole.random(12, 40) }, settings,
            options, policies)
    end
    local BUDGETS = { 1, 2, 3, 77, 200, 300 }
    local begun, cycles = {}, 0 -- of each application, by cycle, as far as is asked
    do
        local function all_begun()
            local now = begun[cycles] or { 0, 0 }
            return math.min(now[1], now[2]) > BUDGETS[#BUDGETS]
        end
        local sim <close> = make()
        sim:use { name = "each_cycle", every = { 1, function() end } }
        while not all_begun() and sim:run(1) == "ok" do
            cycles = cycles + 1
            local apps = sim.core:apps()
            begun[cycles] = { apps[1].instructions, apps[2].instructions }
        end
    end
    for _, budget in ipairs(BUDGETS) do
        local bad
        for _, cut in ipairs { 7, 1 << 30 } do
            local sim <close> = make { budget = budget }
            while sim:run(cut) == "ok" do end
            for i, app in ipairs(sim.core:apps()) do
                local at, before = begun[app.cycles - 1], begun[app.cycles - 2]
                if not (at[i] >= budget and before[i] < budget) then
                    bad = ("application %d, cycle %d: %d, then %d"):format(i - 1,
                        app.cycles, before[i], at[i])
                end
            end
        end
        tap.ok(not bad, "issued at the end of a budget of " .. budget, bad)
    end
end

-- ---- warm-up and reset --------------------------------------------------------------

do
    local W, X = 3001, 9007
    local function build(options)
        return whole.sim({ whole.column(8, 64), whole.random(16, 32) }, nil,
            options)
    end
    -- A load's open wait counts as data until it ends and is split, so only
    -- the sum of the parts is that of the two parts.
    local WAIT = { time_tlb = true, time_walk = true, time_fault = true,
        time_data = true }
    local function snapshot(sim)
        local out, peaks = {}, {}
        for _, c in ipairs(sim.core:counters()) do
            peaks[c.component .. "." .. c.name] = c.peak
        end
        for _, app in ipairs { 0, 1, "none" } do
            for component, list in pairs(sim:counters { app = app }) do
                for name, v in pairs(list) do
                    local key = component .. "." .. name
                    if WAIT[name] then
                        key = component .. ".time_load of " .. app
                        out[key] = (out[key] or 0) + v
                    elseif not peaks[key] then
                        out[key .. " of " .. app] = v
                    end
                end
            end
        end
        for _, h in ipairs(sim.core:hists()) do
            for a, v in ipairs(h.apps) do
                local key = ("%s.%s %d"):format(h.component, h.name, a)
                out[key .. " n"], out[key .. " sum"] = v.n, v.sum
                for _, b in ipairs(v.buckets) do
                    out[key .. " from " .. b[1]] = b[3]
                end
            end
        end
        return out
    end
    local plain = build()
    plain:run(W)
    local before = snapshot(plain)
    plain:run(X)
    local after, want = snapshot(plain), {}
    for k, v in pairs(after) do
        want[k] = v - (before[k] or 0)
    end
    local function compare(sim, title)
        local got, bad, n = snapshot(sim), nil, 0
        for k, v in pairs(want) do
            n = n + (v ~= 0 and 1 or 0)
            if v ~= (got[k] or 0) then
                bad = ("%s: %d, expected %d"):format(k, got[k] or 0, v)
            end
        end
        tap.ok(not bad and n > 100, title, bad)
        tap.is(sim.now, W + X, title .. ": the clock goes on")
        tap.is(sim.core:apps()[1].cycles, X, title .. ": cycles are counted "
            .. "from there")
    end
    local reset = build()
    reset:run(W)
    reset:reset_counters()
    reset:run(X)
    compare(reset, "counters after a reset are the difference")
    local warm = build { warmup = W }
    warm:run(W + X)
    compare(warm, "counters after the warm-up are the difference")

    -- The budget counts from the end of the warm-up.
    local sim = build { warmup = W, budget = 500 }
    sim:run()
    local apps = sim.core:apps()
    tap.ok(apps[1].instructions == 500 and apps[2].instructions == 500
        and sim.now > W, "the budget starts with the counters",
        apps[1].instructions)
    -- Nothing finishes while it warms up.
    sim = whole.sim({ "MM" }, nil, { warmup = 40000 })
    sim:run()
    apps = sim.core:apps()
    tap.ok(sim.now > 40000 and apps[1].finished and apps[1].completions > 2,
        "what ends in the warm-up starts again", sim.now)
end

-- ---- a start of its own -----------------------------------------------------------------

do
    local function run(own, options)
        local names = { H.app("MM", whole.join({ size = "T" }, own)),
            H.app("GUP", { size = "T", budget = 9000 }) }
        local sim <close> = whole.sim(names, nil, options)
        sim:run()
        return sim.core:apps()[1], sim:results()
    end
    local head, all = run { budget = 1000 }, run { budget = 3000 }
    local part = run { start = 1000, budget = 2000 }
    tap.ok(part.instructions == 2000 and part.before == 1000
        and part.finished, "an application counts from an instruction on")
    tap.is(part.cycles, all.cycles - head.cycles,
        "over the time from there to its budget")
    for _, warmup in ipairs { 300, head.cycles, 5000, 30000 } do
        local one = run({ start = 1000, budget = 2000 }, { warmup = warmup })
        for _, what in ipairs { "instructions", "thread_instructions",
            "before", "cycles" } do
            tap.is(one[what], part[what], ("%s, whatever the warm-up: %d")
                :format(what, warmup))
        end
    end
    local warm = run({ budget = 2000 }, { warmup = 1500 })
    tap.ok(warm.before > 0 and warm.instructions == 2000,
        "what the warm-up issued is known", warm.before)
    tap.is(run({ start = warm.before, budget = 2000 }).instructions, 2000,
        "and can be a start")
    local early, r = run({ start = 1 << 40, budget = 5 }, { stop_cycles = 2000 })
    tap.ok(early.cycles == 0 and early.instructions == 0
        and early.before == 0 and not early.finished and r.instructions > 500,
        "before its start it counts nothing", r.instructions)
    local never = run({ start = 1 << 40 }, { relaunch = false })
    tap.ok(never.finished and never.instructions == 0 and never.before > 0,
        "one that ends before its start has done nothing")
    local through = run { start = 1000 }
    tap.ok(through.finished and through.completions >= 1
        and through.instructions > 0,
        "without a budget it counts to its end", through.instructions)
end

-- ---- kernels --------------------------------------------------------------------------

do
    local function kernels(first, last)
        local sim = whole.sim({ "BFS2" }, whole.join(whole.SMALL, {
            ["sim.first_kernel"] = first, ["sim.last_kernel"] = last }))
        tap.is(sim:run(), "done", ("kernels %d to %d"):format(first, last))
        local out = {}
        for _, k in ipairs(sim.core:kernels()) do
            out[k.id] = ("%s %d %d"):format(k.name, k.blocks, k.instructions)
        end
        local now = sim.now
        sim:close()
        return out, now
    end
    local all, cycles = kernels(1, 0)
    for _, r in ipairs { { 1, 2 }, { 3, 5 }, { 6, 0 } } do
        local some, now = kernels(r[1], r[2])
        local want = {}
        for id = r[1], r[2] > 0 and r[2] or #all do
            want[id] = all[id]
        end
        tap.same(some, want, ("kernels %d to %d do their work"):format(r[1],
            r[2]))
        tap.ok(now < cycles, "in less time")
    end
    tap.raises(function()
        whole.sim({ "BFS2" }, whole.join(whole.SMALL, { ["sim.warmup"] = 500,
            ["sim.stop_cycles"] = 500 }))
    end, "sim.stop_cycles: 500", "an end before the warm-up's")
end

-- ---- what the first launches leave, kept --------------------------------------------

do
    local made
    --- The description whose workload is built once.
    local function once(app)
        local make = app.make
        made = nil
        app.make = function()
            made = made or make()
            return made
        end
        return app
    end
    local app = once(H.app("BFS2", { size = "T" }))
    local function text(first)
        local sim <close> = whole.sim({ app }, whole.join(whole.SMALL,
            { ["sim.first_kernel"] = first }))
        sim:run()
        local r = sim:results()
        return ("%d %s"):format(r.cycles, H.json.encode(r.counters))
    end
    local plain = {}
    for first = 1, 7 do
        plain[first] = text(first)
    end
    tap.ok(plain[4] ~= plain[5], "launches differ")
    for _, n in ipairs { 5, 3, 1 } do
        tap.is(H.survey.ahead(made, n, 64), n, "what those before one leave")
        local same = 0
        for first = 1, 7 do
            same = same + (text(first) == plain[first] and 1 or 0)
        end
        tap.is(same, 7, "all is the same")
    end
    local function shown(options, step)
        local out = {}
        H.survey.each(made, function(e)
            if e.launch >= 5 and (e.launch == 5 or step == 1)
                and e.block % step == 0 then
                out[#out + 1] = ("%d %d %d %s %x %s"):format(e.launch, e.block,
                    e.warp, e.kind, e.mask, e.addr and e.addr[0])
            end
        end, options)
        return table.concat(out, "\n")
    end
    local rest, some = shown({}, 1), shown({}, 3)
    tap.ok(#rest > #some and #some > 500, "a walk", #some)
    for _, n in ipairs { 1, 3, 5, 6 } do
        H.survey.ahead(made, n)
        tap.ok(shown({ first = 5 }, 1) == rest
            and shown({ first = 5, every = 3 }, 3) == some,
            "it shows what begins there, and all before has been run")
    end
    H.survey.ahead(made, 5, 32)
    tap.is(text(5), plain[5], "warps of another size have their own")
    tap.is(H.survey.ahead(made), H.characterise.busiest(H.characterise.measure(
        "BFS2", { size = "T", timed = false }).survey), "the busiest")
    tap.raises(function() H.survey.ahead(made, 1000) end,
        "launch 1000 is expected to be at most", "one that is none")
    tap.is(text(3), plain[3], "leaves it as it was")
    tap.raises(function()
        H.survey.ahead((H.generator { name = "g", buffers = {}, kernels = { {
            name = "k", grid = 1, block = 32, warp = function() end } } }
            :workload()))
    end, "kernel programs", "a generator")
    local k = H.kernel
    app = once(H.program(k.app { name = "long",
        buffers = function() return { k.f32("b", 32) } end,
        kernels = function(_, b)
            local function turns(name, n)
                return k.kernel(name, { grid = 1, block = 32 }, function(t)
                    t:loop(n, function() t:load(b.b, t.gid) end)
                end)
            end
            return { turns("first", 30000000), turns("second", 3) }
        end }))
    local function spent()
        local from = os.clock()
        text(2)
        return os.clock() - from
    end
    local plainly = spent()
    H.survey.ahead(made, 2, 64)
    local again = spent()
    tap.ok(again < plainly / 2, "and need not run again", ("%.3f s, %.3f s")
        :format(again, plainly))
end

-- ---- stopping ---------------------------------------------------------------------------

do
    local sim = whole.sim({ "NN" }, nil, { stop_cycles = 1234 })
    tap.is(sim:run(), "stopped", "stop_cycles stops")
    tap.is(sim.now, 1234, "at that cycle")
    tap.is(sim:run(), "stopped", "for good")
    tap.is(sim.now, 1234, "where it was")
    sim:close()
end

--- Runs until it is stuck; the error and the graph.
local function stuck(names, settings, policy)
    local sim = whole.sim(names, whole.join(whole.SMALL,
        { ["sim.stuck_cycles"] = 100000 }, settings or {}))
    sim:use(policy)
    local ok, err = pcall(sim.run, sim)
    local rows = sim:stuck()
    local again, later = pcall(sim.run, sim)
    sim:close()
    tap.ok(not ok and err.code == -8, "it is stuck", tostring(err))
    tap.ok(not again and later.code == -8, "and stays so", tostring(later))
    for _, row in ipairs(rows) do
        if row.kind ~= "wait" or type(row.who) ~= "string"
            or math.type(row.instance) ~= "integer"
            or type(row["for"]) ~= "string" then
            tap.ok(false, "a row of the graph says who waits for what")
        end
    end
    return err.message, rows
end

local function has(rows, to, why)
    for _, r in ipairs(rows) do
        if r["for"] == to and r.why:find(why, 1, true) and r.n > 0 then
            return true
        end
    end
end

do
    local text, rows = stuck({ "MM" }, nil,
        { name = "never", warp_limit = function() return 0 end })
    tap.ok(#rows > 0 and has(rows, "warp_limit", "may not load"),
        "no warp may load: the graph says so", text)
    -- Half of the warps wait at a barrier for those that may not load.
    text, rows = stuck({ "MM" }, nil, { name = "half",
        warp_limit = function() return 0x5555555555555555 end })
    tap.ok(has(rows, "barriers", "have not arrived")
        and has(rows, "warp_limit", "may not load"),
        "a barrier that never opens: the graph says so", text)
    tap.ok(text:find("core 0", 1, true) and text:find("barriers", 1, true),
        "and so does the error", text)
end

do
    -- A run of instructions counts at its start, and takes its time.
    local k = require "heddle.kernel"
    local long = k.app { name = "long",
        buffers = function() return { k.i32("a", 32) } end,
        kernels = function() return { k.kernel("long", { block = 32 },
            function(t) t:alu(30000) end) } end }
    local sim = whole.sim({ H.program(long) }, whole.join(whole.SMALL,
        { ["sim.stuck_cycles"] = 5000 }))
    tap.is(sim:run(), "done", "arithmetic that takes long is no standstill")
    tap.ok(sim.now > 30000, "and takes its cycles", tostring(sim.now))
    sim:close()
end

-- ---- modes --------------------------------------------------------------------------------

do
    local function cycles(settings)
        local sim = whole.sim({ whole.random(8, 12, 2) },
            whole.join(whole.SMALL, settings))
        sim:run()
        local now = sim.now
        sim:close()
        return now
    end
    local function order(setting, modes, base)
        local last, bad, shown = 0, nil, {}
        for _, mode in ipairs(modes) do
            local t = cycles(whole.join({ ["l1tlb.blocking"] = "none" },
                base or {}, { [setting] = mode }))
            shown[#shown + 1] = ("%s %d"):format(mode, t)
            bad = bad or t < last
            last = t
        end
        tap.ok(not bad, setting .. ": " .. table.concat(shown, " <= "))
    end
    local function faster(setting, mode, other, base)
        local a = cycles(whole.join(base or {}, { [setting] = mode }))
        local b = cycles(whole.join(base or {}, { [setting] = other }))
        tap.ok(a < b, ("%s: %s is faster than %s (%d, %d)"):format(setting,
            mode, other, a, b))
    end
    local PWC = { ["pwc.mode"] = "full" }
    order("l1tlb.mode", { "ideal", "fixed:1", "fixed:100", "fixed:2000" })
    order("l1tlb.mode", { "ideal", "full", "off" })
    order("l2tlb.mode", { "ideal", "fixed:20", "fixed:500" })
    order("l2tlb.mode", { "ideal", "full" })
    faster("l2tlb.mode", "full", "off", { ["walk.walkers"] = 2 })
    order("walk.mode", { "ideal", "fixed:10", "fixed:100", "fixed:3000" })
    order("walk.mode", { "ideal", "full" })
    order("pwc.mode", { "ideal", "fixed:20", "fixed:1000" })
    order("pwc.mode", { "ideal", "full", "off" }, { ["walk.walkers"] = 2 })
    order("l1cache.mode", { "ideal", "fixed:1", "fixed:100", "fixed:5000" })
    order("l1cache.mode", { "ideal", "full" })
    -- fixed and off have no time before the tags
    local AT_ONCE = whole.join(PWC, { ["l2cache.queue_latency"] = 0 })
    order("l2cache.mode", { "ideal", "fixed:20", "fixed:500" }, AT_ONCE)
    -- an L2 that is hardly hit is worth more where the way to it is short and
    -- many warps want it
    order("l2cache.mode", { "ideal", "full", "off" }, whole.join(AT_ONCE,
        { ["xbar.latency"] = 8, ["walk.memory_latency"] = 8,
            ["walk.latency"] = 10, ["core.regs"] = 131072 }))
    order("dram.mode", { "off", "ideal", "full" })
    order("dram.mode", { "fixed:1", "fixed:50", "fixed:1000" })
    faster("sim.translation", "off", "full")
end

tap.done()
