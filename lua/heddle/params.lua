--- params.lua - values of the parameters that a policy or a work declares, as the
-- library takes them: whole numbers.
--
--     params.whole(v)                     v, or nil if it is no number of 0 or
--                                         more; a boolean is 1 or 0
--     params.values(of, code, declared, given)
--
-- `declared` is the list that bridge.describe or work.describe gives; `given` a
-- list of name, value, name, value, whose values become numbers: a parameter
-- whose unit is "a|b|c" takes one of these words.  What is no parameter and what
-- is out of range the library tells, in words.
--
-- SPDX-License-Identifier: MIT
local raise = require("heddle.bridge").raise

local M = {}

function M.whole(v)
    local n = type(v) == "boolean" and (v and 1 or 0) or math.tointeger(v)
    return n and n >= 0 and n or nil
end

local function word_value(unit, word)
    local i = 0
    for w in unit:gmatch "[^|]+" do
        if w == word then return i end
        i = i + 1
    end
end

--- of: "policy mask", for errors, whose code is `code`.
function M.values(of, code, declared, given)
    local known = {}
    for _, p in ipairs(declared) do known[p.name] = p end
    for i = 1, rawlen(given), 2 do
        local p, v = known[given[i]], given[i + 1]
        local unit = p and p.unit:find("|", 1, true) and p.unit
        local number = type(v) ~= "string" and M.whole(v)
        if unit then
            number = type(v) == "string" and word_value(unit, v)
        elseif p and type(v) == "string" then
            number = M.whole(v)
        end
        if unit and not number then
            raise(code, ("%s: %s is one of %s, not %s"):format(of, p.name, unit,
                type(v) == "string" and "'" .. v .. "'" or "a number"))
        elseif p and not number then
            raise(code, ("%s: option %s: expected an integer of 0 or more, not %s")
                :format(of, p.name, tostring(v)))
        end
        given[i + 1] = number or 0
    end
    return given
end

return M
