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
--          ETC: 64 KB come for a fault, 20 us and 16 GB/s, and 2 MB leave.
--
-- Programs have size S and run once to their ends (quick: 20,000 warp
-- instructions of one pair).  The pairs were chosen before
-- any was run, by ETC's classes: regular programs (a pair of MASK), an irregular
-- beside a regular one with sharing, two irregular ones.  Speed is the geometric
-- mean of both applications' over the machine without any mechanism, in as much
-- memory.  Interaction of A and B is S(AB) / (S(A) S(B)): above 1 they add more
-- than each alone, below they fight; within 3 % they are neutral.
--
--     heddle run scenarios/all.lua [scale=full] [pairs=CONS+LPS] [shares=100,75]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"

local PAGE, TABLES = 65536, 4096
local NEUTRAL = 0.03
local PAIRS = { "CONS+LPS", "MVT+SRAD", "BICG+GESUMMV" }
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

local pairs_of = words(arg.pairs, full and PAIRS or { PAIRS[2] })
local shares = words(arg.shares, { "100", "75" })

-- ---- designs: subsets of five ---------------------------------------------------

local NAMES = { "Mosaic", "MASK", "MESC", "ETC", "TCWS" }

--- The mechanism of that place in NAMES; ETC's engine knows the classes.
local function mechanism(i, programs)
    local name = NAMES[i]
    if name == "ETC" then
        local classes = {}
        for a, program in ipairs(programs) do
            classes[a] = CLASS[ETC.class[program]] or 0
        end
        return H.designs.etc(classes)
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
        end
    end
end
local IDEAL = "Ideal TLB"

local function name_of(set)
    local list = {}
    for i, name in ipairs(NAMES) do
        if set >> (i - 1) & 1 == 1 then
            list[#list + 1] = name
        end
    end
    return #list == 0 and "none" or #list == #NAMES and "all"
        or #list == #NAMES - 1 and "all but " .. name_of((1 << #NAMES) - 1 ~ set)
        or table.concat(list, " + ")
end

local function design(set, programs)
    local d = { name = "none", policies = {},
        apply = function(machine) return machine end }
    for i = 1, #NAMES do
        if set >> (i - 1) & 1 == 1 then
            d = H.designs.both(d, mechanism(i, programs))
        end
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
        local group = { name = pairs_of[i] .. " " .. share, speed = {} }
        groups[#groups + 1] = group
        for _, set in ipairs(SETS) do
            jobs[#jobs + 1] = job(programs, design(set, programs), pages,
                not pages)
            group[#group + 1] = set
        end
        local ideal = design(0)
        ideal.apply = H.designs.ideal
        jobs[#jobs + 1] = job(programs, ideal, pages, not pages)
        group[#group + 1] = IDEAL
    end
end
local results, k = x:run(jobs), 0
for _, group in ipairs(groups) do
    local none = results[k + 1]
    for _, set in ipairs(group) do
        k = k + 1
        local speed = 1.0
        for a, app in ipairs(results[k].apps) do
            speed = speed * none.apps[a].cycles / app.cycles
        end
        group.speed[set] = speed ^ (1 / #none.apps)
    end
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

--- S(AB) / (S(A) S(B)); and what they are to each other.
local function interaction(group, a, b)
    return group.speed[a | b] / (group.speed[a] * group.speed[b])
end

local function word(v)
    return v > 1 + NEUTRAL and "add" or v < 1 - NEUTRAL and "fight" or "neutral"
end

if full then
    rows = { { "A + B" } }
    table.move(chart.groups, 1, #groups, 2, rows[1])
    table.move({ "mean", "they" }, 1, 2, #rows[1] + 1, rows[1])
    for i = 1, #NAMES do
        for j = i + 1, #NAMES do
            local a, b = 1 << (i - 1), 1 << (j - 1)
            local row = { name_of(a | b) }
            for g, group in ipairs(groups) do
                row[g + 1] = ("%.3f"):format(interaction(group, a, b))
            end
            local v = mean(function(g) return interaction(g, a, b) end)
            row[#row + 1], row[#row + 2] = ("%.3f"):format(v), word(v)
            rows[#rows + 1] = row
            x:quantity { "interaction of " .. row[1], heddle = v }
        end
    end
    x:table("interaction S(AB) / (S(A) S(B)); within 3 % neutral", rows)
end

rows = { { "without" } }
table.move(chart.groups, 1, #groups, 2, rows[1])
local ALL = (1 << #NAMES) - 1
for i, name in ipairs(NAMES) do
    local row = { name }
    for g, group in ipairs(groups) do
        row[g + 1] = ("%.3f"):format(group.speed[ALL]
            / group.speed[ALL & ~(1 << (i - 1))])
    end
    rows[#rows + 1] = row
end
x:table("what each brings to the other four: S(all) / S(all but it)", rows)
x:close()
