--- cmd/explain.lua - heddle explain: meaning, unit, default and source.
-- SPDX-License-Identifier: MIT
local cli = require "heddle.cli"
local index = require "heddle.index"

local explain = {
    summary = "explain a setting, counter, metric, point, policy, app or machine",
    usage = [[
usage: heddle explain NAME...

Prints what NAME means, with unit, default, range and source.  A setting, a
counter or a histogram is written group.name, as in `heddle list settings`; a
group alone lists its members, a name alone is looked up in all groups.  NAME may
also be a kind (points, facts ...) or a file: a policy, x.lua, or a plug-in, ./x.so.
]],
}

function explain.run(args)
    if not args[1] then
        cli.usage("explain: expected a name; see heddle list")
    end
    for i, name in ipairs(args) do
        local lines, group = index.explain(name), index.group(name)
        if lines and group then -- as prefetch: a setting of faults, and a group
            lines[#lines + 1] = ""
            table.move(group, 1, #group, #lines + 1, lines)
        end
        lines = lines or group
        if not lines then
            cli.usage("explain: nothing is called '%s'%s", name,
                index.near(name))
        end
        io.write(i > 1 and "\n" or "", table.concat(lines, "\n"), "\n")
    end
    return 0
end

return explain
