-- random.lua - replaces any entry of the set.
--
-- Draw k of a stream is a hash of the stream's seed and k, so the state is one
-- counter for each copy of the structure, and copies do not disturb one
-- another.  (math.random is one such stream too; this file draws by hand to
-- give the same victims as the built-in policy.)  The hash is the finalizer of
-- SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
--
-- SPDX-License-Identifier: MIT

local function mix(x)
    x = x + 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return x ~ (x >> 31)
end

return {
    name = "random",
    summary = "replaces any entry of the set",
    source = "textbook",

    init = function(s, _, place)
        s.seed, s.drawn = place.seed, {}
        for i = 1, place.instances do
            s.drawn[i] = 0
        end
    end,

    repl_victim = function(q, s)
        local i = q.instance + 1
        local d = mix(mix(s.seed + q.instance) + mix(s.drawn[i]))
        s.drawn[i] = s.drawn[i] + 1
        return q.from + ((d >> 32) * (q.to - q.from + 1) >> 32)
    end,
}
