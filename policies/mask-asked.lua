-- mask-asked.lua - MASK as answers to the points, the form to start from.
--
-- Ausavarungnirun et al.: MASK, ASPLOS 2018; mask.lua explains the mechanisms and
-- has the same parameters.  Here the engine measures, asks, and hands out; the
-- policy only decides.  That is shorter, and slower where a point is hot: for
-- long runs use mask.lua, which steers, or the built-in "mask".
--
-- SPDX-License-Identifier: MIT

local MILLION = 1000000 -- rates are in parts of it

--- -1, 0 or 1: which way the tokens of an application go.
local function direction(a, q, p)
    local rate, last = q.misses * MILLION // q.lookups, a.rate
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

return {
    name = "mask-asked",
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
                .. "l2tlb.mode = full and walk.per_core = false are expected, "
                .. "or tokens = 0")
        end
        s.app, s.apps, s.turn = {}, place.apps, {}
        for app = 0, place.apps - 1 do
            s.turn[app] = math.max(1, p.thresh // place.apps)
        end
        for i = 1, place.apps do
            s.app[i] = { up = false }
        end
        local all = p.bypass == 1 and p.bypass_rule == "released"
        s.use, s.rare = {}, { false, all, all, all }
        for level = 0, p.bypass == 1 and 4 or -1 do
            s.use[level + 1] = l2_use(level)
        end
    end,

    tokens = function(q, s, p)
        if p.tokens == 0 then
            return nil
        end
        local step = math.max(1, q.warps * p.step // 100)
        local way = q.lookups > 0 and direction(s.app[q.app + 1], q, p) or 0
        if q.epoch == 1 then
            return math.max(1, q.warps * p.initial // 100)
        elseif way > 0 then
            return math.min(q.tokens + step, q.warps)
        elseif way < 0 then
            return q.tokens > step and q.tokens - step or 1
        end
        return q.tokens
    end,

    l2_bypass = function(q, s, p)
        local level = q.level
        if level == 0 or not s.rare[level] then
            return nil
        end
        return p.bypass_rule == "released" or p.sample <= 1
            or q.set % p.sample ~= 0
    end,

    dram_class = function(q, _, p)
        if p.dram == 1 then
            return q.level > 0 and "golden" or "silver"
        end
    end,

    dram_turn = function(q, s, p)
        if p.dram == 1 then
            return s.turn[q.app]
        end
    end,

    every = every("epoch", function(_, s, p)
        if p.bypass == 1 and p.bypass_rule == "text" then
            s.rare = rare_levels(s.use)
        end
        if p.dram == 1 then
            s.turn = turns(s.apps, p)
        end
    end),
}
