--[[
317-core-many.lua - machines of more than 128 cores, up to 1,024.

Pinned: each core has its block; notes and questions name the last one;
snapshots hold them; what events have no room for is refused in words.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local k = require "heddle.kernel"

-- A block for each core: some arithmetic, loads of its own page.
local function app(cores)
    return H.program(k.app { name = "many", buffers = function()
        return { k.i32("b", cores * 1024) }
    end, kernels = function(_, b)
        return { k.kernel("many", { grid = cores, block = 32 }, function(t)
            t:load(b.b, t.bx * 1024 + t.lane)
            t:alu(50)
        end) }
    end })
end

local function sim(cores, more, policies)
    local s = { ["core.count"] = cores, ["core.blocks"] = 1,
        ["core.lanes"] = 32, ["core.width"] = 32, ["sim.check"] = true }
    for name, v in pairs(more or {}) do s[name] = v end
    return H.sim { machine = "maxwell", settings = s, apps = { app(cores) },
        policies = policies }
end

for _, cores in ipairs { 128, 129, 500, 1024 } do
    local one = sim(cores, nil, { { name = "see", state = { n = 0 },
        watch = { access = function(n, st)
            st[n.core] = true
            st.n = st.n + 1
        end }, warp_limit = function(q, st)
            st.asked = math.max(st.asked or 0, q.core)
        end } })
    one:run()
    local st, at = one:used()[1].state, 0
    for c = 0, cores - 1 do at = at + (st[c] and 1 or 0) end
    tap.is(at, cores, cores .. " cores: each has a block")
    tap.is(st.n, cores, "and one load")
    tap.is(st.asked, cores - 1, "the last one is asked for, too")
    local r = one:results()
    tap.is(H.report.counter(r, "core.blocks", 0), cores, "and no more")
    local a, b = sim(cores), sim(cores)
    a:run(r.cycles // 2)
    b:restore(a:snapshot())
    a:run()
    b:run()
    tap.is(b:state_hash(), a:state_hash(), cores .. " cores in a snapshot")
end

local ok, e = pcall(sim, 1024, { ["walk.per_core"] = true })
tap.ok(not ok and tostring(e):find("700 are expected at most", 1, true),
    "refused in words: " .. tostring(e))
local many = sim(700, { ["walk.per_core"] = true })
many:run()
tap.is(H.report.counter(many:results(), "core.blocks", 0), 700,
    "700 with an L2 TLB each")
ok, e = pcall(sim, 1025)
tap.ok(not ok and tostring(e):find("1024", 1, true), tostring(e))

tap.done()
