-- What MUM at size T accesses, from the text and the reads alone: which
-- substrings branch, how far each read matches, and how the lanes of a warp
-- meet again; its published footprints and figures.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

-- The text (with its $) and the reads as strings.
local function inputs(p, instance)
    local ref, qry = instance.b.ref.data, instance.b.qry.data
    local text, reads = {}, {}
    for r = 1, p.bases + 1 do
        local x, y = (r % 2 ^ 18) // 4, 4 * (r // 2 ^ 18) + r % 4
        text[r] = string.char(ref[math.tointeger(65536 * y + x)])
    end
    for i = 0, p.reads - 1 do
        local s = {}
        for k = 1, p.length do
            s[k] = string.char(qry[(p.length + 2) * i + k])
        end
        reads[i] = table.concat(s)
    end
    return table.concat(text), reads
end

-- For each substring of up to `most` letters: the letter that follows it, or
-- true where there are several.
local function followers(text, most)
    local after = {}
    for i = 1, #text do
        for n = 0, math.min(most, #text - i) do
            local s, c = text:sub(i, i + n - 1), text:byte(i + n)
            local old = after[s]
            after[s] = old == nil and c or old == c and c or true
        end
    end
    return after
end

-- The edge that leads from node `from` (a substring) with letters `s` on:
-- its letters, as long as only one letter follows (a leaf's are cut at `most`).
local function edge(after, from, s, most)
    local e = from .. s
    while after[e] and after[e] ~= true and #e < most do
        e = e .. string.char(after[e])
    end
    return e:sub(#from + 1)
end

-- What one lane does for one start position: a list of steps { found =,
-- rounds = letters compared, hits = of them equal }, and whether it stores.
local function descend(after, q, lane, min, most)
    if not lane.node or lane.matched < 1 then
        lane.node, lane.matched, lane.must = "", 1, 0
    end
    local steps, store = {}, false
    local node, on, last = lane.node, 0, lane.node
    while lane.matched <= #q do
        local c = q:sub(lane.matched, lane.matched)
        last = node
        if not after[node .. c] then
            steps[#steps + 1] = { rounds = 0, hits = 0,
                store = lane.matched > min }
            lane.matched, lane.must, on = lane.matched - 1, 0, nil
            break
        end
        local e = edge(after, node, c, most)
        local known = math.min(math.max(lane.must, 1), #e)
        lane.matched, lane.must = lane.matched + known,
            math.max(lane.must - known, 0)
        local step = { found = true, rounds = 0, hits = 0 }
        steps[#steps + 1], on = step, known
        while on < #e and lane.matched <= #q do
            step.rounds = step.rounds + 1
            if e:byte(on + 1) ~= q:byte(lane.matched) then break end
            step.hits, on = step.hits + 1, on + 1
            lane.matched = lane.matched + 1
        end
        node = node .. e
        if step.rounds > step.hits then break end
    end
    if on then
        store = lane.matched > min
        lane.must, lane.matched = on, lane.matched - on - 1
    end
    lane.node = last:sub(2)
    return steps, store
end

-- A warp at one start position: lanes meet after each edge.
local function warp(c, lanes)
    local steps, most = 0, 0
    for _, l in pairs(lanes) do steps = math.max(steps, #l.steps) end
    for i = 1, steps do
        local found, rounds, hits, store = 0, 0, 0, 0
        for _, l in pairs(lanes) do
            local s = l.steps[i]
            if s then
                found = s.found and 1 or found
                store = s.store and 1 or store
                rounds = math.max(rounds, s.rounds)
                hits = math.max(hits, s.hits)
            end
        end
        c.child, c.node = c.child + 1, c.node + found
        c.qry, c.ref = c.qry + found + hits, c.ref + rounds
        c.res = c.res + store
    end
    for _, l in pairs(lanes) do most = l.store and 1 or most end
    c.qry, c.node, c.res = c.qry + 1, c.node + 1, c.res + most
end

local function counts(p, instance)
    local text, reads = inputs(p, instance)
    local most = p.length + 2
    local after = followers(text, most)
    local c = { child = 0, node = 0, qry = 0, ref = 0, res = 0 }
    local warps = (p.reads + 31) // 32
    for w = 0, warps - 1 do
        local state = {}
        for start = 1, p.length - p.min + 1 do
            local lanes = {}
            for i = 32 * w, math.min(32 * w + 31, p.reads - 1) do
                state[i] = state[i] or {}
                local steps, store = descend(after, reads[i]:sub(start), state[i],
                    p.min, most)
                lanes[i] = { steps = steps, store = store }
            end
            warp(c, lanes)
        end
    end
    local want = { ["mummergpu load qlen"] = warps,
        ["mummergpu load qaddr"] = warps, ["mummergpu store res"] = c.res }
    for _, name in ipairs { "child", "node", "qry", "ref" } do
        want["mummergpu load " .. name] = c[name]
    end
    return want, function(total, _, memory)
        local accesses = 0
        for _, n in pairs(memory) do accesses = accesses + n end
        -- qlen and qaddr share an alu; each warp has an exit
        equal(total.mummergpu, (1 + p.alu) * accesses - p.alu * warps
            + (p.reads + 255) // 256 * 8, "instructions")
    end
end

-- Accesses of a read, as measured on the program's own data.  Of 28.4 lanes a
-- fetch and 23.65 pages are published for lanes that are independent between
-- start positions; here they meet after each edge (20.9 lanes), which leaves
-- the pages of a lane.
local function figures()
    local app, survey = require("heddle.app").get "MUM", require "heddle.survey"
    local w, p = app:workload "S", app:instance("T").params
    local every, reads = 8, 0
    local blocks = (50000 + 255) // 256
    for b = 0, blocks - 1, every do
        reads = reads + math.min(256, 50000 - 256 * b)
    end
    local lanes, pages = {}, {}
    for _, r in ipairs(survey.profile(w, { every = every })) do
        if r.buffer then
            lanes[r.buffer] = r.count * r.lanes / reads
            pages[r.buffer] = r.count * r.pages / reads
        end
    end
    local instructions = 0
    for _, n in pairs(lanes) do instructions = instructions + n end
    local t = survey.buffers(w)[1]
    return {
        { "nodes a base", (t.bytes / 65536 - 32) * 4096 / 1399930, 1.6545 },
        { "child fetches a read", lanes.child, 20.5 },
        { "node fetches a read", lanes.node, 24.9 },
        { "reference letters a read", lanes.ref, 7.3 },
        { "query letters a read", lanes.qry, 30 },
        { "stores a read", lanes.res, 1.6 },
        { "pages of a lane's fetch", (pages.child + pages.node)
            / (lanes.child + lanes.node), 23.65 / 28.4 },
        { "instructions a read", instructions * (1 + p.alu), 1713 },
    }
end

return {
    counts = counts,
    figures = figures,
    share = 0.02, -- the formula has the usual number of nodes
    published = { 84, 160, 290, XL = 1100 }, -- MB
}
