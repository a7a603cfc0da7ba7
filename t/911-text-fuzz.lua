--[[
911-text-fuzz.lua - texts that heddle reads in Lua and lists of traces, damaged
at random: settings, JSON, kernelslist.g.

Pinned: each damaged text is either read or refused in words; those of files
name the file, and settings the line; what of a text of settings is read can be
written and read again, and JSON that is read is written alike the second time.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local trace = require "heddle.trace"

local state = 42
local function below(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n
end

local OFTEN = "0123456789 .,:=#-+{}[]\"\\\nuetfx\0\xff"

-- A text with up to four changes: a byte, a cut, a piece doubled or taken out.
local function damaged(text)
    for _ = 0, below(4) do
        local at = below(#text) + 1
        local to = math.min(at + below(20), #text)
        local byte = 1 + below(#OFTEN)
        local kind = below(8)
        if kind == 0 then
            text = text:sub(1, at)
        elseif kind == 1 then
            text = text:sub(1, to) .. text:sub(at)
        elseif kind == 2 then
            text = text:sub(1, at - 1) .. text:sub(to + 1)
        else
            text = text:sub(1, at - 1) .. OFTEN:sub(byte, byte)
                .. text:sub(at + 1)
        end
        if text == "" then return "x" end
    end
    return text
end

local dir = files.folder()

local function write(name, text)
    files.write(dir .. "/" .. name, text)
    return dir .. "/" .. name
end

-- Reads n damaged texts: read(text) gives a value, an error has words that
-- match `words`; again(value) is false if the value is no good.
local function fuzz(what, n, seed, read, words, again)
    local good, bad, odd = 0, 0, nil
    for _ = 1, n do
        local text = damaged(seed)
        local ok, v = pcall(read, text)
        if ok then
            good = good + 1
            if not again(v) then
                odd = odd or ("%q gave %s"):format(text, tostring(v))
            end
        else
            bad = bad + 1
            if not tostring(v):find(words) then
                odd = odd or ("%q: %s"):format(text, tostring(v))
            end
        end
    end
    tap.ok(not odd, what .. ": read, or refused in words", odd)
    tap.ok(good > n / 50 and bad > n / 50, what .. ": both happen",
        ("%d read, %d refused"):format(good, bad))
end

-- ---- settings -------------------------------------------------------------------

H.config_write(dir .. "/whole", H.machine "maxwell")
local seed = {}
for line in io.lines(dir .. "/whole") do
    if #seed < 40 then seed[#seed + 1] = line end
end
fuzz("settings", 1000, table.concat(seed, "\n") .. "\n", function(text)
    return H.config_read(write("some", text))
end, "^[^\n]*/some:%d+: ", function(machine)
    H.config_write(dir .. "/again", machine)
    return H.config_read(dir .. "/again") ~= nil
end)

-- ---- JSON --------------------------------------------------------------------------

local VALUE = { a = H.json.array { 1, 2.5, -3e20, true, false, "x\"\n\u{e9}" },
    b = { c = "", ["d e"] = H.json.array {} }, n = 1 << 60 }
local json = H.json.encode(VALUE)
tap.same(H.json.decode(json), VALUE, "JSON is read as it was written")
fuzz("JSON", 5000, json, H.json.decode, "expected", function(v)
    local once = H.json.encode(v) -- 1e999 is infinite, which is no JSON
    return once:find "null" or H.json.encode(H.json.decode(once)) == once
end)

-- ---- lists of traces ------------------------------------------------------------------

write("kernel-1.traceg", [[
-kernel name = k
-kernel id = 1
-grid dim = (1,1,1)
-block dim = (32,1,1)
-shmem = 0
-nregs = 16
-binary version = 70
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007f1000000000
-accelsim tracer version = 4

#traces format = PC

#BEGIN_TB
thread block = 0,0,0
warp = 0
insts = 2
0000 0000000f 1 R2 LDG.E.SYS 1 R4 4 1 0x1000 4 0
0020 ffffffff 0 EXIT 0 0 0
#END_TB
]])
local LIST = "MemcpyHtoD,0x0000000000001000,4096\n"
    .. "cudaMalloc,0x0000000000200000,65536\nkernel-1.traceg\n"
    .. "MemcpyHtoD,0x0000000000200000,4096\nkernel-1.traceg\n"
fuzz("kernelslist.g", 1500, LIST, function(text)
    local w <close> = trace.open(write("kernelslist.g", text))
    return trace.info(w)
end, dir:gsub("%W", "%%%0"), function(facts)
    return facts.kernels >= 1 and facts.kernels < 10
        and facts.instructions == 2 * facts.kernels
end)

for _, name in ipairs { "whole", "some", "again", "kernel-1.traceg",
    "kernelslist.g" } do
    os.remove(dir .. "/" .. name)
end
os.remove(dir)

return tap.done()
