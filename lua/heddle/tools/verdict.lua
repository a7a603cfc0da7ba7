--- verdict.lua - when a number agrees with a paper's.
--
-- A claim is one row, on one machine that is fixed beforehand.  Its kind says how
-- far two values are apart:
--
--     gain, loss, part, times    effects on performance, compared as ratios: a loss
--                  of 40.6 % is 0.594, a gain of 57.8 % 1.578, a part of 65.5 %
--                  0.655.  match within 1.10, near within 1.25
--     rate         shares and hit rates, in points: 5, 15
--     count        counts, times, sizes: 1.2, 1.5
--
-- Without a kind a value in % or points is a rate, one in "times" an effect, any
-- other a count.
--
-- What papers say twice, and differently, is a range, and inside is a match.  An
-- inequality holds or does not: one without an upper end (from), one without a
-- lower end (to), which begins at 0.
--
-- Direction is apart: which side of "no effect" a value is on, where the paper's
-- effect is more than 2 %.  A value that is a mean over sets has an interval of
-- 90 % (bootstrap of the mean over the sets, 1,000 draws of a fixed seed), which
-- has to be on that side as a whole; where it contains "no effect", that is open.
--
-- An order is counted by its pairs of designs: one, where the paper's better one is
-- the better one here, half where the interval of their difference contains 0
-- (without sets: where they are within 0.5 %).  Over workloads Kendall's tau is
-- given, too.
--
-- Not counted, and each says so: what was used to fit something (calibrated), what
-- rests on another claim that is off, runs with fewer sets than the paper's, and
-- short ones.
--
-- SPDX-License-Identifier: MIT
local verdict = {}

local RATIO, POINTS, COUNT = { 1.10, 1.25 }, { 5, 15 }, { 1.2, 1.5 }
local DRAWS, PART = 1000, 0.05
local SIGN = 0.02 -- an effect that is smaller has no direction
local ZERO = 0.5 -- by which a value may be below a range that begins at 0

--- Performance that a value of a kind stands for, over that it is compared with.
local EFFECT = {
    gain = function(v) return 1 + v / 100 end,
    loss = function(v) return 1 - v / 100 end,
    part = function(v) return v / 100 end,
    times = function(v) return v end,
}
local KINDS = { gain = RATIO, loss = RATIO, part = RATIO, times = RATIO,
    rate = POINTS, count = COUNT }

--- The kind of a claim; what it is not is an error.
function verdict.kind(q)
    local kind = q.kind or (q.unit == "%" or q.unit == "points") and "rate"
        or q.unit == "times" and "times" or "count"
    if not KINDS[kind] then
        error(("a claim's kind is gain, loss, part, times, rate or count, not "
            .. "'%s'"):format(tostring(kind)), 0)
    end
    return kind
end

local function ratio(a, b)
    if a == b then
        return 1
    end
    return a * b > 0 and math.max(a / b, b / a) or math.huge
end

--- How far two values of a kind are apart: a ratio of at least 1, or points.
local function apart(kind, a, b)
    local effect = EFFECT[kind]
    if effect then
        local x, y = effect(a), effect(b)
        return x > 0 and y > 0 and ratio(x, y) or math.huge
    end
    return kind == "rate" and math.abs(a - b) or ratio(a, b)
end

--- heddle's effect over the paper's, or nil, and for rates the points between.
function verdict.ratio(q)
    if not q.heddle or not q.paper then
        return nil
    elseif q.kind == "rate" then
        return nil, q.heddle - q.paper
    end
    local f = EFFECT[q.kind] or function(v) return v end
    local a, b = f(q.heddle), f(q.paper)
    return b ~= 0 and a / b or nil
end

--- "match", "near" or "off": a value (q.heddle if none is given) beside what the
-- paper says, paper or from and to; nil where it says nothing.
function verdict.grade(q, value)
    local v = value or q.heddle
    local low, high = q.from or q.paper, q.to or q.paper
    if not v or not (low or high) then
        return nil
    elseif not low or not high then
        local good = low and v >= low or high and v <= high and v >= -ZERO
        return good and "match" or "off"
    elseif v >= low and v <= high then
        return "match"
    end
    local by, limit = apart(q.kind, v, v < low and low or high), KINDS[q.kind]
    return by <= limit[1] and "match" or by <= limit[2] and "near" or "off"
end

-- ---- intervals ------------------------------------------------------------------------

--- The 90 % interval of the mean of a list; nil of fewer than two.
function verdict.interval(list)
    local n, seed, means = #list, 12345, {}
    if n < 2 then
        return nil
    end
    for d = 1, DRAWS do
        local sum = 0.0
        for _ = 1, n do
            seed = (seed * 6364136223846793005 + 1442695040888963407)
            sum = sum + list[(seed >> 33) % n + 1]
        end
        means[d] = sum / n
    end
    table.sort(means)
    return means[math.floor(DRAWS * PART) + 1],
        means[math.ceil(DRAWS * (1 - PART))]
end

--- Which side of no effect: 1, -1, or 0.
local function side(effect, v)
    local e = effect(v)
    return e > 1 and 1 or e < 1 and -1 or 0
end

--- "yes", "open" or "no"; nil where the paper's effect is small or none.
function verdict.direction(q)
    local effect = EFFECT[q.kind]
    local near = q.paper or q.from or nil
    if not effect or not near or not q.heddle then
        return nil
    end
    local way = side(effect, near)
    if math.abs(effect(near) - 1) <= SIGN
        or q.to and side(effect, q.to) ~= way then
        return nil
    end
    if q.low then
        if side(effect, q.low) ~= side(effect, q.high) then
            return "open"
        end
    end
    return side(effect, q.heddle) == way and "yes" or "no"
end

-- ---- orders ---------------------------------------------------------------------------

--- Whether a is above b, by their values per set, if there are, or by their means:
-- 1, 0.5 or 0.
local function above(o, a, b)
    local va, vb = o.heddle[a], o.heddle[b]
    local la, lb = o.each and o.each[a], o.each and o.each[b]
    if la and lb and #la == #lb and #la > 1 then
        local list = {}
        for i, v in ipairs(la) do
            list[i] = v - lb[i]
        end
        local low, high = verdict.interval(list)
        return low > 0 and 1 or high < 0 and 0 or 0.5
    end
    local slack = o.slack or 0.005
    local least = math.max(math.abs(va), math.abs(vb)) * slack
    return math.abs(va - vb) <= least and 0.5 or va > vb and 1 or 0
end

--- The pairs of an order: how many are concordant, of how many, and those that are
-- not: "B above A", "A = B".
function verdict.pairs(o)
    local good, all, broken, equal = 0, 0, {}, {}
    for i = 1, #o.paper - 1 do
        for j = i + 1, #o.paper do
            local a, b = o.paper[i], o.paper[j]
            if o.heddle[a] and o.heddle[b] then
                local v = above(o, a, b)
                good, all = good + v, all + 1
                if v == 0 then
                    broken[#broken + 1] = b .. " above " .. a
                elseif v == 0.5 then
                    equal[#equal + 1] = b .. " = " .. a
                end
            end
        end
    end
    return good, all, broken, equal
end

-- ---- what counts ------------------------------------------------------------------------

--- Why a row is not scored, or nil.
local function unscored(q, full)
    local n = q.n and q.of and q.n < q.of and ("%d of %d %s"):format(q.n, q.of,
        q.sets or "sets")
    if n or not full then
        return "not scored: " .. (n or "a quick run")
    end
end

--- The verdict of a row, a text, and whether it counts.  by: rows by name, for what
-- rests on another one.
function verdict.of(q, full, by)
    if q.skip then
        return "not compared: " .. q.skip, false
    elseif not (q.paper or q.from or q.to) then
        return "shown", false
    elseif q.calibrated then
        return "calibrated", false
    elseif q.shown then
        return "shown", false
    elseif not q.heddle or q.heddle ~= q.heddle then
        return "not compared: no value here", false
    end
    local why = unscored(q, full)
    if why then
        return why, false
    end
    local on = q.on and by[q.on]
    if q.on and (not on or verdict.grade(on) == "off") then
        return "not counted: rests on " .. q.on, false
    end
    return verdict.grade(q), true
end

--- The verdict of an order, and whether it counts.
function verdict.of_order(o, full)
    local why = o.skip and "not compared: " .. o.skip
        or o.shown and "shown"
        or o.pairs == 0 and "not compared: no values here"
        or unscored(o, full)
    if why then
        return why, false
    end
    return ("%g of %d"):format(o.concordant, o.pairs), true
end

--- The one column, by name, on which a claim matches while it does on no other one;
-- nil where it is none or several.  columns: { { name, value }, ... }.
function verdict.depends(q, columns)
    local on, n = nil, 0
    for _, c in ipairs(columns) do
        if verdict.grade(q, c[2]) == "match" then
            on, n = c[1], n + 1
        end
    end
    return #columns > 1 and n == 1 and on or nil
end

-- ---- sums -----------------------------------------------------------------------------

--- Sums over quantities and orders that have been judged, of an experiment or of
-- several; into: sums to add to.
function verdict.tally(quantities, orders, into)
    local t = into or { claims = 0, match = 0, near = 0, right = 0, directed = 0,
        concordant = 0, pairs = 0, unscored = 0 }
    for _, q in ipairs(quantities) do
        if q.counts then
            t.claims = t.claims + 1
            t.match = t.match + (q.verdict == "match" and 1 or 0)
            t.near = t.near + (q.verdict == "near" and 1 or 0)
            t.directed = t.directed + (q.direction and 1 or 0)
            t.right = t.right + (q.direction == "yes" and 1 or 0)
        elseif (q.verdict or ""):find "^not scored" then
            t.unscored = t.unscored + 1
        end
    end
    for _, o in ipairs(orders) do
        if o.counts then
            t.concordant = t.concordant + o.concordant
            t.pairs = t.pairs + o.pairs
        elseif (o.verdict or ""):find "^not scored" then
            t.unscored = t.unscored + 1
        end
    end
    return t
end

--- Sums in words.
function verdict.words(t)
    local out = {}
    if t.claims > 0 then
        out[1] = ("%d claim%s: %d match, %d near"):format(t.claims,
            t.claims == 1 and "" or "s", t.match, t.near)
    end
    if t.directed > 0 then
        out[#out + 1] = ("direction %d of %d"):format(t.right, t.directed)
    end
    if t.pairs > 0 then
        out[#out + 1] = ("pairs %g of %d"):format(t.concordant, t.pairs)
    end
    if t.unscored > 0 then
        out[#out + 1] = ("%d not scored"):format(t.unscored)
    end
    return #out > 0 and table.concat(out, "; ") or "no claim of the paper's"
end

return verdict
