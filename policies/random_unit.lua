-- random_unit.lua - evicts any unit.
--
-- Draw k is a hash of the seed and k (policies/random.lua says more).
--
-- SPDX-License-Identifier: MIT
local function mix(x)
    x = x + 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return x ~ (x >> 31)
end

return {
    name = "random_unit",
    summary = "evicts any unit",
    source = "textbook",

    init = function(s, _, place)
        s.seed, s.n = place.seed, 0
    end,

    evict_victim = function(q, s)
        local d = mix(mix(s.seed) + mix(s.n))
        s.n = s.n + 1
        return ((d >> 32) * q.n >> 32) + 1
    end,
}
