--- problem.lua - core.problem(value): what an error value says, as a plain table:
-- `text` and, of heddle's own, exit, usage, code, name, message, where.  It does
-- not raise, whatever the value is.
--
-- SPDX-License-Identifier: MIT
local rawget, math_type, type = rawget, math.type, type

local FIELDS = { exit = "integer", code = "integer", usage = "string",
    name = "string", message = "string", where = "string" }

return function(core)
    return function(v)
        local out = {}
        if v == core.no_memory then -- a text alone, wherever it is raised
            out = { code = -1, name = "HEDDLE_ENOMEM", message = v }
        end
        for name, kind in next, FIELDS do
            local x = type(v) == "table" and rawget(v, name)
            if (math_type(x) or type(x)) == kind then out[name] = x end
        end
        if out.code and out.message then
            out.text = (out.where or "") .. out.message
        else -- one says nothing without the other
            out.code = nil
            out.text = out.usage or core.text(v)
        end
        return out
    end
end
