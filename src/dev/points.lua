--- points.lua - writes the lists of heddle_policy(7) from points.def and
-- notes.def: every point, every note, every steering table, every fact, and
-- every function that policy code and generators have; words with the names that
-- points.h has for them in C.
--
--     heddle run src/dev/points.lua > lists
--
-- The page holds the output between its two markers; t/560 compares.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local policy = require "heddle.policy"
local work = require "heddle.work"

local ANSWERS = {
    INDEX = "a number below Va %s",
    BOOL = "true or false",
    CHOICE = "Li %s",
    VALUE = "0 to Va %s",
    SUBSET = "a bit set of Va %s",
    MEMBER = "a member of the bit set Va %s",
}

--- What points.h calls the words: of enum names the enumerators, of a point's
-- answer and of each field of "q_POINT" and "n_NOTE" the enum.
local ENUMS, ANSWER_OF, FIELD_OF = {}, {}, {}
do
    local held, enum, struct = "", nil, nil
    for line in io.lines "src/engine/points.h" do
        local text = line:match "^ */?%* (.*)$"
        held = line:find "^ */%*" and text or text and held .. " " .. text or held
        enum = line:match "^enum heddle_([%w_]+) {$" or line ~= "};" and enum or nil
        if line:match "^struct" then
            struct = line:match "^struct heddle_([qn]_[%w_]+) {$"
            ANSWER_OF[struct] = held:match "of enum heddle_([%w_]+)%)"
            held = ""
        end
        local name = line:match "^    (HEDDLE_[%w_]+),"
        if enum and name then
            ENUMS[enum] = ENUMS[enum] or {}
            table.insert(ENUMS[enum], name)
        end
        local field, comment = line:match "^    uint64_t ([%w_]+);(.*)$"
        if field then
            FIELD_OF[struct .. "." .. field] =
                (comment ~= "" and comment or held):match "enum heddle_([%w_]+)"
            held = ""
        end
    end
end

local out = {}
local function add(...)
    out[#out + 1] = (...):format(select(2, ...))
end

--- A meaning as mdoc lines of at most 78 bytes; none looks like a macro.
local function text(s)
    local line = ""
    for word in s:gmatch "%S+" do
        if #line + #word > 77 then
            add("%s", line)
            line = ""
        end
        line = line == "" and word:gsub("^([.'])", "\\&%1")
            or line .. " " .. word
    end
    add("%s", line)
end

--- The enumerators of an enum, which C has for words.
local function in_c(enum)
    text("C: " .. table.concat(ENUMS[enum], ", ") .. ".")
end

local function fields(list, struct)
    add ".Bl -tag -width requesters -compact"
    for _, f in ipairs(list) do
        if f.count and f.count ~= "" then
            add(".It Va %s[%s]", f.name, f.count)
        else
            add(".It Va %s", f.name)
        end
        text(f.meaning)
        if f.words then
            add(".Pq Li %s", (f.words:gsub("|", " , ")))
            in_c(FIELD_OF[struct .. "." .. f.name])
        end
    end
    add ".El"
end

add ".Ss Points"
add ".Bl -tag -width Ds"
for _, p in ipairs(core.points()) do
    add(".It Ic %s Pq %s", p.name, p.heat:lower())
    text("Asked when " .. p.when .. ".")
    local answer = ANSWERS[p.answer]
    if p.by_position then
        answer = "a position, from 1 to Va %s"
    end
    if p.answer == "CHOICE" then
        add "Answer:"
        add(".Li %s :", (p.limit:gsub("|", " , ")))
    elseif answer:find "Va" then
        add("Answer: %s", (answer:gsub(" ?Va %%s", "")))
        add(".Va %s :", p.limit)
    else
        add("Answer: %s:", answer)
    end
    text(p.meaning .. ".")
    if p.answer == "CHOICE" then
        in_c(ANSWER_OF["q_" .. p.name])
    end
    fields(p.fields, "q_" .. p.name)
end
add ".El"
add ".Ss Notes"
add ".Bl -tag -width Ds"
for _, n in ipairs(core.notes()) do
    add(".It Ic %s", n.name)
    text("Reported when " .. n.when .. ".")
    fields(n.fields, "n_" .. n.name)
end
add ".El"
add ".Ss Steering tables"
add ".Bl -tag -width Ds"
for _, t in ipairs(policy.tables()) do
    add(".It Fn steer \"'%s'\" i j value", t.name)
    text(("i: %s; j: %s; value: %s."):format(t.i, t.j,
        (t.value:gsub("|", ", "))))
    text(t.meaning .. ".")
end
add ".El"
add ".Ss Facts"
add ".Bl -tag -width Ds"
for _, f in ipairs(policy.facts()) do
    add(".It Fn recent \"'%s'\" %s", f.name, f.i)
    text(("%s: %s."):format(f.value, f.meaning))
end
add ".El"

-- Lua's own functions, a library a paragraph, then those that differ.
local paragraphs, differ, seen = {}, {}, {}
for _, fence in ipairs { policy, work } do
    for _, g in ipairs(fence.reach()) do
        local name = (g.library == "" and "" or g.library .. ".") .. g.name
        if seen[name .. g.what] then
            goto continue
        end
        seen[name .. g.what] = true
        if g.what == "" then
            paragraphs[g.library] = paragraphs[g.library] or {}
            table.insert(paragraphs[g.library], name)
        else
            differ[#differ + 1] = { name, g.what }
        end
        ::continue::
    end
end
add ".Ss What the sandbox allows"
text("Functions of Lua as they are:")
for _, library in ipairs { "", "math", "string", "table", "utf8" } do
    add ".Pp"
    text(table.concat(paragraphs[library], ", ") .. ".")
end
add ".Pp"
text("With a difference, or heddle's own:")
add ".Bl -tag -width string.packsizeXX -compact"
for _, g in ipairs(differ) do
    add(".It Fn %s", g[1])
    text(g[2])
end
add ".El"
add ".Pp"
text("Beside them there are the values _VERSION, math.huge, math.pi, "
    .. "math.maxinteger, math.mininteger and utf8.charpattern.")

print(table.concat(out, "\n"))
