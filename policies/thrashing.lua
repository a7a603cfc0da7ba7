-- thrashing.lua - what becomes of a page that goes to and fro.
--
-- What fault.thrashing=driver and refault do, in Lua: an example of what the
-- question says.  The machine sees which pages move (or migrate again), and holds the
-- periods in which one processor is exempt; this says what follows:
--
--   who is not exempt is throttled
--   after pin_threshold throttlings the page is pinned with who is exempt
--   a pinned page is used where it is, if who touches it can; the GPU can use
--   pages on the host, the host none of the GPU's
--   where the program's host wants the page, it is pinned at once, if all that
--   use it can use it there
--   a page that migrates again more than `refaults` times is pinned on the host
--
-- SPDX-License-Identifier: MIT

local BIT = { gpu = 2, host = 4 }

--- Whether all who use a page can where it would be.
local function all_reach(q, where)
    if where == "none" then
        return false
    elseif where == "host" then
        return q.far == 1 or q.users & BIT.gpu == 0
    end
    return q.users & BIT.host == 0
end

local function pinned(q)
    if q.by == q.place then
        return (q.by == q.pinned or q.by == q.exempt) and q.by or "throttle"
    elseif q.exempt == q.by then
        return (all_reach(q, q.by) or q.far == 0) and q.by or "host"
    elseif q.pinned == q.by or (q.pinned == "host" and q.far == 1) then
        return q.pinned
    end
    return "throttle"
end

return {
    name = "thrashing",
    summary = "throttles and pins pages that go to and fro",
    source = "NVIDIA's UVM driver: uvm_perf_thrashing.c",
    params = {
        pin_threshold = { default = 10, min = 1, max = 255,
                          unit = "throttlings", meaning = "before a pin",
                          source = "NVIDIA's UVM driver: 10" },
        refaults = { default = 2, min = 0, max = 1 << 20, unit = "returns",
                     meaning = "that do not yet count as thrashing",
                     source = "guess" },
    },

    thrash = function(q, _, p)
        if q.thrashes == 0 then
            return q.returns > p.refaults and q.far == 1 and q.by == "gpu"
                and "host" or "migrate"
        elseif all_reach(q, q.place) then
            return q.place
        elseif q.pinned ~= "none" then
            return pinned(q)
        elseif q.exempt ~= q.by then
            return "throttle"
        end
        return q.throttlings >= p.pin_threshold and q.by or "migrate"
    end,
}
