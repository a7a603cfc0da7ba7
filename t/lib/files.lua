--- files.lua - what tests do with files and commands.
--
--     local files = require "lib.files"
--     local text = files.read(path)          nil: there is none
--     files.write(path, text)
--     local dir = files.folder()             a new one
--     local ok, output, status = files.command "heddle run x.lua"
--     local text = files.output "ls man"
--     files.output(files.HEDDLE .. " list points")
--
-- SPDX-License-Identifier: MIT
local files = {}

--- A text as one word of a command line.
function files.quote(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- The command under test, as such a word.
files.HEDDLE = files.quote(os.getenv "HEDDLE" or "build/release/heddle")

function files.read(path)
    local f <close> = io.open(path, "rb")
    return f and f:read "a"
end

function files.write(path, text)
    local f <close> = assert(io.open(path, "wb"))
    assert(f:write(text))
end

--- A new empty folder.
function files.folder()
    local path = os.tmpname()
    os.remove(path)
    require("heddle.process").mkdir(path)
    return path
end

--- Runs a command line; whether it succeeded, all that it printed, and its exit
-- status.
function files.command(line)
    local f = assert(io.popen(line .. " 2>&1"))
    local text = f:read "a"
    local ok, _, status = f:close()
    return ok, text, status
end

--- What it prints, errors too.
function files.output(line)
    return (select(2, files.command(line)))
end

return files
