-- 771-repl-complete.lua - pins what Tab offers: globals, fields, methods,
-- keys, and names inside of strings by what stands in front of them; that
-- looking for them runs no code of the user, and what Tab inserts and shows.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local complete = require "heddle.complete"
local repl = require "heddle.repl"

local scope = repl.scope()
local ok, is, same = tap.ok, tap.is, tap.same

local function words(text)
    return (complete.find(text, scope))
end

local function offers(text, word, name)
    for _, w in ipairs(words(text)) do
        if w == word then
            return ok(true, name or text .. " offers " .. word)
        end
    end
    ok(false, name or text .. " offers " .. word,
        "offered: " .. table.concat(words(text), " "))
end

local function no(text, word)
    for _, w in ipairs(words(text)) do
        if w == word then
            return ok(false, text .. " does not offer " .. word)
        end
    end
    ok(true, text .. " does not offer " .. word)
end

-- Globals and keywords.
offers("", "print")
offers("", "H")
offers("whi", "while")
offers("x = ste", "step")
same(words("tostri"), { "tostring" }, "a whole word")
same(words("no_such_thing"), {}, "nothing where nothing is")
same(words("12"), {}, "no completion of numbers")

-- Fields.
_G.tree = { branch = { leaf = 1, ["no name"] = 2, ["end"] = 3, [5] = 4 },
    grow = function() end, [1] = { first = true } }
same(words("tree."), { "branch", "grow" }, "fields of a table")
same(words("f(tree.branch.l"), { "leaf" }, "a field of a field")
same(words("tree:"), { "grow" }, "after a colon what can be called")
same(words("tree['branch'].le"), { "leaf" }, "through a key in brackets")
same(words("tree[1].f"), { "first" }, "through a number")
same(words("tree.nothing.x"), {}, "no field of nil")
same(words("print(tree).x"), {}, "nothing is called to find fields")
same(words('tree["'), { "branch", "grow" }, "keys as strings")
same(words("tree.branch['n"), { "no name" }, "keys that are no names")
offers("string.for", "format")

-- heddle's own objects.
offers("H.ma", "machine")
offers("H.re", "report", "H.re offers report before it is loaded")
offers("H.report.te", "text")
same(words("sim:lo"), {}, "sim: nothing before there is one")
_G.mine = require("heddle").sim {
    machine = "maxwell", apps = { require("heddle").app("GUP", { size = "T" }) },
}
offers("sim:lo", "look", "sim: offers the methods of the last simulation")
offers("mine:snap", "snapshot")
offers("mine.n", "now", "fields that are computed")
no("mine:", "now")
offers("mine.core:sta", "state_hash", "methods of a userdata")
offers("mine.machine:wi", "with")

no("mine.", "core")
offers("mine:counters().l2t", "l2tlb", "what is counted")
offers("mine:counters().l2tlb.hi", "hits")
offers("mine:results().met", "metrics", "what results have")
same(words("mine:step().x"), {}, "nothing else is called")

-- Options.
same(words("H.sim { ma"), { "machine" }, "options of H.sim")
same(words("H.sim({ machine = 'maxwell', pol"), { "policies" }, "in parentheses")
same(words("H.sim { apps = {}, inter"), { "interval" }, "behind a table")
offers("H.sim { apps = { H.ap", "app", "in a list of them: globals")
offers("H.sim { machine = H.ma", "machine", "values are not options")
same(words("H.run({}, { jo"), { "jobs" }, "options of H.run")
same(words("sim:use('mask', { tokens"), { "tokens" }, "parameters of a policy")
same(words("sim:use('srrip', {\n a"), { "at" }, "where it goes")
same(words("sim:use('no/such.lua', { re"), { "replace" }, "no file is run")
same(words("H.app('atax', { n"), { "nx", "ny" }, "parameters of a program")
same(words("H.app('ATAX', { bud"), { "budget" }, "and those of all")
same(words("sim:plot('ipc', { w"), { "width" }, "options of a plot")
offers("H.report.metric(r, 'ip", "ipc")
offers("sim:plot 'l1tlb.mis", "l1tlb.misses")
offers("sim:stop_on('walk_d", "walk_done")
offers("sim:stop_on('l2tlb.h", "l2tlb.hits")

-- Inside of strings.
offers('H.app("A', "ATAX")
offers("H.app 'A", "ATAX")
no('H.app("', "maxwell")
offers('machine = "max', "maxwell")
offers('H.machine("max', "maxwell")
offers('H.machine "max', "maxwell")
offers('sim:use("sr', "srrip")
offers('sim:use("srrip", { at = "l2', "l2cache")
offers('look("page', "pagetable")
offers('sim:look("', "walks")
offers('H.app("GUP", { size = "', "S")
offers('H.machine("maxwell") { ["l2tlb.en', "l2tlb.entries")
offers('help("tlb_', "tlb_fill")
offers('help("l2tlb.h', "l2tlb.hits", "counters in help")
same((words 'H.app("GUP", { x = "a" }) --"'), words "", "not in a comment")
same(words('f("done", tree.b'), { "branch" }, "behind a closed string")

-- Looking has no effect on what is looked at.
local called = 0
_G.odd = setmetatable({}, {
    __index = function()
        called = called + 1
        error "no"
    end,
    __names = function()
        error "nor this"
    end,
})
same(words("odd."), {}, "a metatable that raises offers nothing")
same(words("odd.x.y"), {}, "and ends the search")

-- What Tab does.
local function tab(text, before)
    scope.before = before
    return { complete.tab(text, scope, 40) }
end

same(tab "tostri", { "ng", "" }, "one word: the rest of it")
same(tab "tree.", { "", "branch  grow" }, "several: shown")
same(tab "string.pack", { "", "pack      packsize" },
    "a word that is the beginning of another")
same(tab "nosuch.x", { "", "" }, "none: nothing")
same(tab("  ", "f {"), { "    ", "" }, "in front of a line that goes on: blanks")
_G.many = { alpha = 1, beta = 2, gamma = 3, delta = 4, epsilon = 5, zeta = 6 }
is(tab("many.")[2], "alpha    delta    gamma\nbeta     epsilon  zeta",
    "columns, downwards, in the width that there is")
_G.common = { part_one = 1, part_two = 2 }
same(tab("bu", "H.app('GUP', {"), { "dget", "" },
    "what lines before have begun counts")
same(tab "common.p", { "art_", "" }, "what they have in common comes first")

os.exit(tap.done())
