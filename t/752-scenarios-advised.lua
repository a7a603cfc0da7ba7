--[[
752-scenarios-advised.lua - scenarios/uvm/advised.lua at scale=quick.

Pinned: what lib/scenarios.lua says of each experiment; and of both programs: with
memory for all nothing is evicted and nothing migrates twice; what has come and not
left fits into memory; less memory is more time with faults, and no other time where
all stays on the host; what is mapped there does not migrate and is read over the link;
a read_mostly buffer is not written back; prefetching raises fewer faults where all
fits; access counters bring pages without faults.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local scenarios = require "lib.scenarios"

local uvm = scenarios.of("uvm", {})
uvm:only "advised"

-- Rows of the table: program, memory, case and nine numbers.
local rows, n = {}, 0
for program, memory, case, rest in uvm.said.advised:gmatch
    "\n(%u+) +(all) +([%a_]+) +([^\n]+)" do
    rows[program .. memory .. case], n = rest, n + 1
end
for program, part, case, rest in uvm.said.advised:gmatch
    "\n(%u+) +/ ([%d.]+) +([%a_]+) +([^\n]+)" do
    rows[program .. part .. case], n = rest, n + 1
end
tap.is(n, 36, "two programs, three memories, six cases")

local FIELDS = { "time", "faults", "batches", "came", "left", "again", "remote",
    "busy" }
local function row(program, memory, case)
    local out, i = {}, 0
    for x in (rows[program .. memory .. case] or ""):gmatch "([%d.]+)" do
        i = i + 1
        out[FIELDS[i]] = tonumber(x)
    end
    return out
end

local CASES = { "faults", "accessed_by", "host", "read_mostly", "prefetch",
    "counters" }
for _, program in ipairs { "KVSWAP", "EMBBAG" } do
    local function is(what, ok, got) tap.ok(ok, program .. ": " .. what, got) end
    for _, case in ipairs(CASES) do
        local r = row(program, "all", case)
        is(case .. ": nothing leaves where all fits", r.left == 0 and r.again == 0,
            r.left)
    end
    local all = row(program, "all", "faults")
    local most = all.came -- it is touched, or prefetched with what is
    is("its pages come", most > 1)
    for _, part in ipairs { "1.25", "2.00" } do
        for _, case in ipairs { "faults", "prefetch" } do
            local r = row(program, part, case)
            is(case .. " / " .. part .. ": what has left comes again, or it is done",
                r.came <= most + r.left + 2, r.came)
        end
        local plain, mostly = row(program, part, "faults"),
            row(program, part, "read_mostly")
        is("/ " .. part .. ": less memory, more time", plain.time > 1, plain.time)
        is("/ " .. part .. ": more comes", plain.came > most, plain.came)
        is("/ " .. part .. ": a copy on the host is not written back",
            mostly.left < plain.left / 4, mostly.left)
        is("/ " .. part .. ": and takes no longer", mostly.time <= plain.time)
        for _, case in ipairs { "accessed_by", "host" } do
            local r, whole = row(program, part, case), row(program, "all", case)
            is(case .. " / " .. part .. ": memory does not matter",
                math.abs(r.time - whole.time) <= 0.05 * whole.time, r.time)
        end
    end
    is("half of the memory is worse than 4 / 5",
        row(program, "2.00", "faults").time > row(program, "1.25", "faults").time)
    local direct = row(program, "all", "accessed_by")
    is("what is mapped on the host stays there", direct.came < 1, direct.came)
    is("and is read over the link", direct.remote > 1, direct.remote)
    is("faults with remote pages: none of the large buffer's",
        direct.faults < all.faults, direct.faults)
    is("prefetching raises fewer faults",
        row(program, "all", "prefetch").faults < all.faults)
    local counters = row(program, "all", "counters")
    is("counters bring pages, without faults",
        counters.came > 1 and counters.faults < all.faults, counters.came)
end
uvm:done()
