-- srrip.lua - static re-reference interval prediction.
--
-- Jaleel, Theobald, Steely, Emer: High performance cache replacement using
-- re-reference interval prediction, ISCA 2010, with hit priority (SRRIP-HP).
-- Each entry has a small number, how far away its next use is predicted: a
-- newcomer gets "long" (most - 1), a hit makes it "near" (0), and the victim
-- is the first "distant" one (most).  If there is none, the whole set ages.
-- Where ways are shared out among applications, an application's share, q.from
-- to q.to, is its set.
--
-- SPDX-License-Identifier: MIT

local function first(s, q)
    return (q.instance * s.sets + q.set) * s.ways + 1
end

return {
    name = "srrip",
    summary = "replaces an entry predicted to be used in the distant future",
    source = "Jaleel et al., ISCA 2010 (SRRIP-HP)",
    params = {
        bits = { default = 2, min = 1, max = 8, unit = "bits",
                 meaning = "width of a re-reference prediction value",
                 source = "Jaleel 2010: 2 bits" },
    },

    init = function(s, p, place)
        s.sets, s.ways, s.most = place.sets, place.ways, (1 << p.bits) - 1
        s.value = {}
        for i = 1, place.instances * place.sets * place.ways do
            s.value[i] = 0
        end
    end,

    watch = {
        repl_touch = function(n, s)
            s.value[first(s, n) + n.way] = 0
        end,
        repl_fill = function(n, s)
            s.value[first(s, n) + n.way] = s.most - 1 + n.last
        end,
        repl_gone = function(n, s)
            s.value[first(s, n) + n.way] = s.most
        end,
    },

    repl_victim = function(q, s)
        local v, base, best = s.value, first(s, q), q.from
        for w = best + 1, q.to do
            if v[base + w] > v[base + best] then
                best = w
            end
        end
        local lack = s.most - v[base + best]
        if lack > 0 then
            for w = q.from, q.to do
                v[base + w] = v[base + w] + lack
            end
        end
        return best
    end,
}
