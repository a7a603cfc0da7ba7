-- depot.lua - translations that come back soon after they were evicted are not evicted
-- again at once.
--
-- A TLB that many warps overrun evicts a translation, walks for it again and evicts it
-- again.  A Bloom filter of 1 KB remembers what was evicted; an entry that is filled
-- while the filter has its page is protected: the victim is the least recently used
-- entry that is not.  Where all entries of a set are protected, none is any more.
-- After `clear` evictions the filter is emptied, as a Bloom filter cannot forget.
--
-- Bind it at one TLB: sim:use("policies/depot.lua", { at = "l2tlb" }).
--
-- Counters: dead, fills that the filter had; saved, victims that were not the least
-- recently used entry.
--
-- SPDX-License-Identifier: MIT
local function first(s, q)
    return (q.instance * s.sets + q.set) * s.ways + 1
end

-- The bits of a page in the filter, two parts of one hash; a key has its application.
local function bits(key, p)
    local h = key * 0x9e3779b97f4a7c15
    return (h >> 40) % p.bits, (h >> 16 & 0xffffff) % p.bits
end

return {
    name = "depot",
    summary = "entries that come back after an eviction are not evicted again at once",
    source = "Anik et al.: Dead on Arrival, protecting against dead-entry TLB misses "
        .. "(DEPOT), 2026, arXiv 2606.00486",

    params = {
        bits = { default = 8192, min = 64, max = 1 << 24, unit = "bits",
                 meaning = "size of the Bloom filter", source = "DEPOT: 1 KB" },
        clear = { default = 1024, min = 1, max = 1 << 30, unit = "evictions",
                  meaning = "after which the filter is emptied",
                  source = "guess: twice the entries of MASK's L2 TLB" },
    },

    counters = {
        dead = { unit = "fills", meaning = "of pages that the filter had" },
        saved = { unit = "evictions", meaning = "of another than the oldest" },
    },

    init = function(s, _, place)
        s.sets, s.ways, s.apps = place.sets, place.ways, place.apps
        s.count, s.gone = 0, 0
        s.filter, s.used, s.safe = {}, {}, {}
        for i = 1, place.instances * place.sets * place.ways do
            s.used[i], s.safe[i] = 0, 0
        end
    end,

    watch = {
        repl_touch = function(n, s)
            s.count = s.count + 1
            s.used[first(s, n) + n.way] = s.count
        end,
        repl_fill = function(n, s, p)
            local i, a, b = first(s, n) + n.way, bits(n.key, p)
            s.count = s.count + 1
            s.used[i] = n.last == 1 and 0 or s.count
            if s.filter[a] and s.filter[b] then
                s.safe[i] = 1
                tally("dead", 1, n.app)
            end
        end,
        repl_gone = function(n, s, p)
            local i = first(s, n) + n.way
            s.used[i], s.safe[i] = 0, 0
            if n.app >= s.apps then return end -- (invalidated, for none)
            s.gone = s.gone + 1
            if s.gone % p.clear == 0 then s.filter = {} end
            local a, b = bits(n.key, p)
            s.filter[a], s.filter[b] = true, true
        end,
    },

    repl_victim = function(q, s)
        local base, old, best = first(s, q), q.from, nil
        for w = q.from, q.to do
            if s.used[base + w] < s.used[base + old] then old = w end
            if s.safe[base + w] == 0
                and (not best or s.used[base + w] < s.used[base + best]) then
                best = w
            end
        end
        if not best then
            for w = q.from, q.to do s.safe[base + w] = 0 end
            return old
        end
        if best ~= old then tally("saved", 1, q.app) end
        return best
    end,
}
