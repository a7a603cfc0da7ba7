--- reproduce.lua - all experiments of the papers, one after another.
--
--     local status, docs, missing = reproduce.run {
--         scenarios = "scenarios", only = "mask,mosaic/fig08",
--         scale = "quick", jobs = 8, seed = 1, out = "out",
--         cache = "out/cache", force = false,
--     }
--
-- An experiment is a script of a folder of `scenarios` that opens one
-- (experiment.lua); its name is PAPER/FILE.  Each runs in a process of its own,
-- so that modules of one paper do not meet those of another, and uses all of
-- `jobs` itself: experiments of a paper share simulations (the alone runs), and
-- two at once would both run what the first leaves for the second in the store.
-- Of the 82 simulations of MASK's figures 3 to 9 and section 4.3 at scale=quick,
-- the first experiment runs 72 (only=mask with an empty cache; the page says
-- how many each ran).  What an experiment prints goes to OUT/PAPER/FILE.txt.
--
-- An experiment that has variants (experiment.lua) is run in each, one after the
-- other; `variant` takes one of them.  Choices run only when `variant` names one;
-- the page has those that are at hand.
--
-- Those whose JSON has the identity of this very program, script, scale and
-- seed are not run again, unless `force`.  One that fails is reported and left; the
-- others continue.  After the first, then every ten seconds, and at the end,
-- OUT/reproduce.html (page.lua) is written again: it has every experiment of
-- `scenarios` whose results are at hand.  At the end, OUT/view.html (view.lua) has
-- the simulations behind them, as far as they are in the store and the page has
-- room, and each experiment links to its own.  `name` is another name of the page,
-- `head` what it begins with if it is not of papers (page.lua); `but`: folders, with
-- commas between, that are left out where `only` is empty.  Ctrl-C stops what runs and leaves
-- the page with what is known.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local experiment = require "heddle.experiment"
local json = require "heddle.json"
local page = require "heddle.page"
local process = require "heddle.process"
local progress = require "heddle.progress"
local report = require "heddle.report"
local runner = require "heddle.runner"
local script = require "heddle.script"
local store = require "heddle.store"
local verdict = require "heddle.verdict"

local reproduce = {}

local EACH = 10 -- seconds after which the page is written again

-- ---- which -------------------------------------------------------------------------

--- All experiments below a folder, by name: { name, paper, file, variant, id }.
function reproduce.find(dir)
    local list = {}
    for _, paper in ipairs(experiment.list(dir)) do
        for _, name in ipairs(experiment.list(dir .. "/" .. paper)) do
            local file = ("%s/%s/%s"):format(dir, paper, name)
            local text = name:find "%.lua$" and experiment.read(file)
            local names, sure = {}, 0
            if text and experiment.is(file, text) then
                names = { false, table.unpack(experiment.variants(file)) }
                sure = #names
                table.move(experiment.choices(file), 1, 99, sure + 1, names)
            end
            for i, variant in ipairs(names) do
                local full = paper .. "/" .. name:sub(1, -5)
                list[#list + 1] = { paper = paper, file = file, name = full,
                    variant = i > 1 and variant or nil, choice = i > sure,
                    id = experiment.id(full, i > 1 and variant or nil) }
            end
        end
    end
    return list
end

--- Marks those that `only` names (papers and experiments, with commas between;
-- empty: all), of `variant` (empty: every one); a name that is none of them is an
-- error.
function reproduce.select(list, only, variant)
    local wanted, known = {}, {}
    if variant == "" then
        variant = nil
    end
    for _, e in ipairs(list) do
        known[e.name], known[e.paper] = true, true
    end
    for word in only:gmatch "[^,%s]+" do
        word = word:gsub("%.lua$", "")
        if not known[word] then
            local names = require("heddle.config").sorted_keys(known)
            error({ usage = ("only=%s: no paper or experiment '%s'%s; there "
                .. "are %s"):format(only, word, require("heddle.index").meant(
                word, names), table.concat(names, " ")) }, 0)
        end
        wanted[word] = true
    end
    local out = {}
    for _, e in ipairs(list) do
        if (not next(wanted) or wanted[e.name] or wanted[e.paper])
            and (not variant and not e.choice
                or variant == (e.variant or experiment.FIRST))
        then
            e.wanted = true
            out[#out + 1] = e
        end
    end
    return out
end

--- What is on disk of an experiment: its doc if it is still true, and else nil
-- and the seconds that it took last time at this scale, if that is known.
local function load(e, o)
    local text = experiment.read(("%s/%s.json"):format(o.out, e.id))
    local ok, doc = pcall(json.decode, text or "")
    if not ok or type(doc) ~= "table" or doc.scale ~= o.scale then
        return nil
    elseif doc.name ~= e.name or doc.variant ~= e.variant or doc.identity
        ~= experiment.identity(e.file, { variant = e.variant }, o.scale,
            o.seed) then
        return nil, tonumber(doc.seconds)
    end
    return doc
end

-- ---- one ---------------------------------------------------------------------------

--- In the child: runs the script, whose output goes to a file; raises what is
-- wrong with it.
local function perform(e, o, printed)
    process.output(printed)
    script.begin { file = e.file, given = { scale = o.scale, out = o.out,
        cache = o.cache, jobs = tostring(o.jobs), seed = tostring(o.seed),
        variant = e.variant } }
    experiment.closed = {}
    script.load(e.file)(e.file)
    local names = table.concat(experiment.closed, ", ")
    if names ~= e.id then
        error(("it closed %s; a script closes one experiment of its "
            .. "own name, %s"):format(names ~= "" and names or "none", e.id),
            0)
    end
end

--- Runs an experiment in a child; nil, or why it failed.  What it has printed
-- is kept however it ends, unless it was interrupted.
local function run_one(e, o)
    process.mkdir(("%s/%s"):format(o.out, e.paper))
    local printed <close> = assert(io.tmpfile())
    local why
    local stopped = runner.spread(1, 1, function()
        local ok, err = pcall(perform, e, o, printed)
        return { ok = ok, result = not ok and core.problem(err).text or nil }
    end, function(_, m)
        why = not m.ok and core.problem(m.result).text or nil
    end)
    if stopped then
        error(core.error(-130, "interrupted"), 0)
    end
    printed:seek "set"
    report.emit(printed:read "a", ("%s/%s.txt"):format(o.out, e.id))
    return why
end

-- ---- all ---------------------------------------------------------------------------

--- Seconds until all are done, or nil: those that ran before take what they
-- took, the others what the known ones take on average.
local function left_of(list, now)
    local known, sum, rest, unknown = 0, 0, 0, 0
    for _, e in ipairs(list) do
        local t = e.took or e.guess
        if t then
            known, sum = known + 1, sum + t
        end
        if not e.done then
            rest = rest + (t or 0)
            unknown = unknown + (t and 0 or 1)
        end
        if e.start then
            rest = rest - math.min(t or 0, now - e.start)
        end
    end
    if unknown > 0 and known == 0 then
        return nil
    end
    return rest + (unknown > 0 and unknown * sum / known or 0)
end

--- The text before the progress of an experiment's own simulations.
local function before(list, at)
    return function()
        local left = left_of(list, process.time())
        return ("[%d/%d, ETA %s] %s: "):format(at, #list,
            left and progress.clock(left) or "?", list[at].id)
    end
end

local function tell(o, format, ...)
    if not o.quiet then
        io.write(format:format(...))
        io.stdout:flush()
    end
end

--- The page to explore the simulations behind docs with; returns its name as the
-- other page links to it, and how many simulations of each doc are in the store;
-- nil: there are none.
local function write_view(docs, o)
    local names, tags, counts = {}, {}, {}
    for _, name in ipairs(store.names(o.cache) or {}) do
        names[name] = true
    end
    for _, d in ipairs(docs) do
        local id = experiment.id(d.name, d.variant)
        for cost in pairs(d.costs) do
            local name = store.name(cost)
            if names[name] then
                tags[name] = tags[name] or {}
                table.insert(tags[name], id)
                counts[id] = (counts[id] or 0) + 1
            end
        end
    end
    if not next(tags) then
        return nil
    end
    local v = require("heddle.view").open()
    v:read_store(o.cache, tags)
    report.emit(v:page "Simulations behind the experiments", o.out
        .. "/view.html")
    return { href = "view.html", counts = counts }
end

--- The page of all that is known; returns the docs and those without.  At the
-- end, `last`, with that of the simulations.
local function write_page(all, o, last)
    local docs, missing = {}, {}
    for _, e in ipairs(all) do
        local doc = e.doc or not e.failed and load(e, o) or nil
        if doc then
            docs[#docs + 1] = doc
        elseif e.failed then
            missing[#missing + 1] = { name = e.id, why = e.failed }
        elseif e.wanted then
            missing[#missing + 1] = { name = e.id, why = "not run yet" }
        end
    end
    process.mkdir(o.out)
    report.emit(page.build(docs, { missing = missing, head = o.head,
        view = last and write_view(docs, o) or nil }), o.page)
    return docs, missing
end

--- Runs one of the list unless it is known, and tells how that went.
local function step(list, at, o)
    local e, tty = list[at], process.isatty(2) and not o.quiet
    local kept = e.doc ~= nil
    if not kept then
        e.start = process.time()
        progress.before = before(list, at)
        if tty then
            io.stderr:write("\r\27[K", progress.before())
        end
        local why = run_one(e, o)
        if tty then
            io.stderr:write "\r\27[K"
        end
        e.took, e.start = process.time() - e.start, nil
        e.doc = not why and load(e, o) or nil
        e.failed = not e.doc and "failed: " .. (why
            or "its JSON is not from this run") or nil
    end
    e.done = true
    if e.doc then
        tell(o, "%-24s %s  %s\n", e.id, o.head and o.head({ e.doc }).fares(e.doc)
            or experiment.verdict(e.doc), kept and "kept" or progress.clock(e.took))
    else
        tell(o, "%-24s %s\n", e.id, e.failed)
    end
end

local function total(docs, missing)
    local out = {}
    for _, of in ipairs(page.by_variant(docs)) do
        out[#out + 1] = of.variant and ("%d experiments, %s: not counted\n"):format(
            #of.docs, of.variant) or ("%d experiments: %s\n"):format(#of.docs,
            verdict.words(page.sums(of.docs).tally))
    end
    out[#out + 1] = ("%d without results\n"):format(#missing)
    return table.concat(out)
end

--- See the head.  Returns the exit status (1: one of them failed), the docs on
-- the page, and those without results.
function reproduce.run(options)
    local o = setmetatable({}, { __index = options })
    o.page = ("%s/%s.html"):format(options.out, options.name or "reproduce")
    if o.scale ~= "quick" and o.scale ~= "full" then
        error({ usage = ("argument scale=%s: expected quick or full")
            :format(o.scale) }, 0)
    end
    local all = {}
    for _, e in ipairs(reproduce.find(o.scenarios)) do
        local left = ("," .. (o.but or "") .. ","):find("," .. e.paper .. ",", 1, true)
        if not left or (o.only or "") ~= "" then
            all[#all + 1] = e
        end
    end
    if #all == 0 then
        error(core.error(-5, ("scenarios=%s: no experiments there")
            :format(o.scenarios)))
    end
    local list = reproduce.select(all, o.only or "", o.variant)
    for _, e in ipairs(list) do
        e.doc, e.guess = load(e, o)
        if o.force and e.doc then
            e.doc, e.guess = nil, e.doc.seconds
        end
        e.done = e.doc ~= nil
    end
    local failed, written = false, 0
    local ok, err = pcall(function()
        for at = 1, #list do
            step(list, at, o)
            failed = failed or list[at].failed ~= nil
            if process.time() - written >= EACH then
                write_page(all, o)
                written = process.time()
            end
        end
    end)
    progress.before = nil
    local docs, missing = write_page(all, o, ok)
    tell(o, "%sWritten: %s\n", o.head and "" or total(docs, missing), o.page)
    if not ok then
        error(err, 0)
    end
    return failed and 1 or 0, docs, missing
end

return reproduce
