--- metrics.lua - writes the lists of metrics of heddle_results(5).
--
--     heddle run src/dev/metrics.lua > list
--     heddle run src/dev/metrics.lua of=apps > list
--
-- The page holds each output between two markers; t/761 compares.
--
-- SPDX-License-Identifier: MIT
local arg = require("heddle").args { of = "results" }
local out = { ".Bl -tag -width Ds" }

local function item(name, unit, meaning)
    out[#out + 1] = (".It Li %s%s"):format(name,
        unit ~= "" and " Pq " .. unit or "")
    out[#out + 1] = (meaning:gsub("^([.'])", "\\&%1"))
end

if arg.of == "apps" then
    for _, m in ipairs(require("heddle.characterise").metrics()) do
        item(m.name, m.unit, m.meaning)
    end
else
    for _, m in ipairs(require("heddle.metrics").list()) do
        item(m[2], m[3], m[4])
    end
end
out[#out + 1] = ".El"
print(table.concat(out, "\n"))
