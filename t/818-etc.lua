-- 818-etc.lua - pins the policy "etc": by its list or by samples an application
-- is what its loads make it; regular ones have pages leave ahead of need and
-- beside those that come, sharing and irregular ones have their pages compressed,
-- and throttling with irregular = 1 stops cores of these alone; C and Lua are the
-- same run.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local UNLIMITED = { ["vm.paging"] = "fault", ["sim.relaunch"] = false }

local function pages_of(app)
    local sim <close> = whole.sim({ app }, UNLIMITED, { machine = "etc" })
    sim:run()
    return sim:counters().fault.pages
end

--- A program in a share of its pages under policies; statistics and counters.
local function run(app, pages, policies, more)
    local sim <close> = whole.sim({ app }, whole.join(UNLIMITED, {
        ["evict.unit"] = "4K", ["vm.table_frames"] = 256,
        ["compress.enable"] = true, ["compress.ratio"] = "150",
        ["throttle.cycles"] = 5000, ["link.latency"] = 2000,
        ["vm.memory_bytes"] = (256 + pages) * 4096 }, more or {}),
        { machine = "etc", check = true })
    for _, p in ipairs(policies) do
        sim:use(p[1], p[2])
    end
    tap.is(sim:run(), "done", app .. " ends")
    return whole.statistics(sim, whole.no_policy), sim:counters()
end

local MT = { detect = 2, execute = 3, irregular = 1 }

-- ATAX's first kernel reads rows lane by lane: irregular; SCAN's loads are in
-- order.  Of MT alone nothing is told, so no core stops.
for app, is in pairs { ATAX = "irregular", SCAN = "regular" } do
    local pages = pages_of(app) // 2
    local digit = is == "irregular" and 3 or 1
    for _, listed in ipairs { digit, 0 } do
        local options = { classes = listed, sample = 3000,
            free_bytes = 4 * 4096 }
        local a, c = run(app, pages, { { "etc", options }, { "throttle", MT } })
        local b = run(app, pages, { { "policies/etc.lua", options },
            { "policies/throttle.lua", MT } })
        local what = app .. (listed == 0 and " by samples" or " by the list")
        tap.is(whole.difference(a, b), nil, what .. ": C and Lua are the same")
        tap.ok(c.classify[is] > 0 and c.classify.regular + c.classify.sharing
            + c.classify.irregular == c.classify[is],
            what .. ": it is " .. is, c.classify[is])
        if listed ~= 0 then
            tap.is(c.compress.reads > 0, is == "irregular",
                what .. ": compressed if irregular")
            tap.is(c.evict.ahead > 0, is == "regular",
                what .. ": leaves ahead if regular")
        end
        tap.is(c.throttle.stops > 0, is == "irregular",
            what .. ": stops if irregular")
    end
    local _, c = run(app, pages, { { "etc", { classes = 2,
        free_bytes = 4 * 4096 } }, { "throttle", MT } })
    tap.ok(c.compress.reads > 0 and c.throttle.stops == 0,
        app .. " called sharing: compressed, and nothing stops")
    local _, d = run(app, pages, { { "throttle", MT } })
    tap.is(d.throttle.stops, 0, app .. ": who is unknown does not stop")
    tap.is(d.classify.irregular, 0, "and has no samples")
end

-- Samples that share data are what the list says.
do
    local pages = pages_of "SCAN"
    local _, c = run("SCAN", pages, { { "etc", { sharing = 1,
        sample = 3000 } } })
    tap.ok(c.classify.sharing > 0 and c.classify.regular == 0,
        "regular and said to share", c.classify.sharing)
    local _, d = run("SCAN", pages, { { "etc", { threshold = 128,
        sample = 3000 } } })
    tap.ok(d.classify.irregular > 0 and d.classify.regular == 0,
        "irregular by a threshold above what it has", d.classify.irregular)
end

return tap.done()
