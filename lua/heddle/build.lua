--- build.lua - which build of heddle this is: a snapshot or a kept result is read
-- only by the build that wrote it.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"

local build = {}

--- A fingerprint of the program: of the command, or of what lua5.4 loaded.
local program
function build.fingerprint()
    if not program then
        local text = { core.version }
        for _, path in ipairs { "/proc/self/exe",
            package.searchpath("heddle", package.cpath) or "" } do
            local f = io.open(path, "rb")
            text[#text + 1] = f and f:read "a" or ""
            if f then
                f:close()
            end
        end
        program = core.fingerprint(table.concat(text))
    end
    return program
end

return build
