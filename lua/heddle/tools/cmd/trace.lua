--- cmd/trace.lua - heddle trace: convert, record, dump, info and check.
--
-- Reading and writing are the engine's (heddle.trace); here are the words of
-- the command and the forms in which it prints.  dump, info and check take text
-- and containers alike; check unpacks every block, then prints what the reader
-- noted and the map of what is touched.
--
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local process = require "heddle.process"
local trace = require "heddle.trace"
local warnings = require "heddle.warnings"

local M = {
    summary = "convert, record, print and check traces",
    usage = [[
usage: heddle trace convert IN OUT [classes=true] [repair=true] [kernels=LIST]
                            [blocks=N]
       heddle trace record APP OUT [name=value...]
       heddle trace dump FILE [kernel=N] [block=N] [columns=N]
       heddle trace info FILE [machine=NAME] [kernels=LIST] [blocks=N]
       heddle trace check FILE [kernels=LIST] [blocks=N]

A trace is an Accel-Sim kernelslist.g, the directory it is in, one .traceg or
.traceg.xz, or heddle's own container (.hdt).

  convert   writes a container of all address spaces of IN and reports what is
            wrong with them, which the container records; classes=true: with
            the classes of instructions, for core.classes; repair=true: corrects
            headers that cannot be right, as far as the instructions tell
  record    records an application, run without timing; APP is one of
            `heddle list apps`, a trace, a plug-in (./x.so), or a Lua file that
            returns one made with app{} or H.generator; name=value sets its
            parameters (size=T, lanes=64), or options of H.trace (registers=32)
  dump      prints every memory instruction, one per line: kernel block warp pc
            mask opcode space bytes addresses (of the active lanes); kernels
            count from 1, block is the index in the grid, from 0.  FILE may
            also be what record takes.  With columns=N, or on a terminal so
            wide, lines are no longer than N: FIRST+STRIDE*COUNT stands for
            addresses of one stride, and what does not fit is in lines below,
            indented; columns=0, or a file or a pipe: each address is printed
  info      prints what is in a trace; machine=NAME: also estimates its run time
            and memory on that machine, by running a part of it (seconds=1.5)
  check     prints what looks wrong and a map of the memory touched; the exit
            status is 65 if something is fatal

context=N selects an address space where a trace has several.  kernels=1,4-7,gemm
chooses kernels by number, range of numbers or a regular expression found in the
name; blocks=64 the first 64 blocks of each, blocks=64-127 those.  Parts of a text
that are not chosen are not read.
]],
}

--- Splits "name=value" words from the others.
local function words(args, from)
    local plain, named = {}, {}
    for i = from, #args do
        local k, v = args[i]:match("^([%a_][%w_]*)=(.*)$")
        if k then
            named[k] = math.tointeger(v) or v
        else
            plain[#plain + 1] = args[i]
        end
    end
    return plain, named
end

local function expect(plain, n, usage)
    if #plain ~= n then
        cli.usage("usage: heddle trace %s", usage)
    end
end

--- Takes a named whole number of at least `least` out; nil if it is not there.
local function number(named, name, least)
    local v = named[name]
    named[name] = nil
    if v ~= nil and (math.type(v) ~= "integer" or v < least) then
        cli.usage("%s=: a whole number from %d on is expected, not '%s'", name,
            least, tostring(v))
    end
    return v
end

local function nothing_left(named)
    local names = require("heddle.config").sorted_keys(named)
    if names[1] then
        cli.usage("there is no option '%s='", table.concat(names, "=', '"))
    end
end

--- A workload of whatever the word names, and whether it is a trace.
local function workload_of(word, named)
    nothing_left { label = named.label, budget = named.budget,
        start = named.start } -- which are of simulations
    local d = require("heddle.workload").named(word, named)
    return d.make(), d.key:find "^trace:"
end

--- Takes kernels= and blocks= out, as trace.open takes them: texts.
local function chosen_of(named)
    local o = { kernels = named.kernels, blocks = named.blocks }
    named.kernels, named.blocks = nil, nil
    for k, v in pairs(o) do
        o[k] = tostring(v)
    end
    return o
end

function M.convert(args)
    local plain, named = words(args, 2)
    expect(plain, 2, "convert IN OUT")
    local context, o = number(named, "context", 0), chosen_of(named)
    local one = context or next(o) -- address space, or what is chosen of it
    o.classes, o.repair = named.classes, named.repair
    named.classes, named.repair = nil, nil
    nothing_left(named)
    if one then
        o.context = context
        trace.record(trace.open(plain[1], o), plain[2])
    else
        trace.convert(plain[1], plain[2], o)
    end
    for i = 0, trace.contexts(plain[2]) - 1 do
        local w = trace.open(plain[2], { context = i })
        for _, text in ipairs(warnings.trace(trace.info(w).name, w)) do
            io.stderr:write("heddle: ", text, "\n")
        end
    end
end

function M.record(args)
    local plain, named = words(args, 2)
    expect(plain, 2, "record APP OUT [name=value...]")
    local lanes = number(named, "lanes", 1)
    local w, is_trace = workload_of(plain[1], named)
    if is_trace and lanes then
        cli.usage("lanes=: a trace keeps the warps that it has")
    end
    trace.record(w, plain[2], lanes)
end

--- Addresses of one stride as FIRST+STRIDE*COUNT, three of them at least; signed,
-- so that a warp may go down in memory.
local function strides(list, from, n)
    local i, last = from, from
    while i <= n do
        local stride, to = i < n and list[i + 1] - list[i], i + 1
        while stride and to < n and list[to + 1] - list[to] == stride do
            to = to + 1
        end
        if stride and to - i >= 2 then
            list[last], i = ("0x%x%+d*%d"):format(list[i], stride, to - i + 1), to + 1
        else
            list[last], i = ("0x%x"):format(list[i]), i + 1
        end
        last = last + 1
    end
    return last - 1
end

--- Words 1 to n in lines of `width` at most, but for a word that is longer.
local function folded(list, n, width)
    local lines, line = {}, list[1]
    for i = 2, n do
        if #line + 1 + #list[i] > width then
            lines[#lines + 1], line = line, "    " .. list[i]
        else
            line = line .. " " .. list[i]
        end
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n")
end

function M.dump(args)
    local plain, named = words(args, 2)
    expect(plain, 1, "dump FILE [kernel=N] [block=N] [columns=N]")
    local select = {
        kernel = number(named, "kernel", 1),
        block = number(named, "block", 0),
    }
    local width = number(named, "columns", 0) or process.columns(1) or 0
    local write, out = io.write, {}
    local stdout = io.stdout
    stdout:setvbuf("full", 1 << 16)
    trace.dump(workload_of(plain[1], named), function(e)
        local n = 1
        out[1] = ("%d %d %d 0x%04x %0" .. e.lanes // 4 .. "x %s %s %d")
            :format(e.launch, e.block, e.warp, e.pc, e.mask, e.opcode,
                e.space, e.bytes)
        for lane = 0, e.lanes - 1 do
            local at = e.addr[lane]
            if at then
                n = n + 1
                out[n] = width > 0 and at or ("0x%x"):format(at)
            end
        end
        if width > 0 then
            return not write(folded(out, strides(out, 2, n), width), "\n")
        end
        return not write(table.concat(out, " ", 1, n), "\n")
    end, select)
end

local function print_kernels(w)
    for _, k in ipairs(trace.kernels(w)) do
        io.write(("kernel %d: %s\n"):format(k.number, k.name))
        io.write(("  grid %s, block %s, %d registers, %d B shared, sm_%d, "
                .. "tracer version %d\n"):format(
            table.concat(k.grid, "x"), table.concat(k.block, "x"),
            k.registers, k.shared_bytes, k.binary, k.version))
        local grid = k.grid[1] * k.grid[2] * k.grid[3]
        io.write(("  %d %sblocks, %d warps, %d warp instructions, %d of them "
            .. "memory\n"):format(k.blocks, k.blocks ~= grid
            and ("of %d "):format(grid) or "", k.warps, k.instructions,
            k.memory_instructions))
    end
end

local INFO = {
    { "kernels", "kernels" },
    { "blocks", "thread blocks" },
    { "instructions", "warp instructions" },
    { "thread_instructions", "thread instructions" },
    { "memory_instructions", "memory instructions (warp)" },
    { "lane_addresses", "lane addresses" },
    { "allocations", "allocations listed" },
    { "pages", "pages of 4 KB touched outside of them" },
    { "local_words", "words of local memory a thread" },
    { "host_calls", "calls of the host on memory" },
    { "frames", "frames" },
    { "frame_bytes", "bytes of frames" },
    { "file_bytes", "bytes of the file" },
}

--- The address spaces to look at: from, to, how many there are; and the options
-- to open them with.  What is chosen is of one of them.
local function contexts_of(plain, named)
    local only = number(named, "context", 0)
    local o = chosen_of(named)
    nothing_left(named)
    local n = trace.contexts(plain[1])
    only = only or next(o) and 0
    return only or 0, only or n - 1, n, o
end

local function span(seconds)
    return seconds < 100 and ("%.1f s"):format(seconds)
        or seconds < 6000 and ("%.0f min"):format(seconds / 60)
        or ("%.1f h"):format(seconds / 3600)
end

--- Prints what a run of it would take.
local function print_estimate(path, o, w, facts, machine, seconds)
    local estimate = require "heddle.estimate"
    local H = require "heddle"
    local start = os.clock()
    local sim <close> = H.sim { machine = machine,
        apps = { H.trace(path, { context = o.context, kernels = o.kernels,
            blocks = o.blocks }) } }
    local e = estimate.of(w, facts.instructions, sim, os.clock() - start,
        seconds)
    if e.complete then
        io.write(("  on %s: %s, to the end\n"):format(machine, span(e.seconds)))
    else
        io.write(("  on %s: about %s (%s to %s), by %.1f %% of the "
            .. "instructions in %s\n"):format(machine, span(e.seconds),
            span(e.low), span(e.high), 100 * e.share, span(e.spent)))
    end
    if e.kilobytes then
        io.write(("  in %.0f MB\n"):format(e.kilobytes / 1024))
    end
end

function M.info(args)
    local plain, named = words(args, 2)
    expect(plain, 1, "info FILE")
    local machine, seconds = named.machine, tonumber(named.seconds or 0)
    named.machine, named.seconds = nil, nil
    if not seconds or seconds < 0 then
        cli.usage("seconds=: a number of seconds is expected")
    end
    local from, to, n, o = contexts_of(plain, named)
    for i = from, to do
        o.context = i
        local w = trace.open(plain[1], o)
        local facts = trace.info(w)
        io.write(n > 1 and ("address space %d: %s\n"):format(i, facts.name)
            or facts.name .. "\n")
        for _, row in ipairs(INFO) do
            if facts[row[1]] ~= 0 or row[1] == "memory_instructions" then
                io.write(("  %14d %s\n"):format(facts[row[1]], row[2]))
            end
        end
        io.write("  contents ", facts.hash, "\n")
        if machine then
            print_estimate(plain[1], o, w, facts, tostring(machine), seconds > 0
                and seconds or require("heddle.estimate").SECONDS)
        end
        print_kernels(w)
    end
end

--- Neighbouring ranges of one kind as one line each.
local function print_map(w)
    local last
    local function show()
        if last then
            io.write(("  0x%012x 0x%012x %10.1f KB  %s\n"):format(last.base,
                last.base + last.bytes, last.bytes / 1024, last.name))
        end
    end
    local list = trace.ranges(w)
    table.sort(list, function(a, b) return a.base < b.base end)
    for _, r in ipairs(list) do
        if last and last.name == r.name and last.base + last.bytes == r.base
        then
            last.bytes = last.bytes + r.bytes
        else
            show()
            last = r
        end
    end
    show()
end

--- What a user can do about a note of the reader (heddle_capture(7)).
local ADVICE = {
    BAD_REGISTERS = "repair=true (convert) gives these as many registers as "
        .. "their instructions name, registers=N (record) all kernels N",
    BAD_BINARY = "binary_version=80 (record) replaces it",
    ZERO_ADDRESS = "the tracer has lost addresses: trace again with another "
        .. "version of it",
    UNKNOWN_OPCODE = "these accesses are missing from a run",
    NEW_TRACER = "compare lanes and lines of its accesses (heddle apps) with "
        .. "what the program should do",
    UNENDED_BLOCK = "the capture was cut off here: compare with its stats.csv",
    MISSING_BLOCKS = "only the blocks that are there run",
    EVENT_LINE = "kernels run in turn; streams = true is refused",
}

function M.check(args)
    local plain, named = words(args, 2)
    expect(plain, 1, "check FILE")
    local from, to, _, o = contexts_of(plain, named)
    local fatal = false
    for i = from, to do
        o.context = i
        local w = trace.open(plain[1], o)
        trace.verify(w)
        local notes = trace.notes(w)
        for _, n in ipairs(notes) do
            io.write(n.fatal and "error: " or "note:  ", warnings.note(n), "\n")
            if ADVICE[n.name] then
                io.write("       ", ADVICE[n.name], "\n")
            end
            fatal = fatal or n.fatal
        end
        if #notes == 0 then
            io.write(plain[1], ": nothing to remark\n")
        end
        io.write("touched:\n")
        print_map(w)
    end
    return fatal and 65 or 0
end

local VERBS = { "convert", "record", "dump", "info", "check" }

function M.run(args)
    local verb = args[1]
    for _, word in ipairs(args) do
        if word == "--help" or word == "-h" then
            io.write(M.usage)
            return 0
        end
    end
    for _, v in ipairs(VERBS) do
        if v == verb then
            return M[v](args) or 0
        end
    end
    cli.usage("trace: %sexpected one of %s", verb and ("there is no '%s'%s; ")
        :format(verb, require("heddle.index").meant(verb, VERBS)) or "", table.concat(VERBS, ", "))
end

return M
