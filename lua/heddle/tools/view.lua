--- view.lua - results as one HTML page to explore with.
--
--     local v = view.open { bytes = 8 << 20, filter = "mosaic" }
--     v:read "out/cache"            a store, a JSON of results, a results.sqlite
--     v:add(results, { source = "mine", tags = { "mask/fig11" } })
--     local html = v:page()
--
-- The page needs no other file and no network: the data are in it as JSON, and
-- web/view.js makes the rest of them in the browser: pick runs, compare them,
-- intervals, histograms, warp time, latency by stage.  Equal results in equal
-- order give equal bytes.
--
-- What is in the JSON.  Names (settings, counters, histograms, metrics: unit and
-- meaning) are there once, a run has values by the place of the name.  A run's
-- settings are those that differ from the first run's.  A histogram's buckets are
-- joined to those of a quarter of an octave (8 and more; below, each value is its
-- own), intervals so that there are POINTS at most.
--
-- What is bounded.  A page takes as many bytes as it is allowed (`bytes`): half of
-- them for the runs, in order, until they are used up; half for what a run has in
-- detail (histograms, intervals, counters by application), until that is.  What
-- does not fit is not read, and the page says so first.  Launches and counters by
-- instance are left out: CSV has them.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local page = require "heddle.page"
local process = require "heddle.process"
local report = require "heddle.report"
local store = require "heddle.store"

local View = {}
View.__index = View

local view = { BYTES = 8 << 20 }

local POINTS = 240 -- intervals of a run
local ROWS = 5000 -- quantities of experiments
local DIGITS = "%.6g" -- of what is no integer

-- ---- JSON ---------------------------------------------------------------------------

--- A value as JSON without a blank: arrays (holes are nil up to t.n), tables by
-- name in order, numbers with six digits.
local function put(out, v)
    local kind = math.type(v) or type(v)
    if kind == "float" then
        out[#out + 1] = v - v ~= 0 and "null" or v == math.floor(v)
            and math.abs(v) < 1e15 and ("%.0f"):format(v) or DIGITS:format(v)
    elseif kind == "table" and (rawlen(v) > 0 or rawget(v, "n")) then
        for i = 1, rawget(v, "n") or rawlen(v) do
            out[#out + 1] = i > 1 and "," or "["
            put(out, v[i])
        end
        out[#out + 1] = rawget(v, "n") == 0 and "[]" or "]"
    elseif kind == "table" and v ~= json.null then
        local sep = "{"
        for _, k in ipairs(require("heddle.config").sorted_keys(v)) do
            out[#out + 1] = sep .. json.encode(k) .. ":"
            put(out, v[k])
            sep = ","
        end
        out[#out + 1] = sep == "{" and "{}" or "}"
    else
        out[#out + 1] = json.encode(v)
    end
end

--- As text that may stand inside of <script>: nothing in it ends that.
local function text_of(v)
    local out = {}
    put(out, v)
    return (table.concat(out):gsub("<", "\\u003c"))
end

--- An array of n values, some of them nil.
local function array(n, t)
    t = t or {}
    t.n = n
    return t
end

-- ---- names ----------------------------------------------------------------------------

--- The place of a name, from 0; row() is what is said of it, the first time.
local function place(list, key, row)
    local at = list.at[key]
    if not at then
        at = #list
        list.at[key] = at
        list[at + 1] = row()
    end
    return at
end

local function counter_place(self, c)
    local key = c.component .. "." .. c.name
    return place(self.counters, key, function()
        return { key, c.unit or "", c.meaning or "", c.peak and 1 or 0 }
    end)
end

-- ---- a run ------------------------------------------------------------------------------

local function labels(r)
    local out = {}
    for i, a in ipairs(r.apps) do
        out[i] = a.label or a.name
    end
    return out
end

--- Settings that are not the first run's; one that is missing is null.
local function settings_of(self, r)
    local out = {}
    self.base = self.base or r.config
    for name, value in pairs(r.config) do
        if self.base[name] ~= value then
            out[name] = tostring(value)
        end
    end
    for name in pairs(self.base) do
        if r.config[name] == nil then
            out[name] = json.null
        end
    end
    return out
end

--- Values in the places of their names: one a name, or n of them.
local function values_of(list, rows, where, of)
    local out = {}
    for _, row in ipairs(rows) do
        local at = where(row)
        out[at + 1] = of(row)
    end
    return array(#list, out)
end

--- Warnings: those of the result, and where it was cut.
local function notes_of(r)
    local out = { table.unpack(r.told or {}) }
    for _, a in ipairs(r.apps) do
        local name = a.label or a.name
        if a.truncated then
            out[#out + 1] = ("%s was ended by its budget after %d warp "
                .. "instructions"):format(name, a.instructions)
        end
        if a.cut then
            out[#out + 1] = ("%s is cut: %s"):format(name, a.cut)
        end
    end
    return array(#out, out)
end

--- What every run has on the page.
local function core_of(self, r, more)
    local apps, inputs = {}, {}
    for i, a in ipairs(r.apps) do
        apps[i] = { a.label or a.name, a.cycles, a.instructions, a.ipc }
    end
    for i, input in ipairs(r.inputs or {}) do
        inputs[i] = tostring(input.key) .. " " .. tostring(input.hash)
    end
    local function metric(m)
        return place(self.metrics, m.name .. "\0" .. m.section, function()
            return { m.section, m.name, m.unit or "", m.meaning or "" }
        end)
    end
    return { label = r.label, source = more.source,
        tags = more.tags and array(#more.tags, more.tags),
        machine = r.machine, seed = r.seed, version = r.version,
        status = r.status, cycles = r.cycles, counted = r.counted,
        instructions = r.instructions, apps = array(#apps, apps),
        inputs = array(#inputs, inputs),
        policies = table.concat(r.policies or {}, ", "), notes = notes_of(r),
        settings = settings_of(self, r),
        counters = values_of(self.counters, r.counters, function(c)
            return counter_place(self, c)
        end, function(c) return c.total end),
        metrics = values_of(self.metrics, r.metrics or {}, metric, function(m)
            local out = array(#apps + 1, { m.total })
            for i, a in ipairs(m.apps) do
                out[i + 1] = a.value
            end
            return out
        end) }
end

--- The bin of a value: see the head.
local function bin(v)
    if v < 8 then
        return math.max(v, 0)
    end
    local octave = 3
    while v >> octave + 1 > 0 do
        octave = octave + 1
    end
    return 8 + (octave - 3) * 4 + (v >> octave - 2 & 3)
end

--- n, mean, least, most, percentiles, the first bin, and the bins.
local function hist_of(h)
    local first, bins = 0, {}
    for i, b in ipairs(h.buckets) do
        first = i == 1 and bin(b[1]) or first
        local at = bin(b[1]) - first + 1
        for k = #bins + 1, at do
            bins[k] = 0
        end
        bins[at] = bins[at] + b[3]
    end
    return { h.n, h.n > 0 and h.sum / h.n or 0, h.min, h.max, h.p50, h.p90,
        h.p95, h.p99, first, array(#bins, bins) }
end

local function hists_of(self, r)
    local out = {}
    for _, h in ipairs(r.histograms or {}) do
        local at = place(self.hists, h.component .. "." .. h.name, function()
            return { h.component .. "." .. h.name, h.unit or "",
                h.meaning or "" }
        end)
        local by, any = array(#h.apps + 1), false
        for i = 1, #h.apps + 1 do -- the last one: of no application
            local of = h.apps[i] or h.none
            by[i] = of and of.n > 0 and hist_of(of) or nil
            any = any or by[i] ~= nil
        end
        out[tostring(at)] = any and by or nil
    end
    return out
end

--- Adds what intervals `from` to `to` have of a counter, by application.
local function joined(list, from, to, values, peak, n)
    local out = {}
    for a = 1, n do
        local sum = 0
        for i = from, to do
            local v = (values(list[i]) or {})[a] or 0
            sum = peak and math.max(sum, v) or sum + v
        end
        out[a] = sum
    end
    return out
end

--- Intervals, POINTS at most: their edges, and by counter and application what
-- each has.
local function series_of(self, r)
    local list = r.intervals or {}
    if #list == 0 then
        return nil
    end
    local step = math.ceil(#list / POINTS)
    local peaks, out = {}, { step = step, edges = { list[1].from },
        counters = {} }
    for _, c in ipairs(r.counters) do
        peaks[c.component .. "." .. c.name] = c.peak
    end
    local names = {}
    for _, x in ipairs(list) do
        for name in pairs(x.counters) do
            names[name] = true
        end
    end
    local function of(values, peak, n)
        local by = {}
        for a = 1, n do
            by[a] = {}
        end
        for i = 1, #list, step do
            for a, v in ipairs(joined(list, i, math.min(i + step - 1, #list),
                values, peak, n)) do
                table.insert(by[a], v)
            end
        end
        return by
    end
    for i = step, #list + step - 1, step do
        table.insert(out.edges, list[math.min(i, #list)].to)
    end
    out.instructions = of(function(x) return x.instructions end, false, #r.apps)
    for name in pairs(names) do
        local at = self.counters.at[name]
        if at then -- its last one is of no application
            out.counters[tostring(at)] = of(function(x)
                return x.counters[name]
            end, peaks[name], #r.apps + 1)
        end
    end
    return out
end

--- What only some have.
local function detail_of(self, r)
    local by = {}
    for a = 1, #r.apps do
        by[a] = values_of(self.counters, r.counters, function(c)
            return counter_place(self, c)
        end, function(c) return c.apps[a] end)
    end
    return { hists = hists_of(self, r), series = series_of(self, r),
        counters = array(#by, by) }
end

--- All by which a run can be found.
local function words_of(r, more)
    local out = { r.label or "", r.machine or "", more.source or "",
        table.concat(labels(r), " "), table.concat(r.policies or {}, " "),
        table.concat(more.tags or {}, " ") }
    for name, value in pairs(r.config) do
        out[#out + 1] = name .. "=" .. tostring(value)
    end
    return table.concat(out, "\n"):lower()
end

local function meant(self, r, more)
    local text = #self.words > 0 and words_of(r, more)
    for _, word in ipairs(self.words) do
        if not text:find(word, 1, true) then
            return false
        end
    end
    return true
end

--- Adds a result, unless the filter leaves it out; more: source (where it is
-- from) and tags (what it belongs to).  False: there is no room for another.
function View:add(r, more)
    more = more or {}
    if not meant(self, r, more) then
        self.filtered = self.filtered + 1
        return true
    elseif self.full then
        self.left = self.left + 1
        return false
    end
    local text = text_of(core_of(self, r, more))
    if #self.runs > 0 and self.used + #text > self.bytes // 2 then
        self.full, self.left = true, self.left + 1
        return false
    end
    local run = { text = text, order = ("%s\0%s\0%s"):format(table.concat(
        labels(r), " "), r.label or "", r.machine):gsub("%d+", function(n)
        return ("0"):rep(12 - #n) .. n
    end) }
    self.runs[#self.runs + 1] = run
    self.used = self.used + #text
    local detail = self.more and text_of(detail_of(self, r))
    if detail and self.detail + #detail <= self.bytes // 2 then
        self.detail = self.detail + #detail
        run.detail = detail
    else
        self.more = false
        self.bare = self.bare + 1
    end
    return true
end

-- ---- files -------------------------------------------------------------------------------

local function fail(code, format, ...)
    error(core.error(code, format:format(...)), 0)
end

--- Adds a result of a file, which may be anything that has the schema's name.
local function add_read(self, r, more, path)
    local ok, room = pcall(self.add, self, r, more)
    if not ok then
        local p = core.problem(room)
        if p.code == -130 or p.code == -1 then
            error(room, 0)
        end
        fail(-4, "%s: parts of a result of heddle are missing, or are not what "
            .. "heddle_results(5) says", path)
    end
    return room
end

local function show(done, all, path)
    if process.isatty(2) then
        io.stderr:write(done < all and ("\r\27[K%s: %d of %d"):format(path,
            done, all) or "\r\27[K")
    end
end

local function read_json(self, path)
    for i, r in ipairs(report.read(path)) do
        add_read(self, r, { source = path }, i > 1 and path .. " " .. i or path)
    end
end

--- Results of a store, whose files have no order, by applications and label.  `tags`: of each file,
-- by its name; no others are read then.
function View:read_store(dir, tags)
    local names, own, last = store.names(dir), {}, process.time()
    local mixed = require("heddle.builds").new()
    local first = #self.runs + 1
    self.sources[#self.sources + 1] = dir
    for _, name in ipairs(names or {}) do
        own[#own + 1] = (not tags or tags[name]) and name or nil
    end
    if not tags and #own == 0 then
        fail(-4, "%s: a folder without results; a store, such as out/cache "
            .. "of experiments, is expected%s", dir, process.list(dir .. "/cache")
            and ": " .. dir .. "/cache?" or "")
    end
    for i, name in ipairs(own) do
        if process.time() - last > 0.5 then
            last = process.time()
            show(i, #own, dir)
        end
        local r, _, build = store.result(dir, name)
        if not r then
            self.skipped = self.skipped + 1
        elseif add_read(self, r, { source = dir, tags = tags
            and tags[name] }, dir .. "/" .. name) then
            mixed:add(build, r)
        else
            self.left = self.left + #own - i -- without reading them
            break
        end
    end
    table.move(mixed:notes(dir), 1, 1, #self.notes + 1, self.notes)
    show(1, 1)
    local mine = table.move(self.runs, first, #self.runs, 1, {})
    table.sort(mine, function(a, b)
        return a.order < b.order or a.order == b.order and a.text < b.text
    end)
    table.move(mine, 1, #mine, first, self.runs)
end

--- The quantities of experiments, whose values the papers give.
local function read_quantities(self, path)
    local sqlite = require "heddle.sqlite"
    local ok, rows = pcall(function()
        local db <close> = sqlite.open(path)
        return db:exec([[select experiment, quantity, unit, paper, heddle,
            ratio, verdict, scale, direction from quantity
            order by experiment, scale, rowid limit ?]], ROWS + 1)
    end)
    local known, of = pcall(function()
        local db <close> = sqlite.open(path)
        return db:exec("select count(distinct build) as n from quantity")[1].n
    end)
    if not ok then
        local p = core.problem(rows)
        fail(-4, "%s: a results.sqlite of experiments is expected, with the "
            .. "table `quantity`: %s", path, (p.message or p.text):gsub("^"
            .. path:gsub("%W", "%%%0") .. ": ", ""):gsub("\n", " "))
    end
    if known and of > 1 then -- a file of before has no such column
        self.notes[#self.notes + 1] = ("%s: the quantities were measured with "
            .. "%d builds of heddle"):format(path, of)
    end
    for i, q in ipairs(rows) do
        if i > ROWS then
            self.notes[#self.notes + 1] = ("%s: the first %d quantities are on "
                .. "this page"):format(path, ROWS)
            break
        end
        self.quantities[#self.quantities + 1] = array(9, { q.experiment,
            q.quantity, q.unit, q.paper, q.heddle, q.ratio, q.verdict, q.scale,
            q.direction })
    end
end

--- Reads what a path names, whichever of the three it is.
function View:read(path)
    if process.list(path) then
        return self:read_store(path)
    end
    self.sources[#self.sources + 1] = path
    local f, why = io.open(path, "rb")
    if not f then
        fail(-5, "%s", why)
    end
    local head = f:read(15)
    f:close()
    if head == "SQLite format 3" then
        read_quantities(self, path)
    else
        read_json(self, path)
    end
end

-- ---- the page ------------------------------------------------------------------------------

local function plural(n, one, many)
    return n == 1 and ("1 " .. one) or ("%d %s"):format(n, many)
end

--- What is not on the page, a sentence each.
local function left_out(self)
    local out = { table.unpack(self.notes) }
    if self.left > 0 then
        out[#out + 1] = ("%d of %d runs are on this page, the first ones; a "
            .. "filter or a larger page (heddle help view) shows others"):format(
            #self.runs, #self.runs + self.left)
    end
    if self.bare > 0 then
        out[#out + 1] = ("%s no histograms, intervals and counters by "
            .. "application here; %d have them"):format(plural(
            self.bare, "run has", "runs have"), #self.runs - self.bare)
    end
    if self.filtered > 0 then
        out[#out + 1] = ("%s left out by the filter %s"):format(plural(
            self.filtered, "run is", "runs are"), table.concat(self.words, " "))
    end
    if self.skipped > 0 then
        out[#out + 1] = ("%s left out: damaged, or of no simulation"):format(
            plural(self.skipped, "file is", "files are"))
    end
    return out
end

local BODY = [[
<a class="skip" href="#main">To the results</a>
<header><h1>%s</h1></header>
<main id="main"><noscript><p>This page makes its tables and charts with a script
of its own; it needs JavaScript, and no network.</p></noscript></main>
<script type="application/json" id="data">%s</script>]]

--- The page: a text.  title: its heading.
function View:page(title)
    local config = {}
    for name, value in pairs(self.base or {}) do
        config[name] = tostring(value)
    end
    title = title or "Results of heddle"
    local head = text_of { title = title, version = core.version,
        sources = array(#self.sources, self.sources),
        left = (function(t) return array(#t, t) end)(left_out(self)),
        base = config, counters = array(#self.counters, self.counters),
        metrics = array(#self.metrics, self.metrics),
        hists = array(#self.hists, self.hists),
        quantities = array(#self.quantities, self.quantities) }
    local runs, details = {}, {}
    for i, run in ipairs(self.runs) do
        runs[i] = run.text
        details[#details + 1] = run.detail and ('"%d":%s'):format(i - 1,
            run.detail)
    end
    local data = ('%s,"runs":[%s],"details":{%s}}'):format(head:sub(1, -2),
        table.concat(runs, ",\n"), table.concat(details, ",\n"))
    return page.frame { title = title, css = "view.css", js = "view.js",
        body = BODY:format(page.escape(title), data) }
end

--- How many runs, and quantities, are on the page.
function View:count()
    return #self.runs, #self.quantities
end

--- An empty one.  bytes: of the page, about; filter: words that a run has, all of
-- them, in its label, machine, applications, policies, source or settings.
function view.open(options)
    local o, words = options or {}, {}
    for word in (o.filter or ""):lower():gmatch "%S+" do
        words[#words + 1] = word
    end
    return setmetatable({ bytes = o.bytes or view.BYTES, words = words,
        counters = { at = {} }, metrics = { at = {} }, hists = { at = {} },
        runs = {}, sources = {}, notes = {}, quantities = {},
        used = 0, detail = 0, more = true, full = false, left = 0, bare = 0,
        filtered = 0, skipped = 0 }, View)
end

return view
