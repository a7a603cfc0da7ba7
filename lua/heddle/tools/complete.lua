--- complete.lua - what could stand at the cursor: completion for the REPL.
--
--     local found, typed = complete.find(text, scope)
--
-- `text` is what stands left of the cursor; `scope` has `env` (the globals)
-- and `sim` (a simulation whose objects and places can be named, or nil).
-- `found` is a sorted list of whole words, `typed` the part of them that is
-- there already.
--
-- Outside of a string: globals and keywords; after `a.b.` the fields of that
-- value, after `a.b:` those that can be called.  Values are looked up, so
-- fields that are computed or loaded when first used are (sim.now, H.report), but
-- nothing is called, `f().` finds nothing: only what a simulation has counted is,
-- sim:counters() and sim:results().  A metatable may have __names, a function that
-- returns the names that its __index would answer; __private: what else is in the
-- table is not for people.
--
-- At the place of a key in the table of a call's options, as in H.sim { or
-- sim:use("mask", {: the options that it takes, with the parameters of the policy
-- or application that is named there.
--
-- Inside of a string: what the word in front asks for: applications after
-- H.app(, machines after machine =, policies after use(, objects after look(,
-- metrics and counters after plot(, and so on; after `t["` the keys of t, or
-- settings; else everything that help() knows.
--
-- SPDX-License-Identifier: MIT
local index = require "heddle.index"
local pretty = require "heddle.pretty"

local complete = {}

-- ---- values -----------------------------------------------------------------

--- Adds the names that can be used after `v.` to the set `out`.
local function names_of(v, out, depth)
    local meta = debug.getmetatable(v)
    local has = type(meta) == "table"
    if type(v) == "table" and not (has and rawget(meta, "__private")) then
        for k in next, v do
            if type(k) == "string" then
                out[k] = true
            end
        end
    end
    if not has then
        return out
    end
    local names = rawget(meta, "__names")
    if type(names) == "function" then
        local ok, list = pcall(names, v)
        for _, name in ipairs(ok and list or {}) do
            out[name] = true
        end
    end
    local up = rawget(meta, "__index")
    if type(up) == "table" and depth < 8 then
        names_of(up, out, depth + 1)
    end
    return out
end

--- The names of a value's fields and methods, sorted.
function complete.names(v)
    return pretty.keys(names_of(v, {}, 0))
end

local function field(v, name)
    local ok, x = pcall(function()
        return v[name]
    end)
    return ok and x or nil
end

--- What of a simulation may be called for completion: it only looks.
local ASKS = { counters = true, results = true }

local function is_sim(v)
    return getmetatable(v) == require("heddle.sim").Sim
end

--- The value of `a.b["c"].d`, a text of names and constant keys, or nil.
local function value_of(path, env)
    local first, rest = path:match("^([%a_][%w_]*)(.*)$")
    if not first then
        return nil
    end
    local v = field(env, first)
    while v ~= nil and rest ~= "" do
        local call, behind = rest:match("^:([%a_]+)%(%)(.*)$")
        local name, after = rest:match("^%.([%a_][%w_]*)(.*)$")
        if call and ASKS[call] and is_sim(v) then
            local ok, asked = pcall(v[call], v)
            v, rest = ok and { asked = asked } or nil, behind
            name, after = "asked", rest
        end
        if not name then
            local q
            q, name, after = rest:match("^%[([\"'])(.-)%1%](.*)$")
            if not q then
                name, after = rest:match("^%[(%d+)%](.*)$")
                name = math.tointeger(name)
            end
        end
        if not name then
            return nil
        end
        v, rest = field(v, name), after
    end
    return v
end

complete.value = value_of

local function callable(v)
    local meta = debug.getmetatable(v)
    return type(v) == "function"
        or type(meta) == "table" and rawget(meta, "__call") ~= nil
end

-- ---- where the cursor is ------------------------------------------------------

--- If the cursor is inside of a string: what stands before its quote, and the
-- string so far.  Long brackets and escapes of quotes are not looked at.
local function open_string(text)
    local from = 1
    while true do
        local at, _, q = text:find("([\"'])", from)
        local comment = text:find("--", from, true)
        if comment and (not at or comment < at) or not at then
            return nil
        end
        local close = text:find(q, at + 1, true)
        if not close then
            return text:sub(1, at - 1), text:sub(at + 1)
        end
        from = close + 1
    end
end

--- The longest run of names, dots and constant keys at the end.
local function path_at_end(text)
    local from = #text + 1
    while true do
        local head = text:sub(1, from - 1)
        local s = head:find("[%w_]+$") or head:find("%[\"[^\"]*\"%]$")
            or head:find("%['[^']*'%]$") or head:find("%[%d+%]$")
            or head:find(":[%a_]+%(%)$") or head:find("[%.:]$")
        if not s then
            break
        end
        from = s
    end
    return text:sub(from)
end

-- ---- words inside of strings ----------------------------------------------------

local function first_cells(kind)
    return function()
        local out = {}
        for _, row in ipairs(index.rows(kind)) do
            out[#out + 1] = row[1]
        end
        return out
    end
end

local function objects(scope)
    local out = {}
    local ok, list = pcall(function()
        return scope.sim:objects()
    end)
    for _, o in ipairs(ok and list or {}) do
        out[#out + 1] = o.name
    end
    return out
end

--- The places that a policy can be bound to.
local function places(scope)
    local seen = {}
    local ok, offered = pcall(function()
        return require("heddle.policy").offered(scope.sim.core)
    end)
    for _, at in pairs(ok and offered or {}) do
        for _, place in ipairs(at) do
            seen[place] = true
        end
    end
    return pretty.keys(seen)
end

local function anything(scope)
    local out = index.names()
    table.move(objects(scope), 1, #objects(scope), #out + 1, out)
    return out
end

local function sizes()
    return { "L", "M", "R", "S", "T", "XL", "XXL" }
end

local function measured(scope)
    local out = first_cells "metrics"()
    for _, c in ipairs(scope.sim and scope.sim.core:counters()
        or require("heddle.core").counters()) do
        out[#out + 1] = c.component .. "." .. c.name
    end
    return out
end

--- What a run can stop on.
local function stops(scope)
    local out = objects(scope)
    for _, n in ipairs(require("heddle.core").notes()) do
        out[#out + 1] = n.name
    end
    for _, c in ipairs(scope.sim and scope.sim.core:counters() or {}) do
        out[#out + 1] = c.component .. "." .. c.name
    end
    return out
end

--- What a string means by what stands in front of it.
local WORDS = {
    { "plot%s*%(?%s*$", measured },
    { "stop_on%s*%(?%s*$", stops },
    { "metric%s*%([^()]*,%s*$", measured },
    { "counter%s*%([^()]*,%s*$", measured },
    { "series%s*%([^()]*,%s*$", measured },
    { "app%s*%(?%s*$", first_cells "apps" },
    { "machine%s*=?%s*%(?%s*$", first_cells "machines" },
    { "use%s*%(?%s*$", first_cells "policies" },
    { "policies%s*=%s*{[^}]*$", first_cells "policies" },
    { "look%s*%(?%s*$", objects },
    { "%f[%w]at%s*=%s*$", places },
    { "%f[%w]size%s*=%s*$", sizes },
    { "explain%s*%(?%s*$", anything },
    { "help%s*%(?%s*$", anything },
}

--- The keys of t for `t["`, settings for `{ ["`.
local function key_words(head, scope)
    local t = value_of(path_at_end(head:gsub("%[%s*$", "")), scope.env)
    local keys = {}
    for _, name in ipairs(t ~= nil and complete.names(t) or {}) do
        keys[#keys + 1] = name
    end
    return #keys > 0 and keys or first_cells("settings")()
end

local function string_words(head, scope)
    if head:find("%[%s*$") then
        return key_words(head, scope)
    end
    for _, w in ipairs(WORDS) do
        if head:find(w[1]) then
            return w[2](scope)
        end
    end
    return anything(scope)
end

-- ---- options ------------------------------------------------------------------

--- The parameters of a policy that is built in, beside what all take.
local function policy_options(name)
    local out = { "at", "replace" }
    local ok, p = pcall(function() -- a file would be run
        return not name:find "[./]" and require("heddle.policy").describe(name)
    end)
    for _, param in ipairs(ok and p and p.params or {}) do
        out[#out + 1] = param.name
    end
    return out
end

local function app_options(name)
    local app = index.app(name)
    local out = pretty.keys(app and app.params or {})
    table.insert(out, "size")
    for k in pairs(require("heddle.workload").OWN) do
        out[#out + 1] = k
    end
    return out
end

local function of(module)
    return function()
        return require("heddle." .. module).options
    end
end

--- Calls with a table of options, by what stands in front of it; what a pattern
-- captures names what the options are for.
local CALLS = {
    { "H%.sim%s*%(?%s*$", of "sim" },
    { "H%.run%s*%(.*,%s*$", of "runner" },
    { "H%.app%s*%(%s*[\"']([%w_]+)[\"']%s*,%s*$", app_options },
    { ":use%s*%(%s*[\"']([^\"']+)[\"']%s*,%s*$", policy_options },
    { ":plot%s*%(.*,%s*$", of "plot" },
    { ":stop_on%s*%(.*,%s*$", function()
        return { "app", "every", "instance" }
    end },
    { "%f[%w]show%s*%(.*,%s*$", function()
        return { "depth", "inside", "items", "rows" }
    end },
}

--- Where the innermost table begins that is open at the end of a text.
local function open_table(text)
    local open, from = {}, 1
    while true do
        local at, _, c = text:find("([{}\"'])", from)
        if not at then
            return open[#open]
        elseif c == "{" then
            open[#open + 1] = at
        elseif c == "}" then
            open[#open] = nil
        else
            at = text:find(c, at + 1, true) or #text
        end
        from = at + 1
    end
end

--- The options that a call takes, if the cursor is at the place of a key in the
-- table of them; and what of one is there.
local function option_words(text)
    local at = open_table(text)
    local inside = at and text:sub(at + 1)
    local typed = inside and (inside:match "[,;]%s*([%a_]?[%w_]*)$"
        or inside:match "^%s*([%a_]?[%w_]*)$")
    for _, call in ipairs(typed and CALLS or {}) do
        local named = text:sub(1, at - 1):match(call[1])
        if named then
            return call[2](named), typed
        end
    end
end

-- ---- the whole --------------------------------------------------------------------

local function pick(words, typed)
    local out, seen = {}, {}
    for _, w in ipairs(words) do
        if w:sub(1, #typed) == typed and not seen[w] then
            seen[w] = true
            out[#out + 1] = w
        end
    end
    table.sort(out)
    return out, typed
end

local function global_words(scope)
    local out = complete.names(scope.env)
    for word in pairs(pretty.keywords) do
        out[#out + 1] = word
    end
    return out
end

--- The words that could stand at the end of `text`, and what of them is there.
function complete.find(text, scope)
    local head, inside = open_string(text)
    if head then
        return pick(string_words(head, scope), inside)
    end
    local options, begun = option_words(text)
    if options then
        return pick(options, begun)
    end
    local path = path_at_end(text)
    local owner, mark, typed = path:match("^(.*)([%.:])([%w_]*)$")
    if not owner then
        if path ~= "" and not path:find("^[%a_]") then
            return {}, path
        end
        return pick(global_words(scope), path)
    end
    local v = value_of(owner, scope.env)
    if v == nil then
        return {}, typed
    end
    local words = {}
    for _, name in ipairs(complete.names(v)) do
        if name:find("^[%a_][%w_]*$") and not pretty.keywords[name]
            and (mark == "." or callable(field(v, name))) then
            words[#words + 1] = name
        end
    end
    return pick(words, typed)
end

-- ---- for the editor -----------------------------------------------------------------

--- What all words begin with.
local function common(words)
    local prefix = words[1] or ""
    for _, w in ipairs(words) do
        while w:sub(1, #prefix) ~= prefix do
            prefix = prefix:sub(1, -2)
        end
    end
    return prefix
end

--- Words in columns.
local function columns(words, width)
    local cell = 0
    for _, w in ipairs(words) do
        cell = math.max(cell, #w + 2)
    end
    local per_line = math.max(1, width // cell)
    local lines = math.ceil(#words / per_line)
    local out = {}
    for l = 1, lines do
        local line = {}
        for i = l, #words, lines do
            line[#line + 1] = words[i] .. (" "):rep(cell - #words[i])
        end
        out[l] = table.concat(line):gsub("%s+$", "")
    end
    return table.concat(out, "\n")
end

--- For Tab: the text to insert at the cursor, and what to show below.  At the
-- start of a line that continues a chunk (scope.before: its lines) it indents.
function complete.tab(text, scope, width)
    local before = scope.before
    if before and not text:find("%S") then
        return "    ", ""
    end
    local words, typed = complete.find(before and before .. "\n" .. text or text,
        scope)
    local insert = common(words):sub(#typed + 1)
    if #words > 1 and insert == "" then
        return "", columns(words, width or 80)
    end
    return insert, ""
end

return complete
