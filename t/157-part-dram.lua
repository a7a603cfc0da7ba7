--[[
157-part-dram.lua - the DRAM system driven alone from Lua.

Pinned: heddle.part.dram takes settings as a table or a list of pairs, reads,
writes and files, gives results and the latency of every read, and raises
errors with their code.

SPDX-License-Identifier: MIT
]]
local files = require "lib.files"
local part = require "heddle.part"
local test, run = require "lib.suite"()

local function equal(got, want, what)
    if got ~= want then
        error(("%s: got %s, expected %s"):format(what, tostring(got),
            tostring(want)), 2)
    end
end

local function raises(code, pattern, fn, ...)
    local ok, err = pcall(fn, ...)
    equal(ok, false, "an error")
    equal(type(err), "table", "type of the error")
    equal(err.code, code, "code")
    if not tostring(err):find(pattern) then
        error(("'%s' is not in '%s'"):format(pattern, tostring(err)), 2)
    end
end

test("latencies of a closed bank, a hit and a conflict", function()
    local d = part.dram { map = "A", bus_bytes = 64 }
    d:read(0, 0):read(64, 200):read(0x8000, 400):write(0, 600)
    local r = d:run()
    local got = {}
    for address, accepted, latency in d:reads() do
        got[#got + 1] = ("%x %d %d"):format(address, accepted, latency)
    end
    equal(table.concat(got, ", "), "0 0 27, 40 200 15, 8000 400 39", "reads")
    equal(r.requests, 4, "requests")
    equal(r.reads, 3, "reads")
    equal(r.writes, 1, "writes")
    equal(r.cycles, 439, "cycles")
    equal(r.read_latency_mean, 27.0, "mean")
    equal(r.read_latency_p99, 39, "p99")
    equal(r.row_hits, 1, "row hits")
    equal(r.activates, 3, "activates")
    equal(r.bandwidth, 4 * 2 / 439, "bandwidth")
end)

test("settings as pairs, in capitals, and read back", function()
    local d = part.dram { { "tRRD", "8" }, { "CL", 10 } }
    equal(d:get("trrd"), "8", "trrd")
    equal(d:get("CL"), "10", "CL")
    equal(d:get("channels"), "1", "channels")
    d:set("refresh", true)
    equal(d:get("refresh"), "true", "refresh")
    equal(d:get("window"), "32", "window")
end)

test("a file", function()
    local name = os.tmpname()
    files.write(name, "0x0 READ 0\n0x20 WRITE 5\n")
    local d = part.dram {}
    d:load(name)
    equal(d:run().requests, 2, "requests")
    files.write(name, "0x0 READ 0\n0x20 WRIT 5\n")
    raises(-4, ":2: READ or WRITE", d.load, d, name)
    files.write(name, "0x0 READ 0\n0x0 READ 281474976710657\n")
    raises(-4, ":2: cycle 281474976710657", d.load, d, name)
    os.remove(name)
    raises(-5, "No such file", d.load, d, name)
end)

test("lines", function()
    local name = os.tmpname()
    local d = part.dram { map = "A" }
    files.write(name, "# a comment\n0x0 READ 0\r\n\n  0xFfE0\tWRITE  7  \n"
        .. "0x40 READ 9")
    d:load(name)
    local address, _, _, write = d:request(1)
    equal(address, 0xffe0, "address")
    equal(write, true, "write")
    equal(d:request(3), nil, "three lines")
    for text, words in pairs {
        ["0x0 READ 0\nREAD 0x0 0\n"] = ":2: an address",
        ["10 READ 0\n"] = ":1: an address",
        ["0x READ 0\n"] = ":1: an address",
        ["0x11112222333344445 READ 0\n"] = ":1: an address",
        ["0x0 read 0\n"] = ":1: READ or WRITE",
        ["0x0\n"] = ":1: READ or WRITE",
        ["0x0 READ\n"] = ":1: a cycle",
        ["0x0 READ -1\n"] = ":1: a cycle",
        ["0x0 READ 5 x\n"] = ":1: a cycle",
        ["0x0 READ 5x\n"] = ":1: a cycle",
        ["0x0 READ 99999999999999999999\n"] = ":1: a cycle",
        ["0x0 READ 18446744073709551615\n"] = ":1: cycle 18446744073709551615",
        ["0x0 READ 0\n0x0 RE\0AD 0\n"] = ":2: byte 7 of the line is a NUL",
        [("x"):rep(5000)] = ":1: the line has 5000 bytes; at most",
    } do
        files.write(name, text)
        raises(-4, words, d.load, d, name)
    end
    os.remove(name)
    raises(-6, "directory", d.load, d, "/tmp")
end)

-- With the checker every command is decided one by one, without it in batches.
test("refresh is the same in batches", function()
    for seed = 1, 3 do
        local seen
        for check = 0, 1 do
            math.randomseed(seed)
            local d, at, sum = part.dram { channels = 3, refresh = true,
                trefi = 400 + 10 * seed, check = check, interleave = 256 }, 0, 0
            for i = 1, 3000 do
                at = at + math.random(0, 9)
                    + (math.random(300) == 1 and 3000 or 0)
                local a = math.random(3) > 1 and i * 32
                    or math.random(0, 1 << 20) * 32
                if math.random(3) == 1 then d:write(a, at) else d:read(a, at) end
            end
            local cycles = d:run().cycles
            for _, accepted, latency in d:reads() do
                sum = (sum * 31 + accepted * 7 + latency) & 0xffffffffff
            end
            seen = seen or { cycles, sum }
            assert(seen[1] == cycles and seen[2] == sum)
        end
    end
end)

-- dram.latency is added to every read, and takes no bandwidth.
test("latency behind the controller", function()
    local function one(latency, mode)
        local d = part.dram { latency = latency, mode = mode or "full" }
        d:read(0, 0)
        d:run()
        local _, _, l = d:reads()()
        return l
    end
    for _, mode in ipairs { "full", "ideal" } do
        assert(one(100, mode) == one(0, mode) + 100, one(100, mode))
    end
    assert(one(100, "fixed:30") == one(0, "fixed:30"))
    local bad = part.dram { channels = 512 }
    assert(bad:get "channels" == "512")
    raises(-3, "512", part.dram, { channels = 513 })
end)

-- The clock says what a kind has in cycles: 14 ns of CL, and tRCD, of two channels.
test("a kind of memory", function()
    local function one(clock, more)
        local d = part.dram { kind = "hbm2", channels = 2, clock = clock,
            check = 1, more }
        d:read(0, 1)
        d:run()
        local _, _, l = d:reads()()
        return l
    end
    equal(one(1000000000), 1 + 14 + 14 + 2, "at 1 GHz")
    equal(one(2000000000), 1 + 28 + 28 + 2, "at 2 GHz")
    raises(-3, "dram.cl: 9 is set together with dram.kind=hbm2, which has 14 at "
        .. "clock.dram=1000000000", function()
        part.dram({ kind = "hbm2", channels = 2, clock = 1000000000, cl = 9 }):run()
    end)
    raises(-3, "come in pairs", function()
        part.dram({ kind = "hbm3" }):run()
    end)
    raises(-3, "'hbm9' is none of none|hbm2|", part.dram, { kind = "hbm9" })
end)

test("errors of settings", function()
    raises(-3, "did you mean dram.banks", part.dram, { bank = 8 })
    raises(-3, "did you mean dram.trcdrd", part.dram, { trcd = 8 })
    raises(-3, "dram.groups", function()
        return part.dram({ groups = 3 }):run()
    end)
    raises(-3, "dram.map", function()
        return part.dram({ map = "row:bank" }):run()
    end)
end)

test("the command takes full names of settings", function()
    local function command(words)
        return files.output(("printf '0x0 READ 0\\n' | %s part "
            .. "dram - per_request=1 %s"):format(files.HEDDLE, words))
    end
    local short = command "cl=20"
    assert(short:find "^0x0 0 35\n", short)
    assert(command "dram.cl=20" == short)
end)

run()
