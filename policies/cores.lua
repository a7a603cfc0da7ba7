-- cores.lua - a fixed partition of the cores among applications.
--
-- MASK, ASPLOS 2018, section 6: partitions found by search.  Application i gets
-- as many cores as its parameter says, in order: the first application the
-- lowest numbers.  Those with 0 share evenly what is left; cores that are given
-- to none go to the last application.  The built-in "cores" is the same in C.
--
-- SPDX-License-Identifier: MIT
local MOST = 8 -- applications

local params = {}
for app = 0, MOST - 1 do
    params["app" .. app] = {
        default = 0, max = 1024, unit = "cores",
        meaning = ("of application %d; 0: an even share of what is left")
            :format(app),
        source = "chosen by the experiment",
    }
end

return {
    name = "cores",
    summary = "gives each application a fixed number of cores",
    source = "MASK, ASPLOS 2018, section 6: partitions found by search",

    params = params,

    init = function(s, p, place)
        local named, open, k, at = 0, 0, 0, 0
        for app = 0, MOST - 1 do
            local n = p["app" .. app]
            if app < place.apps then
                named, open = named + n, open + (n == 0 and 1 or 0)
            elseif n ~= 0 then
                error(("app%d is set, but applications are 0 to %d")
                    :format(app, place.apps - 1), 0)
            end
        end
        if named > place.cores then
            error(("%d cores are given to applications, the machine has %d")
                :format(named, place.cores), 0)
        end
        local rest = place.cores - named
        s.last = {}
        for app = 0, math.min(place.apps, MOST) - 1 do
            local n = p["app" .. app]
            if n == 0 then
                n = rest * (k + 1) // open - rest * k // open
                k = k + 1
            end
            at = at + n
            s.last[app] = at - 1
        end
    end,

    core_partition = function(q, s)
        for app = 0, #s.last do
            if q.core <= s.last[app] then
                return app
            end
        end
        return #s.last
    end,
}
