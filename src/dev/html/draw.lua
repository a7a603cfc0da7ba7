--- draw.lua - draws the charts of the gallery again, with the commands that it shows.
--
--     heddle run src/dev/html/draw.lua [only=waits] [out=man/gallery]
--
-- Each command runs in a new folder which has the gallery's scripts and scenarios/.
-- The demo's chart, which takes a minute and a half, is drawn where only= names it.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local arg = H.args { only = "", out = "" }

local function quote(text)
    return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function output(line)
    local f <close> = assert(io.popen(line))
    return (f:read "a":gsub("\n$", ""))
end

local command = os.getenv "HEDDLE" or "build/release/heddle"
local here = output "pwd"
command = command:find "^/" and command or here .. "/" .. command

for _, chart in ipairs(dofile "man/gallery/list.lua") do
    local kept = chart.from or "man/gallery"
    if arg.only == chart.name or arg.only == "" and not chart.from then
        local dir = output "mktemp -d"
        local ok = os.execute(("cd %s && ln -s %s/man/gallery/*.lua %s/scenarios . && "
            .. "heddle() { %s \"$@\"; } && %s >log 2>&1 || { cat log >&2; false; }")
            :format(quote(dir), quote(here), quote(here), quote(command),
            chart.command))
        ok = ok and os.execute(("cp %s/%s %s/%s.svg"):format(quote(dir),
            chart.draws or chart.name .. ".svg",
            quote(arg.out ~= "" and arg.out or kept), chart.name))
        os.execute("rm -rf " .. quote(dir))
        assert(ok, chart.name .. " was not drawn")
    end
end
