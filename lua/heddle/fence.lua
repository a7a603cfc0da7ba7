--[[
fence.lua - the library of code behind a fence: of policies and generators
(lsandbox.c), and the parts of it that applications share (kernel/pure.lua).

lsandbox.c calls it with the functions that are in C and with what is said of the
fence, and gets: the globals; the list of all functions that can be reached, {
library =, name =, what = } each; enter(f), which takes a function behind the
fence; check(), which looks at metatables once more; and seal(t), which makes the
fields of a table all that it has.  The globals of this
file are Lua's functions as they were made, whatever a script has put into its
own.

Iteration is in order, the sort is stable and asks no clock, and whatever goes
over a list or a text counts: this is Lua, whose instructions are counted, and
where Lua's own functions do the work what they are going to do is counted
before.  So nothing runs for ever, whatever a __len says.

Lua's own matcher of patterns can neither be counted nor stopped, and the time
that a pattern takes can be a high power of the text's length:
("a"):rep(3000):find((".-"):rep(30) .. "b") ends in no lifetime.  So here is one
in Lua; single characters, sets and runs of them are Lua's.  The language is
that of section 6.4.1 of the manual, to the letter, and so are the errors;
t/526-fence.lua compares the two.

SPDX-License-Identifier: MIT
]]
local byte, sub, find, format = string.byte, string.sub, string.find,
    string.format
local tointeger, min = math.tointeger, math.min
local type, rawget, rawset, pcall, select = type, rawget, rawset, pcall, select
local setmetatable, tostring, getmetatable = setmetatable, tostring,
    debug.getmetatable
local concat, pack, unpack, native_next = table.concat, table.pack, table.unpack,
    next

return function(C, kind)

local use = C.use

local function fail(text, ...)
    C.raise(format(text, ...))
end

-- ---- arguments ------------------------------------------------------------

local function expected(n, name, what, v)
    fail("bad argument #%d to '%s' (%s expected, got %s)", n, name, what,
        type(v))
end

local function table_at(n, name, v)
    if type(v) ~= "table" then expected(n, name, "table", v) end
end

local function text_at(n, name, v)
    if type(v) == "string" then return v end
    if type(v) ~= "number" then expected(n, name, "string", v) end
    return tostring(v)
end

local function integer_at(n, name, v, otherwise)
    if v == nil and otherwise then return otherwise end
    local i = tointeger(v)
    if not i and type(v) == "number" then
        fail("bad argument #%d to '%s' (number has no integer representation)",
            n, name)
    elseif not i then
        expected(n, name, "number", v)
    end
    return i
end

-- ---- lists ----------------------------------------------------------------

-- Numbers, then strings; a key whose value is gone is skipped.
local function ordered_pairs(t)
    table_at(1, "pairs", t)
    if C.metafield(t, "__pairs") then
        fail "pairs of a table with __pairs is not available here"
    end
    local keys, i = C.keys(t), 0
    return function()
        local key, value
        repeat
            i = i + 1
            key = keys[i]
            if key == nil then return nil end
            value = rawget(t, key)
        until value ~= nil
        return key, value
    end
end

--- Elements first to last, from `to` on.
local function shift(t, first, last, to, out)
    if to <= first or to > last or out ~= t then
        for i = 0, last - first do out[to + i] = t[first + i] end
    else
        for i = last - first, 0, -1 do out[to + i] = t[first + i] end
    end
    return out
end

local function insert(...)
    local t, at, v = ...
    table_at(1, "insert", t)
    local n, given = #t, select("#", ...)
    if given == 2 then
        t[n + 1] = at
        return
    elseif given ~= 3 then
        fail "wrong number of arguments to 'insert'"
    end
    at = integer_at(2, "insert", at)
    if at < 1 or at > n + 1 and n + 1 > 0 then
        fail "bad argument #2 to 'insert' (position out of bounds)"
    end
    shift(t, at, n, at + 1, t)
    t[at] = v
end

local function remove(t, at)
    table_at(1, "remove", t)
    local n = #t
    at = integer_at(2, "remove", at, n)
    if at ~= n and (at < 1 or at > n + 1) then
        fail "bad argument #2 to 'remove' (position out of bounds)"
    end
    local v = t[at]
    shift(t, at + 1, n, at, t)
    t[at > n and at or n] = nil
    return v
end

local function checked_concat(t, between, i, j)
    table_at(1, "concat", t)
    between = between ~= nil and text_at(2, "concat", between) or ""
    i, j = integer_at(3, "concat", i, 1), integer_at(4, "concat", j, #t)
    if j >= i then use(j - i) end
    local ok, text = pcall(concat, t, between, i, j)
    return ok and text or fail("%s", text)
end

local function checked_move(t, first, last, to, out)
    table_at(1, "move", t)
    first, last, to = integer_at(2, "move", first), integer_at(3, "move", last),
        integer_at(4, "move", to)
    if out ~= nil then table_at(5, "move", out) end
    if last >= first then
        if first <= 0 and last >= math.maxinteger + first then
            fail "bad argument #3 to 'move' (too many elements to move)"
        elseif to > math.maxinteger - (last - first + 1) + 1 then
            fail "bad argument #4 to 'move' (destination wrap around)"
        end
    end
    return shift(t, first, last, to, out or t)
end

local function checked_unpack(t, i, j)
    i = integer_at(2, "unpack", i, 1)
    j = integer_at(3, "unpack", j, j == nil and #t or nil)
    if i > j then return end
    if j - i >= C.most_values or j - i < 0 then
        fail "too many results to unpack"
    end
    use(j - i + 1)
    return unpack(t, i, j)
end

--- By merging runs of 1, 2, 4, ... elements.
local function sort(list, before)
    table_at(1, "sort", list)
    local n, from, to, width = #list, list, {}, 1
    if n >= 1 << 31 then fail "bad argument #1 to 'sort' (array too big)" end
    if before ~= nil and type(before) ~= "function" then
        expected(2, "sort", "function", before)
    end
    while width < n do
        for low = 1, n, 2 * width do
            local a, middle = low, min(low + width, n + 1)
            local b, high = middle, min(low + 2 * width, n + 1)
            for i = low, high - 1 do
                local right = a == middle
                if not right and b < high then
                    if before then
                        right = before(from[b], from[a])
                    else
                        right = from[b] < from[a]
                    end
                end
                if right then
                    to[i], b = from[b], b + 1
                else
                    to[i], a = from[a], a + 1
                end
            end
        end
        from, to, width = to, from, 2 * width
    end
    if from ~= list then shift(from, 1, n, 1, list) end
end

-- ---- patterns -------------------------------------------------------------

local ESC, OPEN, CLOSE, DOLLAR, SET, SET_END, HAT = byte("%()$[]^", 1, -1)
local DEEPEST, CAPTURES, UNFINISHED, POSITION = 200, 32, -1, -2

local match

--- The place after the item at p: a character, a class or a set.
local function item_end(m, p)
    local c = byte(m.pattern, p)
    p = p + 1
    if c == ESC then
        if p > m.last then fail "malformed pattern (ends with '%%')" end
        return p + 1
    elseif c ~= SET then
        return p
    end
    if byte(m.pattern, p) == HAT then p = p + 1 end
    repeat -- a first ']' stands for itself
        if p > m.last then fail "malformed pattern (missing ']')" end
        if byte(m.pattern, p) == ESC then p = p + 1 end
        p = p + 1
    until byte(m.pattern, p) == SET_END
    return p + 1
end

--- Lua's pattern of the item from p to after, as a whole text begins with it.
local function plain_item(m, p, after)
    use((after - p) // 16)
    local item = sub(m.pattern, p, after - 1)
    return "^" .. (find(item, "^[^%w.%%[]") and "%" .. item or item)
end

--- Whether the item is there at s.
local function single(m, s, p, after)
    return s <= #m.text and find(sub(m.text, s, s), plain_item(m, p, after))
end

--- As often as it is there, and then fewer times, until the rest matches.
local function most(m, s, p, after)
    local _, last = find(m.text, plain_item(m, p, after) .. "*", s)
    use((last - s + 1) // 16)
    for at = last + 1, s, -1 do
        local stop = match(m, at, after + 1)
        if stop then return stop end
    end
end

local function least(m, s, p, after)
    while true do
        local stop = match(m, s, after + 1)
        if stop then return stop end
        if not single(m, s, p, after) then return nil end
        s = s + 1
    end
end

local function open_capture(m, s, p, what)
    if m.level >= CAPTURES then fail "too many captures" end
    m.level = m.level + 1
    m.at[m.level], m.len[m.level] = s, what
    local stop = match(m, s, p)
    if not stop then m.level = m.level - 1 end
    return stop
end

local function close_capture(m, s, p)
    local i = m.level
    while i > 0 and m.len[i] ~= UNFINISHED do i = i - 1 end
    if i == 0 then fail "invalid pattern capture" end
    m.len[i] = s - m.at[i]
    local stop = match(m, s, p)
    if not stop then m.len[i] = UNFINISHED end
    return stop
end

--- %1 to %9
local function same_again(m, s, digit)
    local i = digit - 48
    if i < 1 or i > m.level or m.len[i] == UNFINISHED then
        fail("invalid capture index %%%d", i)
    end
    local n = m.len[i]
    if n < 0 or n > #m.text - s + 1 then return nil end
    use(n // 16)
    return sub(m.text, m.at[i], m.at[i] + n - 1) == sub(m.text, s, s + n - 1)
        and s + n or nil
end

--- %bxy, p at x
local function balance(m, s, p)
    if p >= m.last then
        fail "malformed pattern (missing arguments to '%%b')"
    end
    local open, close, depth = byte(m.pattern, p), byte(m.pattern, p + 1), 1
    if byte(m.text, s) ~= open then return nil end
    for at = s + 1, #m.text do
        local c = byte(m.text, at)
        if c == close then
            depth = depth - 1
            if depth == 0 then return at + 1 end
        elseif c == open then
            depth = depth + 1
        end
    end
end

--- %f[set], p at [: the place after it, or nil.
local function frontier(m, s, p)
    if byte(m.pattern, p) ~= SET then
        fail "missing '[' after '%%f' in pattern"
    end
    local after = item_end(m, p)
    local set = plain_item(m, p, after)
    local before, here = s == 1 and "\0" or sub(m.text, s - 1, s - 1),
        s > #m.text and "\0" or sub(m.text, s, s)
    return not find(before, set) and find(here, set) and after or nil
end

--- The item at p with what is behind it: where the text continues, or nil; and
-- where the pattern does, or nil if the rest was matched, too.
local function item(m, s, p)
    local after = item_end(m, p)
    local c = sub(m.pattern, after, after)
    if c == "*" then
        return most(m, s, p, after)
    elseif c == "+" then
        return single(m, s, p, after) and most(m, s + 1, p, after) or nil
    elseif c == "-" then
        return least(m, s, p, after)
    elseif c == "?" then
        local stop = single(m, s, p, after) and match(m, s + 1, after + 1)
        if stop then return stop end
        return s, after + 1
    elseif single(m, s, p, after) then
        return s + 1, after
    end
end

--- The place behind what the pattern from p on matches at s, or nil.
match = function(m, s, p)
    if m.depth == 0 then fail "pattern too complex" end
    m.depth = m.depth - 1
    while s and p and p <= m.last do
        local c, d = byte(m.pattern, p, p + 1)
        if c == OPEN and d == CLOSE then
            s, p = open_capture(m, s, p + 2, POSITION)
        elseif c == OPEN then
            s, p = open_capture(m, s, p + 1, UNFINISHED)
        elseif c == CLOSE then
            s, p = close_capture(m, s, p + 1)
        elseif c == DOLLAR and p == m.last then
            s, p = s > #m.text and s or nil, nil
        elseif c == ESC and d == 98 then -- %b
            s, p = balance(m, s, p + 2), p + 4
        elseif c == ESC and d == 102 then -- %f
            p = frontier(m, s, p + 2)
            s = p and s
        elseif c == ESC and d and d >= 48 and d <= 57 then
            s, p = same_again(m, s, d), p + 2
        else
            s, p = item(m, s, p)
        end
    end
    m.depth = m.depth + 1
    return s
end

local function matcher(name, text, pattern)
    text, pattern = text_at(1, name, text), text_at(2, name, pattern)
    return { text = text, pattern = pattern, last = #pattern, at = {}, len = {} },
        text, pattern
end

local function match_at(m, s, p)
    m.level, m.depth = 0, DEEPEST
    return match(m, s, p)
end

--- Capture i of the match from s up to stop; the first of none is all.
local function capture(m, i, s, stop)
    if i > m.level then
        if i ~= 1 then fail("invalid capture index %%%d", i) end
        return sub(m.text, s, stop - 1)
    elseif m.len[i] == UNFINISHED then
        fail "unfinished capture"
    elseif m.len[i] == POSITION then
        return m.at[i]
    end
    return sub(m.text, m.at[i], m.at[i] + m.len[i] - 1)
end

--- All of them; without any the whole match, if it is wanted.
local function captures(m, s, stop, whole)
    local out, n = {}, m.level == 0 and whole and 1 or m.level
    for i = 1, n do out[i] = capture(m, i, s, stop) end
    return unpack(out, 1, n)
end

--- The place from which on argument 3 says; may be past the end.
local function start(name, init, n)
    local at = integer_at(3, name, init, 1)
    if at > 0 then return at end
    return (at == 0 or at < -n) and 1 or n + at + 1
end

--- Whether Lua's own matcher cannot take long, which is then counted: a
-- repetition tries each place, at each place where the ones before it end.
local function is_quick(m, s)
    local _, times = string.gsub(m.pattern, "[*+?b-]", "")
    local steps = (#m.text - s + 2.0) ^ (times + 1) * m.last
    if steps < 50000 then use(steps // 16 | 0) end
    return steps < 50000
end

local function search(name, text, pattern, init, plain)
    local m, p = matcher(name, text, pattern), 1
    local s, n = start(name, init, #m.text), #m.text
    if s > n + 1 then return nil end
    if name == "find" and (plain or not find(m.pattern, "[%^$*+?.([%%-]")) then
        use((n - s + 2) // 16 * (1 + m.last // 16))
        return find(m.text, m.pattern, s, true)
    elseif is_quick(m, s) then
        local found = pack(pcall(string[name], m.text, m.pattern, s))
        if found[1] then return unpack(found, 2, found.n) end
    end -- an error is found once more, and raised at its place
    local anchor = byte(m.pattern) == HAT
    if anchor then p = 2 end
    repeat
        local stop = match_at(m, s, p)
        if stop and name == "find" then
            return s, stop - 1, captures(m, s, stop)
        elseif stop then
            return captures(m, s, stop, true)
        end
        s = s + 1
    until s > n + 1 or anchor
    return nil
end

local function gmatch(text, pattern, init)
    local m = matcher("gmatch", text, pattern)
    local s, before = start("gmatch", init, #m.text), nil
    return function()
        while s <= #m.text + 1 do
            local stop = match_at(m, s, 1)
            if stop and stop ~= before then
                local from = s
                s, before = stop, stop
                return captures(m, from, stop, true)
            end
            s = s + 1
        end
    end
end

--- The text `with` with captures in place of %0 to %9.
local function replaced(m, with, s, stop)
    local out, at = "", 1
    while true do
        local p = find(with, "%", at, true)
        out = out .. sub(with, at, (p or #with + 1) - 1)
        if not p then return out end
        local c = sub(with, p + 1, p + 1)
        if c == "%" then
            out = out .. c
        elseif c == "0" then
            out = out .. sub(m.text, s, stop - 1)
        elseif find(c, "^%d") then
            out = out .. capture(m, byte(c) - 48, s, stop)
        else
            fail "invalid use of '%%' in replacement string"
        end
        at = p + 2
    end
end

--- What stands for the match.
local function value_of(m, with, s, stop)
    local v
    if type(with) == "function" then
        v = with(captures(m, s, stop, true))
    elseif type(with) == "table" then
        v = with[capture(m, 1, s, stop)]
    else
        return replaced(m, with, s, stop)
    end
    if not v then return sub(m.text, s, stop - 1) end
    if type(v) ~= "string" and type(v) ~= "number" then
        fail("invalid replacement value (a %s)", type(v))
    end
    return v
end

local function gsub(text, pattern, with, times)
    local m = matcher("gsub", text, pattern)
    local kind_of = type(with)
    if kind_of == "number" then
        with = tostring(with)
    elseif kind_of ~= "string" and kind_of ~= "table"
        and kind_of ~= "function" then
        expected(3, "gsub", "string/function/table", with)
    end
    local anchor = byte(m.pattern) == HAT
    times = integer_at(4, "gsub", times, #m.text + 1)
    local out, n, s, before, p = {}, 0, 1, nil, anchor and 2 or 1
    while n < times do
        local stop = match_at(m, s, p)
        if stop and stop ~= before then
            n = n + 1
            out[#out + 1] = value_of(m, with, s, stop)
            s, before = stop, stop
        elseif s <= #m.text then
            out[#out + 1] = sub(m.text, s, s)
            s = s + 1
        else
            break
        end
        if anchor then break end
    end
    out[#out + 1] = sub(m.text, s)
    return concat(out), n
end

-- ---- texts, without addresses -----------------------------------------------

local ADDRESSED = { table = true, ["function"] = true, userdata = true,
    thread = true }

local function without_addresses(...)
    local args = pack(...)
    for i = 1, args.n do
        if ADDRESSED[type(args[i])] then args[i] = C.tostring(args[i]) end
    end
    return unpack(args, 1, args.n)
end

--- A step a byte: what is written to a file costs more than what is looked at.
local function shown(...)
    local args, bytes = pack(...), 0
    for i = 1, args.n do
        args[i] = C.tostring(args[i])
        bytes = bytes + #args[i] + 1
    end
    use(bytes)
    print(unpack(args, 1, args.n))
end

local function formatted(...)
    local f = text_at(1, "format", (...))
    use(#f // 16)
    if find((string.gsub(f, "%%%%", "")), "%%[-+ #0-9.]*p") then
        fail "%%p shows an address, which differs from run to run"
    end
    local ok, text = pcall(format, f, without_addresses(select(2, ...)))
    return ok and text or fail("%s", text)
end

local function repeated(s, times, between)
    s, times = text_at(1, "rep", s), integer_at(2, "rep", times)
    between = between ~= nil and text_at(3, "rep", between) or ""
    local each = #s + #between
    if times > C.longest // (each + 1) + 1 then
        fail "resulting string too large"
    end
    if times > 0 then use(times * each // 256) end
    return string.rep(s, times, between)
end

-- ---- metatables -----------------------------------------------------------

local function new_metas()
    return setmetatable({}, { __mode = "k" })
end

local metas = new_metas() -- that code behind the fence has set

local function check_meta(meta)
    for _, event in native_next, { "__mode", "__gc", "__pairs" } do
        if rawget(meta, event) ~= nil then
            fail("%s is not available here: when memory is collected differs "
                .. "from run to run", event)
        end
    end
end

--- Once more: one may have got its __mode since it was set.  `last`: nothing has
-- them any more.
local function check_metas(last)
    local all = metas
    metas = new_metas()
    for meta in native_next, all do check_meta(meta) end
    if not last then metas = all end
end

local function visible_metatable(t)
    table_at(1, "getmetatable", t)
    local shown_one = C.metafield(t, "__metatable")
    if shown_one ~= nil then return shown_one end
    return getmetatable(t)
end

local function checked_setmetatable(t, meta)
    table_at(1, "setmetatable", t)
    if meta ~= nil and type(meta) ~= "table" then
        expected(2, "setmetatable", "nil or table", meta)
    elseif C.metafield(t, "__metatable") ~= nil then
        fail "cannot change a protected metatable"
    elseif meta then
        check_meta(meta)
        metas[meta] = true
        C.note_metas(kind.bit)
    end
    return setmetatable(t, meta)
end

--- What is sealed stays as it is: the globals, the libraries, what a policy is
-- given.
local function checked_rawset(t, key, v)
    table_at(1, "rawset", t)
    if C.metafield(t, "__metatable") ~= nil then
        fail "cannot change a protected table"
    end
    local ok, err = pcall(rawset, t, key, v)
    return ok and t or fail("%s", err)
end

-- ---- what gets through ----------------------------------------------------

-- Lua's own functions and values, by library.
local OWN = {
    { "", "assert error ipairs rawequal rawget rawlen select type" },
    { "math", "abs acos asin atan ceil cos deg exp floor fmod log max min modf "
        .. "rad sin sqrt tan tointeger type ult" },
    { "string", "char len lower pack packsize reverse sub upper" },
    { "table", "pack" },
    { "utf8", "char" },
}
local VALUES = { { "", "_VERSION" }, { "math", "huge maxinteger mininteger pi" },
    { "utf8", "charpattern" } }

-- Those that differ, with how; "length": Lua's own, whose text is counted.
local LENGTH, COUNTED, STEPS = "counts its text", "counts the elements",
    "counts its steps"
local ORDER, BUDGET = "numbers and then strings, in order",
    "does not catch that the budget is used up"
local DIFFERENT = {
    { "", "getmetatable", visible_metatable, "of tables only" },
    { "", "next", C.next, ORDER },
    { "", "pairs", ordered_pairs, ORDER },
    { "", "pcall", C.pcall, BUDGET },
    { "", "print", shown, "shows no addresses; counts its bytes" },
    { "", "rawset", checked_rawset, "of tables whose metatable is not protected" },
    { "", "setmetatable", checked_setmetatable, "no __mode, __gc or __pairs" },
    { "", "tonumber", C.counted(tonumber), LENGTH },
    { "", "tostring", C.tostring, "shows no addresses" },
    { "", "xpcall", C.xpcall, BUDGET },
    { "string", "byte", C.counted(string.byte), LENGTH },
    { "string", "find", function(...) return search("find", ...) end, STEPS },
    { "string", "format", formatted, "shows no addresses; no %p" },
    { "string", "gmatch", gmatch, STEPS },
    { "string", "gsub", gsub, STEPS },
    { "string", "match", function(s, p, init)
        return search("match", s, p, init)
    end, STEPS },
    { "string", "rep", repeated, LENGTH },
    { "string", "unpack", C.counted(string.unpack), LENGTH },
    { "table", "concat", checked_concat, COUNTED },
    { "table", "insert", insert, COUNTED },
    { "table", "move", checked_move, COUNTED },
    { "table", "remove", remove, COUNTED },
    { "table", "sort", sort, "stable; counts the elements" },
    { "table", "unpack", checked_unpack, "counts the elements; "
        .. C.most_values .. " at most" },
    { "utf8", "codepoint", C.counted(utf8.codepoint), LENGTH },
    { "utf8", "codes", C.counted(utf8.codes), LENGTH },
    { "utf8", "len", C.counted(utf8.len), LENGTH },
    { "utf8", "offset", C.counted(utf8.offset), LENGTH },
}

local BANNED = " os io debug load loadstring loadfile dofile require package "
    .. "coroutine collectgarbage _G warn "

local env, reach = {}, {}

local function put(library, name, value, what)
    local t = env
    if library ~= "" then
        t = env[library] or {}
        env[library] = t
    end
    t[name] = value
    if what then
        reach[#reach + 1] = { library = library, name = name, what = what }
    end
end

for i, list in native_next, { OWN, VALUES } do
    for _, group in native_next, list do
        local from = group[1] == "" and _ENV or _ENV[group[1]]
        for name in string.gmatch(group[2], "%S+") do
            put(group[1], name, from[name], i == 1 and "" or nil)
        end
    end
end
for _, list in native_next, { DIFFERENT, kind.own } do
    for _, g in native_next, list do put(g[1], g[2], g[3], g[4]) end
end

-- No code adds to a table of these, by whatever way: its metatable is protected,
-- and rawset keeps to that.
for _, library in native_next, env do
    if type(library) == "table" then
        setmetatable(library, { __metatable = false,
            __newindex = function(_, name)
                fail("%s cannot change a library ('%s')", kind.code,
                    C.tostring(name))
            end })
    end
end

setmetatable(env, { __metatable = false,
    __index = function(_, name)
        name = C.tostring(name)
        if find(BANNED, " " .. name .. " ", 1, true) then
            fail("'%s' is not available in %s: %s", name, kind.code,
                kind.depends)
        end
        local near = C.nearest(name, C.keys(env))
        fail("%s has no global '%s'%s; what it needs from the script must be a "
            .. "local", kind.code, name, near and " (did you mean '" .. near .. "'?)" or "")
    end,
    __newindex = function(_, name)
        fail("%s cannot set the global '%s': what changes belongs in %s",
            kind.code, C.tostring(name), kind.belongs)
    end })

-- ---- entering -------------------------------------------------------------

local safe = {}
for _, t in native_next, { env, env.math, env.string, env.table, env.utf8 } do
    for _, f in native_next, t do safe[f] = type(f) == "function" or nil end
end
local loader = load("return nil", "", "t", env)

--- Whether a function stands in one of heddle's own modules, which others call
-- outside of the fence, too.
local function is_own(f)
    local source = debug.getinfo(f, "S").source
    return find(source, "^=heddle/") and not find(source, "^=heddle/policies/")
end

--- A function, and those that it holds in locals, have the globals of the fence
-- from here on; raises where a local holds what they may not use.  Every local
-- that holds data is reported: note(function, number, name, value).
local function enter(entered, note)
    local seen, meta = {}, 0
    local visit_value

    local function visit_function(f, depth)
        if meta > 0 and is_own(f) or safe[f] or seen[f] then return end
        if depth > 64 then fail "functions nested too deeply in locals" end
        seen[f] = true
        for n = 1, math.maxinteger do
            local name, value = debug.getupvalue(f, n)
            if not name then return end
            if name == "_ENV" or rawequal(value, C.globals) then
                debug.upvaluejoin(f, n, loader, 1)
            else
                visit_value(value, name, depth)
                if note then note(f, n, name, value) end
            end
        end
    end

    local function visit_table(t, name, depth)
        for _, module in native_next, C.loaded do
            if rawequal(module, t) then
                fail("the local '%s' holds a whole module; let %s have the "
                    .. "functions and values that it needs in locals", name,
                    kind.code)
            end
        end
        local of = getmetatable(t)
        if of and rawget(of, "__fenced") then
            fail("the local '%s' holds %s, which %s cannot use%s", name,
                rawget(of, "__fenced"), kind.code, kind.code == "policy code"
                and ": it has stop(), counter(), setting() and now()" or "")
        end
        if depth > 16 or seen[t] then return end
        seen[t] = true
        for _, v in native_next, t do visit_value(v, name, depth) end
        local class = getmetatable(t)
        if not class then return end
        if rawget(class, "__mode") ~= nil then
            fail("the local '%s' holds a weak table, which %s cannot use: when "
                .. "memory is collected differs from run to run", name,
                kind.code)
        end
        meta = meta + 1
        visit_value(class, name, depth)
        meta = meta - 1
    end

    visit_value = function(v, name, depth)
        if type(v) == "table" then
            visit_table(v, name, depth + 1)
        elseif io.type(v) then
            fail("the local '%s' holds a file, which %s cannot use: %s; print "
                .. "writes to standard output", name, kind.code, kind.depends)
        elseif type(v) ~= "function" then
            return
        elseif debug.getinfo(v, "S").what ~= "C" then
            visit_function(v, depth + 1)
        elseif not safe[v] then
            fail("the local '%s' holds a function of the system's that %s may "
                .. "not call; use the global of %s", name, kind.code, kind.code)
        end
    end

    visit_value(entered, "(the function itself)", -1)
end

local function seal(t, what, name, fixed)
    local class = { __metatable = false, __index = function(_, key)
        key = C.tostring(key)
        local near = C.nearest(key, C.keys(t))
        fail("%s has no %s'%s'%s", what, name, key,
            near and "; did you mean '" .. near .. "'?" or "")
    end }
    if fixed then class.__newindex = function() fail("%s", fixed) end end
    setmetatable(t, class)
end

return env, reach, enter, check_metas, seal

end
