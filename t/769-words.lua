--[[
769-words.lua - the sources speak the field's language.

Pinned: no comment begins "The same": it says what it is the same as.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"

local bad, seen = {}, 0
for path in files.output("find src lua t policies scenarios bench "
    .. "-name '*.[ch]' -o -name '*.lua' -o -name '*.def'"):gmatch "[^\n]+" do
    seen = seen + 1
    local n = 0
    for line in files.read(path):gmatch "([^\n]*)\n" do
        n = n + 1
        if line:find "^%s*/?%*+ +The same%f[%W]" or line:find "%-%-+ +The same%f[%W]"
            or line:find "/%* The same%f[%W]" then
            bad[#bad + 1] = path .. ":" .. n
        end
    end
end
tap.ok(seen > 500 and #bad == 0, 'no comment begins "The same"',
    table.concat(bad, "\n"))
tap.done()
