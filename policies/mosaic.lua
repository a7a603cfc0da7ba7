-- mosaic.lua - the memory manager of Mosaic.
--
-- Ausavarungnirun et al.: Mosaic: a GPU memory manager with
-- application-transparent support for multiple page sizes, MICRO 2017,
-- section 4.  src/policies/mosaic.c is its twin and has the essay: CoCoA places
-- pages so that a frame of 2 MB has pages of one application, whole regions
-- are coalesced in place, CAC splits what has lost pages and compacts.
--
-- Frames of 2 MB count from 0 and are compared by pages in use, then by
-- number.  Tables by frame: map[8 f + w] has the places in use as bits.
--
-- SPDX-License-Identifier: MIT

local PAGES, WORDS = 512, 8

-- ---- lists ----------------------------------------------------------------

--- The frame at the top of the free frame list, or nil.
local function free_top(s)
    local free = s.free
    while #free > 0 and s.owner[free[#free]] ~= -1 do
        free[#free] = nil -- it was taken otherwise
    end
    return free[#free]
end

local function list(s, f)
    local app = s.owner[f]
    if s.listed[f] or app < 0 or app >= s.apps then
        return
    end
    s.listed[f] = true
    local l = s.list[app]
    l[#l + 1] = f
end

local function unlist(s, f)
    if not s.listed[f] then
        return
    end
    s.listed[f] = false
    local l = s.list[s.owner[f]]
    for i = #l, 1, -1 do
        if l[i] == f then
            table.remove(l, i)
            return
        end
    end
end

--- A frame has lost its last page.
local function release(s, f)
    unlist(s, f)
    s.owner[f], s.chunk[f] = -1, -1
    s.free[#s.free + 1] = f
end

--- A frame of the application with a free base page, or nil.
local function base_frame(s, app)
    local l = s.list[app]
    while #l > 0 and s.used[l[#l]] == PAGES do
        unlist(s, l[#l])
    end
    return l[#l]
end

-- ---- places ---------------------------------------------------------------

local function taken(s, f, place)
    return s.map[f * WORDS + place // 64] >> place % 64 & 1 == 1
end

local function take(s, f, place)
    local w = f * WORDS + place // 64
    s.map[w] = s.map[w] | 1 << place % 64
    s.used[f] = s.used[f] + 1
    return f * PAGES + place
end

local function leave(s, frame)
    local f, place = frame // PAGES, frame % PAGES
    local w = f * WORDS + place // 64
    s.map[w] = s.map[w] & ~(1 << place % 64)
    s.used[f] = s.used[f] - 1
end

local function lowest(s, f)
    local w = f * WORDS
    while s.map[w] == -1 do
        w = w + 1
    end
    local free, bit = ~s.map[w], 0
    while free >> bit & 1 == 0 do
        bit = bit + 1
    end
    return (w - f * WORDS) * 64 + bit
end

-- ---- CoCoA ----------------------------------------------------------------

--- The frame reserved for an aligned 2 MB, or nil.
local function reserved(s, app, chunk)
    local f = s.last[app]
    if f >= 0 and s.owner[f] == app and s.chunk[f] == chunk then
        return f
    end
    for i = 0, s.n - 1 do
        if s.owner[i] == app and s.chunk[i] == chunk then
            s.last[app] = i
            return i
        end
    end
end

--- A frame of the free frame list; without a chunk, for base pages.
local function take_free(s, app, chunk)
    local f = free_top(s)
    if f then
        s.free[#s.free] = nil
        s.owner[f], s.chunk[f] = app, chunk or -1
        if chunk then
            s.last[app] = f
        else
            list(s, f)
        end
    end
    return f
end

--- Nothing else is left: a reserved frame of the application, or anybody's.
local function forced(s, app)
    for pass = 1, 2 do
        for f = 0, s.n - 1 do
            local o = s.owner[f]
            if not s.joined[f] and s.used[f] < PAGES and o ~= -1 and
                (pass == 2 or o == app) then
                if o ~= app then
                    unlist(s, f)
                    s.owner[f] = s.apps + 1
                end
                return take(s, f, lowest(s, f))
            end
        end
    end
end

local function frame_place(q, s)
    if q.pages ~= 1 then
        return nil
    end
    local app, place, chunk = q.app, q.vpn % PAGES, q.vpn // PAGES
    if q.whole == 1 then
        local f = reserved(s, app, chunk) or take_free(s, app, chunk)
        if f and not taken(s, f, place) then
            return take(s, f, place)
        end
        if not f and q.again == 0 then
            s.wants = 1
            return q.frames
        end
    end
    local f = base_frame(s, app) or take_free(s, app)
    if f then
        return take(s, f, lowest(s, f))
    end
    s.wants = 0
    return q.again == 1 and forced(s, app) or q.frames
end

-- ---- splitting ------------------------------------------------------------

--- A frame's pages are single ones again, its empty places base pages.
local function part(s, f)
    s.joined[f], s.chunk[f] = false, -1
    if s.used[f] == 0 then
        release(s, f)
    elseif s.used[f] < PAGES then
        list(s, f)
    end
end

--- A frame has lost a page: if not coalesced, it has a free base page.
local function loosen(s, f)
    if s.joined[f] then
        return
    elseif s.used[f] == 0 then
        release(s, f)
    elseif s.chunk[f] == -1 then
        list(s, f)
    end
end

-- ---- CAC ------------------------------------------------------------------

--- Whether the other uncoalesced frames of a frame's owner can take it in.
local function fits(s, f)
    local room, owner = 0, s.owner[f]
    for i = 0, s.n - 1 do
        if i ~= f and s.owner[i] == owner and not s.joined[i] and
            s.chunk[i] == -1 then
            room = room + PAGES - s.used[i]
        end
    end
    return room >= s.used[f]
end

--- The position of the emptiest of the frames offered that `owner` has, or 0.
local function emptiest(s, q, owner, joined, below)
    local best, least = 0, below
    for i = 1, q.n do
        if q.owner[i] == owner and q.joined[i] == joined and
            q.used[i] < least and q.frame[i] // PAGES < s.n then
            best, least = i, q.used[i]
        end
    end
    return best
end

--- The emptiest frame of an owner, if its others can take it in.
local function movable(s, q, owner, below)
    local k = emptiest(s, q, owner, 0, below)
    return k ~= 0 and fits(s, q.frame[k] // PAGES) and k or 0
end

--- An emergency frame is split: its empty places are base pages then, which
-- may be all that is wanted.
local function emergency(s, q, owner)
    local k = emptiest(s, q, owner, 1, PAGES)
    local enough = owner == q.app and s.wants == 0
    if k == 0 or not enough and not fits(s, q.frame[k] // PAGES) then
        return 0
    end
    part(s, q.frame[k] // PAGES)
    return k
end

--- The free frame list is empty.
local function full(s, q)
    if free_top(s) or s.wants == 0 and base_frame(s, q.app) then
        return 0
    end
    for _, try in ipairs { movable, emergency } do
        for i = 0, s.apps do
            -- that of the asking application, then the others', then no one's
            local owner = i == 0 and q.app or i <= q.app and i - 1 or i
            local k = try(s, q, owner, PAGES)
            if k ~= 0 then
                return k
            end
        end
    end
    return 0
end

-- ---- the policy -----------------------------------------------------------

return {
    name = "mosaic",
    summary = "frames of 2 MB for one application each, coalesced in place, " ..
        "and compacted",
    source = "Ausavarungnirun et al., MICRO 2017",
    params = {
        coalesce = { default = 1, max = 1,
            meaning = "1: whole regions become one page",
            source = "Mosaic 4.3; 0: CoCoA alone" },
        early = { default = 0, max = 1,
            meaning = "1: a region is coalesced when its first page has arrived " ..
                "from the host; 0: when all have",
            source = "Mosaic 4.1: when the transfer is complete" },
        threshold = { default = 50, max = 100, unit = "percent",
            meaning = "a coalesced region with fewer pages left is split; a " ..
                "frame with fewer is emptied",
            source = "guess: Mosaic 4.4 gives no number" },
        cac = { default = 1, max = 3,
            meaning = "compaction: 0 none, 1 copies over the channel, 2 " ..
                "copies inside DRAM (CAC-BC), 3 at no cost (ideal CAC)",
            source = "Mosaic 4.4, 6.4" },
        stall = { default = 1, max = 1,
            meaning = "1: no core issues while pages are copied",
            source = "Mosaic 5: it assumes this worst case" },
    },

    init = function(s, _, place)
        s.n, s.apps, s.wants = place.frames // PAGES, place.apps, 0
        s.map, s.used, s.owner, s.chunk = {}, {}, {}, {}
        s.joined, s.listed, s.free = {}, {}, {}
        for f = 0, s.n - 1 do
            s.used[f], s.owner[f], s.chunk[f] = 0, -1, -1
            s.joined[f], s.listed[f] = false, false
            for w = 0, WORDS - 1 do
                s.map[f * WORDS + w] = 0
            end
            s.free[f + 1] = s.n - 1 - f
        end
        s.list, s.last = {}, {}
        for app = 0, place.apps - 1 do
            s.list[app], s.last[app] = {}, -1
        end
    end,

    page_size = function() return "base" end, -- coalescing makes pages large
    frame_place = frame_place,

    region_coalesce = function(q, s, p)
        local f = q.frame // PAGES
        if p.coalesce == 0 or f >= s.n or s.owner[f] ~= q.app or
            q.present < PAGES and p.early == 0 then
            return false
        end
        unlist(s, f)
        s.joined[f] = true
        return true
    end,

    region_split = function(q, s, p)
        if q.left * 100 >= p.threshold * PAGES and q.left ~= 0 then
            return false
        end
        part(s, q.frame // PAGES)
        return true
    end,

    compact_source = function(q, s, p)
        if p.cac == 0 then
            return 0
        elseif q.cause == "full" then
            return full(s, q)
        end
        return movable(s, q, q.app, (p.threshold * PAGES + 99) // 100)
    end,

    compact_target = function(q, s)
        local best = 0
        for i = 1, q.n do
            local f = q.frame[i] // PAGES
            if f < s.n and s.chunk[f] == -1 and
                (best == 0 or q.used[i] > q.used[best]) then
                best = i
            end
        end
        return best
    end,

    compact_copy = function(_, _, p) return p.cac - 1 end,
    compact_stall = function(_, _, p) return p.stall == 1 end,

    watch = {
        page_freed = function(n, s)
            local f = n.frame // PAGES
            if f < s.n then
                leave(s, n.frame)
                loosen(s, f)
            end
        end,
        page_back = function(n, s)
            take(s, n.frame // PAGES, n.frame % PAGES)
        end,
        page_moved = function(n, s)
            leave(s, n.frame)
            loosen(s, n.frame // PAGES)
            take(s, n.to // PAGES, n.to % PAGES)
        end,
        frames_taken = function(n, s)
            for i = n.frame, n.frame + n.frames - 1 do
                local f = i // PAGES
                if f >= s.n then
                    return
                end
                s.owner[f] = s.apps
                take(s, f, i % PAGES)
            end
        end,
    },
}
