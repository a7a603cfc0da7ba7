--- pretty.lua - any Lua value as text that a person can read.
--
--     pretty.text(value, { depth = 4, rows = 50, items = 100, width = 78,
--                          color = false, inside = false })
--
-- Keys are sorted: numbers, then strings, then the rest, so the same value
-- gives the same text in every run.  A short table is one line.  A list of
-- rows, tables of scalars with more or less the same fields as sim:look()
-- returns, is an aligned table, one for each `kind`; addresses and page
-- numbers are hexadecimal there.  A table inside itself is <cycle>; deeper
-- than `depth` it is {...}.  What has a __tostring is printed by it, unless
-- `inside` is true.  Nothing here calls other metamethods or changes a value.
--
-- SPDX-License-Identifier: MIT
local pretty = {}

local DEFAULTS = {
    depth = 4, rows = 50, items = 100, width = 78, color = false,
    inside = false,
}

--- Columns that are addresses or numbers of pages and frames.
local HEX = {
    address = true, va = true, pa = true, vpn = true, ppn = true, pfn = true,
    frame = true, mask = true, hash = true, pte = true, pc = true, line = true,
    run_frame = true, run_first = true, members = true, sent = true,
}

pretty.hex = HEX

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in
    local nil not or repeat return then true until while]]):gmatch "%a+" do
    KEYWORDS[word] = true
end

pretty.keywords = KEYWORDS

--- A string as Lua would read it, in one line.
local function quote(s)
    return (("%q"):format(s):gsub("\\\n", "\\n"))
end

local function paint(o, code, text)
    return o.color and ("\27[%sm%s\27[0m"):format(code, text) or text
end

-- ---- keys -----------------------------------------------------------------

local RANK = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
    local x, y = RANK[type(a)] or 4, RANK[type(b)] or 4
    if x ~= y then
        return x < y
    elseif x <= 2 then
        return a < b
    end
    return tostring(a) < tostring(b)
end

--- The keys of a table, in order, without those of its array part 1..n.
local function keys_of(t, n)
    local keys = {}
    for k in next, t do
        if math.type(k) ~= "integer" or k < 1 or k > n then
            keys[#keys + 1] = k
        end
    end
    table.sort(keys, before)
    return keys
end

pretty.keys = function(t)
    return keys_of(t, 0)
end

local function key_text(k)
    if type(k) == "string" then
        return k:find("^[%a_][%w_]*$") and not KEYWORDS[k] and k
            or "[" .. quote(k) .. "]"
    end
    return "[" .. tostring(k) .. "]"
end

-- ---- aligned tables --------------------------------------------------------

local function scalar(v)
    local t = type(v)
    return t == "number" or t == "string" or t == "boolean"
end

--- Whether v is a row: named scalars and nothing else.
local function is_row(v)
    if type(v) ~= "table" or getmetatable(v) or next(v) == nil then
        return false
    end
    for k, x in next, v do
        if type(k) ~= "string" or not scalar(x)
            or type(x) == "string" and (#x > 100 or x:find("\n")) then
            return false
        end
    end
    return true
end

--- Columns that stand in front.
local FRONT = { kind = 1, name = 2, who = 3 }

--- The columns of rows first..last, in order.
local function columns_of(rows, first, last)
    local seen, columns = {}, {}
    for i = first, last do
        for k in next, rows[i] do
            if not seen[k] then
                seen[k] = true
                columns[#columns + 1] = k
            end
        end
    end
    table.sort(columns, function(a, b)
        local x, y = FRONT[a] or 9, FRONT[b] or 9
        if x ~= y then
            return x < y
        end
        return a < b
    end)
    return columns
end

--- The end of the rows from `first` on that belong to one table.
local function same_kind(rows, first)
    local last = first
    while rows[last + 1] and rawget(rows[last + 1], "kind")
        == rawget(rows[first], "kind") do
        last = last + 1
    end
    return last
end

--- A list that reads better as tables: all rows, and few holes in them.
local function is_rows(t)
    local n = rawlen(t)
    if n == 0 or #keys_of(t, n) > 0 then
        return false
    end
    for i = 1, n do
        if not is_row(rawget(t, i)) then
            return false
        end
    end
    local first, cells, filled = 1, 0, 0
    while first <= n do
        local last = same_kind(t, first)
        cells = cells + #columns_of(t, first, last) * (last - first + 1)
        for i = first, last do
            for _ in next, t[i] do
                filled = filled + 1
            end
        end
        first = last + 1
    end
    return filled * 2 > cells and (n > 1 or t[1].kind ~= nil)
end

local function cell(column, v)
    if v == nil then
        return ""
    elseif math.type(v) == "integer" and (HEX[column] or v < -0xffffffff) then
        return ("0x%x"):format(v)
    elseif math.type(v) == "float" and v ~= v // 1 then
        return ("%.6g"):format(v)
    end
    return tostring(v)
end

--- Lines of one table: a heading and rows first..last.
local function grid(out, o, rows, first, last)
    local columns = columns_of(rows, first, last)
    local lines, width, right = { {} }, {}, {}
    for c, name in ipairs(columns) do
        lines[1][c], width[c], right[c] = name, #name, true
    end
    for i = first, last do
        local line = {}
        for c, name in ipairs(columns) do
            local v = rows[i][name]
            line[c] = cell(name, v)
            width[c] = math.max(width[c], utf8.len(line[c]) or #line[c])
            right[c] = right[c] and (v == nil or type(v) == "number")
        end
        lines[#lines + 1] = line
    end
    for l, line in ipairs(lines) do
        for c, text in ipairs(line) do
            local pad = (" "):rep(width[c] - (utf8.len(text) or #text))
            line[c] = right[c] and pad .. text or text .. pad
        end
        local text = table.concat(line, "  "):gsub("%s+$", "")
        out[#out + 1] = l == 1 and paint(o, "1", text) or text
    end
end

local function rows_text(o, rows)
    local out, n = {}, #rows
    local shown, first = math.min(n, o.rows), 1
    while first <= shown do
        local last = math.min(same_kind(rows, first), shown)
        if first > 1 then
            out[#out + 1] = ""
        end
        grid(out, o, rows, first, last)
        first = last + 1
    end
    if n > shown then
        out[#out + 1] = ("... %d more of %d rows"):format(n - shown, n)
    elseif n > 10 then
        out[#out + 1] = ("%d rows"):format(n)
    end
    return table.concat(out, "\n")
end

-- ---- everything else --------------------------------------------------------

local value_text

--- Texts of what is in a table, or nil where nothing more is to be shown.
local function parts_of(o, t, depth, path)
    local parts, n = {}, rawlen(t)
    path[t] = true
    for i = 1, math.min(n, o.items) do
        parts[i] = value_text(o, rawget(t, i), depth + 1, path)
    end
    if n > o.items then
        parts[#parts + 1] = ("... %d more"):format(n - o.items)
    end
    local keys = keys_of(t, n)
    for i, k in ipairs(keys) do
        if i > o.items then
            parts[#parts + 1] = ("... %d more"):format(#keys - o.items)
            break
        end
        parts[#parts + 1] = key_text(k) .. " = "
            .. value_text(o, rawget(t, k), depth + 1, path)
    end
    path[t] = nil
    return parts
end

local function table_text(o, t, depth, path)
    if path[t] then
        return "<cycle>"
    elseif next(t) == nil then
        return "{}"
    elseif depth >= o.depth then
        return "{...}"
    end
    local parts = parts_of(o, t, depth, path)
    local length, long = 4 * depth, false
    for _, p in ipairs(parts) do
        length = length + #p + 2
        long = long or p:find("\n") ~= nil
    end
    if not long and length + 4 <= o.width then
        return "{ " .. table.concat(parts, ", ") .. " }"
    end
    local indent = ("    "):rep(depth + 1)
    return "{\n" .. indent .. table.concat(parts, ",\n" .. indent) .. ",\n"
        .. ("    "):rep(depth) .. "}"
end

function value_text(o, v, depth, path)
    local kind = type(v)
    if kind == "string" then
        return paint(o, "32", quote(v))
    elseif kind ~= "table" then
        return tostring(v)
    end
    local meta = debug.getmetatable(v)
    if type(meta) == "table" and rawget(meta, "__tostring")
        and not (o.inside and depth == 0) then
        local ok, text = pcall(tostring, v)
        return ok and text or "<its __tostring failed>"
    end
    return table_text(o, v, depth, path)
end

--- A value as text.  A string is itself, without quotes.
function pretty.text(v, options)
    local o = {}
    for k, default in next, DEFAULTS do
        local given = options and options[k]
        if given == nil then
            given = default
        end
        o[k] = given
    end
    if type(v) == "string" then
        return v
    elseif type(v) == "table" and not getmetatable(v) and o.depth > 0
        and is_rows(v) then
        return rows_text(o, v)
    end
    return value_text(o, v, 0, {})
end

return pretty
