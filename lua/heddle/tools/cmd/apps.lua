--- cmd/apps.lua - heddle apps: what applications ask of a memory system.
--
-- Measuring is characterise.lua's; here are the words of the command and the
-- tables.  One table for each question: what the instructions are, what they
-- touch, what a machine's TLBs make of it; then, in words, every run that was
-- cut.  A single application is shown kernel by kernel, too.
--
-- SPDX-License-Identifier: MIT
local characterise = require "heddle.characterise"
local cli = require "heddle.cli"
local index = require "heddle.index"
local report = require "heddle.report"

local M = {
    summary = "measure what applications demand of the memory system",
    usage = [[
usage: heddle apps [APP...] [name=value...]

Runs applications, by default all of the library, and characterises them.
APP is one of `heddle list apps`, a trace, a plug-in (./x.so), or a Lua file
that returns one; parameters of such a file are name=value.  It prints
instructions, lanes, lines and pages of an access, footprint, reuse, sharing
between kernels, TLB miss rates, and the classes of MASK and ETC.

  size=S          T, R (as MASK and Mosaic released it), S, M, L, XL or XXL
  machine=NAME    what they run on (maxwell); group.name=value changes it
  suite=NAME      only the applications of a paper: mask, etc, mesc, pichai; or of
                  today: modern, llm, graph, db, sparse, recsys
  jobs=N          how many run in parallel (the number of processors)
  budget=N        warp instructions of the timed run (50000000; 0: to the end)
  cycles=N        core cycles of the timed run (0: no limit)
  from=busiest    the timed run begins at the launch with the most memory
                  instructions; earlier ones run without timing
  limit=N         warp instructions of the survey (0: to the end)
  sample=N        core cycles of a sample of ETC's classifier (50000)
  timed=0         no timed run; survey=0: no survey
  kernels=1       a table of kernels (default for a single application)
  format=json     JSON instead of tables; json=FILE: also JSON in a file
  pictures=DIR    DIR/NAME.svg: which pages are accessed when

Runs that a limit cut short are listed below the tables.
]],
}

-- ---- the words of the command ----------------------------------------------------

local OPTIONS = {
    size = "word", machine = "word", suite = "word", jobs = "number",
    budget = "number", cycles = "number", from = "word", limit = "number",
    sample = "number", timed = "switch",
    survey = "switch", kernels = "switch", format = "word", json = "word",
    pictures = "word", seed = "number",
}

local function value_of(name, text)
    local kind = OPTIONS[name]
    if kind == "number" then
        local v = math.tointeger(tonumber(text))
        if not v or v < 0 or v < 1 and (name == "jobs" or name == "sample") then
            cli.usage("apps: %s: a whole number is expected, not '%s'", name,
                text)
        end
        return v
    elseif kind == "switch" then
        if text ~= "0" and text ~= "1" then
            cli.usage("apps: %s: 0 or 1 is expected, not '%s'", name, text)
        end
        return text == "1"
    end
    return text
end

local function parse(args)
    local o = { names = {}, settings = {}, params = {}, unknown = {} }
    for _, word in ipairs(args) do
        local name, text = word:match("^([%w_%.]+)=(.*)$")
        if not name then
            if word:find("^%-") then
                cli.usage("apps: unknown option '%s'", word)
            end
            o.names[#o.names + 1] = word
        elseif OPTIONS[name] then
            o[name] = value_of(name, text)
        elseif name:find(".", 1, true) then
            o.settings[name] = text
        else -- of a file's application
            o.params[name] = math.tointeger(tonumber(text)) or tonumber(text)
                or text
            o.unknown[#o.unknown + 1] = name
        end
    end
    if o.from and o.from ~= "busiest" and o.from ~= "start" then
        cli.usage("apps: from: start or busiest is expected, not '%s'", o.from)
    end
    if o.format and o.format ~= "json" and o.format ~= "table" then
        cli.usage("apps: format: json or table is expected, not '%s'",
            o.format)
    end
    return o
end

--- Options that neither the command nor a file's application takes.
local function check_params(o)
    if #o.unknown > 0 then
        local known = require("heddle.config").sorted_keys(OPTIONS)
        local name = o.unknown[1]
        cli.usage("apps: no option '%s'%s; it takes %s", name,
            index.meant(name, known), table.concat(known, ", "))
    end
end

--- The applications that are meant, names of the library and descriptions of
-- files, each once.
local function names_of(o)
    local library = require "heddle.app"
    local size, out, seen = o.size or "S", {}, {}
    local asked = o.names
    local suite = o.suite and require("heddle.suites").get(o.suite).apps
    if #asked == 0 then
        asked = suite or library.names()
    elseif suite then
        cli.usage("apps: names or a suite is expected, not both")
    end
    for _, name in ipairs(asked) do
        local a = library.find(name)
        if name:find "[./]" then
            local given = { size = o.size }
            for k, v in pairs(o.params) do
                given[k] = v
            end
            out[#out + 1] = require("heddle.workload").named(name, given)
            o.unknown = {}
        elseif not a then
            cli.usage("apps: no application '%s'%s; see heddle list apps",
                name, index.meant(name, library.names()))
        elseif not seen[a.name] then
            seen[a.name] = true
            if a.sizes[size] then
                out[#out + 1] = a.name
            elseif #o.names > 0 then
                cli.usage("apps: %s has no size '%s'; it has %s", a.name,
                    size, table.concat(library.sizes(a), ", "))
            end
        end
    end
    if #out == 0 then
        cli.usage("apps: no application has size '%s'", size)
    end
    check_params(o)
    return out
end

-- ---- cells ---------------------------------------------------------------------------

local function percent(v)
    return v and ("%.1f %%"):format(v * 100) or "-"
end

local function fixed(v)
    return v and ("%.2f"):format(v) or "-"
end

local function whole(v)
    return v and ("%d"):format(v) or "-"
end

local function bytes(v)
    return v and require("heddle.app").bytes(v) or "-"
end

--- "3.2 M" for counts of instructions.
local function count(v)
    if not v then
        return "-"
    elseif v >= 1e6 then
        return ("%.1f M"):format(v / 1e6)
    elseif v >= 1e3 then
        return ("%.1f k"):format(v / 1e3)
    end
    return ("%d"):format(v // 1)
end

--- Tables as columns: heading, function of a row.
local TABLES = {
    {
        title = "Instructions", part = "survey",
        { "warp instr", function(m) return count(m.instructions) end },
        { "thread instr",
            function(m) return count(m.thread_instructions) end },
        { "launches", function(m) return whole(m.launches) end },
        { "memory", function(m) return percent(m.memory_share) end },
        { "lanes", function(m) return fixed(m.lanes) end },
        { "divergent", function(m) return percent(m.divergence) end },
        { "lanes a mem instr", function(m) return fixed(m.memory_lanes) end },
        { "lines", function(m) return fixed(m.lines_mean) end },
        { "most", function(m) return whole(m.lines_max) end },
        { "pages", function(m) return fixed(m.pages_mean) end },
        { "most", function(m) return whole(m.pages_max) end },
    },
    {
        title = "Footprint, reuse and sharing", part = "survey",
        { "allocated", function(m) return bytes(m.allocated) end },
        { "pages", function(m) return whole(m.allocated_pages) end },
        { "touched", function(m) return whole(m.touched_pages) end },
        { "accesses a page",
            function(m) return ("%.0f"):format(m.accesses_per_page or 0) end },
        { "a line", function(m) return fixed(m.accesses_per_line) end },
        { "in last 64", function(m) return percent(m.reuse_64) end },
        { "in last 512", function(m) return percent(m.reuse_512) end },
        { "pages seen before",
            function(m) return percent(m.shared_pages) end },
        { "by another kernel",
            function(m) return percent(m.shared_pages_kernels) end },
        { "lines seen before",
            function(m) return percent(m.shared_lines) end },
    },
    {
        title = "TLBs and classes", part = "timed",
        { "timed instr", function(_, r)
            return count(r.timed.instructions)
                .. (r.timed.cut and " (cut)" or "")
        end },
        { "IPC", function(m) return fixed(m.ipc) end },
        { "L1 TLB miss", function(m) return percent(m.l1tlb_miss_rate) end },
        { "L2 TLB miss", function(m) return percent(m.l2tlb_miss_rate) end },
        { "MASK", function(_, r) return r.classes.mask or "-" end },
        { "lanes a line", function(m) return fixed(m.etc_factor) end },
        { "ETC", function(_, r) return r.classes.etc or "-" end },
        { "first sample", function(m) return fixed(m.etc_sample) end },
        { "says", function(_, r) return r.classes.etc_sample or "-" end },
        { "samples regular",
            function(m) return percent(m.etc_samples_regular) end },
    },
}

local function text_table(t, rows)
    local head = { t.title }
    for i, column in ipairs(t) do
        head[i + 1] = column[1]
    end
    local out = { head }
    for _, row in ipairs(rows) do
        if not row.error and (not t.part or row[t.part]) then
            local line = { row.name }
            for i, column in ipairs(t) do
                line[i + 1] = column[2](row.metrics, row)
            end
            out[#out + 1] = line
        end
    end
    return #out > 1 and report.table(out) .. "\n" or ""
end

-- ---- kernels ---------------------------------------------------------------------------

--- "1: 75.0 %, 33-64: 25.0 %": a histogram in classes of powers of two.
local function spread(hist, all)
    local classes, out = {}, {}
    for v, n in pairs(hist) do
        local top = 1
        while top < v do
            top = top * 2
        end
        top = v == 0 and 0 or top
        classes[top] = (classes[top] or 0) + n
    end
    for top = 0, 128 do
        if classes[top] then
            local from = top > 2 and top // 2 + 1 .. "-" or ""
            out[#out + 1] = ("%s%d: %s"):format(from, top,
                percent(classes[top] / all))
        end
    end
    return table.concat(out, ", ")
end

--- Loads, stores and atomics of each kernel by buffer.
local function use_table(row)
    local out = { { "Access", "buffer", "instr", "lanes", "lines", "pages" } }
    for _, k in ipairs(row.survey.kernels) do
        for _, u in ipairs(k.uses) do
            out[#out + 1] = { k.name .. " " .. u.kind,
                row.survey.buffers[u.buffer].name, count(u.instructions),
                fixed(u.lanes / u.instructions),
                fixed(u.lines / u.instructions),
                fixed(u.pages / u.instructions) }
        end
    end
    return report.table(out)
end

local function kernel_table(row)
    local out = { { row.name .. ", by kernel", "launches", "blocks",
        "warp instr", "memory", "lanes", "lines", "pages", "lanes a line",
        "pages touched", "seen before", "by another kernel" } }
    for _, k in ipairs(row.survey.kernels) do
        local memory = k.loads + k.stores + k.atomics
        local function mean(v)
            return memory > 0 and fixed(v / memory) or "-"
        end
        local touched = k.pages_touched
        out[#out + 1] = { k.name, k.launches, k.blocks,
            count(k.instructions), percent(memory / k.instructions),
            fixed(k.thread_instructions / k.instructions), mean(k.lines),
            mean(k.pages),
            k.load_lines > 0 and fixed(k.load_lanes / k.load_lines) or "-",
            touched,
            touched > 0 and percent(k.pages_before / touched) or "-",
            touched > 0 and percent(k.pages_other / touched) or "-" }
    end
    local sum = row.survey.sum
    return report.table(out) .. "\n" .. use_table(row)
        .. ("\n%s: lines of a memory instruction: %s\n"
        .. "%s: pages of a memory instruction: %s\n\n"):format(row.name,
        spread(sum.line_hist, sum.memory), row.name,
        spread(sum.page_hist, sum.memory))
end

-- ---- the text ------------------------------------------------------------------------------

local function notes(rows)
    local out = {}
    local function say(...)
        out[#out + 1] = string.format(...)
    end
    for _, row in ipairs(rows) do
        local s, t = row.survey, row.timed
        if row.error then
            say("%s: %s", row.name, row.error)
        end
        for _, text in ipairs(row.told or {}) do
            say("%s", text)
        end
        if row.cut then
            say("%s is cut: %s", row.name, row.cut)
        end
        if s and s.cut then
            say("%s: the survey was cut by its limit of %d warp instructions",
                row.name, s.limit)
        end
        if t and t.cut then
            local share = s and not s.cut
                and (", %s of the program"):format(percent(t.instructions
                    / s.sum.instructions)) or ""
            say("%s: the timed run was cut by its %s%s", row.name,
                t.cut == "cycles"
                and ("limit of %d core cycles"):format(t.stop_cycles)
                or ("budget of %d warp instructions"):format(t.budget), share)
        end
        if t and t.first_launch and t.first_launch > 1 then
            say("%s: the timed run began at launch %d of %s", row.name,
                t.first_launch, s and #s.launches or "?")
        end
    end
    return #out > 0 and table.concat(out, "\n") .. "\n" or ""
end

--- Writes the pictures; returns their number.
local function draw(rows, dir)
    local n = 0
    for _, row in ipairs(rows) do
        local picture = not row.error and characterise.picture(row)
        if picture then
            require("heddle.svg").write(
                ("%s/%s.svg"):format(dir:gsub("/+$", ""), row.name), picture)
            n = n + 1
        end
    end
    return n
end

local function text(rows, o)
    local size = o.size or "S"
    for _, row in ipairs(rows) do
        size = (row.size or size) ~= "-" and size or nil
    end
    local out = { ("%d application%s%s, on %s\n\n"):format(#rows,
        #rows == 1 and "" or "s", size and ", size " .. size or "",
        o.machine or "maxwell") }
    for _, t in ipairs(TABLES) do
        out[#out + 1] = text_table(t, rows)
    end
    for _, row in ipairs(rows) do
        if row.survey and (o.kernels or o.kernels == nil and #rows == 1) then
            out[#out + 1] = kernel_table(row)
        end
    end
    out[#out + 1] = notes(rows)
    return table.concat(out)
end

--- After Ctrl-C: what is known, that is, of the applications that are done.
local function interrupted(err, o)
    local known = {}
    for _, row in ipairs(require("heddle.script").partial_results or {}) do
        if type(row) == "table" and row.metrics and not row.error then
            known[#known + 1] = row
        end
    end
    if require("heddle.core").problem(err).code == -130 and #known > 0 then
        io.write(o.format == "json" and characterise.json(known)
            or text(known, o))
    end
end

function M.run(args)
    local o = parse(args)
    local names = names_of(o)
    local machine = require("heddle.machines").machine(o.machine or "maxwell")
    if next(o.settings) then
        machine = machine:with(o.settings, "command line")
    end
    local ok, rows = pcall(characterise.all, names, {
        size = o.size, machine = machine, budget = o.budget, limit = o.limit,
        sample = o.sample, cycles = o.cycles, from = o.from, timed = o.timed,
        survey = o.survey, seed = o.seed, picture = o.pictures ~= nil,
    }, o.jobs)
    if not ok then
        interrupted(rows, o)
        error(rows, 0)
    end
    if o.json then
        report.emit(characterise.json(rows), o.json)
    end
    io.write(o.format == "json" and characterise.json(rows) or text(rows, o))
    if o.pictures then
        local n = draw(rows, o.pictures)
        if o.format ~= "json" then
            io.write(("%d picture%s in %s\n"):format(n, n == 1 and "" or "s",
                o.pictures))
        end
    end
    local failed = 0
    for _, row in ipairs(rows) do
        failed = row.error and 65 or failed
    end
    return failed
end

return M
