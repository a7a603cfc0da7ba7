--- follow.lua - heddle run --follow: the life of one memory instruction, station
-- by station, with cycle and file; a guide to the engine that runs.
--
-- It is a policy that answers nothing and watches notes.  The first note is the
-- instruction's issue, where no other of its warp is under way; from then on what
-- belongs to it is known by core and warp as long as its lines are looked up in
-- the core, and by page and line behind that, a read of a walk by its line and
-- the time of its way, what DRAM does by a line that missed.  Its first look-ups
-- are as many as its pages and lines; what follows in the warp belongs to others.
-- The end is the note of an instruction that began at the same cycle.  What is
-- done for the same page or line on behalf of others is shown as far as this one
-- waits for it.
--
-- SPDX-License-Identifier: MIT
local follow = {}

--- The stations, with the files in which they are.  Notes name structures.
follow.STATIONS = {
    issue = "src/engine/core/warp.c",
    coalescer = "src/engine/core/coalesce.c",
    ["L1 TLB"] = "src/engine/core/l1tlb.c",
    ["L1 cache"] = "src/engine/core/l1d.c",
    ["L2 TLB"] = "src/engine/translation/l2tlb.c",
    walker = "src/engine/translation/ptw.c",
    ["L2 cache"] = "src/engine/memory/l2.c",
    DRAM = "src/engine/memory/dramsched.c",
    ["far faults"] = "src/engine/paging/fault.c",
}

--- Those that only some machines have.
local MORE = {}
for level = 1, 3 do
    MORE["uTLB " .. level] = "src/engine/translation/level.c"
end

local ANY = 65535 -- core
local KINDS = { read = "load", write = "store", atomic = "atomic" }

--- The watchers.  What they keep is plain data: events as { cycle, station,
-- text }; `pages` and `lines` that are its own, by number, and how many more
-- there are; `fetched`, lines that missed, with the cycle and the state of their
-- row of DRAM.
local watch = {}

local function add(s, note, station, format, ...)
    s.events[#s.events + 1] = { note.cycle, station, format:format(...) }
end

--- It is being followed, and the note is of its warp; of its application.
local function own(note, s)
    return s.begin and not s.done and note.core == s.core
        and note.warp == s.warp
end

local function related(note, s)
    return s.begin and not s.done and note.app == s.app
end

--- A look-up in its core, of one of its `pages` or `lines`: each once, again
-- where it was not to be had.
local function looked(s, list, number, what)
    if s[list][number] == nil then
        if s.left[list] == 0 then
            return false
        end
        s.left[list] = s.left[list] - 1
    end
    s[list][number] = what
    return true
end

function watch.access(note, s, p)
    if s.begin or note.app ~= p.app or note.warp ~= p.warp
        or s.core and note.core ~= s.core
        or p.core ~= ANY and note.core ~= p.core then
        return
    end
    s.core, s.app, s.warp = note.core, note.app, note.warp
    s.seen, s.flight = s.seen + 1, s.flight + 1
    if s.seen < p.instruction or s.flight > 1 then
        return
    end
    s.begin = note.cycle
    s.left = { pages = note.pages, lines = note.lines }
    add(s, note, "issue", "%s, pc %d", KINDS[note.kind] or "access", note.pc)
    add(s, note, "coalescer", "%d line%s, %d page%s", note.lines,
        note.lines == 1 and "" or "s", note.pages, note.pages == 1 and "" or "s")
end

--- What DRAM does for a line is of concern from a cycle on, if that missed.
local function fetched(s, line, what, cycle)
    s.fetched[line] = what == "miss" and { cycle = cycle, row = "hit" } or nil
end

local function tlb(what)
    return function(note, s)
        if note.level == 1 then
            if own(note, s) and looked(s, "pages", note.vpn, what) then
                add(s, note, "L1 TLB", "page %#x: %s", note.vpn, what)
            end
        elseif s.begin and not s.done and note.core == s.core
            and s.pages[note.vpn] == "miss" then
            add(s, note, "L2 TLB", "page %#x: %s", note.vpn, what)
        end
    end
end
watch.tlb_hit, watch.tlb_miss = tlb "hit", tlb "miss"

local FOUND = { miss = "miss", tag = "miss, its tag is there", hit = "hit" }

function watch.utlb_lookup(note, s) -- which a core without a TLB asks at once
    if s.begin and not s.done and note.core == s.core
        and (s.pages[note.vpn] == "miss" or note.warp == s.warp
            and looked(s, "pages", note.vpn, "miss")) then
        add(s, note, "uTLB " .. note.level, "page %#x, instance %d: %s",
            note.vpn, note.instance, FOUND[note.found])
    end
end

function watch.walk_read(note, s)
    if related(note, s) and s.pages[note.vpn] then
        local line = note.address // s.line
        s.entries[line] = note.cycle + s.way
        fetched(s, line, "miss", s.entries[line]) -- if it skips the L2
        add(s, note, "walker", "page %#x: reads level %d at %#x", note.vpn,
            note.level, note.address)
    end
end

function watch.walk_done(note, s)
    if related(note, s) and s.pages[note.vpn] then
        add(s, note, "walker", "page %#x: done, %d reads in %d cycles",
            note.vpn, note.references, note.cycles)
    end
end

function watch.translated(note, s)
    if s.begin and not s.done and note.core == s.core
        and s.pages[note.vpn] == "miss" then
        s.pages[note.vpn] = "there"
        add(s, note, "L1 TLB", "page %#x: frame %#x, after %d cycles",
            note.vpn, note.frame, note.cycles)
    end
end

local function cache(what)
    return function(note, s)
        if not related(note, s) then
            return
        elseif note.level == 1 then
            if note.instance == s.core and note.warp == s.warp
                and looked(s, "lines", note.line, what) then
                fetched(s, note.line, what, note.cycle)
                add(s, note, "L1 cache", "line %#x: %s", note.line, what)
            end
        elseif note.kind == "walk" then
            local at = s.entries[note.line]
            if at and note.cycle >= at then
                s.entries[note.line] = nil
                fetched(s, note.line, what, note.cycle)
                add(s, note, "L2 cache", "line %#x, slice %d, of the walk: %s",
                    note.line, note.instance, what)
            end
        elseif s.lines[note.line] and note.warp == s.warp then
            add(s, note, "L2 cache", "line %#x, slice %d: %s", note.line,
                note.instance, what)
        end
    end
end
watch.cache_hit, watch.cache_miss = cache "hit", cache "miss"

--- What a line waits for: its row is open (hit), no row is (miss), or another
-- one (conflict).  Its bursts are shown with the first.
function watch.dram_command(note, s)
    local line = note.address // s.line
    local of = related(note, s) and note.kind ~= "write" and s.fetched[line]
    if not of or note.cycle < of.cycle then
        return
    end
    local text
    if note.command == "precharge" then
        of.row, text = "conflict", "closes another row"
    elseif note.command == "activate" then
        of.row = of.row == "hit" and "miss" or of.row
        text = ("opens row %#x"):format(note.row)
    elseif note.burst == 1 then
        text = ("reads %d burst%s, row %s"):format(note.bursts,
            note.bursts == 1 and "" or "s", of.row)
    end
    if text then
        add(s, note, "DRAM", "line %#x, channel %d, bank %d: %s", line,
            note.channel, note.bank, text)
    end
    if note.command == "read" and note.burst == note.bursts then
        s.fetched[line] = nil
    end
end

function watch.line_back(note, s)
    if s.begin and not s.done and note.core == s.core
        and s.lines[note.line] == "miss" then
        s.lines[note.line] = "there"
        add(s, note, "L1 cache", "line %#x: there, after %d cycles", note.line,
            note.cycles)
    end
end

function watch.page_fault(note, s)
    if related(note, s) and s.pages[note.vpn] then
        add(s, note, "far faults", "page %#x is on the host", note.vpn)
    end
end

function watch.page_arrived(note, s)
    if related(note, s) and s.pages[note.vpn] then
        add(s, note, "far faults", "page %#x has arrived, after %d cycles",
            note.vpn, note.cycles)
    end
end

function watch.access_done(note, s)
    if not s.begin and note.core == s.core and note.warp == s.warp
        and note.kind ~= "shared" then
        s.flight = s.flight - 1
    elseif own(note, s) and note.cycle - note.cycles == s.begin then
        s.done = true
        add(s, note, "issue", "done, after %d cycles", note.cycles)
    end
end

follow.policy = {
    name = "follow",
    params = {
        app = { default = 0, max = 255, meaning = "application" },
        warp = { default = 0, max = 255, meaning = "warp in its core" },
        core = { default = ANY, max = ANY,
            meaning = "core; 65535: whichever is first" },
        instruction = { default = 1, min = 1, max = 1 << 40,
            meaning = "which memory instruction of that warp; or the next that "
                .. "finds none of them under way" },
        way = { default = 0, max = 1 << 20, unit = "cycles",
            meaning = "least way from a walker to the L2 cache" },
        line = { default = 128, min = 1, max = 65536, unit = "bytes",
            meaning = "line of the L2 cache" },
    },
    init = function(s, p)
        s.events, s.pages, s.lines, s.entries, s.fetched = {}, {}, {}, {}, {}
        s.seen, s.flight, s.line, s.way = 0, 0, p.line, p.way
    end,
    watch = watch,
}

--- "app=0,warp=3" as parameters; an error in words otherwise.
function follow.parse(text)
    local out = {}
    for word in (text .. ","):gmatch "([^,]*)," do
        local name, value = word:match "^(%a+)=(%d+)$"
        if not name or not ({ app = 1, warp = 1, core = 1,
            instruction = 1 })[name] then
            return nil, ("--follow: app=, warp=, core= or instruction= with a "
                .. "number is expected, not '%s'"):format(word)
        end
        out[name] = math.tointeger(tonumber(value))
    end
    return out
end

--- Follows in a simulation that is being built.
function follow.attach(sim, what)
    local value = {}
    for _, s in ipairs(sim.resolved) do
        value[s.name] = tonumber(s.value)
    end
    local way = value["walk.memory_latency"]
    way = way > 0 and way or value["xbar.latency"]
    local params = { line = value["l2cache.line"],
        way = way * value["clock.core"] // value["clock.l2"] }
    for k, v in pairs(what) do
        params[k] = v
    end
    require("heddle.policy").use(sim.core, follow.policy, params)
end

--- The table, or why there is none; and whether it has all.
local function describe(sim)
    local state
    for _, used in ipairs(require("heddle.policy").used(sim.core)) do
        state = used.name == "follow" and used.state or state
    end
    if not state or not state.begin then
        return "no such instruction was issued\n", false
    end
    local app = sim.apps[state.app + 1]
    local out = { ("application %d (%s), core %d, warp %d%s\n"):format(state.app,
        app.label or app.name or "?", state.core, state.warp,
        state.done and "" or ", which has not ended") }
    for i, e in ipairs(state.events) do
        e.order = i
    end
    table.sort(state.events, function(a, b)
        return a[1] < b[1] or a[1] == b[1] and a.order < b.order
    end)
    local rows = { { "cycle", "after", "station", "what happens", "file" } }
    for _, e in ipairs(state.events) do
        rows[#rows + 1] = { e[1], e[1] - state.begin, e[2], e[3],
            follow.STATIONS[e[2]] or MORE[e[2]] }
    end
    out[#out + 1] = require("heddle.report").table(rows)
    return table.concat(out), state.done
end

local shown = setmetatable({}, { __mode = "k" }) -- simulations

--- Prints the table once: when the instruction has ended, or its simulation.
function follow.show(sim, ended)
    local text, done = describe(sim)
    if not shown[sim] and (done or ended) then
        shown[sim] = true
        io.write(text)
    end
end

return follow
