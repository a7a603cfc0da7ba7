-- ccws.lua - warps that lose locality may load, the others wait: CCWS, TA-CCWS,
-- TCWS.
--
-- Rogers, O'Connor, Aamodt: Cache-conscious wavefront scheduling, MICRO 2012, and
-- its simulator; Pichai, Hsu, Bhattacharjee: Architectural support for address
-- translation on GPUs, ASPLOS 2014, section 7.2.
--
-- Each warp of a core has a score and victim tags.  What it brought into the L1
-- cache (tags = lines) and loses there is entered in its tags; a load that misses
-- and finds its line in the warp's own tags has lost locality, and the score
-- becomes at least
--
--     L = hits in tags / instructions issued * throttle * warps * base
--
-- of all warps that run; if the line waited for its translation, `tlb_weight`
-- times as much (TA-CCWS; 1: CCWS).  A store takes its line out of all tags.  No
-- score is above tlb_weight * L at the time of a question, nor below the base,
-- to which it falls by `decay` a cycle.  Warps may load in order of their scores,
-- of equal ones the lowest number, up to the one with which the sum reaches
-- warps * base: as long as all are at the base, all may.
--
-- TCWS (tags = pages) is the same of pages and the L1 TLB, without a weight; and
-- a hit in the TLB adds a digit of `lru` to the score, by its depth in LRU order,
-- up to L: 1248 is 1 for the most recent entry of its set, 2 for the next.
--
-- The constants are those of the CCWS simulator's published configuration, of which
-- the two marked are K and the base, and the cutoff is what its -1 stands for, warps
-- that run times the base:
--
--     -point_scheduling_sys -1,0,0,0,-1,-1,100,-1,8,8,0
--                                          ^^^    ^
--
-- Where greedy then oldest holds the set by itself, K = 8 costs: warps that walk
-- round 12 lines (4 an instruction) run at 0.78 of it, round 16 (8 an instruction) at
-- 0.90; K = 1 gives 0.97 and 1.03.  That is no reason for a smaller K: where it does
-- not hold the set (30 lines, 32 warps) K = 8 is 2.55 times as fast, and 2 and 1 as
-- fast as without.  (Every other instruction loads there, which in a compiled kernel
-- fewer do, and L is by instructions.)
--
-- The CCWS simulator applies L's bound each cycle, and has it win over the base;
-- here it is that of the last question, and the base wins.  A cycle there, of
-- 325 MHz, issues an instruction, which on the preset pichai takes four: a score
-- falls four times as fast here.  base = 400 is its rate (0.75, 0.89 and 2.80 above).
-- A warp that comes begins with no tags.  Left out: atomics, which pass the L1.
--
-- The scheduler issues the loads: core.scheduler, or a policy of warp_pick.
-- The built-in "ccws" is this one with lines, "tcws" with pages, vta_entries = 8,
-- vta_ways = 0; its file explains how scores are kept without a step each cycle.
--
-- SPDX-License-Identifier: MIT

local NEVER = math.maxinteger

-- ---- victim tags -------------------------------------------------------------

--- The set of a warp's tags that may have a line or page: { { first, pages } },
-- the newest first; and how many it can have.
local function set_of(s, p, core, w, key)
    local ways = p.vta_ways ~= 0 and p.vta_ways or p.vta_entries
    local all = s.core[core + 1].tags[w + 1]
    local i = key % (p.vta_entries // ways) + 1
    all[i] = all[i] or {}
    return all[i], ways
end

local function find(set, key)
    for i, tag in ipairs(set) do
        if key >= tag[1] and key < tag[1] + tag[2] then
            return i
        end
    end
end

--- Enters what a warp brought and has lost.
local function lose(s, p, core, w, key, pages)
    local set, ways = set_of(s, p, core, w, key)
    local at = find(set, key) or #set >= ways and #set
    if at then
        table.remove(set, at)
    end
    table.insert(set, 1, { key, pages })
end

--- Takes a line that was written out of all warps' tags.
local function forget(s, p, core, key)
    for w = 0, s.warps - 1 do
        local set = set_of(s, p, core, w, key)
        local at = find(set, key)
        if at then
            table.remove(set, at)
        end
    end
end

-- ---- scores --------------------------------------------------------------------

--- Points of a warp's score above the base: what is left of the time until it is
-- back, on a clock that runs at `decay` times the core's.
local function above(c, w)
    return math.max(c.back[w + 1] - c.now, 0)
end

--- The running warps above the base by descending score, and what all have.
local function sort(s, c)
    local order, sum = {}, 0
    for w = 0, s.warps - 1 do
        local a = c.running >> w & 1 == 1 and above(c, w) or 0
        if a > 0 then
            local i = #order + 1
            while i > 1 and above(c, order[i - 1]) < a do
                i = i - 1
            end
            table.insert(order, i, w)
            sum = sum + a
        end
    end
    return order, sum
end

--- Which warps may load, and the cycle until which decay leaves them alone.
local function choose(s, c, p)
    local order, sum = sort(s, c)
    if sum < p.base then
        return c.running, NEVER -- it takes all to come to the cutoff
    end
    local cutoff, set, i = 0, 0, 0
    for w = 0, s.warps - 1 do
        cutoff = cutoff + (c.running >> w & 1) * p.base
    end
    sum = 0
    while i < #order and sum < cutoff do
        i = i + 1
        sum = sum + p.base + above(c, order[i])
        set = set | 1 << order[i]
    end
    local w = 0
    while sum < cutoff do
        if c.running >> w & 1 == 1 and above(c, w) == 0 then
            sum = sum + p.base
            set = set | 1 << w
        end
        w = w + 1
    end
    if set == c.running then
        return set, NEVER
    end
    -- until the sum falls below the cutoff, or one of the set is at the base
    return set, c.now // p.decay + math.min((sum - cutoff) // (i * p.decay) + 1,
        (above(c, order[i]) + p.decay - 1) // p.decay)
end

local function advance(c, p, cycle)
    c.now = math.max(c.now, cycle * p.decay)
end

--- Warps that have come begin at the base, with no lost line or page.
local function meet(c, q)
    for w = 0, q.n - 1 do
        local i = w + 1
        if q.running >> w & 1 == 0 then
            c.back[i] = 0
        elseif c.running >> w & 1 == 0 or c.age[i] ~= q.age[i] then
            c.back[i], c.hits[i], c.raise[i] = 0, 0, 0
            c.age[i], c.tags[i] = q.age[i], {}
        end
    end
    c.running = q.running
end

--- L.
local function lost(c, q, p)
    local hits, issued, warps = 0, 0, 0
    for w = 0, q.n - 1 do
        if c.running >> w & 1 == 1 then
            hits, warps = hits + c.hits[w + 1], warps + 1
            issued = issued + q.issued[w + 1]
        end
    end
    return hits * p.throttle * warps * p.base // math.max(issued, 1)
end

--- A warp misses what it may have lost.
local function miss(s, p, core, w, key, weight)
    local c = s.core[core + 1]
    if find(set_of(s, p, core, w, key), key) then
        c.hits[w + 1] = c.hits[w + 1] + 1
        c.raise[w + 1] = math.max(c.raise[w + 1], weight)
        renew(core)
    end
end

local function hit(s, p, n)
    local c, i = s.core[n.core + 1], n.warp + 1
    if c.top == 0 or p.lru == 0 or c.running >> n.warp & 1 == 0 then
        return
    end
    advance(c, p, n.cycle)
    local score = above(c, n.warp)
    if score < c.top then
        local digits = tostring(p.lru)
        local k = math.min(n.depth + 1, #digits)
        c.back[i] = c.now + math.min(score + digits:byte(k) - 48, c.top)
        local set, holds = choose(s, c, p)
        if set ~= c.set or holds < c.holds then
            renew(n.core)
        end
    end
end

local function written(n, s, p)
    forget(s, p, n.instance, n.line)
end

return {
    name = "ccws",
    summary = "warps that lose lines of the L1 cache, or pages of the L1 TLB, "
        .. "may load, others wait",
    source = "Rogers et al., MICRO 2012; Pichai et al., ASPLOS 2014, section 7.2",
    params = {
        base = { default = 100, min = 1, max = 1000, unit = "points",
                 meaning = "score of a warp that has lost nothing",
                 source = "CCWS simulator: gpgpusim.config" },
        throttle = { default = 8, min = 1, max = 256,
                     meaning = "weight of hits in victim tags per instruction",
                     source = "CCWS simulator: gpgpusim.config" },
        decay = { default = 1, min = 1, max = 100,
                  unit = "points a cycle",
                  meaning = "by which scores above the base fall",
                  source = "CCWS simulator" },
        vta_entries = { default = 16, min = 1, max = 64, unit = "tags",
                        meaning = "victim tags of a warp",
                        source = "CCWS simulator; Pichai 7.2; pages: 8, figure 17" },
        tlb_weight = { default = 1, min = 1, max = 16,
                       meaning = "TA-CCWS x:1: weight of a hit on a line that waited "
                           .. "for its page",
                       source = "Pichai figure 16: 1, 2, 4" },
        vta_ways = { default = 8, min = 0, max = 64, unit = "tags",
                     meaning = "victim tags of a set, of which vta_entries is a "
                         .. "multiple; 0: all are one set",
                     source = "CCWS simulator; Pichai 7.2; pages: guess" },
        tags = { default = "lines", choices = { "lines", "pages" },
                 meaning = "what is lost: CCWS, or TCWS", source = "Pichai 7.2" },
        lru = { default = 1248, min = 0, max = 999999999,
                meaning = "pages: points that a hit in the L1 TLB adds: a digit for "
                    .. "each depth of LRU order, the most recent first; 0: none",
                source = "Pichai figure 18: 1, 2, 4, 8" },
    },

    init = function(s, p, place)
        if p.vta_ways ~= 0 and p.vta_entries % p.vta_ways ~= 0 then
            error "vta_entries is a multiple of vta_ways"
        end
        s.warps, s.core = place.warps, {}
        for k = 1, place.cores do
            local c = { now = 0, running = 0, set = 0, holds = 0, top = 0,
                back = {}, hits = {}, age = {}, raise = {}, tags = {} }
            for w = 1, place.warps do
                c.back[w], c.hits[w], c.age[w], c.raise[w] = 0, 0, 0, 0
                c.tags[w] = {}
            end
            s.core[k] = c
        end
    end,

    warp_limit = function(q, s, p)
        local c = s.core[q.core + 1]
        advance(c, p, q.cycle)
        meet(c, q)
        local l = lost(c, q, p)
        local weight = p.tags == "lines" and p.tlb_weight or 1
        c.top = math.max(l * weight, p.base) - p.base
        for w = 1, q.n do
            if c.running >> (w - 1) & 1 == 1 then
                local raised = math.max(l * c.raise[w], p.base) - p.base
                c.back[w] = math.min(math.max(c.back[w], c.now + raised),
                    c.now + c.top)
                c.raise[w] = 0
            end
        end
        c.set, c.holds = choose(s, c, p)
        return (c.set | ~c.running) & (q.n < 64 and (1 << q.n) - 1 or -1),
            c.holds
    end,

    watch = {
        cache_miss = function(n, s, p)
            if p.tags ~= "lines" or n.level ~= 1 then
                return
            elseif n.kind ~= "read" then
                written(n, s, p)
            elseif n.warp < s.warps then
                miss(s, p, n.instance, n.warp, n.line,
                    n.waited == 1 and p.tlb_weight or 1)
            end
        end,
        cache_hit = function(n, s, p)
            if p.tags == "lines" and n.level == 1 and n.kind ~= "read" then
                written(n, s, p)
            end
        end,
        cache_evict = function(n, s, p)
            if p.tags == "lines" and n.level == 1 and n.filler < s.warps then
                lose(s, p, n.instance, n.filler, n.line, 1)
            end
        end,
        tlb_miss = function(n, s, p)
            if p.tags == "pages" and n.level == 1 and n.warp < s.warps then
                miss(s, p, n.core, n.warp, n.vpn, 1)
            end
        end,
        tlb_hit = function(n, s, p)
            if p.tags == "pages" and n.level == 1 and n.warp < s.warps then
                hit(s, p, n)
            end
        end,
        tlb_evict = function(n, s, p)
            if p.tags == "pages" and n.level == 1
                and n.filler & 0xffff < s.warps then
                lose(s, p, n.core, n.filler & 0xffff, n.vpn, n.pages)
            end
        end,
    },
}
