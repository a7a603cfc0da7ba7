--- cmd/part.lua - heddle part: a part of the machine driven alone from a file.
--
-- Each part is an entry of PARTS: run(file, settings, options) prints one JSON
-- object.  Settings are passed on as they are; the engine checks them.
--
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local part = require "heddle.part"

local M = {
    summary = "drive a DRAM system, a TLB or a cache without a GPU",
    usage = [[
usage: heddle part dram FILE [name=value...]

Reads lines `0xADDR READ|WRITE CYCLE` from FILE (- is standard input), one
burst each, and prints one JSON object.

  window=N        reads in flight per channel (32)
  per_request=1   first prints a line per read: address, accepted cycle, latency
  name=value      any setting of the group dram (heddle list settings dram);
                  channels=1 and interleave=0 (one burst) unless set
  check=1         verify each command against each constraint

usage: heddle part tlb FILE [entries=64] [ways=0] [policy=lru]
       heddle part cache FILE [bytes=16384] [ways=4] [line=128]
                              [write=back|through|evict] [policy=lru]

Reads one access per line, decimal or 0x..., and prints hits and misses as one
JSON object.  A TLB takes page numbers; a cache takes byte addresses, each followed
by R or W.

  ways=0          fully associative
  policy=NAME     a replacement policy: lru, fifo, random, srrip, a script x.lua
                  or a plug-in ./x.so
  policy.NAME=N   a parameter of the policy, for example policy.bits=3
  seed=N          of its random numbers (1)
]],
}

--- One JSON object from {name, format} pairs and a table of values.
local function print_json(fields, values)
    local out = {}
    for _, f in ipairs(fields) do
        out[#out + 1] = ('"%s": ' .. f[2]):format(f[1], values[f[1]])
    end
    io.write("{", table.concat(out, ", "), "}\n")
end

local PARTS = {}

local DRAM_FIELDS = {
    { "requests", "%d" },          { "reads", "%d" },
    { "writes", "%d" },            { "cycles", "%d" },
    { "read_latency_mean", "%.4f" }, { "read_latency_p99", "%d" },
    { "bandwidth", "%.6f" },       { "row_hits", "%d" },
    { "activates", "%d" },         { "precharges", "%d" },
    { "refreshes", "%d" },
}

function PARTS.dram(file, settings, options)
    local dram = part.dram(settings)
    dram:load(file)
    local result = dram:run()
    if options.per_request then
        for address, accepted, latency in dram:reads() do
            io.write(("0x%x %d %d\n"):format(address, accepted, latency))
        end
    end
    print_json(DRAM_FIELDS, result)
end

local TLB_FIELDS = {
    { "accesses", "%d" }, { "hits", "%d" }, { "misses", "%d" },
    { "hit_rate", "%.6f" }, { "evictions", "%d" },
}

local CACHE_FIELDS = {
    { "accesses", "%d" }, { "hits", "%d" }, { "misses", "%d" },
    { "hit_rate", "%.6f" }, { "writes", "%d" }, { "write_hits", "%d" },
    { "evictions", "%d" }, { "write_backs", "%d" },
}

local function tags(make, fields)
    return function(file, settings)
        local r = make(settings):load(file):result()
        r.hit_rate = r.accesses > 0 and r.hits / r.accesses or 0
        print_json(fields, r)
    end
end

PARTS.tlb = tags(part.tlb, TLB_FIELDS)
PARTS.cache = tags(part.cache, CACHE_FIELDS)

--- Words behind `dram` that are no settings.
local OPTIONS = { per_request = true }

local function switch(word, value)
    if value == "1" or value == "true" then
        return true
    elseif value == "0" or value == "false" then
        return false
    end
    cli.usage("%s: 0 or 1 is expected, not '%s'", word, value)
end

function M.run(args)
    local name = args[1]
    if not name or not PARTS[name] then
        local known = {}
        for k in pairs(PARTS) do
            known[#known + 1] = k
        end
        table.sort(known)
        cli.usage("%s; the parts are: %s",
            name and ("no part '" .. name .. "'") or "a part is expected",
            table.concat(known, ", "))
    end
    local file
    local settings, options = {}, {}
    for i = 2, #args do
        local k, v = args[i]:match("^([%w_%.]+)=(.*)$")
        if not k then
            if file then
                cli.usage("one file is expected, not also '%s'", args[i])
            end
            file = args[i]
        elseif name == "dram" and OPTIONS[k] then
            options[k] = switch(k, v)
        else
            -- The setting's full name is one, too.
            k = name == "dram" and k:gsub("^dram%.", "") or k
            settings[#settings + 1] = { k, v }
        end
    end
    if not file then
        cli.usage("part %s: a file is expected (- is standard input)", name)
    end
    PARTS[name](file, settings, options)
    return 0
end

return M
