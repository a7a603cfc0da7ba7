-- What EMBBAG at size T accesses, in closed form, and its footprints.
--
-- A bag of P indices has 2 + ceil(P / 32) + P loads with FBGEMM's kernel.  The
-- lengths of bags are those of the offsets that the application has.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function lengths(instance)
    for _, b in ipairs(instance.buffers) do
        if b.name == "offsets" then
            local out = {}
            for i = 1, b.count - 1 do out[i] = b.data[i + 1] - b.data[i] end
            return out
        end
    end
end

local function counts(p, instance)
    local c = {}
    local function add(key, n) c[key] = (c[key] or 0) + n end
    local chunks = (p.dim + 31) // 32
    for i, n in ipairs(lengths(instance)) do
        if p.kernel == "tbe" then
            add("tbe load offsets", 2)
            add("tbe load indices", (n + 31) // 32)
            add("tbe load W", n * ((p.dim + 127) // 128))
            add("tbe store out", (p.dim + 127) // 128)
        else
            local name = "torch" .. (i - 1) // p.bags
            add(name .. " load offsets", 2 * chunks)
            add(name .. " load indices", n * chunks)
            add(name .. " load W", n * chunks)
            add(name .. " store bag_of", n)
            add(name .. " store size", chunks)
            add(name .. " store out", chunks)
        end
    end
    return c
end

local function figures()
    local app_of = app.get "EMBBAG"
    local wide = { size = "T", dim = 128, bags = 512 }
    local instance = app_of:instance(wide)
    local sum, list = 0, lengths(instance)
    for _, n in ipairs(list) do sum = sum + n end
    local rows = kit.measure(instance)
    -- Meta's set of 2022 (1.78 M accesses, all tables lumped): 29.6 % of accesses
    -- go to rows that are used more than 1,024 times.
    local few, top = require("heddle.generate").zipf { n = 1780000, keys = 150000,
        s = 0.9, seed = 1 }, {}
    for i = 0, #few - 1 do top[few[i]] = (top[few[i]] or 0) + 1 end
    local often = 0
    for _, n in pairs(top) do often = often + (n > 1024 and n or 0) end
    return {
        { "indices a bag", sum / #list, 10 },
        { "lines of a row of 512 bytes", rows["tbe load W"].lines, 4 },
        { "pages of a row of 512 bytes", rows["tbe load W"].pages, 1 },
        { "share of rows used more than 1,024 times", often / 1.78e6, 0.296 },
    }
end

return {
    counts = counts,
    others = {
        { kernel = "torch", grid = 3 },
        { kernel = "torch", grid = 7, tables = 3, dim = 36, bags = 33 },
        { tables = 3, dim = 160, bags = 11, pooling = 5000 },
    },
    figures = figures,
    -- 4 tables rows dim, and the rows that bags and their indices take
    published = { 16.8 + 1.3, 164 + 41, 1024 + 134 + 31, XL = 8192 + 165,
        XXL = 26 * 7.5 * 512 + 67 },
    share = 0.02, -- the mean of bags' lengths
}
