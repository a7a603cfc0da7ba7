-- What TRAINCYC at size T accesses, in closed form, and its footprints.
--
-- A pass over a tensor is an access for each 512 bytes.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function counts(p)
    local c = {}
    local output = 2 * p.seqs * p.len * p.hidden
    local weights = 24 * p.hidden ^ 2 // 1 | 0
    local stash = 17 * output + 5 * p.seqs * p.heads * p.len * p.len
    local function pass(key, bytes)
        c[key] = (c[key] or 0) + p.steps * ((bytes + 511) // 512)
    end
    for i = 1, p.layers do
        local forward, back = "forward" .. i, "backward" .. i
        pass(forward .. " load W" .. i, weights)
        if p.mode == "infer" then
            local from, to = "x", "D0"
            if i % 2 == 0 then from, to = to, from end
            pass(forward .. " load " .. from, output)
            pass(forward .. " store " .. to, output)
        else
            pass(forward .. " load " .. (i == 1 and "x" or "A" .. i - 1), output)
            pass(forward .. " store A" .. i, stash)
            pass(back .. " load A" .. i, stash)
            pass(back .. " load W" .. i, weights)
            pass(back .. " load D" .. i % 2, output)
            pass(back .. " store D" .. (i + 1) % 2, output)
            pass(back .. " load G" .. i, weights)
            pass(back .. " store G" .. i, weights)
            local last = "optimiser" .. i
            pass(last .. " load G" .. i, weights)
            for name, times in pairs { W = 1, M = 2, V = 2 } do
                pass(last .. " load " .. name .. i, times * weights)
                pass(last .. " store " .. name .. i, times * weights)
            end
        end
    end
    return c, function(total)
        local launches = 0
        for _ in pairs(total) do launches = launches + 1 end
        kit.equal(launches, (p.mode == "infer" and 1 or 3) * p.layers, "kernels")
    end
end

local function figures()
    local a = app.get "TRAINCYC"
    local rows = kit.measure(a:instance { size = "T" })
    -- the order of launches of a step
    local order = {}
    for i, launch in ipairs(a:instance { size = "T", layers = 3 }.launches) do
        order[i] = (launch.name or launch[1].name):gsub("(%a)%a+", "%1")
    end
    assert(table.concat(order, " "):find("^f1 f2 f3 b3 b2 b1 o1 o2 o3 f1 f2 "),
        table.concat(order, " "))
    return {
        { "lines of an access", rows["forward1 load W1"].lines, 4 },
        { "pages of an access", rows["forward1 load W1"].pages, 1 },
        { "launches of two steps", #order, 18 },
    }
end

return {
    counts = counts,
    others = {
        { mode = "infer", layers = 3, steps = 3 },
        { layers = 3, hidden = 40, len = 24, steps = 1, grid = 1 },
    },
    figures = figures,
    -- 144 hidden^2 and activations, a layer
    published = { 2 * (9.44 + 2.88) + 0.4, 2 * (37.7 + 17.8 + 10.5) + 3.1,
        4 * (151 + 35.7 + 41.9) + 6.3, XL = 6 * (604 + 285 + 335.5) + 50.3,
        XXL = 6 * (9664 + 2282 + 5369) + 403 },
}
