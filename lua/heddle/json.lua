--- json.lua - writes JSON: deterministic (keys sorted), exact for integers.
--
-- A table with a positive length is an array, else an object; json.array(t)
-- marks an empty table as an array.  Integers are printed as such; floats
-- with 17 digits where 15 are not exact, so that reading gives the same
-- number; infinities and NaN, which JSON lacks, are null.  json.null is null,
-- too, for a hole in an array; reading makes null nil.  (Debian's lua-cjson does
-- not sort keys.)
--
-- SPDX-License-Identifier: MIT
local endless = require("heddle.plain").endless

local json = {}

local Array = {}

json.null = setmetatable({}, { __name = "json.null" })

--- Marks a table as an array even if it is empty.
function json.array(t)
    return setmetatable(t, Array)
end

local ESCAPE = {
    ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r",
    ["\t"] = "\\t",
}

--- A text whose bytes that are no UTF-8 are U+FFFD: of a file's name, say.
local function valid(s)
    local n, at = utf8.len(s)
    while not n do
        s = s:sub(1, at - 1) .. utf8.char(0xfffd) .. s:sub(at + 1)
        n, at = utf8.len(s, at)
    end
    return s
end

local function quote(s)
    s = valid(s)
    return '"' .. s:gsub('[%c"\\\127]', function(c)
        return ESCAPE[c] or ("\\u%04x"):format(c:byte())
    end) .. '"'
end

--- The shortest text of a number that reads back exactly.
function json.number(v)
    if math.type(v) == "integer" then
        return ("%d"):format(v)
    elseif v ~= v or v == math.huge or v == -math.huge then
        return "null"
    end
    local text = ("%.15g"):format(v)
    if text == "-0" then
        return "-0.0" -- without the point it would be read as an integer
    elseif tonumber(text) ~= v then
        text = ("%.17g"):format(v)
    end
    return text
end

local function keys_of(t)
    local keys = {}
    for k in pairs(t) do
        if type(k) ~= "string" then
            error("json: a table with string keys has the key "
                .. tostring(k), 0)
        end
        keys[#keys + 1] = k
    end
    table.sort(keys)
    return keys
end

local write

local DEEPEST = 1000 -- lists in lists

--- What is wrong with a value, and the keys that lead to it.
local function refuse(out, indent, why)
    local at = indent > 0 and table.concat(out.path, ".", 1, math.min(indent, 12))
        .. (indent > 12 and "... " or " ") or ""
    error("json: " .. at .. why, 0)
end

--- A table that is about to be written.
local function enter(out, v, indent)
    if out.seen[v] then
        refuse(out, indent, "is a table that contains itself")
    elseif indent >= DEEPEST then
        refuse(out, indent, "is nested too deeply")
    elseif endless(out, v) then
        refuse(out, indent, "is one of the tables that contain each other so "
            .. "often that the text would have no end")
    end
    out.seen[v] = true
end

--- An array or object whose parts are all scalars takes one line.
local function flat(v)
    for _, x in pairs(v) do
        if type(x) == "table" and x ~= json.null then
            return false
        end
    end
    return true
end

local function list(out, parts, open, close, indent, short)
    if #parts == 0 then
        out[#out + 1] = open .. close
        return
    end
    local pad = short and "" or "\n" .. (" "):rep(indent + 1)
    out[#out + 1] = open
    for i, part in ipairs(parts) do
        out[#out + 1] = (i > 1 and (short and ", " or ",") or "") .. pad
        part(out)
    end
    out[#out + 1] = (short and "" or "\n" .. (" "):rep(indent)) .. close
end

function write(out, v, indent)
    local t = type(v)
    if t == "nil" or v == json.null then
        out[#out + 1] = "null"
    elseif t == "boolean" then
        out[#out + 1] = tostring(v)
    elseif t == "number" then
        out[#out + 1] = json.number(v)
    elseif t == "string" then
        out[#out + 1] = quote(v)
    elseif t == "table" and (rawlen(v) > 0 or getmetatable(v) == Array) then
        local parts = {}
        enter(out, v, indent)
        for i = 1, rawlen(v) do
            parts[i] = function(o)
                o.path[indent + 1] = i
                write(o, v[i], indent + 1)
            end
        end
        list(out, parts, "[", "]", indent, flat(v))
        out.seen[v] = false
    elseif t == "table" then
        local parts, short = {}, flat(v)
        enter(out, v, indent)
        for i, k in ipairs(keys_of(v)) do
            parts[i] = function(o)
                o[#o + 1] = quote(k) .. ": "
                o.path[indent + 1] = k
                write(o, v[k], indent + 1)
            end
        end
        list(out, parts, "{", "}", indent, short and #parts <= 8)
        out.seen[v] = false
    else
        refuse(out, indent, "is a " .. t .. ", which cannot be written")
    end
end

--- The JSON text of a value.
function json.encode(v)
    -- seen: tables that it has been in, true of those that it is in; keys
    local out = { seen = {}, path = {}, tables = 0, different = 0 }
    write(out, v, 0)
    return table.concat(out)
end

-- ---- reading ------------------------------------------------------------

local function fail(text, at, what)
    local _, line = text:sub(1, at):gsub("\n", "")
    error(("json: line %d: expected %s"):format(line + 1, what), 0)
end

local decode

local function skip(text, at)
    return text:find("[^ \t\r\n]", at) or #text + 1
end

local UNESCAPE = {
    ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n",
    r = "\r", t = "\t",
}

-- The character of \uXXXX, or of two of them that are a pair of surrogates.
local function decode_code(text, at)
    local hex = text:match("^%x%x%x%x", at + 2)
    if not hex then
        fail(text, at, "four hexadecimal digits")
    end
    local code, to = tonumber(hex, 16), at + 6
    if code >= 0xd800 and code < 0xe000 then
        local low = text:match("^\\u([dD][c-fC-F]%x%x)", to)
        if code >= 0xdc00 or not low then
            fail(text, at, "a pair of surrogates")
        end
        code = 0x10000 + (code - 0xd800 << 10) + tonumber(low, 16) - 0xdc00
        to = to + 6
    end
    return utf8.char(code), to
end

local function decode_string(text, at)
    local out, from = {}, at + 1
    while true do
        local stop = text:find('["\\]', from)
        if not stop then
            fail(text, at, "the end of a string")
        end
        out[#out + 1] = text:sub(from, stop - 1)
        if text:sub(stop, stop) == '"' then
            return table.concat(out), stop + 1
        end
        local c = text:sub(stop + 1, stop + 1)
        if c == "u" then
            out[#out + 1], from = decode_code(text, stop)
        else
            out[#out + 1] = UNESCAPE[c] or fail(text, stop, "an escape")
            from = stop + 2
        end
    end
end

local function decode_list(text, at, close, item)
    local out = {}
    at = skip(text, at + 1)
    if text:sub(at, at) == close then
        return out, at + 1
    end
    while true do
        at = item(out, at)
        at = skip(text, at)
        local c = text:sub(at, at)
        if c == close then
            return out, at + 1
        elseif c ~= "," then
            fail(text, at, "',' or '" .. close .. "'")
        end
        at = skip(text, at + 1)
    end
end

function decode(text, at, depth)
    at = skip(text, at)
    local c = text:sub(at, at)
    if depth > DEEPEST then
        fail(text, at, "no more than " .. DEEPEST .. " levels")
    elseif c == "{" then
        return decode_list(text, at, "}", function(out, i)
            if text:sub(i, i) ~= '"' then
                fail(text, i, "a key")
            end
            local key
            key, i = decode_string(text, i)
            i = skip(text, i)
            if text:sub(i, i) ~= ":" then
                fail(text, i, "':'")
            end
            out[key], i = decode(text, i + 1, depth + 1)
            return i
        end)
    elseif c == "[" then
        local n = 0
        return decode_list(text, at, "]", function(out, i)
            n = n + 1
            out[n], i = decode(text, i, depth + 1)
            return i
        end)
    elseif c == '"' then
        return decode_string(text, at)
    end
    local word = text:match("^%a+", at)
    if word == "true" or word == "false" then
        return word == "true", at + #word
    elseif word == "null" then
        return nil, at + 4
    end
    local number = text:match("^-?%d[%d.eE+-]*", at)
    if not number or not tonumber(number) then
        fail(text, at, "a value")
    end
    return tonumber(number), at + #number
end

--- The value of a JSON text (null is nil).
function json.decode(text)
    local whole, bad = utf8.len(text)
    if not whole then
        fail(text, bad, "UTF-8")
    end
    local v, at = decode(text, 1, 1)
    if skip(text, at) <= #text then
        fail(text, at, "the end")
    end
    return v
end

return json
