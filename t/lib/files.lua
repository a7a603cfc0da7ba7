--- files.lua - what tests do with files and commands.
--
--     local files = require "lib.files"
--     local text = files.read(path)          nil: there is none
--     local ok, output = files.command "heddle run x.lua"
--
-- SPDX-License-Identifier: MIT
local files = {}

function files.read(path)
    local f = io.open(path, "rb")
    local text = f and f:read "a"
    if f then
        f:close()
    end
    return text
end

--- Runs a command line; whether it succeeded, and all that it printed.
function files.command(line)
    local f = assert(io.popen(line .. " 2>&1"))
    local text = f:read "a"
    return f:close(), text
end

return files
