--[[
704-timeline.lua - pins heddle run --timeline and the option of H.sim.

The file is Perfetto's: protoc decodes it by t/perfetto.proto, and there is no
field that the schema does not have.  Slices of a track nest; every track is
described; the stages of a request add up to it, and its flow goes from the L1
TLB over the look-up and the walk to the answer.  What is drawn is what is
counted: walks, their time and reads, far faults, batches of the driver with the
terms of their time, transfers, evictions, epochs, queues.  Nothing that is measured
changes.  A bound is kept, and the file says
what it cost; a smaller file has some of what a larger one has.  Filters leave
out what they say; what is wrong with them is told, with what was expected.  The
file comes when a simulation ends, is closed, or with the script; going back and
again forward changes nothing in it.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

local dir = files.folder()

local function at(name)
    return dir .. "/" .. name
end

-- ---- reading ----------------------------------------------------------------

--- What protoc prints of a file, as tables: field -> list of values.
local function decoded(path, schema)
    local ok, text = files.command(("protoc --proto_path=%s --decode=Trace %s < %s")
        :format(schema and dir or "t", schema or "t/perfetto.proto",
        files.quote(path)))
    local top = {}
    local stack, strange = { top }, {}
    for line in text:gmatch "[^\n]+" do
        local open, key = line:match "^%s*([%w_]+) {$", "}"
        if open then
            local t, of = {}, stack[#stack]
            of[open] = of[open] or {}
            table.insert(of[open], t)
            stack[#stack + 1] = t
        elseif line:match "^%s*}$" then
            stack[#stack] = nil
        else
            local value
            key, value = line:match "^%s*([%w_]+): (.*)$"
            if key then
                local of = stack[#stack]
                of[key] = of[key] or {}
                table.insert(of[key], value:match '^"(.*)"$'
                    or math.tointeger(tonumber(value)) or tonumber(value)
                    or value)
            end
        end
        key = open or key
        if not key or key:match "^%d" then
            strange[#strange + 1] = line
        end
    end
    return ok and top or nil, strange, text
end

local function first(t, key)
    return t[key] and t[key][1]
end

--- A file as { tracks, slices, instants, counts, about, size }: all with names; a
-- slice has inside, the slices and instants in it.
local function read(path)
    local top, strange, text = decoded(path)
    local out = { tracks = {}, slices = {}, instants = {}, counts = {},
        strange = strange, wrong = {}, size = #files.read(path) }
    if not top then
        tap.ok(false, "protoc decodes " .. path, text)
        return out
    end
    local names, open, last = {}, {}, {}
    local function wrong(...)
        out.wrong[#out.wrong + 1] = (...):format(select(2, ...))
    end
    for i, p in ipairs(top.packet) do
        local d, e = first(p, "track_descriptor"), first(p, "track_event")
        if first(p, "trusted_packet_sequence_id") ~= 1 then
            wrong("packet %d is of no sequence", i)
        elseif first(p, "interned_data") then
            for _, kind in ipairs { "event_categories", "event_names",
                "debug_annotation_names" } do
                names[kind] = {}
                for _, n in ipairs(p.interned_data[1][kind]) do
                    names[kind][n.iid[1]] = n.name[1]
                end
            end
        elseif d then
            local t = { name = d.name[1], uuid = d.uuid[1],
                parent = out.tracks[first(d, "parent_uuid")],
                unit = d.counter and d.counter[1].unit_name[1] }
            if first(d, "parent_uuid") and not t.parent then
                wrong("track %s has no parent", t.name)
            end
            out.tracks[d.uuid[1]] = t
            out.about = out.about or first(d, "description")
        else
            local now, on = first(p, "timestamp"), out.tracks[first(e,
                "track_uuid")]
            local kind = first(e, "type")
            if not on then
                wrong("packet %d is on no track", i)
                on = {}
            elseif (last[on] or 0) > now then
                wrong("track %s goes back to %d", on.name, now)
            end
            last[on] = now
            open[on] = open[on] or {}
            local stack = open[on]
            local x = { at = now, order = i, track = on, of = names.event_categories[first(e,
                "category_iids")], name = first(e, "name")
                or names.event_names[first(e, "name_iid")], inside = {},
                flows = e.flow_ids or {}, ends = e.terminating_flow_ids or {},
                value = first(e, "counter_value")
                    or first(e, "double_counter_value") }
            for _, a in ipairs(e.debug_annotations or {}) do
                x[names.debug_annotation_names[a.name_iid[1]]] =
                    first(a, "uint_value") or first(a, "pointer_value")
                    or first(a, "string_value")
            end
            if kind == "TYPE_SLICE_BEGIN" or kind == "TYPE_INSTANT" then
                local of = stack[#stack]
                if of then
                    table.insert(of.inside, x)
                end
                x.outer = of
                if kind == "TYPE_INSTANT" then
                    x.to = now
                    table.insert(out.instants, x)
                else
                    stack[#stack + 1] = x
                    table.insert(out.slices, x)
                end
            elseif kind == "TYPE_SLICE_END" then
                if #stack == 0 then
                    wrong("track %s: an end of nothing at %d", on.name, now)
                else
                    stack[#stack].to = now
                    stack[#stack] = nil
                end
            else
                table.insert(out.counts, x)
            end
        end
    end
    for on, stack in pairs(open) do
        if #stack > 0 then
            wrong("track %s: %d slices do not end", on.name, #stack)
        end
    end
    return out
end

--- The slices or instants of a component, outermost ones, by name if one is
-- said.
local function of(list, component, name)
    local out = {}
    for _, x in ipairs(list) do
        if x.of == component and not x.outer and (not name or x.name == name) then
            out[#out + 1] = x
        end
    end
    return out
end

local function sound(x, what)
    tap.is(table.concat(x.strange, " ", 1, math.min(#x.strange, 3)), "",
        what .. ": no unknown field")
    tap.is(table.concat(x.wrong, "; ", 1, math.min(#x.wrong, 3)), "",
        what .. ": tracks and slices are in order")
end

-- ---- a run ------------------------------------------------------------------

local BASE = whole.join(whole.SMALL, { ["walk.walkers"] = 4,
    ["l2cache.queue_latency"] = 0 })

local function options(more)
    local o = { machine = "maxwell", seed = 3, progress = false, settings = BASE,
        apps = { H.app("GUP", { size = "T" }) } }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return o
end

--- Runs one to its end; the simulation's counters, results and file.
local function run(more, name, cycles)
    local path = at(name or "x.pftrace")
    local o = options(more)
    o.timeline = type(o.timeline) == "table"
        and whole.join(o.timeline, { path = path }) or path
    local sim <close> = H.sim(o)
    sim:run(cycles)
    local info = sim:timeline()
    return read(path), sim:counters(), sim:results(), info
end

local x, c, r, info = run()
sound(x, "GUP")
tap.ok(x.about:find "^1 ns is 1 core cycle", "the file says what a cycle is",
    x.about)
tap.is(x.instants[1]["a core cycle is shown as"], "1 ns", "in an event, too")
tap.is(info.requests_one, 1, "everything is there")
tap.is(info.bytes, x.size, "as large as is said")

-- The schema is what refuses fields.
local schema = files.read "t/perfetto.proto"
files.write(at "less.proto", (schema:gsub("[^\n]*flow_ids = 47;\n", "")))
local _, unknown = decoded(at "x.pftrace", at "less.proto")
tap.ok(#unknown > 100, "a field that the schema has not is seen")
local used = {}
for _, p in ipairs(decoded(at "x.pftrace").packet) do
    local function walk(t)
        for k, v in pairs(t) do
            if type(k) == "string" then
                used[k] = true
            end
            if type(v) == "table" then
                walk(v)
            end
        end
    end
    walk(p)
end
local idle = {}
for field in schema:gmatch "[%w_]+ ([%w_]+) = %d+;" do
    if not used[field] and field ~= "packet" then
        idle[#idle + 1] = field
    end
end
tap.is(table.concat(idle, " "), "", "it has no field that is never written")

-- ---- what is drawn is what is counted ---------------------------------------

local walks = of(x.slices, "walk")
local busy, reads, levels = 0, 0, 0
for _, w in ipairs(walks) do
    busy = busy + w.to - w.at
    for i, read_ in ipairs(w.inside) do
        reads = reads + (read_.name:find "^level" and 1 or 0)
        levels = levels + (read_.name:find("^level " .. i) and 1 or 0)
    end
end
tap.is(#walks, c.walk.walks, "every walk is there")
tap.ok(math.abs(busy - c.walk.busy_cycles) <= #walks, "as long as is counted",
    ("%d, not %d"):format(busy, c.walk.busy_cycles))
tap.is(reads, c.walk.references, "with its reads")
tap.is(levels, reads, "from the root down")
local walkers = {}
for _, t in pairs(x.tracks) do
    if t.parent and t.parent.name == "walk" and not t.unit then
        walkers[#walkers + 1] = t.name
    end
end
table.sort(walkers)
tap.is(table.concat(walkers, ", "), "walker 0, walker 1, walker 2, walker 3",
    "on as many tracks as there are walkers")

local requests = of(x.slices, "l1tlb")
tap.is(#requests, info.requests, "requests are slices of their cores")
tap.is(#requests, c.mmu.requests, "and all are there")
local off, seen = 0, {}
for _, q in ipairs(requests) do
    local sum, now = 0, q.at
    for _, s in ipairs(q.inside) do
        off = off + (s.at == now and 0 or 1)
        sum, now = sum + s.to - s.at, s.to
        seen[s.name] = (seen[s.name] or 0) + 1
    end
    off = off + (sum == q.to - q.at and 0 or 1)
end
tap.is(off, 0, "their stages follow each other and add up")
tap.ok(seen["to the L2 TLB"] == #requests and seen["page walk"] > #walks // 2
    and seen["waits for a walker"] > 10 and seen["answer"] > 10,
    "with all stages", H.json.encode(seen))

local looks = of(x.instants, "l2tlb")
local hits = #of(x.instants, "l2tlb", "hit")
tap.is(#looks, #requests, "a look-up each")
tap.is(hits, c.mmu.hits, "that hits as often as is counted")

-- Flows: by number, the events in order of time.
local flows = {}
for _, list in ipairs { x.slices, x.instants } do
    for _, e in ipairs(list) do
        for _, how in ipairs { "flows", "ends" } do
            for _, id in ipairs(e[how]) do
                flows[id] = flows[id] or {}
                table.insert(flows[id], { at = e.at, of = e.of, last = how == "ends",
                    order = e.order })
            end
        end
    end
end
local n, bad, ways = 0, {}, {}
for id, list in pairs(flows) do
    n = n + 1
    table.sort(list, function(a, b)
        return a.at < b.at or a.at == b.at and a.order < b.order
    end)
    local way = {}
    for i, e in ipairs(list) do
        way[i] = e.of
        if e.last ~= (i == #list) then
            bad[#bad + 1] = id
        end
    end
    way = table.concat(way, " ")
    ways[way] = (ways[way] or 0) + 1
end
tap.is(n, #requests, "a flow each")
tap.is(table.concat(bad, " "), "", "that ends with its last event, once")
local through = ways["l1tlb l2tlb walk l1tlb"] or 0
local hit = ways["l1tlb l2tlb l1tlb"] or 0
tap.is(through + hit, #requests, "by the L2 TLB, a walk, and back")
if through + hit ~= #requests then print("# " .. H.json.encode(ways)) end
tap.ok(hit >= hits and through > #walks * 0.9, "most come by their walk",
    H.json.encode(ways))

local launches = of(x.slices, "core")
tap.is(#launches, #r.kernels, "launches have slices")
tap.is(launches[1].name, r.kernels[1].name, "with their names")
tap.ok(launches[1].at == r.kernels[1].start
    and launches[1].to == r.kernels[1]["end"], "and their times")

-- Samples: what look() shows at that cycle.
local sampled = {}
for _, e in ipairs(x.counts) do
    local key = e.track.parent.name .. ": " .. e.track.name
    sampled[key] = sampled[key] or {}
    sampled[key][e.at] = e.value
end
local function upto(key, cycle)
    local v
    for at_, w in pairs(sampled[key] or {}) do
        if at_ <= cycle and (not v or at_ > v[1]) then
            v = { at_, w }
        end
    end
    return v and v[2] or 0
end
do
    local sim <close> = H.sim(options())
    sim:run(1000)
    local before = sim:counters()
    local function rows(object, instance, fits)
        local k = 0
        for _, row in ipairs(sim:look(object, instance)) do
            k = k + (fits(row) and 1 or 0)
        end
        return k
    end
    tap.is(upto("walk: walkers in use", 1000), rows("walks", 0, function(row)
        return row.state ~= "waits"
    end), "walkers in use, at cycle 1000")
    tap.is(upto("walk: walks that wait for a walker", 1000), rows("walks", 0,
        function(row) return row.state == "waits" end), "and walks that wait")
    for ch = 0, 1 do
        tap.is(upto("dram: queue of channel " .. ch, 1000), rows("dram", ch,
            function(row) return row.kind == "request" end),
            "queue of DRAM channel " .. ch)
    end
    tap.is(upto("l2tlb: entries in use", 1000), rows("l2tlb", 0,
        function(row) return row.kind == "entry" end), "entries of the L2 TLB")
    sim:run(1000)
    tap.is(upto("l2tlb: ports in use (look-ups)", 1000),
        (sim:counters().l2tlb.lookups - before.l2tlb.lookups) / 1000,
        "look-ups a cycle from 1000 to 2000")
end

-- ---- far faults, transfers, evictions, epochs -------------------------------

local FAULTS = whole.join(BASE, { ["vm.paging"] = "fault",
    ["link.latency"] = 500, ["evict.unit"] = "4K",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030 })
local PAGING = { settings = FAULTS, apps = { whole.freer(700, 12) },
    policies = { "mask" } }
local fc, flying
do
    local sim <close> = H.sim(options(whole.join(PAGING,
        { timeline = at "f.pftrace" })))
    sim:run(300000)
    fc, flying = sim:counters(), sim:look("fault")
end
local f = read(at "f.pftrace")
sound(f, "far faults")
local transfers = of(f.slices, "link")
local host, bytes = 0, 0
for _, s in ipairs(transfers) do
    host = host + (s.track.name == "to the host" and 1 or 0)
    bytes = bytes + s.bytes
end
tap.is(#of(f.slices, "fault"), fc.fault.faults - #flying,
    "every far fault that is over is there")
tap.ok(fc.fault.faults > 20, "of which there are some", fc.fault.faults)
tap.is(#transfers, fc.link.transfers, "every transfer")
tap.is(bytes, fc.link.bytes, "with its bytes")
tap.ok(host > 0, "some to the host")
tap.is(#of(f.instants, "evict"), fc.evict.evictions, "every eviction")
local stages = {}
for _, q in ipairs(of(f.slices, "l1tlb")) do
    for _, s in ipairs(q.inside) do
        stages[s.name] = true
    end
end
tap.ok(stages["far fault"] and stages.replay, "requests wait for their pages")
local epochs = of(f.slices, "policy")
tap.ok(#epochs >= 3 and epochs[1].track.name == "epochs of mask"
    and epochs[2].at == epochs[1].to, "epochs follow each other", #epochs)

-- ---- batches of the driver --------------------------------------------------

local BATCHES = { settings = whole.join(FAULTS, { ["uvm.mode"] = "driver",
    ["uvm.dma_map_latency"] = 1000, ["uvm.interrupt_latency"] = 700,
    ["uvm.base_latency"] = 300, ["uvm.block_latency"] = 200,
    ["uvm.page_latency"] = 5, ["uvm.evict_latency"] = 5,
    ["uvm.unmap_latency"] = 90, ["uvm.host_mapped"] = true }),
    apps = { whole.freer(700, 12) } }
do
    local sums = {}
    local sim <close> = H.sim(options(whole.join(BATCHES,
        { timeline = { path = at "d.pftrace", only = { "fault" } } })))
    sim:run(400000)
    local snapshot = sim:snapshot() -- what is done twice is drawn once
    sim:run(100000)
    sim:restore(snapshot)
    sim:run(200000)
    local u = sim:counters().uvm
    sim:close()
    local d = read(at "d.pftrace")
    sound(d, "batches")
    local batches, packets, wrong, last = {}, 0, 0, 0
    for _, s in ipairs(of(d.slices, "fault")) do
        if s.name == "batch" then
            batches[#batches + 1] = s
        end
    end
    local ends = 0
    for i, b in ipairs(batches) do
        local now = b.at
        packets = packets + b.packets
        wrong = wrong + (b.number == i and b.at >= last and 0 or 1)
        for _, s in ipairs(b.inside) do
            local rounded = s.name == "GpuFaultReplay" and 9 or 0
            wrong = wrong + (s.at >= now and s.at - now <= rounded and 0 or 1)
            sums[s.name] = (sums[s.name] or 0) + s.to - s.at
            now = s.to
            ends = ends + (s.name == "GpuFaultReplay" and s.at == b.to and 1 or 0)
        end
        last = b.to
    end
    tap.ok(u.batches > 10 and u.batches - #batches <= 1, "every batch that is over",
        ("%d of %d"):format(#batches, u.batches))
    tap.is(wrong, 0, "in their order, with terms one after the other")
    tap.is(ends, #batches, "and a replay at each end")
    tap.is(batches[1].track.name .. " " .. batches[1].track.parent.name,
        "batches fault", "on a track of their own")
    for name, counter in pairs { interrupt = "interrupt", fetch = "base",
        blocks = "block", unmap = "unmap", ["DMA map"] = "dma_map",
        ["wait for frames"] = "room", ["page tables"] = "page",
        Eviction = "evict", Migration = "copy" } do
        local want = u[counter .. "_cycles"]
        tap.ok(want > 0 and math.abs((sums[name] or 0) - want) <= 9 * #batches,
            name .. ": as long as is counted",
            ("%d, not %d"):format(sums[name] or 0, want))
    end
end
do -- a small file has some of a large one's, with their numbers
    local large, _, _, li = run(whole.join(BATCHES, { timeline = {
        only = { "fault" } } }), "large.pftrace", 40000000)
    local few, _, _, fi = run(whole.join(BATCHES, { timeline = {
        bytes = 65536, only = { "fault" } } }), "few.pftrace", 40000000)
    local function numbers(file)
        local out, count = {}, 0
        for _, s in ipairs(of(file.slices, "fault", "batch")) do
            out[s.number], count = ("%d %d %d %d"):format(s.at, s.to, s.packets,
                s.pages), count + 1
        end
        return out, count
    end
    local all, drawn = numbers(large)
    local some, left = numbers(few)
    tap.ok(fi.bytes <= 65536 and li.bytes > 65536 and left > 0 and left < drawn,
        "a bound is kept", ("%d of %d, %d bytes"):format(left, drawn, fi.bytes))
    local strange = 0
    for k, v in pairs(some) do
        strange = strange + (all[k] == v and 0 or 1)
    end
    tap.is(strange, 0, "and what is left is as it was")
end

-- ---- pages that thrash --------------------------------------------------------

do
    local BUSY = { ["vm.paging"] = "fault", ["link.latency"] = 1000,
        ["fault.thrashing"] = "driver", ["uvm.perf_thrashing_lapse_usec"] = 50,
        ["sim.relaunch"] = false }
    local noted = { throttled = 0, cycles = 0, remote = 0 }
    local sim <close> = H.sim(options { settings = whole.join(BASE, BUSY),
        apps = { whole.to_and_fro(2, 40) }, timeline = at "t.pftrace" })
    sim:use { name = "ear", state = noted, watch = {
        page_throttled = function(q, s)
            s.throttled, s.cycles = s.throttled + 1, s.cycles + q.cycles
        end,
        page_remote = function(q, s)
            s.remote = s.remote + 1
            s.cause = q.cause
        end } }
    sim:run(1 << 40)
    noted = sim:used()[1].state
    local all = sim:counters()
    sim:close()
    local file = read(at "t.pftrace")
    sound(file, "pages that thrash")
    local slices, cycles, by = 0, 0, {}
    for _, s in ipairs(of(file.slices, "fault", "Throttling")) do
        slices, cycles = slices + 1, cycles + s.to - s.at
        by[s.by] = true
    end
    tap.ok(noted.throttled > 5 and slices == noted.throttled, "each that is throttled",
        ("%d, %d"):format(slices, noted.throttled))
    tap.is(cycles, noted.cycles, "until its period is over")
    tap.ok(by["the GPU"] or by["the host"], "with who waits")
    local maps = of(file.instants, "fault", "MapRemote")
    tap.ok(#maps > 0 and #maps == noted.remote and #maps == all.remote.pages,
        "each that is mapped on the host", ("%d, %d"):format(#maps, noted.remote))
    tap.is(maps[1].cause .. " " .. noted.cause, "thrashing thrashing", "and why")
end

-- ---- what a host does to memory ---------------------------------------------

do
    local noted = { n = 0, cycles = 0 }
    local sim <close> = H.sim(options { settings = whole.join(BASE,
        { ["vm.paging"] = "fault", ["link.latency"] = 500 }),
        apps = { whole.any(20, 3, 9) }, timeline = at "h.pftrace" })
    sim:use { name = "ear", state = noted, watch = { host_call = function(q, s)
        s.n, s.cycles = s.n + 1, s.cycles + q.cycles
    end } }
    sim:run(1 << 40)
    noted = sim:used()[1].state
    sim:close()
    local h = read(at "h.pftrace")
    sound(h, "a host")
    local calls, cycles, kinds = 0, 0, {}
    for _, s in ipairs(of(h.slices, "core")) do
        if s.track.name:find "^host of application 0" then
            calls, cycles = calls + 1, cycles + s.to - s.at
            kinds[s.name] = true
        end
    end
    for _, s in ipairs(of(h.instants, "core")) do
        calls = calls + (s.track.name:find "^host of" and 1 or 0)
    end
    tap.ok(noted.n > 5 and calls == noted.n, "every call of a host is there",
        ("%d, %d"):format(calls, noted.n))
    tap.ok(kinds["prefetch to the GPU"] or kinds["the host reads"]
        or kinds["the host writes"], "by name")
    tap.ok(cycles > 0, "with its time", ("%d, %d"):format(cycles, noted.cycles))
end

-- ---- walkers of the cores, no L2 TLB, large pages ---------------------------

local function flowing(y)
    local many = 0
    for _, w in ipairs(of(y.slices, "walk")) do
        many = many + #w.flows
        for _, i in ipairs(w.inside) do
            many = many + #i.flows
        end
    end
    return many
end

local own, oc = run({ settings = whole.join(BASE, { ["walk.per_core"] = true }) })
sound(own, "walkers in the cores")
tap.is(#of(own.slices, "walk"), oc.walk.walks, "all walks")
local named = 0
for _, t in pairs(own.tracks) do
    named = named + (t.name:find "^core %d, walker %d+$" and 1 or 0)
end
tap.ok(named >= 4, "on tracks of each core", named)
tap.ok(flowing(own) >= oc.walk.walks * 0.9, "requests come by them")
local flat, lc = run { settings = whole.join(BASE, { ["l2tlb.mode"] = "off",
    ["walk.walkers"] = 16 }) }
sound(flat, "no L2 TLB")
tap.is(#of(flat.slices, "l1tlb"), lc.mmu.requests, "all requests")
tap.is(#of(flat.instants, "l2tlb"), 0, "no look-up")
tap.ok(flowing(flat) >= lc.walk.walks * 0.9, "requests come by walks")
local mosaic, mc = run { machine = "mosaic", policies = { "mosaic" },
    apps = { whole.freer(700, 12) }, settings = { ["core.count"] = 4 } }
sound(mosaic, "large pages")
tap.is(#of(mosaic.slices, "walk"), mc.walk.walks, "all walks")

for _, preset in ipairs(whole.PRESETS) do
    local y, yc = run { machine = preset, settings = { ["core.count"] = 4 },
        budget = 3000 }
    sound(y, preset)
    local drawn = #of(y.slices, "walk")
    tap.ok(drawn > 0 and drawn <= yc.walk.walks, preset .. ": walks",
        ("%d of %d"):format(drawn, yc.walk.walks))
    tap.is(flowing(y) + #of(y.instants, "l2tlb", "hit"),
        #of(y.slices, "l1tlb"), preset .. ": requests come by them, or hit")
end

-- ---- nothing that is measured changes ---------------------------------------

local function measured(more)
    local sim <close> = H.sim(options(more))
    sim:run(100000)
    return H.json.encode(sim:results()), #sim:used()
end
local without = measured(PAGING)
local with, bound = measured(whole.join(PAGING,
    { timeline = { path = at "m.pftrace", every = 77 } }))
tap.ok(without == with, "results are those without a timeline")
tap.is(bound, 1, "it is no policy of the script's")
local whole_, cut = at "whole.pftrace", at "cut.pftrace"
do
    local a <close> = H.sim(options { timeline = whole_ })
    a:run()
    local b <close> = H.sim(options { timeline = cut })
    repeat until b:run(777) ~= "ok"
end
tap.ok(files.read(whole_) == files.read(cut),
    "the bytes are the same however a run is cut")

-- ---- the bound --------------------------------------------------------------

local small, _, _, si = run({ timeline = { bytes = 65536 } }, "small.pftrace")
sound(small, "a small file")
tap.ok(small.size <= 65536, "a bound is kept", small.size)
tap.ok(small.size > 65536 // 5, "and used", small.size)
tap.ok(si.requests_one > 1 and small.about:find(("one of %d is shown")
    :format(si.requests_one), 1, true), "the file says what it cost", small.about)
tap.is(small.instants[1]["requests: one of"], si.requests_one,
    "in numbers, too")
tap.is(si.requests_of, #requests, "of all that there were")
local share = si.requests * si.requests_one / si.requests_of
tap.ok(share > 0.4 and share < 2, "which is about that share", share)
local function keys(list)
    local out = {}
    for _, q in ipairs(list) do
        out[("%s %d %d"):format(q.track.name:match "^core %d+", q.at, q.page)] =
            true
    end
    return out
end
local all, missing = keys(requests), 0
for key in pairs(keys(of(small.slices, "l1tlb"))) do
    missing = missing + (all[key] and 0 or 1)
end
tap.is(missing, 0, "a smaller file has some of what a larger one has")
local half = 0
for _, w in ipairs(of(small.slices, "walk")) do
    half = half + (#w.flows > 0 and 1 or 0)
end
tap.ok(half > 0, "requests keep their walks")

-- ---- several nodes ----------------------------------------------------------

do -- a track for each direction of a link; one GPU has none
    local y, count = run({ gpus = 2, timeline = { only = "fabric", every = 100 } },
        "n.pftrace")
    local most = {}
    for _, e in ipairs(y.counts) do
        most[e.track.name] = math.max(most[e.track.name] or 0, e.value)
    end
    for i = 0, 1 do
        local k = most["messages of hop " .. i]
        tap.ok(k and k > 0 and k <= count.hop.peak, "messages of hop " .. i, k)
    end
    tap.ok(most.bytes and most.bytes > 0, "bytes a cycle", most.bytes)
end

-- ---- filters ----------------------------------------------------------------

local function components(y)
    local has, out = {}, {}
    for _, t in pairs(y.tracks) do
        if t.parent and not t.parent.parent then
            has[t.name] = true
        end
    end
    for _, name in ipairs(H.json.array(require("heddle.config").sorted_keys(has))) do
        out[#out + 1] = name
    end
    return table.concat(out, " ")
end
tap.is(components(x), "core dram l1tlb l2tlb walk", "components of a run")
local only = run({ timeline = { only = { "walk", "dram" } } }, "o.pftrace")
sound(only, "only")
tap.is(components(only), "dram walk", "only those that were asked for")
tap.is(#of(only.slices, "walk"), #walks, "and all of them")
local window = run({ timeline = { only = "l1tlb", from = 2000, to = 3000 } },
    "w.pftrace")
sound(window, "a window")
local inside, out_of = 0, 0
for _, q in ipairs(requests) do
    inside = inside + (q.at >= 2000 and q.at < 3000 and 1 or 0)
end
for _, q in ipairs(of(window.slices, "l1tlb")) do
    out_of = out_of + (q.at >= 2000 and q.at < 3000 and 0 or 1)
end
for _, e in ipairs(window.counts) do
    out_of = out_of + (e.at >= 2000 and e.at < 3000 and 0 or 1)
end
tap.ok(inside > 10 and out_of == 0, "nothing is outside of it")
tap.is(#of(window.slices, "l1tlb"), inside, "and all that began in it is there")
local TWO = { apps = { H.app("GUP", { size = "T" }), H.app("BP", { size = "T" }) },
    budget = 2000 }
local both = run(TWO, "two.pftrace")
local one = run(whole.join(TWO, { timeline = { app = 1 } }), "one.pftrace")
local of_one = 0
for _, q in ipairs(of(both.slices, "l1tlb")) do
    of_one = of_one + q.app
end
tap.is(#of(one.slices, "l1tlb"), of_one, "one application's requests")
local launches_of = 0
for _, q in ipairs(of(both.slices, "core")) do
    launches_of = launches_of + (q.track.name:find "application 1" and 1 or 0)
end
tap.is(#of(one.slices, "core"), launches_of, "and launches")
run(whole.join(TWO, { timeline = { app = "BP" } }), "label.pftrace")
tap.ok(files.read(at "one.pftrace") == files.read(at "label.pftrace"),
    "an application by its label")

-- ---- what is wrong ----------------------------------------------------------

for _, row in ipairs {
    { { only = "walk+drma" }, "no component 'drma' (did you mean 'dram'?); there "
        .. "are core, l1tlb", "a component that is none" },
    { { only = {} }, "no component; there are core", "no component" },
    { { onyl = "walk" }, "no option 'onyl' (did you mean 'only'?); there are path",
        "an option that is none" },
    { { app = 1 }, "no application '1'; there are 0 to 0, and GUP",
        "an application that is none" },
    { { app = "GUPP" }, "(did you mean 'GUP'?)", "or by a wrong label" },
    { { from = 10, to = 10 }, "a cycle after from=10 is expected, not 10",
        "an empty window" },
    { { bytes = 1000 }, "bytes: a whole number of at least 65536",
        "a bound that is too small" },
    { { every = 0 }, "every: a whole number of at least 1 is expected, not '0'",
        "no time between samples" },
    { { path = "" }, "a path is expected", "no path" },
    { { path = dir .. "/no/where.pftrace" }, "no/where.pftrace",
        "a folder that is not there" },
} do
    tap.raises(function()
        H.sim(options { timeline = whole.join({ path = at "e.pftrace" }, row[1]) })
    end, row[2], row[3])
end
tap.raises(function() H.sim(options { timeline = 5 }) end,
    "a path or a table with one is expected", "a number")
tap.raises(function()
    local sim <close> = H.sim(options())
    sim:timeline()
end, "this simulation has none", "a simulation that has none")
tap.is(files.read(at "e.pftrace"), nil, "nothing is written then")

-- ---- the command ------------------------------------------------------------

local SCRIPT = [[
local H = require "heddle"
for i = 1, 2 do
    local sim = H.sim { machine = "maxwell", seed = 3, settings = {
        ["core.count"] = 4 }, apps = { H.app("GUP", { size = "T" }) } }
    sim:run(i == 1 and 1500 or nil)
end
%s
]]
local function command(words, more)
    files.write(at "s.lua", SCRIPT:format(more or ""))
    return files.command(("%s run %s %s"):format(files.HEDDLE, words,
        files.quote(at "s.lua")))
end
local ok, text = command("--timeline " .. files.quote(at "c.pftrace"))
tap.ok(ok, "--timeline", text)
tap.ok(text:find(at "c.pftrace" .. ": %d+ bytes, %d+ of %d+ requests\n"),
    "tells what it has written", text)
local c1, c2 = read(at "c.pftrace"), read(at "c.pftrace.2")
sound(c1, "of a run that can go on")
sound(c2, "of the second simulation")
tap.ok(#c1.slices > 100 and #c1.slices < #c2.slices, "both are there",
    ("%d and %d"):format(#c1.slices, #c2.slices))
ok, text = command("--timeline=" .. at "d.pftrace" .. ",only=walk,to=500")
tap.ok(ok and components(read(at "d.pftrace")) == "walk", "with filters", text)
local status
_, text, status = command("--timeline " .. at "e.pftrace" .. ",only=drma")
tap.is(status, 64, "a wrong component exits 64")
tap.ok(text:find("did you mean 'dram'?", 1, true), "and names the nearest", text)
_, text, status = command("--timeline " .. at "e.pftrace" .. ",walk")
tap.is(status, 64, "so does a word that is no name=value")
tap.ok(text:find("name=value is expected, not 'walk'; there are only, app", 1,
    true), "which is told", text)
_, _, status = command("--timeline " .. dir .. "/no/where")
tap.is(status, 73, "a file that cannot be made exits 73")
_, text, status = command("--timeline " .. at "g.pftrace", "error 'oh'")
tap.ok(status ~= 0 and files.read(at "g.pftrace") and files.read(at "g.pftrace.2"),
    "a script that fails has its timelines, too", text)
tap.is(files.output("ls -a " .. dir .. " | grep -v '^[a-z_0-9]*\\.'"):gsub(
    "[.\n]", ""), "", "no file is left half-written")
local jobs = H.run({ options { timeline = at "j1.pftrace" },
    options { timeline = at "j2.pftrace" } }, { jobs = 2, progress = false })
tap.ok(#jobs == 2 and files.read(at "j1.pftrace") == files.read(whole_)
    and files.read(at "j2.pftrace") == files.read(whole_), "jobs write theirs")

-- ---- time that goes back ----------------------------------------------------

do
    local sim <close> = H.sim(options { timeline = at "b.pftrace" })
    sim:checkpoints(1000)
    sim:run(5000)
    sim:back(2500)
    sim:run(1000)
    sim:go(4000)
    sim:run()
end
local b = read(at "b.pftrace")
sound(b, "back and forth")
tap.is(#of(b.slices, "l1tlb"), #requests, "nothing is there twice, or missing")
tap.is(#of(b.slices, "walk"), #walks, "walks neither")
do
    local sim <close> = H.sim(options { timeline = at "k.pftrace" })
    sim:run(2000)
    local snapshot = sim:snapshot()
    sim:run(2000)
    sim:restore(snapshot)
    sim:run(500)
end
do
    local sim <close> = H.sim(options { timeline = at "straight.pftrace" })
    sim:run(2500)
end
local k, straight = read(at "k.pftrace"), read(at "straight.pftrace")
sound(k, "after a restore")
tap.ok(#of(straight.slices, "l1tlb") > 100, "a straight run has requests")
tap.same(keys(of(k.slices, "l1tlb")), keys(of(straight.slices, "l1tlb")),
    "what was undone is forgotten, and nothing else")

-- An unknown number of tracks and long names are written, too.
local long = kernel.app { name = ("n"):rep(120), source = "this test",
    buffers = function() return { kernel.f32("m", 1024) } end,
    kernels = function(_, buf)
        return { kernel.kernel(("k"):rep(60), { grid = 1, block = 32 },
            function(t) t:load(buf.m, t.gid) end) }
    end }
local l = run({ apps = { H.program(long) } }, "l.pftrace")
sound(l, "long names")
tap.is(of(l.slices, "core")[1].name:match "^k+", of(l.slices, "core")[1].name,
    "a launch has its name")
files.command("rm -r " .. files.quote(dir))
tap.done()
