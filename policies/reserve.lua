-- reserve.lua - frames in reserved runs, so that pages that come one by one from the
-- host are in order in memory.
--
-- Navarro, Iyer, Druschel, Cox: Practical, transparent operating system support for
-- superpages, OSDI 2002, section 4: where the first page of an aligned run of
-- virtual pages is touched, an aligned run of free frames is reserved for all of it,
-- and each page that comes takes its place there.  Where no run is free, the oldest
-- reservation that is not full is preempted: what is free of it goes to any page.
-- A run is 64 pages, MESC's subregion of 256 KB.
--
-- With vm.paging=fault pages come in the order of their faults, 64 KB at once or
-- fewer, from whatever frame is next: neither a subregion nor a region of 2 MB is
-- in order then, and no mechanism that needs this acts.  (Mosaic's CoCoA is a
-- reservation, too, of 2 MB for regions of one allocation.)
--
-- Runs count from 0; of run r map[r] has the places in use as bits, key[r] for whom
-- it is reserved, or false.  Frames above the last whole run are given last.
--
-- Left out: compaction, and runs of several lengths.
--
-- SPDX-License-Identifier: MIT

local RUN = 64

local function full(s, r)
    return s.map[r] == -1
end

--- A run whose frames go to any page.
local function list(s, r)
    if not s.listed[r] then
        s.listed[r] = true
        s.loose[#s.loose + 1] = r
    end
end

local function take(s, r, place)
    s.map[r] = s.map[r] | 1 << place
    return r * RUN + place
end

local function lowest(s, r)
    local free, place = ~s.map[r], 0
    while free >> place & 1 == 0 do
        place = place + 1
    end
    return place
end

--- A free run, reserved for a key, or nil.
local function reserved(s, key)
    while #s.free > 0 do
        local r = table.remove(s.free)
        s.listed_free[r] = false
        if s.map[r] == 0 and not s.key[r] then
            s.key[r], s.of[key] = key, r
            s.oldest[s.last] = r
            s.last = s.last + 1
            return r
        end
    end
end

local function unreserve(s, r)
    if s.key[r] then
        s.of[s.key[r]], s.key[r] = nil, false
    end
end

--- The oldest reservation with a place left is one no more; false: there is none.
local function preempt(s)
    while s.first < s.last do
        local r = s.oldest[s.first]
        s.oldest[s.first] = nil
        s.first = s.first + 1
        if s.key[r] and not full(s, r) then
            unreserve(s, r)
            list(s, r)
            return true
        end
    end
    return false
end

--- A frame of a run that is not reserved, or nil.
local function loose(s)
    while #s.loose > 0 do
        local r = s.loose[#s.loose]
        if not s.key[r] and not full(s, r) then
            return take(s, r, lowest(s, r))
        end
        s.loose[#s.loose], s.listed[r] = nil, false
    end
    if s.tail < s.frames and #s.rest == 0 then
        s.tail = s.tail + 1
        return s.tail - 1
    end
    return table.remove(s.rest)
end

local function leave(s, frame)
    local r = frame // RUN
    if r >= s.runs then
        s.rest[#s.rest + 1] = frame
        return
    end
    s.map[r] = s.map[r] & ~(1 << frame % RUN)
    if s.map[r] == 0 then
        unreserve(s, r)
        if not s.listed_free[r] then
            s.listed_free[r] = true
            s.free[#s.free + 1] = r
        end
    elseif not s.key[r] then
        list(s, r)
    end
end

--- A frame that was taken without a question.
local function enter(s, frame)
    local r = frame // RUN
    if r < s.runs then
        take(s, r, frame % RUN)
        if not s.key[r] then
            list(s, r)
        end
        return
    end
    for i = #s.rest, 1, -1 do
        if s.rest[i] == frame then
            table.remove(s.rest, i)
        end
    end
    while s.tail <= frame do
        if s.tail < frame then
            s.rest[#s.rest + 1] = s.tail
        end
        s.tail = s.tail + 1
    end
end

return {
    name = "reserve",
    summary = "frames in reserved runs of 64, so that pages that fault are in order",
    source = "Navarro et al., OSDI 2002, section 4; runs: MESC's subregions",

    init = function(s, _, place)
        s.frames, s.runs = place.frames, place.frames // RUN
        s.map, s.key, s.of, s.free = {}, {}, {}, {}
        s.loose, s.listed, s.listed_free = {}, {}, {}
        s.oldest, s.first, s.last = {}, 1, 1
        s.tail, s.rest = s.runs * RUN, {} -- frames above the runs: not given yet; back
        for r = s.runs - 1, 0, -1 do
            s.map[r], s.key[r], s.listed[r], s.listed_free[r] = 0, false, false, true
            s.free[#s.free + 1] = r
        end
    end,

    page_size = function() return "base" end,

    frame_place = function(q, s)
        if q.pages ~= 1 then
            return nil
        end
        local key, place = q.app << 52 | q.vpn // RUN, q.vpn % RUN
        local r = s.of[key] or reserved(s, key)
        if r and s.map[r] >> place & 1 == 0 then
            return take(s, r, place)
        end
        local frame = loose(s)
        while not frame and preempt(s) do
            frame = loose(s)
        end
        return frame or q.frames
    end,

    watch = {
        page_freed = function(n, s) leave(s, n.frame) end,
        page_back = function(n, s) enter(s, n.frame) end,
        page_moved = function(n, s)
            leave(s, n.frame)
            enter(s, n.to)
        end,
        frames_taken = function(n, s)
            for i = n.frame, n.frame + n.frames - 1 do
                enter(s, i)
            end
        end,
    },
}
