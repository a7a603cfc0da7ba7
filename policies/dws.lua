-- dws.lua - walkers have owners: each takes the walks of its own application, and
-- those of others only while its own has none that wait.
--
-- Several applications share the walkers of a GPU.  One that misses much fills the
-- queue, and the walks of the others wait behind it.  Here walker w of n belongs to
-- application w * applications / n, and takes the oldest walk of its own; with
-- steal = "idle" (DWS) the oldest of another when its own has none, with
-- steal = "none" (a strict partition) it stays idle then.
--
-- Counters: stolen, walks that a walker took for another application.
--
-- SPDX-License-Identifier: MIT
return {
    name = "dws",
    summary = "walkers have owners, and steal walks while their own has none",
    source = "Pratheek, Jawalkar, Basu: Improving GPU Multi-tenancy with Page Walk "
        .. "Stealing, HPCA 2021",

    params = {
        steal = { default = "idle", choices = { "idle", "none" },
                  meaning = "when a walker takes the walk of another owner",
                  source = "DWS: when its own application has none; none: the static "
                      .. "partition that it is compared with" },
    },

    counters = {
        stolen = { unit = "walks", meaning = "taken by another's walker" },
    },

    init = function(s, _, place)
        s.apps = place.apps
    end,

    walk_pick = function(q, s, p)
        local owner = q.walker * s.apps // q.walkers
        for i = 1, q.n do
            if q.app[i] == owner then return i end
        end
        if p.steal == "none" then return q.choices end
        tally("stolen", 1, q.app[1])
        return 1
    end,
}
