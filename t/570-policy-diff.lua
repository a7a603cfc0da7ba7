-- 570-policy-diff.lua - pins: listening to every decision changes nothing; two
-- policies in lockstep part exactly where they are made to part, with the
-- question, both answers and both states; a policy and its port do not; what
-- differs without a decision is found, too; the command says what agreed.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local core = require "heddle.core"
local decisions = require "heddle.decisions"
local diff = require "heddle.diff"

local SMALL = whole.join(whole.SMALL, { ["core.count"] = 4 })

local function make(policies, settings, apps)
    return whole.sim(apps or { "GUP", "BFS2" }, whole.join(SMALL, settings),
        { machine = "aggressive", policies = policies })
end

local function compare(a, b, options, settings)
    local x <close> = make(a, settings)
    local y <close> = make(b, settings)
    return diff.run(x, y, options)
end

-- ---- listening -------------------------------------------------------------------

local every, one = {}, {}
for _, p in ipairs(core.points()) do
    every[#every + 1] = p.name
    one[#one + 1] = { p.name }
end

local function measured(points)
    local sim <close> = make({})
    local log = points and decisions.listen(sim.core, points)
    sim:run(30000)
    local heard = log and #log
    if log then
        log:close()
    end
    return table.concat(whole.statistics(sim), "\n"), heard
end

local plain = measured(nil)
local all, heard = measured(every)
tap.ok(all == plain, "listening to every point changes nothing")
tap.ok(heard > 10000, "and much is heard", heard)
for _, points in ipairs(one) do
    local got, n = measured(points)
    tap.ok(got == plain, ("listening to %s changes nothing (%d)"):format(
        points[1], n))
end

local sim = make({})
local log = decisions.listen(sim.core, { "repl_victim" })
tap.raises(function() decisions.listen(sim.core, { "page_size" }) end,
    "has a listener already", "one listener a simulation")
tap.raises(function() sim:use("lru") end, "before a listener is set",
    "policies are bound before")
tap.raises(function() decisions.listen(sim.core, { "repl_victims" }) end,
    "did you mean 'repl_victim'", "an unknown point")
sim:close()
log:close()
tap.raises(function() return #log end, "closed", "a log that was closed")

-- ---- equal policies ----------------------------------------------------------------

for _, name in ipairs { "lru", "fifo", "random", "srrip", "gto", "lrr",
    "frfcfs" } do
    local where, agreed = compare({ name }, { "policies/" .. name .. ".lua" })
    local n = agreed and agreed.decisions
    tap.ok(where == nil and n > 100 and agreed.counters > 100
        and agreed.cycles > 1000 and #agreed.points > 0, name .. " in C and in Lua",
        where and table.concat(diff.describe(where, "C", "Lua"), "\n") or n)
end

-- ---- a planted difference -------------------------------------------------------------

--- LRU by the book, which gives a wrong way at its n-th victim.
local function wrong(n)
    return {
        name = "wrong",
        init = function(s) s.n = 0 end,
        repl_victim = function(q, s)
            s.n = s.n + 1
            if s.n == n then
                return 1 % q.ways
            end
        end,
    }
end

local found = compare({ { use = wrong(40), at = "l2cache" } },
    { { use = wrong(0), at = "l2cache" } }, { chunk = 700 })
tap.ok(found and found.kind == "decision", "a wrong answer is found")
tap.is(found.a.point, "repl_victim", "its point")
tap.is(found.a.at, "l2cache", "its structure")
tap.ok(found.a.cycle == found.b.cycle and diff.same_question(found),
    "both were asked the same in the same cycle")
tap.ok(found.a.answer ~= found.b.answer, "the answers differ")
-- the point is heard at every structure, so 40 or more came before
tap.ok(found.index >= 40 and found.a.answer == 1, "it is the planted one")
tap.is(found.a.question[1].name, "instance", "the question is there")

local again = compare({ { use = wrong(40), at = "l2cache" } },
    { { use = wrong(0), at = "l2cache" } }, { chunk = 1000000 })
tap.ok(tap.differ(found, again) == nil, "chunks do not matter",
    tap.differ(found, again))
local text = diff.describe(found, "A", "B")
tap.ok(text[1]:find("decision %d+, cycle %d+: repl_victim of l2cache %d+")
    and text[2]:find("A: %d+$") and text[3]:find("B: %d+$"), "in words",
    table.concat(text, "\n"))
tap.is((compare({ { use = wrong(40), at = "l2cache" } },
    { { use = wrong(0), at = "l2cache" } }, { cycles = found.a.cycle - 1,
    chunk = 100 })), nil, "nothing before")

-- Addresses as such, and the states of both at the parting.
local function counting(n)
    return { name = "counting", state = { asked = 0, kept = { 1, 2 } },
        tlb_fill = function(_, s)
            s.asked = s.asked + 1
            return s.asked == n and "none" or "l2tlb"
        end }
end
found = compare({ counting(30) }, { counting(0) }, { chunk = 100000 })
text = table.concat(diff.describe(found, "A", "B"), "\n")
tap.ok(found.a.states.counting.asked <= 29 and found.a.states.counting.asked
    == found.b.states.counting.asked and found.a.states.counting.kept[2] == 2,
    "the states of both one cycle before the parting",
    found.a.states.counting.asked)
tap.ok(text:find "\n    vpn = 0x%x+\n" and text:find "\n    app = [01]\n",
    "page numbers are hexadecimal", text)
tap.ok(text:find "\n  A: state of counting, one cycle before:\n +{.*asked = "
    and text:find "\n  B: state of counting", "and the states are shown", text)

-- A policy against none: the default's answers are heard.
found = compare({ { use = wrong(7), at = "l1tlb" } }, {})
tap.ok(found and found.b ~= nil and found.a.at == "l1tlb",
    "a policy against the default")

found = nil
for n = 3, 12 do -- (its way may be the right one)
    found = found or compare({ { use = wrong(n), at = "l2cache" } }, {})
end
tap.ok(found and found.b ~= nil and found.a.at == "l2cache",
    "a policy against the default, at the L2")

-- What is steered is not asked: the results differ.
local steered = {
    name = "steered",
    init = function()
        steer("l2_bypass", 0, 4, 1)
    end,
    repl_victim = function() end,
}
found = compare({ { use = steered } }, { "lru" }, { chunk = 2000 })
tap.ok(found ~= nil, "a steered table is found by what it does")

-- ---- the command ---------------------------------------------------------------------

local function command(args)
    return files.output(("{ %s diff %s; echo status $?; }"):format(
        files.HEDDLE, args))
end

local agreed = command "srrip policies/srrip.lua l2cache.bytes=65536"
tap.ok(agreed:find("^they agree: [1-9]%d+ decisions at .*repl_victim.*, [1-9]%d+ "
    .. "counters, [1-9]%d+ cycles\nstatus 0\n$"), "equal: what agrees is told",
    agreed)
tap.ok(command("srrip srrip cycles=2000 format=json"):find(
    '"agree": {.*"cycles": 2000,.*status 0'), "also as JSON")
tap.ok(command("srrip:bits=3@l2cache srrip@l2cache l2cache.bytes=65536"):find(
    "repl_victim of l2cache %d+\n  srrip:bits=3@l2cache: %d+\n.*status 1\n$"),
    "different: in words, status 1")
tap.ok(command("srrip@l2cache:bits=3 srrip:bits=3@l2cache cycles=2000"):find(
    "^they agree: .* 2000 cycles\nstatus 0\n$"),
    "the place before its parameters, or behind")
tap.ok(command("gto lrr apps=ATAX,scenarios/data/vecadd.hdt cycles=5000"):find(
    "warp_pick of core"), "of a trace beside an application")
tap.ok(command("none none cycles=100"):find(
    "nothing was asked.*status 0"), "what compares nothing says so")
tap.ok(command("none policies/plugin.c"):find("a plug%-in's in .so.*status 78"),
    "no policy file")
tap.ok(command("lru"):find("expected two policies.*status 64"), "usage")
tap.ok(command("lru nope"):find("no policy 'nope'.*status 78"), "no policy")

tap.ok(command("lru fifo points=tlb_fil"):find(
    "did you mean 'tlb_fill'.*status 64"), "no such point")
tap.ok(command("srrip:bits=99@l2cache none"):find("bits = 99.*status 78"),
    "a parameter out of its range")
tap.ok(command("srrip@l2cahce none"):find("l2cache.*status 78"),
    "no such structure")

-- Ctrl-C after a while: what is known is that nothing has differed so far.
do
    local engine, run = require "heddle.diff", require("heddle.diff").run
    local said, stdout = {}, _G.print
    engine.run = function(a, b)
        a:run(12345)
        b:run(10000)
        error({ code = -130, message = "interrupted" }, 0)
    end
    _G.print = function(line) said[#said + 1] = line end
    local ok, err = pcall(require("heddle.cmd.diff").run,
        { "lru", "lru", "apps=ATAX" })
    engine.run, _G.print = run, stdout
    tap.ok(not ok and err.code == -130
        and said[1] == "no difference before cycle 10000",
        "an interrupted one says how far it came", said[1] or err)
end

tap.done()
