-- What KMER at size T accesses, in closed form, and its footprints.
--
-- The table is filled again here, warp after warp and lane after lane; a word has one
-- count in it, so the counts' sum is that of the words.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return x ~ (x >> 31)
end

local function key_of(p, i)
    local words, seed = p.len - p.k + 1, p.seed << 56
    local read, at = i // words, i % words
    local start = (mix(seed + read) >> 1) % (p.genome - p.len + 1)
    local dice = mix(seed + (1 << 48) + read) >> 1
    local wrong = dice // 128 % p.len
    local bad = dice % 100 < p.errors and wrong >= at and wrong < at + p.k
    return (bad and mix(seed + (2 << 48) + i) or mix(seed + (3 << 48) + start + at)) | 1,
        bad
end

local function counts(p, instance)
    local mask
    for _, b in ipairs(instance.buffers) do
        if b.name == "table" then mask = b.count - 1 end
    end
    local all = p.genome * p.coverage // p.len * (p.len - p.k + 1)
    local held, c, sum, singles = {}, {}, 0, 0
    local function add(key, n) c["count " .. key] = (c["count " .. key] or 0) + n end
    for first = 0, all - 1, 32 do
        local lanes = {}
        for i = first, math.min(first + 31, all - 1) do
            local key, bad = key_of(p, i)
            singles = singles + (bad and 1 or 0)
            lanes[#lanes + 1] = { key = key, at = mix(key) * 2 & mask - 1 }
        end
        add("load reads", 2)
        while #lanes > 0 do
            add("load table", 1)
            local some, left = false, {}
            for _, l in ipairs(lanes) do
                if not held[l.at] then l.empty, some = true, true end
            end
            add("atomic table", some and 1 or 0) -- swaps
            local found = false
            for _, l in ipairs(lanes) do
                if l.empty and not held[l.at] then held[l.at] = { l.key, 0 } end
                local slot = held[l.at]
                if slot[1] == l.key then
                    slot[2], found = slot[2] + 1, true
                else
                    left[#left + 1] = l
                end
                l.at, l.empty = l.at + 2 & mask, nil
            end
            add("atomic table", found and 1 or 0) -- counts
            lanes = left
        end
    end
    local once = 0
    for _, slot in pairs(held) do
        sum, once = sum + slot[2], once + (slot[2] == 1 and 1 or 0)
    end
    kit.equal(sum, all, "sum of counts")
    assert(once >= singles, "words of errors are met once")
    return c
end

-- A table of 512 MB of 4 KB pages: a page a lane that still looks.
local function figures()
    local rows = kit.profile("KMER", { genome = 100000, coverage = 2, load = 1 })
    local load = rows["count load table"]
    return {
        { "pages of a load of the table, over its lanes", load.pages / load.lanes, 1 },
        { "loads a word, a table almost empty", load.count * load.lanes
            / (100000 * 2 // 100 * 70), 1 },
    }
end

return {
    counts = counts,
    others = {
        { errors = 0, load = 99 },
        { k = 13, len = 40, genome = 500, errors = 100, seed = 9 },
    },
    figures = figures,
    published = { 16.8 + 0.6, 134.2 + 6, 1073.7 + 40,
        XL = 8589.9 + 400 }, -- slots; two bits a base
}
