-- distance.lua - distance prefetching for the L2 TLB: what followed a distance
-- between two misses is expected again.
--
-- A table has a row for each distance between successive misses of an application,
-- with the two distances that came after it last.  A miss enters its distance in
-- the row of the one before, and has the pages translated that are at the
-- distances of its own row.
--
-- The built-in "distance" is the same in C.
--
-- SPDX-License-Identifier: MIT
local function row_of(s, rows, by)
    local i = by % rows
    local r = s.row[i]
    if not r or r.of ~= by then
        r = { of = by }
        s.row[i] = r
    end
    return r
end

return {
    name = "distance",
    summary = "what followed a distance between misses is expected again",
    source = "distance prefetching: Kandiraju and Sivasubramaniam, ISCA 2002",

    params = {
        rows = { default = 256, min = 1, max = 4096, unit = "rows",
                 meaning = "of the table, by distance",
                 source = "Kandiraju and Sivasubramaniam: 32 to 1024; two "
                     .. "distances a row" },
        to = { default = "l2tlb", choices = { "l2tlb", "l1tlb", "l1side" },
               meaning = "where it goes",
               source = "guess: next to the TLB that missed" },
    },

    counters = {
        predicted = { unit = "translations",
                      meaning = "distances that the table had" },
    },

    state = { row = {}, of = {} },

    watch = { tlb_miss = { level = 2, function(n, s, p)
        local t = s.of[n.app]
        if not t then
            t = { misses = 0, vpn = 0, by = 0 }
            s.of[n.app] = t
        end
        local by = n.vpn - t.vpn
        if t.misses >= 2 then
            local r = row_of(s, p.rows, t.by)
            if r.first ~= by then
                r.second, r.first = r.first, by
            end
        end
        if t.misses >= 1 then
            local r = row_of(s, p.rows, by)
            for i = 1, 2 do
                local d = i == 1 and r.first or i == 2 and r.second or nil
                if d and n.vpn + d >= 0 and n.vpn + d < 1 << 36 then
                    tally("predicted", 1, n.app)
                    translate(n.app, n.vpn + d, { to = p.to, core = n.core })
                end
            end
        end
        t.misses, t.vpn, t.by = t.misses + 1, n.vpn, by
    end } },
}
