-- mask.lua - MASK: sharing a GPU without fighting over translation.
--
-- Ausavarungnirun et al.: MASK, ASPLOS 2018.  Each mechanism can be switched
-- off:
--
--   tokens   TLB-Fill Tokens (section 5.2).  In the first epoch every warp
--            fills the L2 TLB; then an application has tokens for `initial`
--            percent of its warps (the lowest numbers of each core), and the
--            walks of the others fill the bypass cache.  When the L2 TLB miss
--            rate has changed by more than `band` percentage points from one
--            epoch to the next, the tokens move by `step` percent of the
--            warps: down when it rose, up when it fell.  With
--            token_rule = hillclimb the last move continues while the rate
--            falls, and turns when it rises.
--
--   bypass   Address-Translation-Aware L2 Bypass (section 5.3).  At the end of
--            an epoch the page walk reads of each level that hit less often in
--            the L2 cache than data did go past it in the next.  One set of
--            `sample` is left alone, so that a level that is bypassed still
--            shows how often it would hit; one that had no look-up there is
--            tried again.  With bypass_rule = released levels 2 to 4 always go past
--            it, all sets of them, as in the released simulator.
--
--   dram     Address-Space-Aware DRAM Scheduler (section 5.4).  Page walk reads
--            are golden.  Data of the application whose turn it is are silver,
--            all others normal.  A turn lasts `thresh` requests times the
--            application's share of walks at once times instructions that one
--            miss held up, both the most of the epoch before; equal shares
--            where no warp walked.
--
-- This is the steered form: at each epoch the policy sets the tables that the
-- engine's defaults read, so nothing is asked and a request costs what it
-- costs without a policy.  mask-asked.lua answers the points instead, and the
-- built-in "mask" is the same in C; all three give the same statistics.
--
-- SPDX-License-Identifier: MIT

local MILLION = 1000000 -- rates are in parts of it

--- What a counter has grown by.
local function grown(last, key, now)
    local before = last[key] or 0
    last[key] = now
    return now - before
end

local function bits(set)
    local n = 0
    while set ~= 0 do
        set = set & (set - 1)
        n = n + 1
    end
    return n
end

-- ---- tokens ----------------------------------------------------------------

local function tlb_lookups(app)
    return counter("mmu.hits", app) + counter("mmu.misses", app)
end

--- The n lowest members of a set; of an empty one, the n lowest numbers.
local function lowest(set, n)
    if set == 0 then
        return n >= 64 and -1 or (1 << n) - 1
    end
    local out = 0
    while set ~= 0 and n > 0 do
        out = out | set & -set
        set = set & (set - 1)
        n = n - 1
    end
    return out
end

--- -1, 0 or 1: which way the tokens of an application go.
local function direction(a, p, looked, missed)
    local rate, last = missed * MILLION // looked, a.rate
    local band = p.band * MILLION // 100
    a.rate = rate
    local rose = last and rate > last + band
    local fell = last and rate + band < last
    if not rose and not fell then
        return 0
    end
    if p.token_rule == "text" then
        a.up = fell
    else
        a.up = a.up ~= rose
    end
    return a.up and 1 or -1
end

--- How many tokens an application of so many warps gets.
local function tokens(s, a, p, warps, looked, missed)
    local step = math.max(1, warps * p.step // 100)
    local has = math.min(a.tokens or warps, warps)
    local way = looked > 0 and direction(a, p, looked, missed) or 0
    if s.epoch == 1 then
        return math.max(1, warps * p.initial // 100)
    elseif way > 0 then
        return math.min(has + step, warps)
    elseif way < 0 then
        return has > step and has - step or 1
    end
    return has
end

local function hand_out(s, p, app, mine)
    local a, warps, cores = s.app[app + 1], 0, 0
    local looked = grown(a, "lookups", tlb_lookups(app))
    local missed = grown(a, "misses", counter("mmu.misses", app))
    for _, ran in pairs(mine) do
        warps = warps + bits(ran)
        cores = cores + (ran ~= 0 and 1 or 0)
    end
    if cores == 0 then
        return -- it did not run
    end
    local n = tokens(s, a, p, warps, looked, missed)
    if not a.tokens and n == warps then
        return
    end
    a.tokens = n
    local each = (n + cores - 1) // cores
    for core, ran in pairs(mine) do
        steer("tlb_fill", app, core, n >= warps and -1 or lowest(ran, each))
    end
end

local function deal(s, p)
    local mine = {}
    for core = 0, s.cores - 1 do
        local app = recent("owner", core)
        mine[app] = mine[app] or {}
        mine[app][core] = recent("warps", core)
    end
    for app = 0, s.apps - 1 do
        hand_out(s, p, app, mine[app] or {})
    end
end

-- ---- L2 bypass ---------------------------------------------------------------

--- Look-ups of the L2 cache, and those that hit: page walks of a level, or
-- data (0).
local function l2_use(level)
    local hits, lookups = 0, 0
    for _, what in ipairs(level == 0 and { "read", "write", "atomic" }
        or { "walk" .. level }) do
        hits = hits + counter("l2cache." .. what .. "_hits")
        lookups = lookups + counter("l2cache." .. what .. "_lookups")
    end
    return { hits = hits, lookups = lookups }
end

--- What they have grown by since they were last looked at.
local function l2_grown(use, level)
    local last, now = use[level + 1], l2_use(level)
    use[level + 1] = now
    return now.hits - last.hits, now.lookups - last.lookups
end

--- Whether page walks of each level hit less often than data did.
local function rare_levels(use)
    local rare, data_hits, data = {}, l2_grown(use, 0)
    for level = 1, 4 do
        local hits, lookups = l2_grown(use, level)
        rare[level] = hits * data < data_hits * lookups
    end
    return rare
end

--- Says which levels go past the L2 cache, for all applications.
local function skip(s, p, levels)
    local sets = p.bypass_rule == "released" and 1 or math.max(1, p.sample)
    for level, yes in ipairs(levels) do
        for app = 0, s.apps - 1 do
            steer("l2_bypass", app, level, yes and sets or 0)
        end
    end
end

-- ---- DRAM --------------------------------------------------------------------

--- How many silver requests a turn of each application lasts, by how hard
-- translation pressed on it in the epoch.
local function turns(apps, p)
    local pressure, sum, out = {}, 0, {}
    for app = 0, apps - 1 do
        pressure[app] = math.min(recent("walks", app), 63)
            * math.min(recent("stalled", app), 63)
        sum = sum + pressure[app]
    end
    for app = 0, apps - 1 do
        out[app] = sum > 0 and p.thresh * pressure[app] // sum
            or math.max(1, p.thresh // apps)
    end
    return out
end

local function sort_requests(s, p)
    for app = 0, s.apps - 1 do
        steer("dram_class", app, 0, "silver")
        for level = 1, 4 do
            steer("dram_class", app, level, "golden")
        end
        steer("dram_turn", app, 0, math.max(1, p.thresh // s.apps))
    end
end

-- ---- the policy ----------------------------------------------------------------

return {
    name = "mask",
    summary = "fill tokens, walks past the L2 cache, DRAM queues by urgency",
    source = "MASK, ASPLOS 2018",
    params = {
        tokens = { default = 1, max = 1, meaning = "1: TLB-Fill Tokens",
                   source = "MASK 5.2" },
        bypass = { default = 1, max = 1,
                   meaning = "1: Address-Translation-Aware L2 Bypass",
                   source = "MASK 5.3" },
        dram = { default = 1, max = 1,
                 meaning = "1: Address-Space-Aware DRAM Scheduler",
                 source = "MASK 5.4" },
        epoch = { default = 100000, min = 1000, max = 10000000,
                  unit = "cycles", meaning = "time between two decisions",
                  source = "MASK 5.2" },
        initial = { default = 80, min = 1, max = 100, unit = "percent",
                    meaning = "of the warps that have a token after the "
                        .. "first epoch", source = "MASK 6" },
        step = { default = 10, min = 1, max = 100, unit = "percent",
                 meaning = "of the warps that get or lose a token at once",
                 source = "the released code" },
        band = { default = 2, max = 100, unit = "percentage points",
                 meaning = "change of the miss rate that is ignored",
                 source = "MASK 5.2" },
        token_rule = { default = "text", choices = { "text", "hillclimb" },
                       meaning = "text: fewer when the miss rate rose, more "
                           .. "when it fell; hillclimb: continues while it "
                           .. "falls, turns when it rose",
                       source = "MASK 5.2; 7.4 for hillclimb" },
        bypass_rule = { default = "text", choices = { "text", "released" },
                        meaning = "text: levels that hit less often than data "
                            .. "did; released: levels 2 to 4, always",
                        source = "MASK 5.3; mem_fetch.cc of the released code" },
        sample = { default = 32, max = 255, unit = "sets",
                   meaning = "one in this many is not bypassed; 0: all are",
                   source = "guess" },
        thresh = { default = 500, min = 1, max = 65535, unit = "requests",
                   meaning = "silver requests of a round of turns in a "
                       .. "channel", source = "MASK 6" },
    },

    init = function(s, p, place)
        if p.tokens == 1 and place.l2tlbs ~= 1 then
            error("tokens say who fills an L2 TLB that all cores share: "
                .. (place.l2tlbs == 0 and "l2tlb.mode = full"
                or "walk.per_core = false") .. " is expected, or tokens = 0")
        end
        s.cores, s.apps, s.epoch = math.min(place.cores, 128), place.apps, 0
        s.app = {}
        for i = 1, place.apps do
            s.app[i] = { up = false, lookups = tlb_lookups(i - 1),
                         misses = counter("mmu.misses", i - 1) }
        end
        s.use = {}
        if p.bypass == 1 then
            for level = 0, 4 do
                s.use[level + 1] = l2_use(level)
            end
            local all = p.bypass_rule == "released"
            skip(s, p, { false, all, all, all })
        end
        if p.dram == 1 then
            sort_requests(s, p)
        end
    end,

    every = every("epoch", function(_, s, p)
        s.epoch = s.epoch + 1
        if p.tokens == 1 then
            deal(s, p)
        end
        if p.bypass == 1 and p.bypass_rule == "text" then
            skip(s, p, rare_levels(s.use))
        end
        if p.dram == 1 then
            for app, n in pairs(turns(s.apps, p)) do
                steer("dram_turn", app, 0, n)
            end
        end
    end),
}
