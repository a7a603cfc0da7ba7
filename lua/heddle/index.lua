--- index.lua - everything that has a name: settings, counters, histograms,
-- metrics, points, notes, steering tables, facts, policies, applications, suites,
-- machines, interconnects; for `list`, `explain` and help(x).
--
-- Each kind gives rows for a list, and an explanation (lines of text) of one
-- name.  What exists is asked from the modules that own it, so nothing here
-- can be out of date.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local index = {
    kinds = {
        "points", "notes", "tables", "facts", "policies", "apps", "suites",
        "machines", "interconnects", "counters", "histograms", "metrics", "settings",
    },
}

--- "1 to 64", or the choices, of a setting.
local function range(s)
    if s.choices ~= "" then
        return s.choices:gsub("|", ", ")
    elseif s.type == "integer" then
        local top = s.max < 0 and "2^64 - 1" or
            s.max >= 0xffffffff and "no limit" or tostring(s.max)
        return ("%d to %s"):format(s.min, top)
    elseif s.type == "mode" then
        return "off, ideal, fixed:N, full"
    elseif s.type == "boolean" then
        return "true, false"
    end
    return s.type
end

--- What each kind is.
local KINDS = {
    points = "where the engine asks a policy and uses its answer",
    notes = "what the engine reports to policies that watch",
    tables = "what a policy steers: the engine reads cells instead of asking",
    facts = "what the engine counts for a policy that reads it at its epochs",
    policies = "what answers points, in C, in Lua, or in both",
    apps = "programs of the library: H.app(NAME)",
    suites = "sets of applications, as papers have them",
    machines = "settings of a paper's machine: H.machine(NAME)",
    interconnects = "links between GPUs: H.sim { link = NAME }",
    counters = "what is counted while a simulation runs",
    histograms = "how often each value occurred",
    metrics = "what is derived from counters",
    settings = "what a machine can be set to",
}

-- ---- rows -----------------------------------------------------------------

local rows = {}

function rows.settings()
    local out = {}
    for _, s in ipairs(core.settings()) do
        local words = s.choices ~= "" and s.choices
            or s.type == "mode" and "off|ideal|fixed:N|full"
        out[#out + 1] = { s.name, s.default, s.unit,
            (words and words .. ": " or "") .. s.meaning }
    end
    return out
end

--- What policies that are compiled in count of their own, as counters are listed.
local KIND = { [0] = "sum", "maximum since the last reset", "histogram",
    "series: the value reported last" }

local own -- asked once: nothing adds to them
local function own_counters()
    if own then
        return own
    end
    local out = {}
    for _, p in ipairs(require("heddle.policy").list()) do
        for _, c in ipairs(p.own or {}) do
            out[#out + 1] = { component = "policy", name = p.name .. "."
                .. c.name, unit = c.unit, meaning = c.meaning, kind = c.kind,
                policy = p.name }
        end
    end
    own = out
    return out
end

function rows.counters()
    local out = {}
    for _, c in ipairs(core.counters()) do
        out[#out + 1] = { c.component .. "." .. c.name, c.unit, c.meaning }
    end
    for _, c in ipairs(own_counters()) do
        if KIND[c.kind] ~= "histogram" then
            out[#out + 1] = { "policy." .. c.name, c.unit, c.meaning }
        end
    end
    return out
end

function rows.histograms()
    local out = {}
    for _, h in ipairs(core.histograms()) do
        out[#out + 1] = { h.component .. "." .. h.name, h.unit, h.meaning }
    end
    for _, c in ipairs(own_counters()) do
        if KIND[c.kind] == "histogram" then
            out[#out + 1] = { "policy." .. c.name, c.unit, c.meaning }
        end
    end
    return out
end

--- The numbers that are derived: { name, unit, meaning, where they stand }.
local function derived()
    local metrics, out = require "heddle.metrics", {}
    for _, m in ipairs(metrics.list()) do
        out[#out + 1] = { m[2], m[3], m[4], "results" }
    end
    for _, m in ipairs(metrics.COMPARISONS) do
        out[#out + 1] = { m[1], m[2], m[3], "H.report." .. m[1] }
    end
    for _, m in ipairs(require("heddle.characterise").metrics()) do
        out[#out + 1] = { m.name, m.unit, m.meaning, "heddle apps" }
    end
    return out
end

function rows.metrics()
    local out = {}
    for i, m in ipairs(derived()) do
        out[i] = { m[1], m[4], m[2], m[3] }
    end
    return out
end

function rows.points()
    local out = {}
    for _, p in ipairs(core.points()) do
        out[#out + 1] = {
            p.name, p.heat:lower(), p.answer:lower(), p.when,
        }
    end
    return out
end

function rows.notes()
    local out = {}
    for _, n in ipairs(core.notes()) do
        out[#out + 1] = { n.name, n.when }
    end
    return out
end

function rows.tables()
    local out = {}
    for _, t in ipairs(require("heddle.policy").tables()) do
        out[#out + 1] = { t.name, t.at, t.meaning }
    end
    return out
end

function rows.facts()
    local out = {}
    for _, f in ipairs(require("heddle.policy").facts()) do
        out[#out + 1] = { f.name, f.value, f.meaning }
    end
    return out
end

function rows.policies()
    local out = {}
    for _, p in ipairs(require("heddle.policy").list()) do
        out[#out + 1] = { p.name, p.kind, p.summary }
    end
    return out
end

--- Names of the applications of the library.
function index.app_names()
    return require("heddle.app").names()
end

--- The application of a name or an alias (in any case), or nil.
function index.app(name)
    return require("heddle.app").find(name)
end

function rows.apps()
    local out = {}
    for _, name in ipairs(index.app_names()) do
        local app = index.app(name)
        out[#out + 1] = { name, app.suite or "", app.summary or "" }
    end
    return out
end

function rows.suites()
    return require("heddle.suites").rows()
end

function rows.machines()
    local machines, out = require "heddle.machines", {}
    for _, name in ipairs(machines.names()) do
        local m = machines.get(name)
        out[#out + 1] = { name, m.from or "", m.summary or "" }
    end
    return out
end

function rows.interconnects()
    return require("heddle.links").rows()
end

--- The kinds themselves: name, how many there are, meaning.
function rows.kinds()
    local out = {}
    for i, kind in ipairs(index.kinds) do
        out[i] = { kind, tostring(#rows[kind]()), KINDS[kind] }
    end
    return out
end

--- Rows of a kind, or nil if there is no such kind.
function index.rows(kind)
    return rows[kind] and rows[kind]()
end

-- ---- explanations -----------------------------------------------------------

local explain = {}

--- The lines that tell of each member of a list with that name, or nil.
local function each(list, named, lines)
    local out = {}
    for _, x in ipairs(list) do
        if named(x) then
            for _, line in ipairs(lines(x)) do out[#out + 1] = line end
        end
    end
    return out[1] and out
end

--- What a setting does nothing without: by its name, or by its group.  (Not
-- that of a part's mode, which says so itself.)
index.needs = {
    pwc = "pwc.mode other than off",
    fault = "vm.paging = fault",
    evict = "vm.paging = fault, and less memory than is touched",
    ["evict.free_bytes"] = "evict.trigger = watermark",
    compress = "compress.enable = true",
    ["compress.link"] = "compress.enable = true and vm.paging = fault",
    link = "vm.paging = launch or fault",
    remote = "vm.paging = fault, and remote.access = remote or a policy of "
        .. "migrate",
    ["remote.access"] = "vm.paging = fault",
    ["fault.refaults"] = "fault.thrashing = refault",
    ["fault.refault_lapse"] = "fault.thrashing = refault",
    ["uvm.perf_access_counter_threshold"] = "uvm.perf_access_counter_migration_"
        .. "enable = true, and remote.access = remote",
    ["uvm.perf_access_counter_granularity"] = "remote.access = remote, and "
        .. "uvm.perf_access_counter_migration_enable or a policy of migrate",
    ["uvm.perf_access_counter_batch_count"] = "remote.access = remote, and "
        .. "uvm.perf_access_counter_migration_enable or a policy of migrate",
    ["uvm.perf_access_counter_migration_enable"] = "remote.access = remote, or "
        .. "uvm.mode = driver",
    ["uvm.perf_map_remote_on_eviction"] = "uvm.mode = driver, less memory than "
        .. "is touched, and uvm.perf_access_counter_migration_enable = true",
    ["fault.batch"] = "vm.paging = fault and fault.serial = true",
    uvm = "vm.paging = fault and uvm.mode = driver",
    ["uvm.mode"] = "vm.paging = fault",
    ["uvm.chunks"] = "uvm.mode = driver, evict.unit = 2M, less memory than is "
        .. "touched, and no compress.enable",
    ["uvm.perf_prefetch_threshold"] = "vm.paging = fault, and uvm.mode or "
        .. "fault.prefetch = driver",
    ["uvm.perf_prefetch_min_faults"] = "vm.paging = fault, and uvm.mode or "
        .. "fault.prefetch = driver",
    ["uvm.perf_fault_replay_update_put_ratio"] = "uvm.mode = driver and "
        .. "uvm.perf_fault_replay_policy = batch_flush",
    ["uvm.perf_fault_max_batches_per_service"] = "uvm.mode = driver and "
        .. "uvm.perf_fault_replay_policy = once",
    ["link.out_bandwidth"] = "vm.paging = fault, and less memory than is "
        .. "touched",
    ["l2cache.far_latency"] = "l2cache.halves = 2",
    ["l2cache.far_copies"] = "l2cache.halves = 2",
    ["dram.cap"] = "dram.scheduler = capped",
    ["dram.trefi"] = "dram.refresh = true",
    ["dram.trfc"] = "dram.refresh = true",
    ["dram.refresh_by"] = "dram.refresh = true",
    ["dram.trfcpb"] = "dram.refresh_by = bank",
    ["dram.trrefd"] = "dram.refresh_by = bank",
    ["dram.tact"] = "dram.buses = split",
    ["memory.fragment_occupancy"] = "memory.fragment_index above 0",
    ["memory.hog_kept"] = "memory.hog_torn above 0",
    ["l1tlb.large_ways"] = "l1tlb.large_entries above 0",
    ["l2tlb.large_ways"] = "l2tlb.large_entries above 0",
    ["l2tlb.serial"] = "l2tlb.large_entries above 0",
    msc = "l2tlb.sub_ways above 0",
    utlb1 = "utlb1.entries above 0",
    utlb2 = "utlb2.entries above 0",
    utlb3 = "utlb3.entries above 0",
    shared = "core.classes = true",
    fabric = "fabric.nodes above 1",
    ["fabric.home"] = "fabric.nodes above 1, and fabric.tables = one or "
        .. "fabric.placement = node",
    ["vm.round"] = "vm.page = 64K or 2M",
}
for _, class in ipairs { "int", "fp32", "fp64", "sfu", "tensor", "memory",
    "control", "unknown" } do
    index.needs["core." .. class .. "_latency"] = "core.classes = true"
    index.needs["core." .. class .. "_interval"] = "core.classes = true"
end
for _, name in ipairs { "thrashing_threshold", "thrashing_pin_threshold",
    "thrashing_lapse_usec", "lapse_vote_threshold", "thrashing_nap",
    "thrashing_epoch", "thrashing_max_resets" } do
    index.needs["uvm.perf_" .. name] = "fault.thrashing or uvm.mode = driver"
end
index.needs["uvm.as_released"] = "fault.thrashing or uvm.mode = driver"
index.needs["uvm.perf_thrashing_pin"] = "fault.thrashing = driver or refault, or "
    .. "uvm.mode = driver"
index.needs["uvm.unmap_latency"] = "uvm.mode = driver, and uvm.host_mapped or a "
    .. "program whose host touches its buffers"

--- What else a setting can be given by.
index.also = {
    ["vm.memory_bytes"] = "H.sim { memory = \"75%\" }: this share of what the "
        .. "applications touch",
}

function explain.settings(name)
    local function named(s)
        return s.name == name or s.name:match "%.(.*)$" == name
    end
    return each(core.settings(), named, function(s)
        local unit = s.unit ~= "" and " " .. s.unit or ""
        local group, key = s.name:match "^(.-)%.(.*)$"
        local needs = index.needs[s.name]
            or key ~= "mode" and index.needs[group]
        if needs == s.name .. " above 0" or needs == s.name .. " above 1" then
            -- of the others of its group
            needs = nil
        end
        local out = {
            ("%s (setting)"):format(s.name),
            "  " .. s.meaning,
            "  type     " .. s.type,
            "  unit     " .. (s.unit ~= "" and s.unit or "none"),
            "  default  " .. s.default .. unit,
            "  range    " .. range(s),
            needs and "  needs    " .. needs or "  source   " .. s.source,
        }
        out[#out + 1] = needs and "  source   " .. s.source or nil
        local also = index.also[s.name]
        out[#out + 1] = also and "  also     " .. also or nil
        return out
    end)
end

--- Whether what a component has goes by that name.
local function called(name)
    return function(x)
        return x.component .. "." .. x.name == name or x.name == name
            or x.policy and x.name:match "%.(.*)$" == name
    end
end

function explain.counters(name)
    local list = core.counters()
    for _, c in ipairs(own_counters()) do list[#list + 1] = c end
    return each(list, called(name), function(c)
        if c.policy then
            return {
                ("policy.%s (counter of the policy %s)"):format(c.name, c.policy),
                "  " .. c.meaning,
                "  unit     " .. c.unit,
                "  kind     " .. KIND[c.kind],
            }
        end
        return {
            ("%s.%s (counter)"):format(c.component, c.name),
            "  " .. c.meaning,
            "  unit     " .. c.unit,
            "  kind     "
                .. (c.peak and "maximum since the last reset" or "sum"),
        }
    end)
end

function explain.histograms(name)
    return each(core.histograms(), called(name), function(h)
        return {
            ("%s.%s (histogram)"):format(h.component, h.name),
            "  " .. h.meaning,
            "  unit     " .. h.unit,
        }
    end)
end

function explain.metrics(name)
    if name == "energy" then
        return require("heddle.energy").explain()
    end
    local now = require("heddle.metrics").now(name)
    return each(derived(), function(m) return m[1] == now end, function(m)
        return {
            ("%s (metric, %s)%s"):format(m[1], m[4], now ~= name
                and ", formerly " .. name or ""),
            "  " .. m[3],
            "  unit     " .. (m[2] ~= "" and m[2] or "a share"),
        }
    end)
end

local ANSWER = {
    NONE = "nothing", INDEX = "an index below ", BOOL = "a boolean",
    CHOICE = "one of ", VALUE = "a number up to ",
    SUBSET = "a bit set of ", MEMBER = "a member of the bit set ",
}

local function fields(out, list)
    local width = 0
    for _, f in ipairs(list) do
        width = math.max(width, #f.name + (f.count and #f.count + 2 or 0))
    end
    for _, f in ipairs(list) do
        local label = f.name .. (f.count and "[" .. f.count .. "]" or "")
        out[#out + 1] = ("    %-" .. width .. "s  %s%s"):format(label,
            f.meaning, f.words and (": " .. f.words:gsub("|", ", ")) or "")
    end
end

--- What a point wants to hear.  Candidates that a question lists in arrays
-- are counted as the language counts arrays; all else by its number.
local function answer_of(p)
    if p.by_position then
        return ("a position among %s: from 1 in Lua, from 0 in C"):format(p.limit)
    end
    return ANSWER[p.answer] .. p.limit:gsub("|", ", ")
end

function explain.points(name)
    for _, p in ipairs(core.points()) do
        if p.name == name then
            local out = {
                ("%s (point, %s)"):format(p.name, p.heat:lower()),
                "  asked    " .. p.when,
                "  decides  " .. p.meaning,
                "  answer   " .. answer_of(p),
                "  question",
            }
            fields(out, p.fields)
            return out
        end
    end
end

function explain.notes(name)
    for _, n in ipairs(core.notes()) do
        if n.name == name then
            local out = {
                ("%s (note)"):format(n.name), "  when     " .. n.when,
                "  tells",
            }
            fields(out, n.fields)
            return out
        end
    end
end

function explain.tables(name)
    for _, t in ipairs(require("heddle.policy").tables()) do
        if t.name == name then
            return {
                ("%s (steering table of %s)"):format(name, t.at),
                "  means    " .. t.meaning,
                ("  cell     i: %s; j: %s"):format(t.i, t.j),
                "  value    " .. t.value:gsub("|", ", "),
            }
        end
    end
end

function explain.facts(name)
    for _, f in ipairs(require("heddle.policy").facts()) do
        if f.name == name then
            return {
                ("%s (fact, for each %s)"):format(name, f.i),
                ("  tells    %s: %s"):format(f.value, f.meaning),
            }
        end
    end
end

--- A line for each parameter, of a policy or a plug-in.
local function parameters(out, params)
    for _, q in ipairs(params) do
        local unit = q.unit or ""
        out[#out + 1] = ("  %s = %s%s: %s (%s)"):format(q.name,
            tostring(q.default), unit ~= "" and (unit:find "|"
                and " (" .. unit .. ")" or " " .. unit) or "",
            q.meaning or "", q.source or "")
    end
end

--- A policy or a workload, as it describes itself.
local function described(p, what)
    local out = { ("%s (%s)"):format(p.name, what), "  " .. p.summary,
        "  source   " .. p.source }
    if p.points and p.points[1] then
        out[#out + 1] = "  answers  " .. table.concat(p.points, ", ")
    end
    parameters(out, p.params)
    for _, c in ipairs(p.own or {}) do
        out[#out + 1] = ("  counts   policy.%s.%s (%s%s): %s"):format(p.name,
            c.name, c.unit, c.kind > 0 and ", " .. KIND[c.kind] or "", c.meaning)
    end
    return out
end

function explain.policies(name)
    for _, p in ipairs(require("heddle.policy").list()) do
        if p.name == name then
            return described(p, "policy, " .. p.kind)
        end
    end
end

--- What a file has, a policy or a plug-in with a workload: its description, and
-- what it is.
function index.file(path)
    if path:find "%.so$" then
        local ok, p = pcall(require("heddle.work").describe, path)
        if ok then
            return p, "workload, a plug-in in C"
        end
    end
    return require("heddle.policy").describe(path), "policy, "
        .. (path:find "%.so$" and "a plug-in in C" or "Lua")
end

--- Whether a name is that of such a file.
function index.is_file(name)
    return name:find "%.lua$" or name:find "/.*%.so$"
end

for _, kind in ipairs { "app", "suites", "machines" } do
    explain[kind == "app" and "apps" or kind] = function(name)
        return require("heddle." .. kind).explain(name)
    end
end

function explain.interconnects(name)
    return require("heddle.links").explain(name)
end

--- Explains a name as one of a kind: a list of lines, or nil.
function index.explain_as(kind, name)
    return explain[kind](name)
end

--- Explains a name: a list of lines, or nil.
function index.explain(name)
    local out
    if index.is_file(name) then
        return (described(index.file(name)))
    end
    for _, kind in ipairs(index.kinds) do
        local lines = explain[kind](name)
        if name == kind or name == kind:gsub("ies$", "y"):gsub("s$", "") then
            lines = { ("%s (a kind of name)"):format(kind), "  " .. KINDS[kind],
                ("  there are %d: heddle list %s"):format(#rows[kind](), kind) }
        end
        if lines then
            out = out or {}
            if #out > 0 then
                out[#out + 1] = ""
            end
            table.move(lines, 1, #lines, #out + 1, out)
        end
    end
    return out
end

--- The settings, counters and histograms of a group ("l2tlb"): lines, or nil.
function index.group(name)
    local out = {}
    for _, kind in ipairs { "settings", "counters", "histograms" } do
        local first = true
        for _, row in ipairs(rows[kind]()) do
            if row[1]:sub(1, #name + 1) == name .. "." then
                if first then
                    out[#out + 1] = #out > 0 and "" or nil
                    out[#out + 1] = ("%s (%s)"):format(name, kind)
                    first = false
                end
                out[#out + 1] = ("  %-24s %s"):format(row[1], row[#row])
            end
        end
    end
    return #out > 0 and out or nil
end

--- Edit distance, for suggestions; two letters that changed places are one
-- mistake.
local function distance(a, b)
    local row, above = {}, nil
    local before
    for j = 0, #b do
        row[j] = j
    end
    for i = 1, #a do
        before, above, row = above, row, { [0] = i }
        for j = 1, #b do
            local cost = a:byte(i) == b:byte(j) and 0 or 1
            row[j] = math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost)
            if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1)
                and a:byte(i - 1) == b:byte(j) then
                row[j] = math.min(row[j], before[j - 2] + 1)
            end
        end
    end
    return row[#b]
end

--- The name in `names` nearest to `name`, or nil if none is near.
function index.nearest(name, names)
    local best, at = math.min(math.max(2, #name // 3) + 1, #name), nil
    for _, candidate in ipairs(names) do
        local d = math.abs(#name - #candidate) < best
            and distance(name:lower(), candidate:lower()) or best
        if d < best and (d < 2 or #name > 3) then
            best, at = d, candidate
        end
    end
    return at
end

--- The end of a sentence that names no name of a list: " (did you mean 'x'?)" of
-- the nearest, or "".
function index.meant(name, names)
    local near = index.nearest(tostring(name), names)
    return near and (" (did you mean '%s'?)"):format(near) or ""
end

--- Every name that explain knows.
function index.names()
    local out = {}
    for _, kind in ipairs(index.kinds) do
        for _, row in ipairs(rows[kind]()) do
            out[#out + 1] = row[1]
        end
    end
    return out
end

--- The names most similar to one that explain does not know; a counter may be
-- named without its group.
function index.near(name)
    local names = index.names()
    local bare = {}
    for _, full in ipairs(names) do
        bare[#bare + 1] = full:match "%.([^.]+)$"
    end
    return index.meant(name, index.nearest(name, names) and names or bare)
end

return index
