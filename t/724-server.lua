--[[
724-server.lua - an LLM server as a host program: scenarios/characterise/server.lua
and serving.lua.

Pinned, of the host without a machine: requests that have arrived are done, running
or waiting; each gets its tokens, one a step, and no more; blocks of the KV cache are
never in two places, in use and free ones are the pool, and all are free when a run
is drained; a small pool makes it preempt, and all requests end nevertheless; the
same without time as the engine runs: as many launches as the log has.  Of the
scenario: the table's shape, times that translation does not shorten, the timeline,
and what is refused by its name.

SPDX-License-Identifier: MIT
]]
package.path = "scenarios/characterise/?.lua;" .. package.path
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local serving = require "serving"

-- ---- the host -------------------------------------------------------------------

--- What is wrong with a server's log, in words; and what it did.
local function audit(p)
    local list, s = serving.requests(p), serving.start(p)
    local got, done, wrong, preempted, most = {}, 0, {}, 0, 0
    local function check(ok, text)
        if not ok then wrong[#wrong + 1] = text end
    end
    local before = -1
    for step in function() return serving.step(p, list, s) end do
        check(step.step > before, "steps are in order")
        if step.step > 100 * p.steps then -- what is lost never comes back
            check(false, "it does not end")
            break
        end
        before = step.step
        local holder = {}
        for _, rows in ipairs { step.prompts, step.answers } do
            for _, r in ipairs(rows) do
                local n = got[r.request] or 0
                check(r.tokens == list[r.request].prompt + n, "tokens so far")
                check(list[r.request].at <= step.step, "served before it arrived")
                check(#r.blocks == (r.tokens + 15) // 16, "blocks of a request")
                for _, block in ipairs(r.blocks) do
                    check(not holder[block] and block >= 0 and block < p.blocks,
                        "a block in two places")
                    holder[block] = true
                end
                got[r.request] = n + 1
            end
        end
        local used = 0
        for _ in pairs(holder) do used = used + 1 end
        check(used == step.used and used <= p.blocks, "blocks in use")
        most = math.max(most, used)
        for _, r in ipairs(step.done) do
            check(got[r] == list[r].output, "ends with its last token")
        end
        done, preempted = done + #step.done, preempted + step.preempted
        check(#step.prompts + #step.answers <= p.seqs, "too many run")
        local held = 0
        for _, own in pairs(s.blocks) do held = held + #own end
        check(step.free == #s.free and held + #s.free == p.blocks,
            "blocks are conserved")
        check(s.next - 1 == done + #s.running + #s.waiting,
            "arrived: done, running or waiting")
    end
    local tokens, answered = 0, 0
    for r, n in pairs(got) do
        check(n <= list[r].output, "more tokens than asked for")
        answered = answered + n
    end
    for _, r in ipairs(list) do tokens = tokens + r.output end
    return table.concat(wrong, "; "), { requests = #list, done = done,
        free = #s.free, tokens = tokens, answered = answered, most = most,
        preempted = preempted }
end

for seed = 1, 3 do
    local p = serving.check { seed = seed, steps = 60, rate = 1.5, blocks = 64 }
    local wrong, did = audit(p)
    tap.is(wrong, "", "a server's books are in order, seed " .. seed)
    tap.ok(did.done > 10 and did.most <= 64 and did.answered < did.tokens,
        "it has served, and some are left")
end

local drained = serving.check { steps = 60, rate = 1.5, blocks = 64, drain = true }
local wrong, did = audit(drained)
tap.is(wrong, "", "a drained run's, too")
tap.is(did.done, did.requests, "all requests have ended")
tap.is(did.answered, did.tokens, "with all their tokens")
tap.is(did.free, 64, "and all blocks are free")

wrong = audit(serving.check { steps = 60, rate = 1.5, blocks = 33,
    lengths = "code", shorter = 8, context = 512, drain = true })
tap.is(wrong, "", "books of a small pool")
wrong, did = audit(serving.check { steps = 100, rate = 2.0, blocks = 34,
    seqs = 32, drain = true })
tap.is(wrong, "", "and of one in which requests are preempted")
tap.ok(did.preempted > 0, "which happens", did.preempted)
tap.is(did.done, did.requests, "all requests end nevertheless")

local sum, n = 0.0, 4000
local long = serving.requests(serving.check { steps = 2 * n, rate = 0.5 })
for i = 2, #long do
    sum = sum + long[i].at - long[i - 1].at
    if long[i].at < long[i - 1].at then sum = math.huge end
end
tap.ok(math.abs(sum / (#long - 1) - 2) < 0.1, "arrivals are as many as asked for",
    sum / (#long - 1))

-- ---- on a machine ------------------------------------------------------------------

local p = serving.check { steps = 6, layers = 1, rate = 1.0 }
local ends = { name = "ends", state = { n = 0 }, watch = {
    kernel_end = function(_, s) s.n = s.n + 1 end } }
local sim <close> = H.sim { machine = H.machine "maxwell" { ["core.lanes"] = 32,
    ["core.width"] = 32 }, apps = { serving.program(p) }, policies = { ends },
    progress = false }
tap.is(sim:run(), "done", "a server runs")
local launches = 0
for _, step in ipairs(serving.log(p)) do
    launches = launches + #serving.launches(p, step)
end
tap.is(sim:used()[1].state.n, launches, "with the launches of its log")

-- ---- the scenario ---------------------------------------------------------------------

local function cycles(host_us)
    local of = serving.check { steps = 6, layers = 1, rate = 1.0,
        host_us = host_us }
    local one <close> = H.sim { machine = H.machine "maxwell" {
        ["core.lanes"] = 32, ["core.width"] = 32 },
        apps = { serving.program(of) }, progress = false }
    one:run()
    return one.cycles, #serving.log(of)
end
local idle, steps = cycles(100)
local waited = (idle - sim.cycles) / (steps * 100e-6 * 1020e6)
tap.ok(waited > 0.99 and waited < 1.01, "the host's time before each step", waited)

local function run(words)
    return files.command(files.HEDDLE .. " run scenarios/characterise/server.lua "
        .. words)
end

local dir = files.folder()
local ok, text = run("machines=maxwell steps=6 layers=1 drain=true timeline="
    .. files.quote(dir .. "/t.pftrace"))
tap.ok(ok, "the scenario runs", text)
tap.ok(text:find("\nserver +steps +requests +done +running +waiting +prompt tokens "
    .. "+answered +preempted +most running +blocks used +free at the end\n"),
    "what the host did", text)
for i = 1, 2 do
    local requests, done, free = text:match("\n +" .. i .. " +%d+ +(%d+) +(%d+) +0 "
        .. "+0 +%d+ +%d+ +%d+ +%d+ +%d+ of 512 +(%d+)\n")
    tap.ok(requests and requests == done and free == "512",
        "server " .. i .. " is drained", text)
end
local rows = 0
for servers, first, ideal, token, token_ideal, time in text:gmatch(
    "\nmaxwell +(%d) +([%d.]+) +([%d.]+) +[%d.]+ +[%d.]+ +([%d.]+) +([%d.]+) "
    .. "+([%d.]+) +[%d.]+ %% +[%d.]+ %% +[%d.]+ +[%d.]+ M%f[\n]") do
    rows = rows + 1
    tap.is(tonumber(servers), rows, "a row of " .. rows)
    tap.ok(tonumber(first) >= 0.98 * ideal and tonumber(token) >= 0.98 * token_ideal
        and tonumber(time) >= 0.98, "an ideal TLB is no slower", text)
end
tap.is(rows, 2, "one server, and two")
tap.ok(#(files.read(dir .. "/t.pftrace") or "") > 1000, "and a timeline")
files.output("rm -rf " .. files.quote(dir))

for words, expected in pairs {
    ["rate=0"] = "rate=0: expected requests a step, above 0",
    ["rate=-0.5"] = "rate=-0.5: expected requests a step, above 0",
    ["rate=much"] = "argument rate=much: expected a number",
    ["rate=0.0001"] = "rate=0.0001: no request arrives in steps=24",
    ["model=gpt"] = "model=gpt: expected one of llama2-7b, llama3.1-70b, "
        .. "llama3.1-8b, tiny",
    ["model=llama2-7b"] = "model=llama2-7b layers=32 blocks=512: 12952.0 MB of "
        .. "weights and 4295.0 MB of KV cache do not fit into the 3221.2 MB of "
        .. "maxwell",
    ["layers=3"] = "layers=3: tiny has 2",
    ["blocks=8"] = "blocks=8: a request of context=512 tokens takes 32",
    ["host_us=-1"] = "host_us=-1: expected 0 to 1000000",
    ["servers=3"] = "servers=3: expected 1 or 2",
    ["scale=large"] = "scale=large: expected quick or full",
} do
    ok, text = run(words)
    tap.ok(not ok and text:find(expected, 1, true) and not text:find "%.lua:%d",
        words .. " is refused by its name", text)
end

return tap.done()
