--[[
part.lua - the module heddle.part: parts of the machine without a GPU.

    local part = require "heddle.part"
    local d = part.dram { banks = 16, window = 32 }
    d:read(0x1000, 0)   d:write(0x2000, 10)   d:load("FILE")
    local r = d:run()   -- r.cycles, r.bandwidth, ...
    for address, accepted, latency in d:reads() do ... end

    local t = part.tlb { entries = 64, ways = 0, policy = "srrip" }
    local c = part.cache { bytes = 16384, ways = 4, line = 128 }
    t:access(page)      c:access(address, write)   -- true: a hit
    c:load("FILE")      c:result().hits

Settings are a table {name = value} or a list of pairs {{name, value}}.  A policy
is what sim:use takes: a name, a file or a table.  A file ("-": standard input)
has one access a line, `0xADDR READ|WRITE CYCLE` of a DRAM system, else a number
and, of a cache, R or W; blank lines and those that begin with # are left out, and
an error names file and line.  The parts are tool_part.h's.

SPDX-License-Identifier: MIT
]]
local C = require "heddle.parts"
local core = require "heddle.core"

local EINVAL, EDATA, ENOINPUT, EIO, EPOLICY = -2, -4, -5, -6, -7
local LONGEST = 4094 -- characters of a line

local M = {}

local function fail(code, text, ...)
    error(core.error(code, text:format(...)), 0)
end

-- ---- settings -------------------------------------------------------------

--- Gives a part its settings.
local function configure(part, settings)
    if settings == nil then return part end
    if type(settings) ~= "table" then
        fail(EINVAL, "settings are a table, not a %s", type(settings))
    end
    for _, pair in ipairs(settings) do
        if type(pair) ~= "table" then break end
        part:set(pair[1], pair[2])
    end
    for _, name in ipairs(core.keys(settings)) do
        if type(name) ~= "number" then part:set(name, settings[name]) end
    end
    return part
end

local function checked_name(name)
    if type(name) ~= "string" then
        error(("a setting's name is expected, not a %s"):format(type(name)), 3)
    end
    return name
end

-- ---- files ----------------------------------------------------------------

--- Calls fn(text, bad) for each line; bad(words, ...) raises with its place.
local function each_line(path, fn)
    local f, err = io.stdin, nil
    if path ~= "-" then f, err = io.open(core.path(path), "rb") end
    if not f then fail(ENOINPUT, "%s", err) end
    local _ <close> = setmetatable({}, { __close = function()
        if f ~= io.stdin then f:close() end
    end })
    local name, n = path == "-" and "standard input" or path, 0
    local function bad(text, ...)
        fail(EDATA, "%s:%d: " .. text, name, n, ...)
    end
    while true do
        local line, why = f:read "L"
        if why then fail(EIO, "%s: %s", name, why) end
        if not line then return end
        n = n + 1
        local zero = line:find("\0", 1, true)
        if zero then
            bad("byte %d of the line is a NUL", zero)
        elseif #line > LONGEST then
            bad("the line has %d bytes; at most %d are expected", #line,
                LONGEST)
        end
        local text = line:match "^[ \t]*(.-)[\r\n]*$"
        if text ~= "" and text:byte() ~= 35 then fn(text, bad) end
    end
end

--- The number (decimal or 0x..., of 64 bits) that a text begins with, and what
-- is behind it and blanks; nil if there is none.
local function number(text)
    local word, rest = text:match "^(%w+)[ \t]*(.*)$"
    local hex = word and word:match "^0[xX](%x+)$"
    if hex then
        hex = hex:gsub("^0+(%x)", "%1")
        return #hex <= 16 and tonumber(hex, 16) or nil, rest
    elseif not word or word:find "%D" then
        return nil
    end
    word = word:gsub("^0+(%d)", "%1")
    if #word > 20 or #word == 20 and word > "18446744073709551615" then
        return nil
    end
    local v = 0
    for digit in word:gmatch "%d" do v = v * 10 + tonumber(digit) end
    return v, rest
end

-- ---- a DRAM system --------------------------------------------------------

local dram, set_dram = C.dram_methods, C.dram_methods.set

--- d:set(name, value)
function dram:set(name, value)
    set_dram(self, checked_name(name), tostring(value))
    return self
end

--- d:read(address [, cycle]), d:write(address [, cycle])
function dram:read(address, cycle)
    self:add(address, false, cycle or 0)
    return self
end

function dram:write(address, cycle)
    self:add(address, true, cycle or 0)
    return self
end

function dram:load(path)
    each_line(path, function(text, bad)
        local address, rest = nil, nil
        if text:sub(1, 2) == "0x" then address, rest = number(text) end
        if not address then
            bad("an address in hexadecimal (0x...) is expected, not '%s'",
                text:match "^%S*")
        end
        local kind, tail = rest:match "^(%S*)[ \t]*(.*)$"
        if kind ~= "READ" and kind ~= "WRITE" then
            bad("READ or WRITE is expected, not '%s'", kind)
        end
        local cycle, more = number(tail)
        if not cycle or more ~= "" then
            bad("a cycle and the end of the line are expected, not '%s'",
                cycle and more or tail)
        elseif math.ult(1 << 48, cycle) then
            bad("cycle %s is beyond 2^48", tail:match "^%S+")
        end
        self:add(address, kind == "WRITE", cycle)
    end)
    return self
end

--- d:reads() -> iterator of address, accepted, latency
function dram:reads()
    local i = 0
    return function()
        while true do
            local address, accepted, latency, write = self:request(i)
            i = i + 1
            if not address then return nil end
            if not write then return address, accepted, latency end
        end
    end
end

function M.dram(settings)
    return configure(C.dram(), settings)
end

-- ---- a TLB or a cache -----------------------------------------------------

local tags, set_tags = C.tags_methods, C.tags_methods.set

--- t:set(name, value)
function tags:set(name, value)
    if checked_name(name) == "policy" then
        self:use(require("heddle.policy").find(value))
    else
        set_tags(self, name, tostring(value))
    end
    return self
end

function tags:load(path)
    local cache = self:is_cache()
    self:check() -- an empty file is one of a part, too
    each_line(path, function(text, bad)
        local v, rest = number(text)
        local write = false
        if not v then
            bad("%s is expected, decimal or 0x..., not '%s'",
                cache and "an address" or "a page number", text)
        elseif cache and rest:find "^[RW]" then
            write, rest = rest:byte() == 87, rest:match "^.[ \t]*(.*)$"
        end
        if rest ~= "" then
            bad("%s is expected, not '%s'", cache
                and "R, W or the end of the line" or "the end of the line", rest)
        end
        local ok, err = pcall(self.access, self, v, write)
        local p = not ok and core.problem(err)
        if p and p.code == EINVAL then bad("%s", p.message) end
        if p and p.code == EPOLICY then
            local _, words = pcall(bad, "%s", p.message)
            fail(EPOLICY, "%s", words.message)
        end
        if p then error(err, 0) end
    end)
    self:check()
    return self
end

function M.tlb(settings)
    return configure(C.tlb(), settings)
end

function M.cache(settings)
    return configure(C.cache(), settings)
end

return M
