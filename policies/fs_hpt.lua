-- fs_hpt.lua - a hashed page table of fixed size: a walk has its translation in one
-- read, unless pages collide.
--
-- A page's number is hashed to a place in one table for all applications; a page that
-- finds it taken is in one of the places behind it, so that a walk reads those before it
-- first, mostly in the line that it has already.  One that finds all of them taken is in
-- the page table alone: its walks read every place, and then go down the levels.  The
-- table never grows: as the GPU translates only what its memory holds, it can be as
-- large as that from the start.
--
-- What is public of the paper is a summary: one read of a hashed table of fixed size
-- where pages do not collide, and a radix table for what would fill it too far (there,
-- mappings of the host's memory that are rarely used).  Guesses: where a page goes that
-- collides, and how far; entries of 16 bytes; the hash; and that pages enter when they
-- are first walked for, as all are mapped before cycle 0.
--
-- The hash spreads consecutive pages nearly evenly: of 66 in 256 places none collides, by
-- chance some eight would.  So collisions here are fewer than a hash at random has.
--
-- The table's size is walktable.bytes, the reads are in the counters `walktable'.
-- Counters: full, pages that found all their places taken.
--
-- SPDX-License-Identifier: MIT
local function place_of(key, k, places)
    return ((key * 0x9e3779b97f4a7c15 >> 32) + k) % places
end

--- Which of its places a page takes, from 1; 0: none is free.
local function enter(s, key, places, most)
    for k = 1, most do
        local place = place_of(key, k - 1, places)
        if not s.page[place] then
            s.page[place] = key
            return k
        end
    end
    return 0
end

--- Pages leave: their places are free, and who is behind them stays there.
local function leave(n, s)
    for vpn = n.vpn, n.vpn + n.pages - 1 do
        local key = n.app << 52 | vpn
        if s.at[key] then
            if s.at[key] > 0 then
                s.page[place_of(key, s.at[key] - 1, s.places)] = nil
            end
            s.at[key] = nil
        end
    end
end

return {
    name = "fs_hpt",
    summary = "a hashed page table of fixed size: one read a walk unless pages collide",
    source = "Jang, Park, Kwon, Lee, Hong: Rethinking Page Table Structure for Fast "
        .. "Address Translation in GPUs: A Fixed-Size Hashed Page Table, PACT 2024",

    params = {
        words = { default = 2, min = 1, max = 16, unit = "entries",
                  meaning = "entries of the table that a page takes",
                  source = "guess: 16 bytes, which page it is and its entry" },
        probes = { default = 8, min = 1, max = 64, unit = "reads",
                   meaning = "places in which a page can be",
                   source = "guess: a line of 128 bytes" },
    },

    counters = {
        full = { unit = "pages", meaning = "that found all their places taken" },
    },

    state = { page = {}, at = {}, places = 1 },

    walk_address = function(q, s, p)
        if q.probes < q.made or q.entries == 0 then return 0 end -- it goes down the levels
        local key = q.app << 52 | q.page
        s.places = q.entries // p.words
        if not s.at[key] then
            s.at[key] = enter(s, key, s.places, p.probes)
            if s.at[key] == 0 then tally("full", 1, q.app) end
        end
        local last = s.at[key] > 0 and s.at[key] or p.probes
        if q.probes == last then return 0 end
        return 1 + place_of(key, q.probes, s.places) * p.words,
            s.at[key] == q.probes + 1
    end,

    watch = { page_evicted = leave, free = leave },
}
