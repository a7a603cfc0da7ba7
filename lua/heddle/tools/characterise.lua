--- characterise.lua - what an application asks of a memory system.
--
--     local row = characterise.measure("ATAX", { size = "M",
--                                      machine = H.machine("maxwell") })
--     row.metrics.etc_factor      lanes a line, of all loads
--     row.classes.mask            "High/High": L1 and L2 TLB miss rate
--
-- Two measurements, for two kinds of question:
--
--   survey   the program to its end, without time (heddle.survey): what its
--            instructions touch and touch again, in turns of all the warps
--            that the machine has room for.  `limit` cuts it after so many
--            warp instructions.
--   timed    a simulation on the machine, to its end or to its `budget` of
--            warp instructions: what its TLBs miss, and what a classifier
--            sees that samples every `sample` core cycles.
--
-- A row says of each whether it was cut, and what the application's size
-- leaves out itself.  Rows are plain data: they go through pipes and to JSON.
--
-- Classes are the papers': MASK (table 2) calls a TLB miss rate above 20 %
-- high; ETC calls a program regular whose loads have 10 lanes or more a line
-- (any threshold from 5 to 10 gives the same classes there).
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local machines = require "heddle.machines"
local warnings = require "heddle.warnings"
local workload = require "heddle.workload"

local characterise = {
    SCHEMA = "heddle-apps",
    SCHEMA_VERSION = 1,
    HIGH = 0.20,     -- MASK table 2: a miss rate above is high
    REGULAR = 10,    -- ETC 4: lanes a line, at least
    SAMPLE = 50000,  -- ETC 4: core cycles of a sample
    BUDGET = 50000000,
    COLUMNS = 512, ROWS = 256, -- of the picture, at most
}

-- ---- the metrics ------------------------------------------------------------

local function ratio(a, b)
    return a and b and b ~= 0 and a / b or nil
end

--- Largest key of a histogram with a count.
local function most(hist)
    local top = 0
    for v in pairs(hist) do
        top = math.max(top, v)
    end
    return top
end

--- Share of accesses whose reuse is within a bound.
local function reuse_within(bound)
    return function(s, k)
        local n = 0
        for _, class in ipairs(s.reuse) do
            if class.bound and class.bound <= bound then
                n = n + class.accesses
            end
        end
        return ratio(n, k.pages)
    end
end

--- Rows of { name, unit, meaning, function(survey, sum over its kernels) }.
local SURVEYED = {
    { "instructions", "warp instructions", "instructions executed",
        function(_, k) return k.instructions end },
    { "thread_instructions", "instructions", "times their active lanes",
        function(_, k) return k.thread_instructions end },
    { "launches", "launches", "kernel launches",
        function(_, k) return k.launches end },
    { "memory_share", "", "share of memory instructions",
        function(_, k) return ratio(k.memory, k.instructions) end },
    { "lanes", "lanes", "lanes active in an instruction",
        function(_, k)
            return ratio(k.thread_instructions, k.instructions)
        end },
    { "divergence", "",
        "share of instructions for which some of the warp's threads are "
        .. "inactive or have exited",
        function(_, k) return ratio(k.divergent, k.instructions) end },
    { "memory_lanes", "lanes", "lanes active in a memory instruction",
        function(_, k) return ratio(k.lanes, k.memory) end },
    { "lines_mean", "lines", "lines of a memory instruction, mean",
        function(_, k) return ratio(k.lines, k.memory) end },
    { "lines_max", "lines", "lines of a memory instruction, most",
        function(_, k) return most(k.line_hist) end },
    { "pages_mean", "pages",
        "pages of a memory instruction, mean (page divergence)",
        function(_, k) return ratio(k.pages, k.memory) end },
    { "pages_max", "pages", "pages of a memory instruction, most",
        function(_, k) return most(k.page_hist) end },
    { "allocated", "bytes", "bytes of all buffers",
        function(s) return s.allocated end },
    { "allocated_pages", "pages", "pages of all buffers",
        function(s) return s.allocated_pages end },
    { "touched_pages", "pages", "pages touched",
        function(s) return s.pages end },
    { "touched_lines", "lines", "lines touched",
        function(s) return s.lines end },
    { "accesses", "accesses",
        "pages touched, an instruction at a time: look-ups of a TLB",
        function(_, k) return k.pages end },
    { "accesses_per_page", "accesses", "accesses to a touched page, mean",
        function(s, k) return ratio(k.pages, s.pages) end },
    { "accesses_per_line", "accesses",
        "instructions that touch a touched line, mean",
        function(s, k) return ratio(k.lines, s.lines) end },
    { "once_share", "", "share of the touched pages with a single access",
        function(s) return ratio(s.once, s.pages) end },
    { "reuse_64", "",
        "share of accesses to one of the 64 pages accessed last",
        reuse_within(64) },
    { "reuse_512", "",
        "share of accesses to one of the 512 pages accessed last",
        reuse_within(512) },
    { "shared_pages", "",
        "share of the pages of a launch that an earlier launch touched",
        function(s, k)
            return ratio(k.pages_before, k.pages_touched - s.first_pages)
        end },
    { "shared_pages_kernels", "",
        "share of the pages of a launch that another kernel touched before",
        function(s, k)
            return ratio(k.pages_other, k.pages_touched - s.first_pages)
        end },
    { "shared_lines", "",
        "share of the lines of a launch that an earlier launch touched",
        function(s, k)
            return ratio(k.lines_before, k.lines_touched - s.first_lines)
        end },
    { "etc_factor", "lanes a line",
        "coalescing factor: lanes of all loads over their lines (ETC)",
        function(_, k) return ratio(k.load_lanes, k.load_lines) end },
}

--- Columns of the timed run: function(its counters, results).
local TIMED = {
    { "ipc", "warp instructions a cycle", "IPC of the timed run",
        function(t) return ratio(t.instructions, t.cycles) end },
    { "l1tlb_miss_rate", "", "L1 TLB misses per look-up",
        function(t) return t.l1tlb_miss_rate end },
    { "l2tlb_miss_rate", "",
        "L2 TLB misses per look-up, merged ones included",
        function(t) return t.l2tlb_miss_rate end },
    { "etc_sample", "lanes a line",
        "coalescing factor that the first sample sees",
        function(t) return t.samples.first end },
    { "etc_samples_regular", "",
        "share of samples that see a regular program",
        function(t) return ratio(t.samples.regular, t.samples.n) end },
}

--- Every metric: { { name =, unit =, meaning = }, ... }.
function characterise.metrics()
    local out = {}
    for _, list in ipairs { SURVEYED, TIMED } do
        for _, m in ipairs(list) do
            out[#out + 1] = { name = m[1], unit = m[2], meaning = m[3] }
        end
    end
    return out
end

--- The sum over all kernels of a survey.
local function sum_of(kernels)
    local sum = { line_hist = {}, page_hist = {}, memory = 0 }
    for _, k in ipairs(kernels) do
        for name, v in pairs(k) do
            if math.type(v) == "integer" then
                sum[name] = (sum[name] or 0) + v
            end
        end
        for _, hist in ipairs { "line_hist", "page_hist" } do
            for at, n in pairs(k[hist]) do
                sum[hist][at] = (sum[hist][at] or 0) + n
            end
        end
        sum.memory = sum.memory + k.loads + k.stores + k.atomics
    end
    return sum
end

characterise.sum = sum_of

--- "regular" or "irregular" by a coalescing factor, for any threshold.
function characterise.etc_class(factor, threshold)
    return factor and (factor >= (threshold or characterise.REGULAR)
        and "regular" or "irregular")
end

--- "High/Low" by the miss rates of the L1 and the L2 TLB.
function characterise.mask_class(l1, l2)
    local function word(rate)
        return rate and (rate > characterise.HIGH and "High" or "Low") or "-"
    end
    return (l1 or l2) and word(l1) .. "/" .. word(l2) or nil
end

local function derive(row)
    local out = {}
    for _, m in ipairs(row.survey and SURVEYED or {}) do
        out[m[1]] = m[4](row.survey, row.survey.sum)
    end
    for _, m in ipairs(row.timed and TIMED or {}) do
        out[m[1]] = m[4](row.timed)
    end
    row.metrics = out
    row.classes = {
        etc = characterise.etc_class(out.etc_factor),
        etc_sample = characterise.etc_class(out.etc_sample),
        mask = characterise.mask_class(out.l1tlb_miss_rate,
            out.l2tlb_miss_rate),
    }
end

-- ---- measuring ---------------------------------------------------------------

--- What the machine holds at once.
local function room_of(machine)
    local room = {}
    for _, name in ipairs { "blocks", "warps", "threads", "regs",
        "shared_bytes" } do
        room[name] = math.tointeger(tonumber(machine:get("core." .. name)))
    end
    room.cores = math.tointeger(tonumber(machine:get("core.count")))
    return room
end

local function survey(describe, o)
    local w <close> = describe.make()
    local s = require("heddle.survey").run(w, {
        lanes = math.tointeger(tonumber(o.machine:get("core.lanes"))),
        limit = o.limit, room = room_of(o.machine),
        columns = o.picture and characterise.COLUMNS or 0,
        rows = o.picture and characterise.ROWS or 0,
    })
    s.limit = o.limit
    s.sum = sum_of(s.kernels)
    s.buffers = require("heddle.survey").buffers(w)
    return s, warnings.trace(describe.label, w)
end

--- What a classifier sees that looks at the loads of each sample.
local function new_samples(cycles)
    return { cycles = cycles, n = 0, regular = 0, lanes = 0, lines = 0 }
end

local function add_sample(samples, c)
    local lanes = c.load_lanes - samples.lanes
    local lines = c.load_lines - samples.lines
    samples.lanes, samples.lines = c.load_lanes, c.load_lines
    if lines <= 0 then
        return
    end
    local factor = lanes / lines
    samples.n = samples.n + 1
    samples.first = samples.first or factor
    samples.least = math.min(samples.least or factor, factor)
    samples.most = math.max(samples.most or factor, factor)
    if factor >= characterise.REGULAR then
        samples.regular = samples.regular + 1
    end
end

--- The launch with the most memory instructions, and that number.
function characterise.busiest(s)
    local best, at = -1, 1
    for i, l in ipairs(s.launches) do
        local after = s.launches[i + 1]
        local n = (after and after.start or s.sum.memory) - l.start
        if n > best then
            best, at = n, i
        end
    end
    return at
end

local function timed(describe, o, first)
    local report = require "heddle.report"
    local sim <close> = require("heddle.sim").sim {
        machine = o.machine, apps = { describe }, budget = o.budget,
        seed = o.seed, policies = o.policies, progress = o.progress,
        settings = { ["sim.first_kernel"] = first },
        stop_cycles = o.cycles ~= 0 and o.cycles or nil,
    }
    local samples = new_samples(o.sample)
    local word
    repeat
        word = sim:run(o.sample)
        add_sample(samples, sim:counters().core)
    until word ~= "ok"
    local r = require("heddle.report").collect(sim)
    local cut = r.apps[1].truncated and "budget"
        or not r.apps[1].finished and "cycles" or nil
    return {
        budget = o.budget, stop_cycles = o.cycles ~= 0 and o.cycles or nil,
        first_launch = first, cut = cut, samples = samples,
        instructions = r.instructions, cycles = r.apps[1].cycles,
        l1tlb_miss_rate = report.metric(r, "l1tlb_miss_rate"),
        l2tlb_miss_rate = report.metric(r, "l2tlb_miss_rate"),
        l1tlb = { lookups = report.counter(r, "l1tlb.lookups"),
            misses = report.counter(r, "l1tlb.misses"),
            merges = report.counter(r, "l1tlb.merges") },
        l2tlb = { hits = report.counter(r, "mmu.hits"),
            misses = report.counter(r, "mmu.misses"),
            merges = report.counter(r, "mmu.merges") },
        lines = report.counter(r, "core.lines"),
        memory_share = report.metric(r, "memory_share"),
        dram_share = report.metric(r, "dram_peak_share_data"),
        walks = report.metric(r, "walks"), status = r.status,
    }, sim.noted
end

--- Miss rates of L1 and L2 TLB by other ways of counting.  A look-up that
-- joins a miss under way is a hit:
function characterise.first_misses(t)
    local l1, l2 = t.l1tlb, t.l2tlb
    return ratio(l1.misses - l1.merges, l1.lookups),
        ratio(l2.misses - l2.merges, l2.hits + l2.misses)
end

--- Every line looks up the L1 TLB, not every page of an instruction:
function characterise.line_misses(t)
    return ratio(t.l1tlb.misses, t.lines), t.l2tlb_miss_rate
end

--- line_misses, but a look-up that joins a miss in flight counts as nothing.
function characterise.counted_misses(t)
    local l1, l2 = t.l1tlb, t.l2tlb
    return ratio(l1.misses - l1.merges, t.lines - l1.merges),
        ratio(l2.misses - l2.merges, l2.hits + l2.misses - l2.merges)
end

local DEFAULTS = {
    size = "S", budget = characterise.BUDGET, limit = 0, cycles = 0,
    sample = characterise.SAMPLE, survey = true, timed = true,
    picture = false,
}

--- The row of an application, its name or a description (workload.lua).
-- Options: size ("S"), params (of the application, besides its size), machine (one
-- of H.machine, or a name; "maxwell"), budget of the timed run and limit of the
-- survey in warp instructions (50 million; 0: none), cycles after which the timed
-- run ends, too (0: none), from: the launch at which it begins, a number or
-- "busiest", that with the most memory instructions; those before it run without
-- time; sample (core cycles), survey and timed (true), picture (false: keep no
-- cells), seed, policies.
function characterise.measure(name, options)
    local o = {}
    for k, v in pairs(DEFAULTS) do
        o[k] = v
    end
    for k, v in pairs(options or {}) do
        o[k] = v
    end
    o.machine = machines.machine(o.machine or "maxwell")
    o.budget = o.budget ~= 0 and o.budget or nil
    local app, describe
    if type(name) == "string" then
        app = require("heddle.app").get(name)
        local given = { size = o.size }
        for k, v in pairs(o.params or {}) do
            given[k] = v
        end
        describe = workload.app(app.name, given)
    else
        describe = workload.from(name)
        app = { name = describe.label, suite = "-", source = describe.key }
    end
    local row = {
        name = app.name, suite = app.suite, source = app.source,
        size = describe.options.size or "-", cut = describe.cut,
        machine = o.machine.name,
        lanes = math.tointeger(tonumber(o.machine:get("core.lanes"))),
    }
    local found, noted
    if o.survey then
        row.survey, found = survey(describe, o)
    end
    if o.timed then
        row.timed, noted = timed(describe, o, o.from == "busiest"
            and row.survey and characterise.busiest(row.survey)
            or math.tointeger(o.from))
    end
    found = found or noted or {}
    row.told = found[1] and found or nil
    derive(row)
    return row
end

--- Rows of many applications, `jobs` at a time.  A row that could not be had
-- is { name =, error = }.
function characterise.all(names, options, jobs)
    local list = {}
    for i, name in ipairs(names) do
        list[i] = function()
            return characterise.measure(name, options)
        end
    end
    local rows = require("heddle.runner").run(list, {
        jobs = jobs, keep = true,
    })
    for i, row in ipairs(rows) do
        if row.error then
            rows[i] = { name = type(names[i]) == "table" and names[i].label
                or names[i], error = row.error, told = row.told }
        end
    end
    return rows
end

--- Buffers that the source reads through textures: no global loads.
local TEXTURE = { SAD = "ref" }

--- ETC's coalescing factor of the global loads of a surveyed row: lanes over
-- lines.
function characterise.global_factor(row)
    local lanes, lines = 0, 0
    for _, k in ipairs(row.survey.kernels) do
        for _, u in ipairs(k.uses) do
            if u.kind == "load"
                and row.survey.buffers[u.buffer].name ~= TEXTURE[row.name] then
                lanes, lines = lanes + u.lanes, lines + u.lines
            end
        end
    end
    return lanes / lines
end

-- ---- the picture -----------------------------------------------------------------

--- Starts of launches, as many as can be distinguished.
local function marks_of(launches, total)
    local out, last = {}, -math.huge
    for _, l in ipairs(launches) do
        if (l.start - last) * 300 >= total then
            out[#out + 1] = l.start / 1e6
            last = l.start
        end
    end
    return out
end

--- Which pages are accessed when, as SVG (ETC figures 2 to 4): of a row that
-- was measured with picture = true and has accesses, else nil.
function characterise.picture(row)
    local p = row.survey and row.survey.picture
    if not p then
        return nil
    end
    local names = {}
    for i, b in ipairs(row.survey.buffers) do
        names[i] = { (b.base - p.base) / 4096, b.name, b.bytes }
    end
    table.sort(names, function(a, b) -- not every small one has room
        return a[3] > b[3] or a[3] == b[3] and a[1] < b[1]
    end)
    local memory = row.survey.sum.memory
    return require("heddle.svg").map {
        title = row.name .. (row.size ~= "-" and ", size " .. row.size or ""),
        columns = p.columns, rows = p.rows,
        cell = function(x, y)
            return (("<I4"):unpack(p.cells[x], 4 * y - 3))
        end,
        width = p.columns * p.column_accesses / 1e6,
        height = p.rows * p.row_pages,
        xlabel = "memory instructions (millions), in turns of all warps of "
            .. row.machine,
        ylabel = "page", names = names,
        marks = marks_of(row.survey.launches, memory),
        note = ("%d pages of 4 KB a row, %d instructions a column; darker: "
            .. "more accesses; marks: launches%s"):format(p.row_pages,
            p.column_accesses, row.survey.cut
            and ("; cut after %d instructions"):format(row.survey.limit)
            or row.cut and "; size " .. row.size .. ": " .. row.cut or ""),
    }
end

-- ---- JSON ----------------------------------------------------------------------

local function hist_list(hist, what)
    local keys, out = {}, json.array {}
    for v in pairs(hist) do
        keys[#keys + 1] = v
    end
    table.sort(keys)
    for i, v in ipairs(keys) do
        out[i] = { [what] = v, instructions = hist[v] }
    end
    return out
end

local function kernel_of(k)
    local out = {}
    for name, v in pairs(k) do
        out[name] = v
    end
    out.line_hist = hist_list(k.line_hist, "lines")
    out.page_hist = hist_list(k.page_hist, "pages")
    return out
end

local function json_row(row)
    local out = {}
    for name, v in pairs(row) do
        out[name] = v
    end
    if row.survey then
        local s = {}
        for name, v in pairs(row.survey) do
            s[name] = v
        end
        s.picture, s.launches = nil, #row.survey.launches
        s.sum = kernel_of(row.survey.sum)
        s.kernels = json.array {}
        for i, k in ipairs(row.survey.kernels) do
            s.kernels[i] = kernel_of(k)
        end
        json.array(s.buffers)
        out.survey = s
    end
    return out
end

--- Rows as one JSON object (heddle_results(5)).
function characterise.json(rows)
    local apps = json.array {}
    for i, row in ipairs(rows) do
        apps[i] = row.error and row or json_row(row)
    end
    return json.encode {
        schema = characterise.SCHEMA,
        schema_version = characterise.SCHEMA_VERSION,
        version = core.version, metrics = characterise.metrics(),
        apps = apps,
    } .. "\n"
end

return characterise
