-- 823-compact.lua - pins: thread block compaction in the whole machine.  The
-- worked example of Pichai et al. (figure 19), with whoever may join; contents
-- of buffers and instructions of threads are those without it, of every
-- application on which schedulers agree; cpm in C and in Lua give the same
-- statistics; snapshots in the middle of it; times sum to the clock; and what it
-- cannot do is refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local dice = require "lib.dice"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local library = require "heddle.app"
local H = require "heddle"

local ON = { ["core.compact"] = true }

local function compact(settings)
    return whole.join(whole.SMALL, ON, settings or {})
end

-- ---- figure 19 ---------------------------------------------------------------

-- Three warps of four threads, 1 to 12; the others of a warp's lanes exit.  The
-- page of each thread's load; those of B, the others take C.
local PAGE = { 6, 2, 3, 6, 2, 1, 1, 1, 7, 6, 6, 3 }
local IN_B = { [1] = true, [4] = true, [6] = true, [7] = true, [8] = true,
    [9] = true, [10] = true, [11] = true }

local function figure19()
    return H.program(kernel.app {
        name = "figure 19", source = "Pichai et al.",
        buffers = function()
            return { kernel.f32("m", 8, 1024),
                kernel.i32("page", 12, { data = PAGE }),
                kernel.i32("way", 12, { data = function(i)
                    return IN_B[i + 1] and 1 or 0
                end }) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("abcd", { grid = 1, block = 96 },
                function(t)
                    t:exit_if(t.lane:ge(4))
                    local i = t.warp * 4 + t.lane
                    local at = t:peek(b.page, i) * 1024
                    t:when(t:peek(b.way, i):eq(1), function()
                        t:load(b.m, at)
                        t:alu(1)
                    end, function()
                        t:load(b.m, at)
                        t:alu(1)
                    end)
                end) }
        end,
    })
end

--- The pages of each load, in the order of issue, and the misses of a TLB of one
-- entry in which they are looked up one after the other.
local function fetches(on, join)
    local sim <close> = H.sim { machine = "pichai", check = true,
        settings = { ["core.count"] = 1, ["core.compact"] = on },
        apps = { figure19() } }
    local function look(n, s)
        table.insert(s.seen, n.vpn)
    end
    sim:use { name = "look",
        state = { out = {}, seen = {}, asked = {} },
        thread_join = join and function(q, s)
            table.insert(s.asked, ("%d:%d"):format(q.warp, q.lane))
            return join(q)
        end or nil,
        watch = {
            access = function(n, s) table.insert(s.out, n.pages) end,
            tlb_hit = look, tlb_miss = look,
        } }
    sim:run()
    local told = sim:used()[1].state
    local out, seen, asked = told.out, told.seen, told.asked
    sim:check()
    local first = sim:look("pagetable", 0)[1].vpn
    for i, vpn in ipairs(seen) do
        seen[i] = vpn - first
    end
    local misses, entry, at = {}, nil, 0
    for i, pages in ipairs(out) do
        misses[i] = 0
        for _ = 1, pages do
            at = at + 1
            misses[i] = misses[i] + (seen[at] ~= entry and 1 or 0)
            entry = seen[at]
        end
    end
    return misses, sim:counters().core, table.concat(seen, " "), asked
end

do
    local misses, c = fetches(false)
    tap.is(#misses, 6, "figure 19: six fetches without compaction")
    tap.is(c.formed_warps, 0, "no warp is formed")
    local pages
    misses, c, pages = fetches(true)
    tap.same(misses, { 2, 3, 2 }, "three with it, of 2, 3 and 2 misses")
    tap.is(pages, "6 1 7 6 1 2 3", "pages in the order of lanes")
    tap.is(c.formed_warps, 3, "three warps are formed,")
    tap.is(c.formed_threads, 12, "of twelve threads")
    tap.is(c.joins_refused, 0, "and nobody is refused")
    tap.is(c.formed_mem_instructions .. " " .. c.formed_pages, "3 7",
        "their loads and pages")
    local asked
    misses, c, pages, asked = fetches(true, function(q)
        -- only warps 1 and 3 have shared pages
        return q.members | 1 << q.warp == 5
    end)
    tap.same({ table.unpack(misses, 1, 3) }, { 1, 1, 1 },
        "TLB aware: {1, 10, 11, 4}, {6, 7, 8}, {9}: a miss each")
    tap.is(pages:sub(1, 5), "6 1 7", "in this order")
    -- for the first 6, 10, 7 and 11, for the second 9; then 5 of C
    tap.is(table.concat(asked, " ", 1, 6), "1:1 2:1 1:2 2:2 2:0 1:0", "asked")
    tap.ok(c.joins_refused >= 3, "refused", c.joins_refused)
end

do
    local n = 48
    local sim <close> = H.sim { machine = "pichai", apps = { figure19() },
        settings = { ["core.compact"] = true, ["core.count"] = 1,
            ["core.warps"] = n, ["core.threads"] = n * 32 } }
    sim:use "cpm"
    tap.is(sim:run(), "done", "a core of 48 warps")
end

-- ---- the same work -----------------------------------------------------------

--- FNV-1a over all contents at an application's end, by its host.
local function hashed(name, out)
    local app, list = {}, library.get(name):instance { size = "T" }
    for k, v in pairs(library.get(name)) do
        app[k] = v
    end
    app.host = function(h, s)
        local l
        if list.host then
            l = list.host(h, s)
        else
            local e = list.launches[h.launched + 1]
            l = e and { (e.fn and e or e[1]).name,
                grid = not e.fn and e.grid or nil,
                args = not e.fn and e.args or nil }
        end
        if l ~= nil then
            return l
        end
        local sum = 0xcbf29ce484222325
        for _, b in ipairs(list.buffers) do
            for i = 0, b.contents and b.count - 1 or -1 do
                local v = h.read(h.b[b.name], i)
                v = math.type(v) == "integer" and v
                    or string.unpack("<i8", string.pack("<d", v))
                sum = (sum ~ v) * 0x100000001b3
            end
        end
        out.sum = sum
        return nil
    end
    return H.program(setmetatable(app, getmetatable(library.get(name))),
        { size = "T" })
end

local function work(name, settings, policy)
    local out = {}
    local sim <close> = H.sim { machine = "pichai", check = true,
        settings = whole.join({ ["core.count"] = 4 }, settings),
        apps = { hashed(name, out) } }
    if policy then
        sim:use(policy)
    end
    local word = sim:run()
    sim:check()
    local c = sim:counters().core
    return ("%s: contents %x, %d instructions of threads"):format(word,
        out.sum, c.thread_instructions), c
end

local formed, depend, differ = 0, {}, {}
for _, name in ipairs(library.names()) do
    local want, plain = work(name, {})
    local agree = want == work(name, { ["core.scheduler"] = "lrr" })
        and want == work(name, {}, dice(7, nil, "warp_pick"))
    if not agree then
        depend[#depend + 1] = name
    else
        for _, policy in ipairs { false, "cpm" } do
            local got, c = work(name, ON, policy or nil)
            if got ~= want then
                differ[#differ + 1] = ("%s: %s; without: %s"):format(name, got,
                    want)
            end
            formed = formed + c.formed_warps
        end
    end
    assert(plain.formed_warps == 0)
end
tap.ok(#differ == 0, "applications do the same work", table.concat(differ, "\n"))
tap.ok(formed > 10000, "with other warps", formed)
tap.is(table.concat(depend, " "), "GRAPHX HASHJOIN KMER MEMC",
    "but for those whose work depends on the order of warps anyway")

-- ---- the policy --------------------------------------------------------------

for _, bits in ipairs { 1, 3 } do
    local function run(policy)
        local sim <close> = whole.sim({ "BFS", "MUM" }, compact {
            ["l1tlb.entries"] = 64 })
        sim:use(policy, { bits = bits, flush = 100000, entries = 60 })
        sim:run()
        local out = whole.statistics(sim)
        out[#out + 1] = "cycles " .. sim.now
        return out, sim:counters()
    end
    local c, count = run "cpm"
    local lua = run "policies/cpm.lua"
    tap.ok(not whole.difference(c, lua), "cpm: C and Lua alike",
        whole.difference(c, lua))
    local asked, no = count.policy["thread_join.asked"],
        count.core.joins_refused
    tap.ok(asked > 1000 and no > 100 and no < asked, "some may join",
        ("%d of %d not"):format(no, asked))
end

for _, policy in ipairs { false, "cpm", "policies/cpm.lua" } do
    whole.stress("BFS and MUM" .. (policy and ", " .. policy or ""),
        whole.maker({ "BFS", "MUM" }, compact(), { check = true }), {
            policy = policy or nil, step = 5003,
            due = function(c) return c.core.formed_warps // 100 end,
            good = function(c, snaps)
                return c.core.formed_warps > 400 and snaps == 4
            end,
        })
end

-- ---- the clock, and launches that run without time ----------------------------

do
    local sim <close> = whole.sim({ "BFS" }, compact { ["core.scheduler"] =
        "lrr", ["core.issue"] = 2 })
    sim:run()
    local ticks, warps = sim.core:ticks(), nil
    for _, s in ipairs(sim.resolved) do
        warps = s.name == "core.warps" and tonumber(s.value) or warps
    end
    for i = 0, 3 do
        local sum = 0
        for name, v in pairs(sim:counters { instance = i }.core) do
            sum = sum + (name:find "^time_" and v or 0)
        end
        tap.is(-(-(sum // warps) // ticks), sim.core:apps()[1].cycles,
            "times of core " .. i)
    end
    tap.ok(sim:counters().core.time_meeting > 0, "some wait at constructs")
    local threads = 0
    for _, k in ipairs { { 1, 3 }, { 4, 0 } } do
        local part <close> = whole.sim({ "BFS" }, compact {
            ["sim.first_kernel"] = k[1], ["sim.last_kernel"] = k[2] })
        part:run()
        threads = threads + part:counters().core.thread_instructions
    end
    tap.is(threads, sim:counters().core.thread_instructions,
        "launches of before the first one do their work")
end

-- ---- refused -----------------------------------------------------------------

local function refused(what, words, fn)
    local ok, err = pcall(fn)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(words, 1, true), what, err)
end

local function one(name, body)
    return H.program(kernel.app {
        name = name, source = "this test",
        buffers = function() return { kernel.f32("x", 256) } end,
        kernels = function(_, b)
            return { kernel.kernel(name, { grid = 1, block = 256 },
                function(t) body(t, b) end) }
        end,
    })
end

refused("a trace", "core.compact: application 0 (gather) is a trace", function()
    whole.sim({ H.trace "scenarios/data/gather.hdt" }, compact())
end)
refused("a barrier that not all reach",
    "kernel some, block 0: a barrier that only some threads", function()
        local sim <close> = whole.sim({ one("some", function(t)
            t:when(t.tid:lt(40), function() t:sync() end)
        end) }, compact())
        sim:run()
    end)
refused("a loop without an instruction",
    "kernel idle: more than 4194304 rounds without an instruction", function()
        local sim <close> = whole.sim({ one("idle", function(t)
            t:while_(function() return t.tid:ge(0) end, function() end)
        end) }, compact())
        sim:run()
    end)
refused("an index outside, of a thread in another warp",
    "index 300 of buffer x; expected 0 to 255 (block 0,0,0, thread 200)",
    function()
        local sim <close> = whole.sim({ one("out", function(t, b)
            t:when((t.tid % 40):eq(0), function()
                t:load(b.x, t:select(t.tid:eq(200), 300, t.tid))
            end)
        end) }, compact())
        sim:run()
    end)

do -- threads that exit leave the others to it
    local sim <close> = whole.sim({ one("rest", function(t, b)
        t:when(t.tid:lt(40), function()
            t:alu(3)
            t:exit_if(t.tid:ge(0))
        end, function()
            t:sync()
            t:store(b.x, t.tid, 1.0)
        end)
    end) }, compact(), { check = true })
    tap.is(sim:run(), "done", "a barrier that all reach who have not exited")
end

tap.done()
