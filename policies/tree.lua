-- tree.lua - pages that migrate with a fault by a binary tree over its 2 MB.
--
-- What fault.prefetch=tree and driver do, in Lua: an example of what the
-- question says of the pages around a fault.  UVMSmart's form has leaves of
-- 64 KB: from the fault's leaf up, a node that is more than half there is
-- filled.  The driver's has pages: those of the faults' 64 KB count as there,
-- what was prefetched for the same batch does not, and the largest node of which
-- more than a threshold is there comes, cut at the allocation's ends.  Advice goes
-- before: nothing leaves a preferred location on the host, and at the first touch
-- of 2 MB whose preferred location is the GPU all of it comes.
--
-- SPDX-License-Identifier: MIT

local LEAF, PAGES = 16, 512

--- Whether page k of the 2 MB is in a set.
local function has(set, k)
    return set[k // 64 + 1] >> k % 64 & 1 == 1
end

--- Whether one of the 64 KB from page k on is.
local function leaf_has(set, k)
    return set[k // 64 + 1] >> k % 64 & 0xffff ~= 0
end

--- n pages from page k of the 2 MB on, as page_prefetch wants it.
local function pages(k, n)
    return 1024 * (k + 1) + n
end

local function near(q)
    local page = q.vpn % PAGES
    local first, last = q.first // LEAF, (q["end"] - 1) // LEAF
    local there, size = {}, 1
    for k = first, last do
        there[k] = leaf_has(q.there, k * LEAF)
    end
    local leaf, best = page // LEAF, 1
    there[leaf] = true
    while first // size ~= last // size do
        size = size * 2
        local from, n = leaf // size * size, 0
        for k = from, from + size - 1 do
            n = n + (there[k] and 1 or 0)
        end
        if 2 * n > size then
            best = size
            for k = math.max(from, first), math.min(from + size - 1, last) do
                there[k] = true
            end
        end
    end
    return pages(leaf // best * best * LEAF, best * LEAF)
end

local function driver(q, threshold)
    if q.place == "host" then
        return 0
    elseif q.place == "gpu" and q.untouched == 1 then
        return pages(q.first, q["end"] - q.first)
    end
    local page, there = q.vpn % PAGES, {}
    for k = q.first, q["end"] - 1 do
        there[k] = has(q.there, k) and not has(q.sent, k)
            or leaf_has(q.faulted, k // LEAF * LEAF)
    end
    local size, first, count = LEAF, page, 1
    while size <= PAGES do
        local from = math.max(page // size * size, q.first)
        local to = math.min(page // size * size + size, q["end"])
        local n = 0
        for k = from, to - 1 do
            n = n + (there[k] and 1 or 0)
        end
        if n * 100 > (to - from) * threshold then
            first, count = from, to - from
        end
        size = size * 2
    end
    return pages(first, count)
end

return {
    name = "tree",
    summary = "migrates the rest of what is half resident around a fault",
    source = "Ganguly et al., ISCA 2019; NVIDIA's UVM driver",
    params = {
        driver = { default = 0, min = 0, max = 1, unit = "",
                   meaning = "0: UVMSmart's form; 1: the driver's",
                   source = "the two sources" },
        threshold = { default = 51, min = 1, max = 100, unit = "percent",
                      meaning = "share of a piece, with driver = 1",
                      source = "NVIDIA's UVM driver: 51" },
    },

    init = function(s, p)
        s.driver, s.threshold = p.driver == 1, p.threshold
    end,

    page_prefetch = function(q, s)
        return s.driver and driver(q, s.threshold) or near(q)
    end,
}
