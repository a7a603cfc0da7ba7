-- 749-verdict.lua - pins: when a number agrees with a paper's (verdict.lua); what
-- heddle_model(7) says of scores is what scenarios/scores/ has.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local verdict = require "heddle.verdict"

local function row(q)
    q.kind = verdict.kind(q)
    return q
end

-- ---- grades -----------------------------------------------------------------------

for _, t in ipairs {
    -- kind, paper, heddle, grade
    { "loss", 40.6, 36.0, "match" },  -- 0.594 and 0.640: 1.077
    { "loss", 40.6, 30.0, "near" },   -- 0.700: 1.178
    { "loss", 40.6, 22.0, "off" },    -- 0.780: 1.313
    { "loss", 2.0, 5.0, "match" },    -- small effects are not judged harshly
    { "loss", 50.0, 101.0, "off" },
    { "gain", 57.8, 45.9, "match" },
    { "gain", 57.8, 26.3, "near" },
    { "gain", 57.8, 1.0, "off" },
    { "part", 93.5, 75.0, "near" },
    { "times", 2.7, 2.5, "match" },
    { "rate", 13.8, 18.8, "match" },
    { "rate", 1.0, 15.9, "near" },
    { "rate", 1.0, 16.1, "off" },
    { "count", 20, 24, "match" },
    { "count", 20, 13.4, "near" },
    { "count", 20, 12, "off" },
    { "count", 0, 0, "match" },
} do
    tap.is(verdict.grade(row { kind = t[1], paper = t[2], heddle = t[3] }), t[4],
        ("%s: %g beside %g"):format(t[1], t[3], t[2]))
end
tap.is(verdict.kind { unit = "%" } .. verdict.kind { unit = "times" }
    .. verdict.kind { unit = "walks" }, "ratetimescount", "kinds by unit")
tap.raises(function() verdict.kind { kind = "gian" } end, "not 'gian'",
    "no other kind")

for _, t in ipairs {
    { { kind = "loss", from = 40.6, to = 51.3 }, 45, "match" },
    { { kind = "loss", from = 40.6, to = 51.3 }, 36, "match" },
    { { kind = "loss", from = 40.6, to = 51.3 }, 30, "near" },
    { { kind = "count", from = 20 }, 20.5, "match" },
    { { kind = "count", from = 20 }, 19.9, "off" },
    { { kind = "loss", to = 10 }, 9.0, "match" },
    { { kind = "loss", to = 10 }, -0.1, "match" },
    { { kind = "loss", to = 10 }, -1098, "off" },
    { { kind = "loss", to = 10 }, 11, "off" },
} do
    tap.is(verdict.grade(t[1], t[2]), t[3], ("%g between %s and %s"):format(t[2],
        tostring(t[1].from or 0), tostring(t[1].to)))
end

-- ---- direction -----------------------------------------------------------------------

local low, high = verdict.interval { 1, 2, 3, 4, 5, 6, 7, 8 }
tap.ok(low > 2.5 and low < 4 and high > 5 and high < 6.5, "an interval of the mean",
    ("%g %g"):format(low, high))
local again = verdict.interval { 1, 2, 3, 4, 5, 6, 7, 8 }
tap.is(again, low, "always the same")
tap.is(verdict.interval { 1 }, nil, "none of a single set")
local function direction(q)
    return verdict.direction(row(q))
end
tap.is(direction { kind = "loss", paper = 40, heddle = 3, low = 1, high = 5 }, "yes",
    "on the paper's side")
tap.is(direction { kind = "loss", paper = 40, heddle = 3, low = -1, high = 5 }, "open",
    "an interval that contains no effect")
tap.is(direction { kind = "gain", paper = -20, heddle = 3 }, "no", "the other side")
tap.is(direction { kind = "gain", paper = 1.9, heddle = 3 }, nil,
    "a small effect has none")
tap.is(direction { kind = "rate", paper = 40, heddle = 3 }, nil, "nor has a rate")
tap.is(direction { kind = "loss", from = 1, to = 15, heddle = 3 }, nil,
    "nor a range that begins with a small one")
tap.is(direction { kind = "gain", from = 20, heddle = 3 }, "yes", "but an inequality")

-- ---- orders ------------------------------------------------------------------------------

local good, all, broken, equal = verdict.pairs { paper = { "A", "B", "C" },
    heddle = { A = 2.0, B = 1.5, C = 1.6 }, each = {
        A = { 2.0, 2.0, 2.0, 2.0 }, B = { 1.5, 1.4, 1.6, 1.5 },
        C = { 1.0, 2.2, 1.1, 2.1 } } }
tap.ok(good == 2 and all == 3 and equal[2] == "C = B" and #broken == 0,
    "a pair whose interval contains equality is half", ("%g %s"):format(good,
    table.concat(equal, ", ")))

-- ---- what counts --------------------------------------------------------------------------

local function of(q, full, by)
    return verdict.of(row(q), full ~= false, by or {})
end
tap.is(of { heddle = 1 }, "shown", "without a paper's number")
tap.is(of { paper = 1, heddle = 1, calibrated = true }, "calibrated", "what was fitted")
tap.is(of { paper = 1, heddle = 1, shown = true }, "shown", "another column")
tap.is(of { said = "order", skip = "a shape" }, "not compared: a shape",
    "what is not compared")
tap.is(of { paper = 1 }, "not compared: no value here", "nothing here")
tap.is(of({ paper = 1, heddle = 1 }, false), "not scored: a quick run", "quick runs")
tap.is(of { paper = 1, heddle = 1, n = 8, of = 35, sets = "pairs" },
    "not scored: 8 of 35 pairs", "few sets")
local first = row { kind = "gain", paper = 57.8, heddle = 1 }
tap.is(of({ paper = 1, heddle = 1, on = "a" }, true, { a = first }),
    "not counted: rests on a", "what rests on one that is off")
first.heddle = 50
tap.is(of({ paper = 1, heddle = 1, on = "a" }, true, { a = first }), "match",
    "and on one that is not")
local q = row { kind = "loss", paper = 40.6, heddle = 39 }
tap.is(verdict.depends(q, { { "M", 39 }, { "R", 10 } }), "M", "one of two")
tap.is(verdict.depends(q, { { "M", 39 }, { "R", 41 } }), nil, "both")
tap.is(verdict.depends(q, { { "M", 39 } }), nil, "no choice")
-- ---- what is published ------------------------------------------------------------

--- What a file of scored rows adds up to, as the manual's table has it.
local function tally(path)
    local n = { match = 0, near = 0, off = 0, yes = 0, way = 0, right = 0, pairs = 0 }
    local head
    for line in files.read(path):gmatch "[^\r\n]+" do
        -- a name may have commas: the fields behind it are counted from the end
        local f, quoted = {}, {}
        local rest = line:gsub('"[^"]*"', function(s)
            quoted[#quoted + 1] = s:sub(2, -2)
            return "\1"
        end)
        local i = 0
        for v in (rest .. ","):gmatch "([^,]*)," do
            f[#f + 1] = v:gsub("\1", function()
                i = i + 1
                return quoted[i]
            end)
        end
        if not head then
            head = {}
            for k, v in ipairs(f) do head[v] = k end
        else
            local v, d = f[head.verdict], f[head.direction]
            n[v] = n[v] and n[v] + 1
            if v ~= "calibrated" and d ~= "" then
                n.way, n.yes = n.way + 1, n.yes + (d == "yes" and 1 or 0)
            end
            n.right = n.right + (tonumber(f[head.concordant]) or 0)
            n.pairs = n.pairs + (tonumber(f[head.pairs]) or 0)
        end
    end
    return ("%d Ta %d Ta %d Ta %d of %d Ta %g of %d"):format(n.match + n.near + n.off,
        n.match, n.near, n.yes, n.way, n.right, n.pairs)
end

local manual = files.read("man/heddle_model.7")
    :match "\n%.\\\" scores;(.-)\n%.\\\" end of scores"
local files_of = files.output "ls scenarios/scores"
tap.ok(files_of:find "mesc", "there are scores")
for paper in files_of:gmatch "(%w+)%.csv" do
    local said = manual:match("\n%.It " .. paper .. " Ta ([^\n]+)")
    tap.is(tally("scenarios/scores/" .. paper .. ".csv"), said,
        paper .. ": the manual's row is the file's")
end

tap.done()
