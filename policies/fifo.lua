-- fifo.lua - replaces the entry that was filled longest ago.
--
-- As lru.lua, without repl_touch: a hit changes nothing, so the stamps are
-- those of the fills.  A newcomer with n.last = 1 goes below the others.
--
-- SPDX-License-Identifier: MIT

local function first(s, q)
    return (q.instance * s.sets + q.set) * s.ways + 1
end

return {
    name = "fifo",
    summary = "replaces the entry that was filled longest ago",
    source = "textbook",

    init = function(s, _, place)
        s.sets, s.ways, s.count = place.sets, place.ways, 1 << 32
        s.stamp = {}
        for i = 1, place.instances * place.sets * place.ways do
            s.stamp[i] = 0
        end
    end,

    watch = {
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
            if not least then
                s.count = s.count + 1
                least = s.count + 1
            end
            s.stamp[base + way] = least - 1
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
