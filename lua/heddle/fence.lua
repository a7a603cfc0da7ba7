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
("a"):rep(3000):find((".-"):rep(30) .. "b") would run for ever.  So what a pattern
can take at most is found first, from its repetitions and the text's length: that
is counted, and beyond a limit the call is refused.

SPDX-License-Identifier: MIT
]]
local byte, sub, find, format = string.byte, string.sub, string.find,
    string.format
local tointeger, min, max = math.tointeger, math.min, math.max
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

-- Steps of one call, some tenths of a second of them at most; 16 count as an
-- instruction.
local MOST_STEPS, PER_INSTRUCTION = 10000000, 16
local ESC, SET, SET_END, HAT = byte("%[]^", 1, -1)

--- The place behind the class at p: a character, an escape or a set.  A malformed
-- set ends with the pattern; the matcher says so when it is there.
local function class_end(pattern, p)
    local c = byte(pattern, p)
    p = p + 1
    if c ~= SET then return c == ESC and p + 1 or p end
    if byte(pattern, p) == HAT then p = p + 1 end
    repeat -- a first ']' stands for itself
        if byte(pattern, p) == ESC then p = p + 1 end
        p = p + 1
    until p > #pattern or byte(pattern, p) == SET_END
    return p + 1
end

--- The item at p on a text of n bytes: the place behind it, what one try costs,
-- how often it may be there (nil: once), and whether it can fail.
local function item(pattern, p, n)
    local c, after = sub(pattern, p, p + 1), class_end(pattern, p)
    local times, cost = sub(pattern, after, after), 1
    if byte(c) == SET then cost = after - p end
    if find(c, "^[()]") then
        return after, 1, nil, false
    elseif c == "%b" then
        return after + 2, n + 1, nil, true
    elseif c == "%f" then
        return class_end(pattern, after), 2 * #pattern, nil, true
    elseif find(c, "^%%%d") then
        return after, 1 + n // 16, nil, true
    elseif find(times, "^[*+?-]") then
        return after + 1, cost, times, times == "+"
    end
    return after, cost, nil, true
end

--[[
The most steps that a pattern can take on n bytes, from p on.

A match is a place where it starts, unless it is anchored, and for each repetition
a place where that ends, none before the one in front of it: k such places can be
chosen in C(n + k, k) ways.  With each `?` there are twice as many.  A step is an
item tried in one of them, a set as many as it is long.  Where nothing behind a
repetition can fail it ends where it ends first, and adds the bytes that it goes
over.  Which characters an item matches is left out: %w+= needs far fewer steps
than its bound, since what stops %w is looked at once.
]]
local function most_steps(pattern, p, n, anchored)
    local k, tail, first = anchored and 0 or 1, p, p
    while p <= #pattern do
        local after, _, _, can_fail = item(pattern, p, n)
        if can_fail then tail = after end
        p = after
    end
    local ways = anchored and 1 or n + 1
    local steps = ways
    p = first
    while p <= #pattern and ways <= MOST_STEPS and steps <= MOST_STEPS do
        local after, cost, times = item(pattern, p, n)
        if times and after >= tail then
            steps = steps + n * cost
        elseif times == "?" then
            ways = ways * 2
        elseif times then
            ways, k = ways * (n + k + 1) // (k + 1), k + 1
        end
        steps, p = steps + ways * cost, after
    end
    return max(ways, steps)
end

--- Lua's function of that name, once the steps that it may take are counted.
-- gsub and gmatch try a place again behind an empty match; gsub goes over its
-- replacement for each.
local function bounded(name)
    return C.counted(string[name], function(text, pattern, init, plain)
        text, pattern = text_at(1, name, text), text_at(2, name, pattern)
        local n, steps = #text
        if name ~= "gsub" and type(init) == "number" then
            local from = math.floor(min(max(init, -n), n + 1))
            n = from > 0 and n - from + 1 or from < 0 and -from or n
        end
        if name == "find" and (plain or not find(pattern, "[%^$*+?.([%%-]")) then
            steps = (n + 1) * (1 + #pattern // 16)
        else
            local anchored = name ~= "gmatch" and byte(pattern) == HAT
            steps = most_steps(pattern, anchored and 2 or 1, n, anchored)
        end
        if name == "gsub" or name == "gmatch" then steps = 2 * steps end
        if name == "gsub" and type(init) == "string" and find(init, "%", 1, true)
        then
            steps = steps + (n + 1) * #init
        end
        if steps > MOST_STEPS then
            fail("string.%s: this pattern can take more than %d steps on a text "
                .. "of %d bytes; see heddle_policy(7)", name, MOST_STEPS, n)
        end
        use(1 + steps // PER_INSTRUCTION)
    end)
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
    "counts the steps that it may take"
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
    { "string", "find", bounded "find", STEPS },
    { "string", "format", formatted, "shows no addresses; no %p" },
    { "string", "gmatch", bounded "gmatch", STEPS },
    { "string", "gsub", bounded "gsub", STEPS },
    { "string", "match", bounded "match", STEPS },
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
            fail("the local '%s' holds a system function that %s may "
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
