-- cpm.lua - TLB-aware thread block compaction: threads share a formed warp if
-- their warps have shared pages.
--
-- Pichai et al., Architectural Support for Address Translation on GPUs, ASPLOS
-- 2014, section 8.  For core.compact.  A common page matrix has, for each two
-- warps of a core, a counter of `bits` bits that stops at its most; all begin at
-- 0 and again every `flush` cycles.  An entry of the L1 TLB knows the two warps
-- that hit it last; the one that brought it counts as the first.  When a warp
-- hits, its counters with both, and theirs with it, go up by one.  In a formed
-- warp the hit is that of the warp in which the thread of the page's lowest lane
-- began.
--
-- A thread may join a warp that is being formed if its warp's counter with each
-- other warp that has threads there is at its most.
--
-- For 48 warps that is 48 x 47 counters: of 3 bits, 6768 bits in all.  An entry
-- that is evicted forgets its history; one that a shootdown takes keeps it if the
-- same warp brings another into its place.  The built-in "cpm" is the same in C.
--
-- SPDX-License-Identifier: MIT

--- The counters of a core, which begin at 0 where a window does: of warps a and
-- b, a << 8 | b.
local function counters(s, core, cycle, p)
    local c = s.core[core + 1]
    if c.window ~= cycle // p.flush then
        c.window, c.count = cycle // p.flush, {}
    end
    return c.count
end

local function up(count, a, b, most)
    count[a << 8 | b] = math.min(most, (count[a << 8 | b] or 0) + 1)
end

return {
    name = "cpm",
    summary = "threads share a formed warp if their warps share pages "
        .. "(TLB-aware thread block compaction)",
    source = "Pichai et al., ASPLOS 2014, section 8",

    params = {
        bits = { default = 3, min = 1, max = 3, unit = "bits",
                 meaning = "of a counter", source = "Pichai 8: 3 is best" },
        flush = { default = 500, min = 1, max = 1 << 30, unit = "cycles",
                  meaning = "between two starts at 0", source = "Pichai 8" },
        entries = { default = 1024, min = 1, max = 65536, unit = "entries",
                    meaning = "of a TLB that have a history; others are ignored",
                    source = "guess: more than the largest TLB of the paper, "
                        .. "512" },
    },

    init = function(s, _, place)
        s.core = {}
        for core = 1, place.cores do
            s.core[core] = { window = 0, count = {}, entry = {} }
        end
    end,

    thread_join = function(q, s, p)
        local count = counters(s, q.core, q.cycle, p)
        local most = (1 << p.bits) - 1
        for b = 0, q.n - 1 do
            if q.members >> b & 1 == 1 and b ~= q.warp
                and (count[q.warp << 8 | b] or 0) < most then
                return false
            end
        end
        return true
    end,

    watch = {
        tlb_hit = function(n, s, p)
            if n.level ~= 1 or n.entry >= p.entries then
                return
            end
            local entries, w = s.core[n.core + 1].entry, n.warp
            local e = entries[n.entry]
            if not e or e.filler ~= n.filler then
                e = { filler = n.filler, last = n.filler & 0xffff }
                entries[n.entry] = e
            end
            local count = counters(s, n.core, n.cycle, p)
            local most = (1 << p.bits) - 1
            for _, h in ipairs { e.last, e.before } do
                if h ~= w then
                    up(count, w, h, most)
                    up(count, h, w, most)
                end
            end
            if e.last ~= w then
                e.before, e.last = e.last, w
            end
        end,
        tlb_evict = function(n, s, p)
            if n.level == 1 and n.entry < p.entries then
                s.core[n.core + 1].entry[n.entry] = nil
            end
        end,
    },
}
