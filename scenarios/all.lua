--- all.lua - the five papers' mechanisms in one machine: what adds up, and what
-- is in another's way.
--
-- No paper's figure.  Mosaic (several page sizes), MASK (sharing), MESC (runs of
-- pages in one entry), ETC (too little memory) and TCWS (warps that keep their
-- pages), alone, in pairs, all but one, and together, on the machine of MASK with
-- pages of 4 KB and a shared L2 TLB.  Two applications share it:
--
--   100 %  memory for all, and pages are there at launch, as in MASK, Mosaic and
--          MESC;
--   75 %   of the 64 KB pages that both touch, all on the host at first, as in
--          ETC: 64 KB come for a fault, 20 us and 16 GB/s, and 2 MB leave.  Pages
--          come in the order of their faults there, so that none would be in order
--          in memory: where Mosaic does not place them, the policy reserve keeps
--          runs of 64 frames for them, for every other design alike.
--
-- Compressed pages are neither contiguous nor coalesced, so ETC with compression
-- turns MESC and Mosaic off where it acts; each set with ETC is run with its other
-- two mechanisms alone, too: PE + MT, proactive eviction and throttling.
--
-- Programs have size S and run once to their ends (quick: 20,000 warp
-- instructions of two pairs).  The pairs were chosen before
-- any was run, by ETC's classes: regular programs (a pair of MASK), an irregular
-- beside a regular one with sharing, two irregular ones; and, since translation hardly
-- binds the second, the pair of MASK's class 2-HMR of which ETC classes both programs
-- and one is in it, too.  Speed is the geometric
-- mean of both applications' over the machine without any mechanism, in as much
-- memory.  Interaction of A and B is S(AB) / (S(A) S(B)): above 1 they add more
-- than each alone, below they fight; within 3 % they are neutral.  Where one of them
-- did nothing in the run of both, by its own counters, that is what is printed.
--
-- Mosaic at 75 % coalesces what stays until its last page has come: 21 regions of
-- CONS+LPS (29 in memory for all) and 16 of BICG+GESUMMV (24), but none of MVT+SRAD
-- (8; memory is then eight frames, MVT's columns touch all of its regions in turn,
-- and each leaves half full: with 90 % it is 8 again, and evict.unit=64K changes
-- nothing), and of SCAN+SRAD none in any memory: no aligned 2 MB of it is touched
-- whole.  The column "coalesced" of the last table prints them.
--
-- full: 33 designs of 4 pairs in 2 shares, 264 runs of 4 to 12 s, some 40 minutes of
-- one core; quick: 45 runs, 10 s of one.
--
--     heddle run scenarios/all.lua [scale=full] [pairs=CONS+LPS] [shares=100,75]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"

local PAGE, TABLES = 65536, 4096
local NEUTRAL = 0.03
local LEAST = 32 -- 64 KB pages an application: Mosaic places in frames of 2 MB
local PAIRS = { "CONS+LPS", "MVT+SRAD", "BICG+GESUMMV", "SCAN+SRAD" }
local CLASS = { regular = 1, ["regular, sharing"] = 2, irregular = 3 }
local ETC = H.suites.get "etc"

local arg = H.args(experiment.args { pairs = "", shares = "", size = "S",
    budget = 0 }) -- warp instructions of each; 0: full, all; quick, a few
local full = arg.scale == "full"
local budget = arg.budget > 0 and arg.budget or not full and 20000 or nil

local function words(text, otherwise)
    local out = {}
    for word in text:gmatch "[^,]+" do
        out[#out + 1] = word
    end
    return #out > 0 and out or otherwise
end

local pairs_of = words(arg.pairs, full and PAIRS or { PAIRS[2], PAIRS[4] })
local shares = words(arg.shares, { "100", "75" })

-- ---- designs: subsets of five ---------------------------------------------------

local NAMES = { "Mosaic", "MASK", "MESC", "ETC", "TCWS" }
local MOSAIC, ETC_BIT = 1, 8
local PLAIN = 1 << #NAMES -- ETC in the set is without compression
local ALL = PLAIN - 1

--- The mechanism of that place in NAMES; ETC's engine knows the classes.
local function mechanism(i, programs, plain)
    local name = NAMES[i]
    if name == "ETC" then
        local classes = {}
        for a, program in ipairs(programs) do
            classes[a] = CLASS[ETC.class[program]] or 0
        end
        local d = H.designs.etc(classes)
        return not plain and d or { name = "PE + MT", policies = d.policies,
            apply = function(machine) return machine end }
    end
    return name == "TCWS" and H.designs.tcws() or H.designs.get(name)
end

--- Subsets as bit sets, in the order of the table.
local SETS = { 0 }
for n = 1, #NAMES do
    for set = 1, (1 << #NAMES) - 1 do
        local count = 0
        for i = 0, #NAMES - 1 do
            count = count + (set >> i & 1)
        end
        if count == n and n ~= 3 and (full or n ~= 2) then
            SETS[#SETS + 1] = set
            if set & ETC_BIT ~= 0 and (full or n ~= 4) then
                SETS[#SETS + 1] = set | PLAIN
            end
        end
    end
end
local IDEAL = "Ideal TLB"

local function name_of(set)
    if set & PLAIN ~= 0 then
        local name = name_of(set & ALL)
        return name:find "^all" and name .. ", PE + MT"
            or (name:gsub("ETC", "PE + MT"))
    end
    local list = {}
    for i, name in ipairs(NAMES) do
        if set >> (i - 1) & 1 == 1 then
            list[#list + 1] = name
        end
    end
    return #list == 0 and "none" or #list == #NAMES and "all"
        or #list == #NAMES - 1 and "all but " .. name_of(ALL ~ set)
        or table.concat(list, " + ")
end

--- `there`: pages are, at launch.
local function design(set, programs, there)
    local d = { name = "none", policies = {},
        apply = function(machine) return machine end }
    for i = 1, #NAMES do
        if set >> (i - 1) & 1 == 1 then
            d = H.designs.both(d, mechanism(i, programs, set & PLAIN ~= 0))
        end
    end
    if not there and set & MOSAIC == 0 then
        table.insert(d.policies, { use = "reserve" })
    end
    return d
end

-- ---- runs -----------------------------------------------------------------------

local BASE = H.machine "maxwell":with({
    ["sim.relaunch"] = false, ["vm.table_frames"] = TABLES,
    ["link.latency"] = { 20000, "ETC table 1" },
    ["link.bandwidth"] = { 16000000000, "ETC table 1" },
    ["fault.transfer"] = { "64K", "ETC table 1: pages of 64 KB" },
    ["fault.prefetch"] = { "locality", "ETC 5" },
    ["evict.unit"] = { "2M", "ETC 5" },
}, "scenarios/all.lua")

--- A job: programs under a design, in so many pages of 64 KB; nil: in memory for
-- all; there: the pages are there at launch.
local function job(programs, d, pages, there)
    local apps = {}
    for i, name in ipairs(programs) do
        apps[i] = H.app(name, { size = arg.size })
    end
    return { machine = d.apply(BASE):with {
            ["vm.paging"] = there and "none" or "fault",
            ["vm.memory_bytes"] = pages and TABLES * 4096 + pages * PAGE
                or 3 << 30 },
        apps = apps, policies = d.policies, seed = arg.seed, budget = budget }
end

local x = experiment.open { name = "scenarios/all",
    source = "beyond Mosaic, MASK, MESC, ETC and Pichai et al.",
    title = "five papers in one machine", arg = arg }
x:say("%s of size %s; memory: %s %% of what both touch",
    table.concat(pairs_of, ", "), arg.size, table.concat(shares, " and "))
if budget then
    x:say("the first %d warp instructions of each, which are not the same work "
        .. "under every design: for the form, not for numbers", budget)
end

-- What both touch, which a run in memory for all says.
local jobs, list, groups = {}, {}, {}
for i, pair in ipairs(pairs_of) do
    list[i] = words(pair:gsub("%+", ","), {})
    jobs[i] = job(list[i], design(0), nil, false)
end
local whole = x:run(jobs)
jobs = {}
for i, programs in ipairs(list) do
    local touched = (H.report.counter(whole[i], "fault.pages") * 4096
        + PAGE - 1) // PAGE
    for _, share in ipairs(shares) do
        local n = tonumber(share)
        local pages = n < 100 and touched * n // 100 or nil
        if pages and pages < LEAST * #programs then
            x:say("%s touches %d pages of 64 KB so far: not run in %s %%",
                pairs_of[i], touched, share)
            goto next
        end
        local group = { name = pairs_of[i] .. " " .. share, speed = {},
            result = {} }
        groups[#groups + 1] = group
        for _, set in ipairs(SETS) do
            jobs[#jobs + 1] = job(programs, design(set, programs, not pages),
                pages, not pages)
            group[#group + 1] = set
        end
        local ideal = design(0, programs, not pages)
        ideal.apply = H.designs.ideal
        jobs[#jobs + 1] = job(programs, ideal, pages, not pages)
        group[#group + 1] = IDEAL
        ::next::
    end
end
local results, k = x:run(jobs), 0
for _, group in ipairs(groups) do
    local none = results[k + 1]
    for _, set in ipairs(group) do
        k = k + 1
        group.result[set] = results[k]
        local speed = 1.0
        for a, app in ipairs(results[k].apps) do
            speed = speed * none.apps[a].cycles / app.cycles
        end
        group.speed[set] = speed ^ (1 / #none.apps)
    end
end

-- ---- what each mechanism did ----------------------------------------------------

local function count(r, ...)
    local sum = 0
    for _, name in ipairs { ... } do
        sum = sum + (H.report.counter(r, name) or 0) -- nil: the part is off
    end
    return sum
end

local function compressed(r)
    return count(r, "compress.pages_512", "compress.pages_1k", "compress.pages_2k")
end

--- By its place in NAMES: how it is said that it did nothing, and what it did in a
-- run.  (No counter has what TCWS holds: a run without it is not the same.)
local DID = {
    { "coalesced nothing", function(r) return count(r, "memory.coalesced") end },
    { "kept nothing out", function(r)
        return count(r, "mmu.bypass_fills", "l2cache.bypass_walks", "dram.golden")
    end },
    { "filled no subregion", function(r) return count(r, "l2tlb.sub_fills") end },
    { "never acted", function(r)
        return count(r, "throttle.stops", "evict.ahead") + compressed(r)
    end },
    { "held no warp", function(r, without)
        return without and r.cycles == without.cycles and 0 or 1
    end },
}

--- What a run did, by the counters of each mechanism: the columns of DONE.
local DONE = { "coalesced", "in subregions", "kept out", "walks saved",
    "cores stopped", "evicted ahead", "compressed", "kept apart" }
local function done(r, none)
    local function per(of)
        return count(of, "walk.walks") / math.max(1, of.instructions)
    end
    return { count(r, "memory.coalesced"),
        ("%.0f %%"):format(100 * count(r, "memory.contiguous_peak")
            / math.max(1, count(r, "memory.mapped_peak"))),
        count(r, "mmu.bypass_fills"),
        ("%d %%"):format(math.floor(100.5 - 100 * per(r)
            / math.max(1e-9, per(none)))),
        count(r, "throttle.stops"), count(r, "evict.ahead"), compressed(r),
        count(r, "memory.contiguous_packed", "memory.coalesced_packed") }
end

--- Which of a set's mechanisms did nothing in its run, in words, or nil.
local function idle(group, set)
    local who = {}
    for i, name in ipairs(NAMES) do
        local bit = 1 << (i - 1)
        if set & bit ~= 0 and DID[i][2](group.result[set],
            group.result[set & ~bit]) == 0 then
            who[#who + 1] = (set & PLAIN ~= 0 and name == "ETC" and "PE + MT"
                or name) .. " " .. DID[i][1]
        end
    end
    return #who > 0 and table.concat(who, ", ") or nil
end

-- ---- what came of it ------------------------------------------------------------

local function mean(value)
    local product = 1.0
    for _, group in ipairs(groups) do
        product = product * value(group)
    end
    return product ^ (1 / #groups)
end

local rows = { { "design" } }
local chart = { title = "Speed, the machine without any mechanism as 1",
    unit = "times", xlabel = "programs, and memory, % of what they touch",
    groups = {}, series = {} }
for g, group in ipairs(groups) do
    rows[1][g + 1], chart.groups[g] = group.name, group.name
end
rows[1][#rows[1] + 1] = "mean"
local sets = table.move(SETS, 1, #SETS, 1, {})
sets[#sets + 1] = IDEAL
for _, set in ipairs(sets) do
    local name = set == IDEAL and IDEAL or name_of(set)
    local row, values = { name }, {}
    for g, group in ipairs(groups) do
        values[g] = group.speed[set]
        row[g + 1] = ("%.3f"):format(values[g])
    end
    row[#row + 1] = ("%.3f"):format(mean(function(g) return g.speed[set] end))
    rows[#rows + 1] = row
    if set == IDEAL or not name:find "%+" then
        chart.series[#chart.series + 1] = { name = name, values = values }
    end
    x:quantity { "mean speed, " .. name, heddle = mean(function(g)
        return g.speed[set]
    end) }
end
x:table("speed, the machine without any mechanism as 1", rows)
x:bars(chart)

--- S(AB) / (S(A) S(B)).
local function interaction(group, a, b)
    return group.speed[a | b] / (group.speed[a] * group.speed[b])
end

local function word(v)
    return v > 1 + NEUTRAL and "add" or v < 1 - NEUTRAL and "fight" or "neutral"
end

--- The row of two mechanisms: what they are to each other where both did something,
-- and who did nothing where not.
local function pair_row(a, b)
    local row, both, lazy = { name_of(a | b) }, {}, {}
    for g, group in ipairs(groups) do
        local text = idle(group, a | b)
        if text then
            row[g + 1] = text
            lazy[#lazy + 1] = not lazy[text] and text or nil
            lazy[text] = true
        else
            both[#both + 1] = interaction(group, a, b)
            row[g + 1] = ("%.3f"):format(both[#both])
        end
    end
    local v = 1.0
    for _, one in ipairs(both) do
        v = v * one ^ (1 / #both)
    end
    row[#row + 1] = #both > 0 and ("%.3f"):format(v) or "-"
    row[#row + 1] = #both > 0 and ("%s (%d of %d)"):format(word(v), #both, #groups)
        or table.concat(lazy, "; ")
    x:quantity { "interaction of " .. row[1], heddle = #both > 0 and v or nil,
        note = #both == 0 and table.concat(lazy, "; ") or nil }
    return row
end

if full then
    rows = { { "A + B" } }
    table.move(chart.groups, 1, #groups, 2, rows[1])
    table.move({ "mean", "they" }, 1, 2, #rows[1] + 1, rows[1])
    for i = 1, #NAMES do
        for j = i + 1, #NAMES do
            local a, b = 1 << (i - 1), 1 << (j - 1)
            rows[#rows + 1] = pair_row(a, b)
            if a == ETC_BIT then
                rows[#rows + 1] = pair_row(a | PLAIN, b)
            elseif b == ETC_BIT then
                rows[#rows + 1] = pair_row(a, b | PLAIN)
            end
        end
    end
    x:table("interaction S(AB) / (S(A) S(B)); within 3 % neutral; mean of the "
        .. "columns in which both did something", rows)
end

rows = { { "without" } }
table.move(chart.groups, 1, #groups, 2, rows[1])
for i, name in ipairs(NAMES) do
    local row = { name }
    for g, group in ipairs(groups) do
        row[g + 1] = ("%.3f"):format(group.speed[ALL]
            / group.speed[ALL & ~(1 << (i - 1))])
    end
    rows[#rows + 1] = row
end
x:table("what each brings to the other four: S(all) / S(all but it)", rows)

rows = { table.move(DONE, 1, #DONE, 3, { "where", "design" }) }
rows[1][#rows[1] + 1] = "what did nothing"
for _, group in ipairs(groups) do
    for _, set in ipairs(SETS) do
        local some = set & ALL
        if some & (some - 1) == 0 or some == ALL then
            local row = done(group.result[set], group.result[0])
            table.move(row, 1, #row, 3)
            row[1], row[2] = group.name, name_of(set)
            row[#row + 1] = idle(group, set) or ""
            rows[#rows + 1] = row
        end
    end
end
x:table("what each mechanism did: regions coalesced, pages in contiguous subregions, "
    .. "fills kept out by tokens, walks saved, pages compressed, and pages in order "
    .. "that this kept apart", rows)
x:close()
