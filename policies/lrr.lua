-- lrr.lua - loose round robin.
--
-- The next ready warp in cyclic order issues, after every instruction: the answer
-- holds once, so that the core asks again then, and not only when the warp stalls.
--
-- SPDX-License-Identifier: MIT

--- Number of the lowest bit set in x.
local function lowest(x)
    local n = 0
    for shift = 5, 0, -1 do
        local width = 1 << shift
        if x & ((1 << width) - 1) == 0 then
            x, n = x >> width, n + width
        end
    end
    return n
end

return {
    name = "lrr",
    summary = "the next ready warp in cyclic order, after every instruction",
    source = "Rogers et al., MICRO 2012 (baseline)",

    warp_pick = function(q)
        local ready, last, later = q.ready, q.last, 0
        if last < 63 then
            later = ready & -1 << last + 1
        end
        return lowest(later ~= 0 and later or ready), true
    end,
}
