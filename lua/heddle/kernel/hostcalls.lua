--- kernel/hostcalls.lua - what an application's host says of its buffers and does
-- to their memory: h.advise, h.prefetch, h.touch, h.free and their like.
--
-- Here arguments are checked, and become one table a call, which is then the
-- engine's (compile.lua), part of a list of launches, or the twin's (twin.lua):
--
--     { what =, buffer =, offset =, bytes =, ... }
--
-- what: "advise" (set, unset: bits), "move" (how: "gpu", "host", "read",
-- "write"), "free", "free_async", "allocate", "wait" (ns).  Without offset and
-- bytes a call is of the whole buffer; a range that is given has a byte of the
-- buffer and none beyond it.  How it becomes pages is the engine's: all that
-- it touches.
--
-- SPDX-License-Identifier: MIT
local launch = require "heddle.kernel.launch"

local fail = launch.fail

-- Not what application code has under these names (pure.lua).
local type, math_type, next = type, math.type, next

local M = {}

-- What cudaMemAdvise has a name for: bits that are set, and that are taken back.
local WORDS = {
    set_read_mostly = { 1, 0 }, unset_read_mostly = { 0, 1 },
    set_preferred_gpu = { 2, 4 }, set_preferred_host = { 4, 2 },
    unset_preferred = { 0, 6 },
    set_accessed_by = { 8, 0 }, unset_accessed_by = { 0, 8 },
}
M.ALL = 15 -- what a table of advice replaces

--- A range of a buffer: both given, the first and all behind it, or none.
local function range(b, what, offset, bytes)
    local size = b.count * b.width
    if offset == nil and bytes == nil then return end
    offset = offset or 0
    if bytes == nil and math_type(offset) == "integer" then
        bytes = size - offset
    end
    if math_type(offset) ~= "integer" or math_type(bytes) ~= "integer" then
        fail("buffer %s: %s: offset %s, length %s: whole numbers of bytes are "
            .. "expected", b.name, what, tostring(offset), tostring(bytes))
    elseif offset < 0 or offset >= size or bytes < 1 or bytes > size - offset then
        fail("buffer %s: %s: %d bytes at offset %d; it has %d bytes, and a range "
            .. "has at least 1 byte and ends within them", b.name, what, bytes,
            offset, size)
    end
    if offset == 0 and bytes == size then return end
    return offset, bytes
end

--- Memory is taken and given back by whole allocations.
local function whole(b, what, offset, bytes)
    if range(b, what, offset, bytes) then
        fail("buffer %s: %s: %d bytes at offset %d of its %d; a buffer is "
            .. "allocated and freed as a whole", b.name, what,
            bytes or b.count * b.width - offset, offset or 0,
            b.count * b.width)
    end
end

--- Refuses arguments behind the last one of a call.
local function no_more(what, n, ...)
    if n > 0 then
        fail("h.%s takes no more arguments, got %s", what, tostring((...)))
    end
end

--- The functions; each gives what it is told to do(call).
function M.calls(inst, apply)
    local function buffer(b, what)
        if type(b) ~= "table" or inst.b[b.name] ~= b then
            fail("application %s: h.%s: expected one of its buffers, got %s",
                inst.name, what, tostring(type(b) == "table" and b.name or b))
        end
        return b
    end
    local function say(b, what, offset, bytes, call)
        buffer(b, what)
        call.buffer = b
        call.offset, call.bytes = range(b, what, offset, bytes)
        apply(call)
    end
    local h = {}
    function h.advise(b, advice, offset, bytes, ...)
        no_more("advise", select("#", ...), ...)
        buffer(b, "advise")
        local bits = WORDS[advice]
        if type(advice) == "string" and not bits then
            local names = {}
            for name in next, WORDS do names[#names + 1] = name end
            table.sort(names)
            fail("buffer %s: advise: expected a table or one of %s, got \"%s\"",
                b.name, table.concat(names, ", "), advice)
        end
        bits = bits or { launch.advice(b, advice), M.ALL }
        say(b, "advise", offset, bytes,
            { what = "advise", set = bits[1], unset = bits[2] })
    end
    function h.prefetch(b, to, offset, bytes, ...)
        no_more("prefetch", select("#", ...), ...)
        say(b, "prefetch", offset, bytes, { what = "move",
            how = launch.word(to or "gpu", "prefetch", { "gpu", "host" }) })
    end
    function h.touch(b, how, offset, bytes, ...)
        no_more("touch", select("#", ...), ...)
        say(b, "touch", offset, bytes, { what = "move",
            how = launch.word(how, "touch", { "read", "write" }) })
    end
    for _, what in ipairs { "free", "free_async", "allocate" } do
        h[what] = function(b, offset, bytes, ...)
            no_more(what, select("#", ...), ...)
            whole(buffer(b, what), what, offset, bytes)
            apply { what = what, buffer = b }
        end
    end
    function h.wait(ns, ...)
        no_more("wait", select("#", ...), ...)
        if math_type(ns) ~= "integer" or ns < 0 or ns > 1000000000 then
            fail("h.wait: expected 0 to 10^9 ns, got %s", tostring(ns))
        end
        apply { what = "wait", ns = ns }
    end
    return h
end

--- Those of what h has, and no more: the rest is no call that a host makes while
-- a kernel runs.
function M.only(h)
    local out = {}
    for _, name in ipairs { "advise", "prefetch", "touch", "free", "free_async",
        "allocate", "wait" } do
        out[name] = h[name]
    end
    out.b = h.b
    return out
end

--- A call as text, for what a list of launches is known by.
function M.text(c)
    local out = { c.what, c.buffer and c.buffer.name or "" }
    for _, key in ipairs { "how", "set", "unset", "offset", "bytes", "ns" } do
        out[#out + 1] = c[key] and key .. c[key] or nil
    end
    return table.concat(out, ",")
end

return M
