-- frfcfs.lua - first ready, first come: the DRAM scheduler as a policy.
--
-- Rixner et al.: Memory access scheduling, ISCA 2000.  The candidates are at
-- most two a bank, side by side: the oldest request to the open row, then the
-- oldest one.  The command that can issue soonest is taken; among those of one
-- cycle a more urgent class goes first, then requests whose row is open, then
-- the one that arrived first.  A row that still has hits is not closed.
--
-- dram_pick is asked for every command: for long runs use the built-in
-- "frfcfs", or leave the default, which costs nothing.
--
-- SPDX-License-Identifier: MIT

return {
    name = "frfcfs",
    summary = "the soonest command; open rows first, then the oldest request",
    source = "Rixner et al., ISCA 2000",

    dram_pick = function(q)
        local cycle, banks, hits, ready = q.cycle, q.bank, q.hit, q.ready
        local arrived, klass = q.arrived, q.klass
        local best, at, class, hit, age = 1, nil, nil, nil, nil
        for i = 1, q.n do
            local h = hits[i]
            if h == 1 or i == 1 or banks[i - 1] ~= banks[i] then
                local t, k, a = ready[i], klass[i], arrived[i]
                if t < cycle then
                    t = cycle
                end
                local before
                if not at or t ~= at then
                    before = not at or t < at
                elseif k ~= class then
                    before = k > class
                elseif h ~= hit then
                    before = h > hit
                else
                    before = a < age
                end
                if before then
                    best, at, class, hit, age = i, t, k, h, a
                end
            end
        end
        return best
    end,
}
