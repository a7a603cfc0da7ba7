-- lru.lua - replaces the entry that was used longest ago.
--
-- The default of every TLB and cache, written out as a policy to start from.
-- Replacement is a point, repl_victim (the set is full: which way goes?), and
-- three notes: repl_touch (an entry was hit), repl_fill (one was filled) and
-- repl_gone (one was evicted or invalidated).  Each use stamps the way with a
-- counter; the victim is the way with the least stamp.
--
-- The state holds one stamp for each entry, at
-- (instance * sets + set) * ways + way + 1; a policy that is bound everywhere
-- gets a state for each structure.  A newcomer with n.last = 1 is to be the
-- next victim: it goes below the least stamp of the others.  The victim is one
-- of the ways q.from to q.to: all of them, unless they are shared out among
-- applications (l2cache.partition).
--
--     heddle.policy.use(sim, "policies/lru.lua", { at = "l2tlb" })
--
-- SPDX-License-Identifier: MIT

local function first(s, q)
    return (q.instance * s.sets + q.set) * s.ways + 1
end

local function stamp(s, i)
    s.count = s.count + 1
    s.stamp[i] = s.count
end

return {
    name = "lru",
    summary = "replaces the entry that was used longest ago",
    source = "textbook; the default of every TLB and cache",

    init = function(s, _, place)
        s.sets, s.ways, s.count = place.sets, place.ways, 1 << 32
        s.stamp = {}
        for i = 1, place.instances * place.sets * place.ways do
            s.stamp[i] = 0
        end
    end,

    watch = {
        repl_touch = function(n, s)
            stamp(s, first(s, n) + n.way)
        end,
        repl_fill = function(n, s)
            local base, way, least = first(s, n), n.way, nil
            if n.last == 1 then
                for w = 0, n.ways - 1 do
                    local v = s.stamp[base + w]
                    if w ~= way and v ~= 0 and (not least or v < least) then
                        least = v
                    end
                end
            end
            if least then
                s.stamp[base + way] = least - 1
            else
                stamp(s, base + way)
            end
        end,
        repl_gone = function(n, s)
            s.stamp[first(s, n) + n.way] = 0
        end,
    },

    repl_victim = function(q, s)
        local base, best = first(s, q), q.from
        for w = best + 1, q.to do
            if s.stamp[base + w] < s.stamp[base + best] then
                best = w
            end
        end
        return best
    end,
}
