--[[
435-load-computed.lua - applications whose inputs are computed, beside stored ones.

Pinned: HASHJOIN with keys = computed does, cycle by cycle, what it does with the same
keys as contents; its permutations have each key once.  Size XL of HASHJOIN and KMER,
5 and 9 GB, begin in less than five seconds and 400 MB of the host: a table that is
one value everywhere takes no memory before it is written.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local app = require "heddle.app"
local generate = require "heddle.generate"

package.path = "./?.lua;" .. package.path
local permuted = require("t.apps.hashjoin").permuted

-- ---- the same keys, computed and stored ---------------------------------------------

-- Counters of a whole run as text.
local function counters(params)
    local s <close> = H.sim { machine = "maxwell", progress = false,
        apps = { H.app("HASHJOIN", params) } }
    tap.is(s:run(), "done", "HASHJOIN, keys = " .. params.keys)
    local out, r = {}, s:results()
    for part, list in pairs(s:counters()) do
        for name, n in pairs(list) do out[#out + 1] = part .. "." .. name .. "=" .. n end
    end
    table.sort(out)
    return table.concat(out, "\n") .. "\ncycles=" .. r.cycles
end

for _, n in ipairs { 1, 2, 4096, 1 << 15 } do
    local seen, count = {}, 0
    for i = 0, n - 1 do
        local k = permuted(i, n, 3)
        if k >= 0 and k < n and not seen[k] then count = count + 1 end
        seen[k] = true
    end
    tap.is(count, n, ("a permutation of %d"):format(n))
end

do
    local computed = counters { n = 4096, keys = "computed", seed = 5 }
    local made = generate.permutation
    generate.permutation = function(o)
        local list = {}
        for i = 0, o.n - 1 do list[i] = permuted(i, o.n, o.seed) end
        return list
    end
    local stored = counters { n = 4096, keys = "shuffled", seed = 5 }
    generate.permutation = made
    tap.is(computed, stored, "every counter is the same")
    tap.ok(counters { n = 4096, keys = "shuffled", seed = 5 } ~= stored,
        "and others with other keys")
end

for _, more in ipairs { { n = 1000 }, { n = 1024, skew = 50 } } do
    tap.raises(function()
        app.get("HASHJOIN"):instance { n = more.n, skew = more.skew, keys = "computed" }
    end, "keys = computed takes a power of two of tuples and skew = 0", "n " .. more.n)
end

-- ---- sizes of gigabytes begin --------------------------------------------------------

for name, bytes in pairs { HASHJOIN = 4.8e9, KMER = 8.9e9 } do
    local got
    require("heddle.runner").spread(1, 1, function()
        local before = os.clock()
        local s <close> = H.sim { machine = "a100", progress = false,
            apps = { H.app(name, { size = "XL" }) } }
        local how = s:run(20000)
        local f <close> = assert(io.open("/proc/self/status"))
        return { ok = true, result = { how = how, seconds = os.clock() - before,
            footprint = s:results().apps[1].footprint, instructions = s.instructions,
            mb = f:read("a"):match("VmHWM:%s*(%d+)") // 1024 } }
    end, function(_, m) got = m end)
    local r = got.ok and got.result or error(got.result.message)
    tap.is(r.how, "ok", name .. " XL begins")
    tap.ok(r.footprint > bytes and r.instructions > 10000, "and runs",
        ("%d bytes, %d instructions"):format(r.footprint, r.instructions))
    print(("# %s: %.2f s of CPU, %d MB"):format(name, r.seconds, r.mb))
    tap.ok(r.mb < 400, "in less than 400 MB", r.mb)
    tap.ok(r.seconds < 5, "in less than five seconds", r.seconds)
end

return tap.done()
