--- dice.lua - a policy that answers every point at random, within the rules of
-- points.def; its random numbers are its state.
--
--     local dice = require "lib.dice"
--     sim:use(dice(seed, { warp_pick = true }))    all points but these
--     sim:use(dice(seed, nil, "tlb_fill"))         this point alone
--
-- SPDX-License-Identifier: MIT
--- The next number below n of a policy's own stream.
local function draw(s, n)
    s.x = s.x * 6364136223846793005 + 1442695040888963407
    return (s.x >> 33) % n
end

local PLACE = {} -- of a bit
for b = 0, 63 do
    PLACE[1 << b] = b
end

--- A random member of a bit set.
local function member(s, set)
    local n, rest = 0, set
    while rest ~= 0 do
        rest = rest & rest - 1
        n = n + 1
    end
    for _ = 1, draw(s, n) do
        set = set & set - 1
    end
    return PLACE[set & -set]
end

-- What the rules of points.def do not say by kind and limit.
local SPECIAL = {
    frame_place = function() return nil end,
    core_partition = function(q) return q.core % q.apps end,
    -- Mostly, so that there is something to split.
    region_coalesce = function(_, s) return draw(s, 4) > 0 end,
    warp_pick = function(q, s)
        return member(s, q.ready), draw(s, 2) == 1
    end,
    tlb_peer = function(q, s)
        local peer = draw(s, q.cores + 1)
        return peer ~= q.core and peer or nil
    end,
    walk_address = function(q, s)
        local n = draw(s, 2) == 0 and draw(s, q.entries + 1) or 0
        return n, draw(s, 4) == 0
    end,
    tlb_group = function(q, s)
        return draw(s, q.whole + 1), draw(s, 2) == 0 and draw(s, 256) or nil
    end,
    thrash = function(q, s)
        local can = { "migrate" }
        if q.by == "gpu" then can[#can + 1] = "gpu" end
        if q.by == "host" or q.far == 1 then can[#can + 1] = "host" end
        if q.thrashes == 1 and q.exempt ~= q.by then
            can[#can + 1] = "throttle"
        end
        return can[draw(s, #can) + 1]
    end,
    fault_batch = function(q, s)
        return q.serving == 0 and 1 + draw(s, q.n) or draw(s, q.n + 1)
    end,
    -- Never all at once for long: an answer holds for a while.
    warp_limit = function(q, s)
        local warps = draw(s, 1 << 31) << 32 | draw(s, 1 << 31) << 1
            | draw(s, 2)
        return q.n < 64 and warps & (1 << q.n) - 1 or warps
    end,
}

return function(seed, skip, only)
    local out = { name = "dice", state = { x = seed },
        every = { 700, function() end } } -- tokens is asked at epochs
    if not only then -- it starts translations, where there are such TLBs
        out.watch = { tlb_miss = function(n, s)
            if draw(s, 4) == 0 then
                pcall(translate, n.app, n.vpn + draw(s, 4) - 1, { core = n.core,
                    to = ({ "l2tlb", "l1tlb", "l1side" })[1 + draw(s, 3)] })
            end
        end }
    end
    for _, p in ipairs(require("heddle.core").points()) do
        local kind, limit, words = p.answer, p.limit, {}
        local first = p.by_position and 1 or 0
        for w in limit:gmatch("[^|]+") do
            words[#words + 1] = w
        end
        local fn = SPECIAL[p.name]
        if not fn then
            fn = function(q, s)
                if draw(s, 4) == 0 then
                    return nil
                elseif kind == "BOOL" then
                    return draw(s, 2) == 1
                elseif kind == "CHOICE" then
                    return words[draw(s, #words) + 1]
                elseif kind == "INDEX" then
                    return draw(s, q[limit]) + first
                elseif kind == "VALUE" then
                    return draw(s, q[limit] + 1)
                end
            end
        end
        if p.name == (only or p.name) and not (skip and skip[p.name]) then
            out[p.name] = fn
        end
    end
    return out
end
