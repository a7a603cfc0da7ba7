--- server.lua - an LLM server under load: what address translation costs its users.
--
-- A host batches requests step by step (serving.lua): prompts in one stream, the
-- answers' next tokens in another, keys and values in a paged cache.  Requests
-- arrive at random and are as long as those of Azure's services, scaled down.  Told
-- are the time to first token, from a request's arrival to the end of the step
-- that has computed its prompt, and the time per output token behind it, beside
-- those with an ideal TLB, whose look-ups all hit; at last two servers, of different
-- requests, that share the first machine, cores halved.
--
-- Times are those of the simulated launches: a policy that only watches notes when
-- they begin and end.  Arrivals are in steps, since a host cannot read the clock: a
-- request that arrives half way between two steps has waited for the second half of
-- the first.  So each row is of equal work, and a slower machine gets no longer
-- queue.
--
-- Misses are of the L1 and the L2 TLB, of a card those of its first two levels of
-- uTLBs; machines whose pages are larger than 4 KB round allocations up to them.
-- Decode pays for translation, its loads are of other pages all the time; a long
-- prompt's products on maxwell can be faster with it than without: with all their
-- warps at work the L1 caches hit half as often (6 for 11 % of the reads of one
-- product), so waiting for TLBs throttles what thrashes them.
--
-- No measurement of a server is set beside these: a model this small is none that
-- runs anywhere, and its times are for comparison with each other.  Longer requests
-- and more of them: scale=full, some 10 million warp instructions a server.  Of a
-- model of today one layer (model=llama3.1-8b layers=1) takes a minute a step.
--
--     heddle run scenarios/characterise/server.lua [scale=full] [steps=N] [rate=R]
--         [model=NAME] [layers=N] [machines=maxwell,a100] [drain=true]
--         [servers=1] [timeline=FILE]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local serving = require "serving"
local report = H.report

local arg = H.args {
    scale = "quick",          -- or full
    machines = "maxwell,a100",
    model = "tiny",           -- or llama2-7b, llama3.1-8b, llama3.1-70b
    layers = 0,               -- of them; 0: all
    rate = 0.5,               -- requests a step of the host
    steps = 0,                -- in which they arrive; here and below 0: the scale's
    shorter = 0,              -- Azure's lengths are divided by it
    context = 0,              -- most tokens of a request, and of a batch of prompts
    seqs = 0,                 -- most requests that run at once
    blocks = 0,               -- of 16 tokens, of the KV cache
    lengths = "conv",         -- or code
    drain = false,            -- run until all requests have ended
    shuffled = true,          -- blocks in random order, as after a long time
    host_us = 0,              -- of the host before each step
    overlap = true,           -- prompts and answers in streams of their own
    servers = 2,              -- 1: without the row of two that share a machine
    seed = 1,
    jobs = 2,
    timeline = "",            -- of the first machine, for Perfetto
}

--- What the scale decides, where the argument does not.
local SCALES = {
    quick = { steps = 24, shorter = 16, context = 512, seqs = 16, blocks = 512 },
    full = { steps = 48, shorter = 8, context = 1024, seqs = 64, blocks = 2048 },
}
local scale = SCALES[arg.scale]
if not scale then
    error({ usage = ("scale=%s: expected quick or full"):format(arg.scale) }, 0)
elseif arg.servers ~= 1 and arg.servers ~= 2 then
    error({ usage = ("servers=%s: expected 1 or 2"):format(arg.servers) }, 0)
end

local function parameters(seed)
    local o = {}
    for name, x in pairs(arg) do o[name] = x end
    for name, x in pairs(scale) do o[name] = arg[name] ~= 0 and arg[name] or x end
    o.seed = seed
    return serving.check(o)
end

--- A server, and what its host does.
local function server(seed)
    local p = parameters(seed)
    local log, list, state = serving.log(p)
    if not log[1] then
        error({ usage = ("rate=%s: no request arrives in steps=%d"):format(
            arg.rate, p.steps) }, 0)
    end
    return { p = p, log = log, list = list, state = state }
end

local one = server(arg.seed)
local two = arg.servers > 1 and server(arg.seed + 1) or nil

-- ---- machines ---------------------------------------------------------------------

local machines = {}
for name in arg.machines:gmatch "[^,]+" do
    local m = H.machine(name)
    if m:get "core.lanes" ~= "32" then
        m = m { ["core.lanes"] = 32, ["core.width"] = 32 }
    end
    if m:get "vm.page" ~= "4K" then m = m { ["vm.round"] = true } end
    machines[#machines + 1] = { name = name, machine = m }
end
if not machines[1] then
    error({ usage = "machines=: expected names of machines" }, 0)
end

--- Refuses servers that machine m has no memory for.
local function room(m, servers)
    local p = servers[1].p
    local memory = tonumber(m.machine:get "vm.memory_bytes")
    local weights, cache = serving.weights(p), serving.cache(p)
    if #servers * (weights + cache) > memory then
        error({ usage = ("model=%s layers=%d blocks=%d: %s%.1f MB of weights and "
            .. "%.1f MB of KV cache do not fit into the %.1f MB of %s"):format(
            p.model, p.layers, p.blocks, #servers > 1 and "twice " or "",
            weights / 1e6, cache / 1e6, memory / 1e6, m.name) }, 0)
    end
end

-- ---- runs ---------------------------------------------------------------------------

--- When launches of the first execution began and ended, by 16 app + (0 or 1).
local WATCH = { name = "launches", state = {}, watch = {
    kernel_start = function(note, state)
        if note.run > 0 then return end
        local of = 16 * note.app
        state[of] = state[of] or {}
        state[of][note.kernel] = note.cycle
    end,
    kernel_end = function(note, state)
        if note.run > 0 then return end
        local of = 16 * note.app + 1
        state[of] = state[of] or {}
        state[of][note.kernel] = note.cycle
    end,
} }

local function job(m, servers, timeline)
    return function()
        local apps = {}
        for i, s in ipairs(servers) do apps[i] = serving.program(s.p) end
        local sim <close> = H.sim { machine = m.machine, apps = apps,
            policies = { WATCH }, timeline = timeline, progress = false }
        sim:run()
        local r = sim:results()
        local out = { instructions = sim.instructions, cycles = sim.cycles,
            hz = r.config["clock.core"], at = {},
            l1 = report.metric(r, "utlb1_miss_rate")
                or report.metric(r, "l1tlb_miss_rate"),
            l2 = report.metric(r, "utlb2_miss_rate")
                or report.metric(r, "l2tlb_miss_rate"),
            walks = report.counter(r, "walk.walks") }
        for _, used in ipairs(sim:used()) do
            if used.name == WATCH.name then
                for i = 1, #servers do
                    out.at[i] = { first = used.state[16 * (i - 1)],
                        last = used.state[16 * (i - 1) + 1] }
                end
            end
        end
        return out
    end
end

local list, groups = {}, {}
local function group(m, servers, timeline)
    room(m, servers)
    groups[#groups + 1] = { m = m, servers = servers }
    list[#list + 1] = job(m, servers, timeline)
    list[#list + 1] = job({ machine = H.designs.ideal(m.machine) }, servers)
end
for i, m in ipairs(machines) do
    group(m, { one }, i == 1 and arg.timeline ~= "" and arg.timeline or nil)
end
if two then group(machines[1], { one, two }) end
local results = H.run(list, { jobs = arg.jobs })

-- ---- times of requests ----------------------------------------------------------------

--- Adds the times of a server's requests in one run, in us.
local function times(of, at, hz, first_token, per_token)
    local us = 1e6 / hz
    local begun, ended, launches, order = {}, {}, 0, {}
    for _, step in ipairs(of.log) do
        -- from the step before on, with what the host does between them
        begun[step.step] = ended[step.step - 1] or at.first[launches + 1] * us
        launches = launches + #serving.launches(of.p, step)
        ended[step.step] = at.last[launches] * us
        order[#order + 1] = step.step
    end
    --- The instant at which a request arrives: in a step, or before the next one.
    local function arrival(r)
        local step = math.floor(of.list[r].at)
        if begun[step] then
            return begun[step]
                + (of.list[r].at - step) * (ended[step] - begun[step])
        end
        for _, later in ipairs(order) do
            if later > step then return begun[later] end
        end
    end
    local first, last, n = {}, {}, {}
    for _, step in ipairs(of.log) do
        for _, rows in ipairs { step.prompts, step.answers } do
            for _, row in ipairs(rows) do
                local r = row.request
                first[r] = first[r] or ended[step.step]
                last[r], n[r] = ended[step.step], (n[r] or 0) + 1
            end
        end
    end
    for r = 1, #of.list do
        if first[r] then first_token[#first_token + 1] = first[r] - arrival(r) end
        if n[r] and n[r] > 1 then
            per_token[#per_token + 1] = (last[r] - first[r]) / (n[r] - 1)
        end
    end
end

local function mean(x)
    local sum = 0.0
    for _, v in ipairs(x) do sum = sum + v end
    return #x > 0 and ("%.1f"):format(sum / #x) or "-"
end

--- The least value that 90 % of them do not exceed.
local function most(x)
    table.sort(x)
    return #x > 0 and ("%.1f"):format(x[(9 * #x + 9) // 10]) or "-"
end

-- ---- the tables ---------------------------------------------------------------------

local did = { { "server", "steps", "requests", "done", "running", "waiting",
    "prompt tokens", "answered", "preempted", "most running", "blocks used",
    "free at the end" } }
for i, s in ipairs { one, two } do
    local done, prompts, answered, preempted, running, used = 0, 0, 0, 0, 0, 0
    for _, step in ipairs(s.log) do
        done, preempted = done + #step.done, preempted + step.preempted
        answered = answered + #step.prompts + #step.answers
        for _, row in ipairs(step.prompts) do prompts = prompts + row.tokens end
        running = math.max(running, #step.prompts + #step.answers)
        used = math.max(used, step.used)
    end
    local cells = { i, #s.log, #s.list, done, #s.state.running,
        #s.list - done - #s.state.running, prompts, answered, preempted, running,
        used, #s.state.free }
    for c, x in ipairs(cells) do cells[c] = tostring(x) end
    cells[11] = ("%d of %d"):format(used, s.p.blocks)
    did[#did + 1] = cells
end

local cost = { { "machine", "servers", "first token, us", "ideal", "90 %", "ideal",
    "token, us", "ideal", "time", "L1 TLB misses", "L2 TLB misses",
    "walks a kilo-instruction", "instructions" } }
for g, of in ipairs(groups) do
    local row = { of.m.name, tostring(#of.servers) }
    for i = 0, 1 do
        local r = results[2 * g - 1 + i]
        local first_token, per_token = {}, {}
        for n, s in ipairs(of.servers) do
            times(s, r.at[n], r.hz, first_token, per_token)
        end
        row[3 + i], row[5 + i] = mean(first_token), most(first_token)
        row[7 + i] = mean(per_token)
    end
    local r, ideal = results[2 * g - 1], results[2 * g]
    row[9] = ("%.2f"):format(r.cycles / ideal.cycles)
    row[10], row[11] = report.percent(r.l1 or 0), report.percent(r.l2 or 0)
    row[12] = ("%.2f"):format(1000 * r.walks / r.instructions)
    row[13] = ("%.1f M"):format(r.instructions / 1e6)
    cost[#cost + 1] = row
end

io.write(("An LLM server: model %s, %d layers, %.1f MB of weights, %.1f MB of KV "
    .. "cache;\n%s requests a step, lengths of Azure's %s divided by %d.  Time: "
    .. "times that with an\nideal TLB.\n\n"):format(one.p.model, one.p.layers,
    serving.weights(one.p) / 1e6, serving.cache(one.p) / 1e6, arg.rate, arg.lengths,
    one.p.shorter), report.table(did), "\n", report.table(cost))
if arg.timeline ~= "" then
    io.write("\nTimeline: ", arg.timeline, "\n")
end
