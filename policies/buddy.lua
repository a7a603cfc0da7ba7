-- buddy.lua - frames from a buddy allocator of orders 0 to 10.
--
-- src/policies/buddy.c is its twin and has the essay: the smallest block there is,
-- of equal ones the lowest; a frame that is freed joins its buddy; compaction
-- moves what a hog has.  bits[o][w] has the free blocks of an order as bits.
--
-- SPDX-License-Identifier: MIT

local TOP, LARGE = 10, 512

local function test(s, o, b)
    return s.bits[o][b // 64] >> b % 64 & 1 == 1
end

local function flip(s, o, b)
    local w = b // 64
    s.bits[o][w] = s.bits[o][w] ~ 1 << b % 64
    if test(s, o, b) then
        s.blocks[o] = s.blocks[o] + 1
        s.low[o] = math.min(s.low[o], w)
    else
        s.blocks[o] = s.blocks[o] - 1
    end
end

local function give(s, frame)
    local o, b = 0, frame
    while o < TOP and test(s, o, b ~ 1) do
        flip(s, o, b ~ 1)
        o, b = o + 1, b >> 1
    end
    flip(s, o, b)
end

--- Takes a frame out of its block, which is halved until it is alone.
local function take(s, frame)
    local o = 0
    while o <= TOP and not test(s, o, frame >> o) do
        o = o + 1
    end
    if o > TOP then
        return -- it was not free
    end
    flip(s, o, frame >> o)
    for k = o - 1, 0, -1 do
        flip(s, k, frame >> k ~ 1)
    end
end

return {
    name = "buddy",
    summary = "frames from a buddy allocator of orders 0 to 10",
    source = "Linux, mm/page_alloc.c; MESC VI.A",

    params = {
        defrag = {
            default = "off", choices = { "off", "hog", "all" },
            meaning = "pages that move when memory is compacted, before the first "
                .. "page is placed and when an allocation is freed; all: with "
                .. "memory.move=any",
            source = "MESC table II: on and off",
        },
    },

    init = function(s, _, place)
        s.apps, s.compacted = place.apps, false
        s.blocks, s.low, s.bits = {}, {}, {}
        for o = 0, TOP do
            local top = (place.frames >> o) // 64
            s.blocks[o], s.low[o], s.bits[o] = 0, top, {}
            for w = 0, top do
                s.bits[o][w] = 0
            end
        end
        local f, o = 0, TOP
        while f < place.frames do
            while f + (1 << o) > place.frames do
                o = o - 1
            end
            flip(s, o, f >> o)
            f = f + (1 << o)
        end
    end,

    page_size = function() return "base" end,

    frame_place = function(q, s, p)
        if q.pages ~= 1 then
            return
        end
        if p.defrag ~= "off" and not s.compacted and q.again == 0 then
            s.compacted = true
            return q.frames
        end
        local o = 0
        while o <= TOP and s.blocks[o] == 0 do
            o = o + 1
        end
        if o > TOP then
            return q.frames
        end
        while s.bits[o][s.low[o]] == 0 do
            s.low[o] = s.low[o] + 1
        end
        local b = s.low[o] * 64
        while not test(s, o, b) do
            b = b + 1
        end
        take(s, b << o)
        return b << o
    end,

    compact_source = function(q, s, p)
        local best, room = 0, 0
        for i = 1, p.defrag ~= "off" and q.n or 0 do
            if (q.owner[i] == s.apps or p.defrag == "all") and
                q.joined[i] == 0 and q.used[i] < LARGE then
                room = room + LARGE - q.used[i]
                if best == 0 or q.used[i] < q.used[best] then
                    best = i
                end
            end
        end
        if best == 0 or room - (LARGE - q.used[best]) < q.used[best] then
            return 0
        end
        return best
    end,

    compact_target = function(q)
        local best = 0
        for i = 1, q.n do
            if best == 0 or q.used[i] > q.used[best] then
                best = i
            end
        end
        return best
    end,

    compact_copy = function(q, s)
        return q.owner == s.apps and "free" or "copy"
    end,

    watch = {
        page_freed = function(n, s) give(s, n.frame) end,
        page_moved = function(n, s)
            give(s, n.frame)
            take(s, n.to)
        end,
        frames_taken = function(n, s)
            for f = n.frame, n.frame + n.frames - 1 do
                take(s, f)
            end
        end,
    },
}
