-- runs.lua - frames in runs of drawn lengths, as in memory long in use.
--
-- src/policies/runs.c is its twin and has the essay: long runs of 257 to 1024 pages
-- and between them short ones of 8 on average, each at a random frame.
-- Draw k is a hash of the seed and k (policies/random.lua says more).
--
-- SPDX-License-Identifier: MIT

local LEAST, MOST, SHORT, PHASES, TRIES = 257, 1024, 8, 64, 32

local function mix(x)
    x = x + 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return x ~ (x >> 31)
end

local function draw(s, n)
    local d = mix(mix(s.seed) + mix(s.drawn))
    s.drawn = s.drawn + 1
    return (d >> 32) * n >> 32
end

local function mark(s, first, n, used)
    for f = first, math.min(first + n, s.frames) - 1 do
        local w, bit = f // 64, 1 << f % 64
        s.used[w] = used and s.used[w] | bit or s.used[w] & ~bit
    end
end

local function all_free(s, first, n)
    for f = first, first + n - 1 do
        if s.used[f // 64] >> f % 64 & 1 == 1 then
            return false
        end
    end
    return true
end

--- Draws the pages of the next run.
local function length(s, a, share)
    local whole, phase = 1000 - share, 0
    if not a.begun then
        if draw(s, 1000) < share then
            a.debt = draw(s, (LEAST + MOST) // 2 * share)
        end
        phase = draw(s, PHASES)
        a.begun = true
    end
    if a.debt >= SHORT // 2 * whole then
        local n = 1
        while draw(s, SHORT) ~= 0 do
            n = n + 1
        end
        a.debt = a.debt - n * whole
        return n
    end
    local n = LEAST + draw(s, MOST - LEAST + 1)
    a.debt = a.debt + n * share
    return n - phase
end

--- Draws a run and its place; none is left where there is no room.
local function begin(s, a, share)
    local n = length(s, a, share)
    while n > 0 do
        for _ = 1, n <= s.frames and TRIES or 0 do
            local f = draw(s, s.frames - n + 1)
            if all_free(s, f, n) then
                a.next, a.left = f, n
                return
            end
        end
        n = n // 2
    end
    a.left = 0
end

return {
    name = "runs",
    summary = "frames in runs of drawn lengths, as in memory that has long been in "
        .. "use",
    source = "MESC, table II and figure 4",

    params = {
        broken = {
            unit = "per mille", default = 507, min = 0, max = 1000,
            meaning = "pages that are in short runs; about 0.9 times the "
                .. "others are in contiguous subregions",
            source = "MESC table II, fitted: memhog 25 %, defrag off; 457, "
                .. "524, 567 with defrag and 25, 50, 75 %, 529 and 613 without",
        },
    },

    init = function(s, _, place)
        s.seed, s.drawn, s.frames = place.seed, 0, place.frames
        s.used, s.app = {}, {}
        for w = 0, place.frames // 64 do
            s.used[w] = 0
        end
        for app = 0, place.apps - 1 do
            s.app[app] = { next = 0, left = 0, begun = false, debt = 0 }
        end
    end,

    page_size = function() return "base" end,

    frame_place = function(q, s, p)
        if q.pages ~= 1 then
            return
        end
        local a, f = s.app[q.app], q.next
        if a.left == 0 or not all_free(s, a.next, 1) then
            begin(s, a, p.broken)
        end
        if a.left ~= 0 then
            f = a.next
            a.next, a.left = f + 1, a.left - 1
        end
        mark(s, f, 1, true)
        return f
    end,

    watch = {
        page_freed = function(n, s) mark(s, n.frame, 1, false) end,
        page_moved = function(n, s)
            mark(s, n.frame, 1, false)
            mark(s, n.to, 1, true)
        end,
        frames_taken = function(n, s) mark(s, n.frame, n.frames, true) end,
    },
}
