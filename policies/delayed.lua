-- delayed.lua - a page migrates when it has been accessed remotely often enough.
--
-- Ganguly et al., DATE 2020: adaptive page migration for irregular
-- applications in less memory than they touch, as
-- UVMSmart has it.  A page that is touched first is used on the host, and migrates
-- when its granule (uvm.perf_access_counter_granularity; there: 64 KB) has had
-- `td` accesses, the first included.  With adapt = 1 the threshold is
--
--   1 + td * used / frames            as long as nothing was evicted
--   td * penalty * (trips + 1)        since, by the times that pages of the
--                                     granule have left
--
-- A page that is written migrates at once.  The built-in "delayed" is the same in C.
--
-- SPDX-License-Identifier: MIT
local function threshold(q, p)
    if p.adapt == 0 then
        return p.td
    elseif q.evicted == 1 then
        return p.td * p.penalty * (q.trips + 1)
    end
    return 1 + p.td * (q.frames - q.free) // q.frames
end

return {
    name = "delayed",
    summary = "pages migrate when they have been accessed remotely often enough",
    source = "Ganguly et al., DATE 2020",

    params = {
        td = { default = 8, min = 1, max = 65535, unit = "accesses",
               meaning = "threshold", source = "Ganguly et al.: 8" },
        adapt = { default = 0, min = 0, max = 1, unit = "",
                  meaning = "1: by how full memory is and what was evicted",
                  source = "Ganguly et al.: both" },
        penalty = { default = 2, min = 1, max = 1000, unit = "",
                    meaning = "factor of the threshold once pages were evicted",
                    source = "Ganguly et al.: 2" },
    },

    migrate = function(q, _, p)
        local want, had = threshold(q, p), q.accesses + 1
        if q.writes == 1 or had >= want then
            return 0
        end
        return math.min(want - had, q.most - 1)
    end,
}
