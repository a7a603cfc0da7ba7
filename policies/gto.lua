-- gto.lua - greedy then oldest.
--
-- Rogers, O'Connor, Aamodt: Cache-conscious wavefront scheduling, MICRO 2012.
-- The warp that issued last continues until it stalls; then the ready warp that
-- has been resident longest issues.  q.ready is a bit set of warps.
--
-- SPDX-License-Identifier: MIT

return {
    name = "gto",
    summary = "the warp that issued last while it can, then the oldest",
    source = "Rogers et al., MICRO 2012",

    warp_pick = function(q)
        local last = q.last
        if last < 64 and q.ready >> last & 1 == 1 then
            return last
        end
        return q.oldest
    end,
}
