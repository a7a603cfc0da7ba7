--[[
434-load-xxl.lua - applications of more than 80 GB, whose addresses are computed.

Pinned: the five that have size XXL begin on a card of 80 GB with demand paging, and
take less than 400 MB of the host for it; what they access is what the closed forms of
t/apps say at that size: all of PCHASE, a batch of EMBBAG, a step of one sequence of
KVSWAP, a block of TRAINCYC, some tiles of RADIX, up to the last bytes of their
buffers.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local app = require "heddle.app"
local kit = require "t.apps.kit"
local survey = require "heddle.survey"

local function memory()
    for line in io.lines "/proc/self/status" do
        local kb = line:match "^VmHWM:%s+(%d+) kB"
        if kb then return math.tointeger(kb) // 1024 end
    end
    return 0
end

for _, name in ipairs { "PCHASE", "EMBBAG", "TRAINCYC", "RADIX", "KVSWAP" } do
    local s = H.sim { machine = "a100", progress = false,
        apps = { H.app(name, { size = "XXL" }) },
        settings = { ["vm.paging"] = "fault", ["uvm.mode"] = "driver",
            ["vm.memory_bytes"] = 80 << 30, ["vm.table_frames"] = 65536 } }
    tap.is(s:run(100000), "ok", name .. " begins")
    tap.ok(s:results().apps[1].footprint > 80 << 30, "on more than 80 GB",
        s:results().apps[1].footprint)
    tap.ok(s.instructions > 0, "and issues instructions", s.instructions)
    s:close()
end
tap.ok(memory() < 400, "in less than 400 MB of the host", memory())

-- ---- closed forms ---------------------------------------------------------------

-- What is accessed with parameters `more` at XXL against what the form counts.
local function check(name, more)
    local params = { size = "XXL" }
    for k, v in pairs(more or {}) do params[k] = v end
    local form, a = require("t.apps." .. name:lower()), app.get(name)
    local want = form.counts(a:parameters(params), a:instance(params))
    local rows, n = kit.profile(name, params), 0
    for key, count in pairs(want) do
        n = n + count
        if count > 0 then
            tap.is(rows[key] and rows[key].count, count, name .. ": " .. key)
        end
    end
    return rows, n
end

do
    local rows = check "PCHASE"
    tap.is(rows["chase load data"].count, 4 << 16, "PCHASE: 4 passes")
    tap.is(rows["chase load data"].pages, 1.0, "a page each")
end
check("EMBBAG", { bags = 256 })
check("KVSWAP", { heads = 8, active = 1, moved = 1, steps = 1 })

-- The lowest and the highest address of each buffer that some blocks access, as parts
-- of it, and how many instructions access it.
local function reach(name, more, options)
    local params = { size = "XXL" }
    for k, v in pairs(more) do params[k] = v end
    local w, out = app.get(name):workload(params), {}
    local buffers = survey.buffers(w)
    survey.each(w, function(e)
        if not e.addr then return end
        local low, high = math.maxinteger, 0
        for lane = 0, 31 do
            local at = e.mask >> lane & 1 == 1 and e.addr[lane]
            if at then low, high = math.min(low, at), math.max(high, at) end
        end
        for _, b in ipairs(buffers) do
            if low >= b.base and low < b.base + b.bytes then
                local r = out[b.name] or { n = 0, low = 1.0, high = 0.0 }
                out[b.name] = r
                r.n = r.n + 1
                r.low = math.min(r.low, (low - b.base) / b.bytes)
                r.high = math.max(r.high, (high - b.base) / b.bytes)
            end
        end
    end, options)
    return out
end

do -- tiles 0, 131072, ...: 12 of them
    local every = 1 << 17
    local p = app.get("RADIX"):parameters { size = "XXL" }
    local some = p.n // 4096 // every
    local r = reach("RADIX", { passes = 1, bits = 4 }, { every = every })
    tap.is(r.keys0.n, some * (32 + 32), "RADIX: loads of keys of some tiles")
    tap.is(r.keys1.n, some * 128, "and stores")
    tap.ok(r.keys1.low < 1e-3 and r.keys1.high > 0.98 and r.keys1.high <= 1,
        "RADIX: all of the other array", r.keys1.high)
end

do -- block 0 of 16,000 of each launch: that part of each tensor
    local r = reach("TRAINCYC", { steps = 1, grid = 16000 }, { every = 16000 })
    local weights = 24 * 8192 ^ 2 // 512 | 0
    -- W: forward, backward, read and written by the optimiser
    tap.ok(math.abs(r.W1.n - 4 * weights / 16000) <= 4 * 8,
        "TRAINCYC: its part of the weights", ("%d, %g"):format(r.W1.n, 4 * weights / 16000))
    tap.ok(r.A6.high > 0.99, "TRAINCYC: to the end of the activations", r.A6.high)
end

tap.done()
