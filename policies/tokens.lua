-- tokens.lua - who may fill the shared L2 TLB, steered at epochs.
--
-- After Ausavarungnirun et al.: MASK, ASPLOS 2018, section 5.2.  Each
-- application has a number of tokens: that many of each core's warps (the
-- lowest numbers) may fill the L2 TLB, the walks of the others go to the
-- bypass cache.  At the end of an epoch the application whose L2 TLB miss rate
-- grew loses tokens, and one whose rate fell gets some.
--
-- This is the steered form: nothing is asked.  The policy sets the table
-- "tlb_fill" (application, core; a bit set of warps) that the engine's default
-- reads, so a request costs what it costs without a policy.
--
-- Left out on purpose: MASK's other two parts (L2 bypass, DRAM queues).
--
-- SPDX-License-Identifier: MIT

local function give(s, app)
    local n = s.tokens[app]
    for core = 0, s.cores - 1 do
        steer("tlb_fill", app - 1, core, n >= 64 and -1 or (1 << n) - 1)
    end
end

return {
    name = "tokens",
    summary = "warps that may fill the L2 TLB, by its miss rate",
    source = "MASK, ASPLOS 2018, section 5.2 (fill tokens alone)",
    params = {
        epoch = { default = 100000, min = 1000, unit = "cycles",
                  meaning = "time between two changes",
                  source = "MASK section 5.2" },
        initial = { default = 80, min = 1, max = 100, unit = "percent",
                    meaning = "of the warps that have a token at first",
                    source = "MASK section 6" },
        step = { default = 10, min = 1, max = 100, unit = "percent",
                 meaning = "of the warps that get or lose a token",
                 source = "guess" },
        band = { default = 2, max = 100, unit = "percentage points",
                 meaning = "change of the miss rate that is ignored",
                 source = "MASK section 5.2" },
    },

    init = function(s, p, place)
        s.cores, s.warps = place.cores, place.warps
        s.tokens, s.asked, s.missed, s.rate = {}, {}, {}, {}
        for app = 1, place.apps do
            s.tokens[app] = math.max(1, place.warps * p.initial // 100)
            s.asked[app], s.missed[app], s.rate[app] = 0, 0, -1
            give(s, app)
        end
    end,

    every = every("epoch", function(_, s, p)
        local step = math.max(1, s.warps * p.step // 100)
        for app = 1, #s.tokens do
            local asked = counter("mmu.requests", app - 1)
            local missed = counter("mmu.misses", app - 1)
            local n, m = asked - s.asked[app], missed - s.missed[app]
            s.asked[app], s.missed[app] = asked, missed
            if n > 0 then
                local rate = 1000 * m // n -- per mille
                local change = s.rate[app] < 0 and 0 or rate - s.rate[app]
                if change > 10 * p.band then
                    s.tokens[app] = math.max(1, s.tokens[app] - step)
                    give(s, app)
                elseif change < -10 * p.band then
                    s.tokens[app] = math.min(s.warps, s.tokens[app] + step)
                    give(s, app)
                end
                s.rate[app] = rate
            end
        end
    end),
}
