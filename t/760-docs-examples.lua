--[[
760-docs-examples.lua - the examples of README.md and the man pages run and
print what they say.

Every code block carries a mark in a comment line before it (`<!-- run -->`,
`.\" run`); a block without one fails.  The marks:

  file: NAME   is written to NAME, for the blocks that follow
  run          lines after `$ ` are run by the shell; what follows each is its
               output, `...` stands for any lines
  python       the same, where there is a python3, with heddle's package
  pandas       the same, where it has pandas
  lua          is run as a scenario, with H = require "heddle" before it
  c            is compiled against the library and run
  shown        is not run: a synopsis, a grammar

All blocks of a page share a directory, in which scenarios/ and policies/ are
those of the source.  Words must be equal; numbers may be off by a tenth, so
that a change of the model's detail breaks no page before the page is wrong.  With
DOCS_EXACT in the environment they must be equal, too; DOCS_PAGES=man/heddle.1 runs
the README and one page.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"
local read, write, output = files.read, files.write, files.output
local quote = files.quote

local TOLERANCE = os.getenv "DOCS_EXACT" and 0 or 0.1
local HEDDLE = os.getenv "HEDDLE" or "build/release/heddle"
local BUILD = os.getenv "HEDDLE_BUILD" or "build/release"
-- A library of sanitizers needs their runtime.
local SANITIZED = (BUILD:find "release" or BUILD:find "debug") and ""
    or "-fsanitize=address,undefined"

local ROOT = output("pwd"):gsub("\n", "")
if HEDDLE:sub(1, 1) ~= "/" then
    HEDDLE = ROOT .. "/" .. HEDDLE
end

-- ---- blocks ----------------------------------------------------------------

--- Blocks of a Markdown text: { mark, text, line }.
local function of_markdown(text)
    local out, mark, block, n = {}, nil, nil, 0
    for line in (text .. "\n"):gmatch("(.-)\n") do
        n = n + 1
        if block and line:find("^```") then
            block.text = table.concat(block.lines, "\n") .. "\n"
            out[#out + 1], block, mark = block, nil, nil
        elseif block then
            block.lines[#block.lines + 1] = line
        elseif line:find("^```") then
            block = { mark = mark, line = n, lines = {} }
            if line == "```sh" then
                block.mark = mark or "shown"
            end
        elseif line:find("^<!%-%- ") then
            mark = line:match("^<!%-%- (.-) %-%->$")
        elseif line:find("%S") then
            mark = nil
        end
    end
    return out
end

local ESCAPES = { ["\\e"] = "\\", ["\\-"] = "-", ["\\&"] = "",
    ["\\(dq"] = '"', ["\\(aq"] = "'" }

local function plain(line)
    return (line:gsub("\\%(dq", '"'):gsub("\\%(aq", "'")
        :gsub("\\[e&-]", ESCAPES))
end

--- Blocks of an mdoc page: what stands between .Bd -literal and .Ed.
local function of_mdoc(text)
    local out, mark, block, n = {}, nil, nil, 0
    for line in (text .. "\n"):gmatch("(.-)\n") do
        n = n + 1
        if block and line == ".Ed" then
            block.text = table.concat(block.lines, "\n") .. "\n"
            out[#out + 1], block, mark = block, nil, nil
        elseif block then
            block.lines[#block.lines + 1] = plain(line)
        elseif line:find("^%.Bd %-literal") then
            block = { mark = mark, line = n, lines = {} }
        elseif line:find('^%.\\" ') then
            mark = line:match('^%.\\" (.*)$')
        elseif line ~= "" then
            mark = nil
        end
    end
    return out
end

-- ---- what is printed ---------------------------------------------------------

local NUMBER = "%-?%d+%.?%d*"

--- Whether a line says the same: equal words, numbers nearly equal.
local function alike(want, got)
    local words_want = want:gsub(NUMBER, "#"):gsub("%s+", " ")
    local words_got = got:gsub(NUMBER, "#"):gsub("%s+", " ")
    if words_want ~= words_got then
        return false
    end
    local next_got = got:gmatch(NUMBER)
    for a in want:gmatch(NUMBER) do
        local x, y = tonumber(a), tonumber(next_got())
        if math.abs(x - y) > TOLERANCE * math.max(math.abs(x), math.abs(y)) then
            return false
        end
    end
    return true
end

--- Compares line by line; `...` takes any lines.  The first difference or nil.
local function differ(want, got)
    local w, g = {}, {}
    for line in want:gmatch("([^\n]*)\n") do
        w[#w + 1] = line
    end
    for line in got:gmatch("([^\n]*)\n") do
        g[#g + 1] = line:gsub("%s+$", "")
    end
    while g[#g] == "" do
        g[#g] = nil
    end
    local function match(i, j)
        if i > #w then
            return j > #g, ("more: %s"):format(g[j])
        elseif w[i] == "..." then
            for k = j, #g + 1 do
                if match(i + 1, k) then
                    return true
                end
            end
            return false, "nothing after ... matches"
        elseif j > #g or not alike(w[i], g[j]) then
            return false, ("expected %s\ngot      %s"):format(w[i], g[j] or
                "nothing")
        end
        return match(i + 1, j + 1)
    end
    local ok, why = match(1, 1)
    return not ok and why or nil
end

-- ---- marks -------------------------------------------------------------------

local dir = output("mktemp -d"):gsub("\n", "")

--- The prefix of a command: in the directory, with heddle on the path.
local function inside(command)
    return ("cd %s && PATH=%s:$PATH && export PATH && { %s\n}")
        :format(quote(dir), quote(dir .. "/bin"), command)
end

local run = {}

function run.file(b, name)
    write(dir .. "/" .. name, b.text)
    return true
end

function run.run(b)
    local command, want = nil, {}
    local function check()
        if not command then
            return nil
        end
        local _, text, status = files.command(inside(command))
        local why = differ(table.concat(want), text)
        return why and ("%s\n%s\n(status %d)"):format(command, why, status)
    end
    for line in b.text:gmatch("([^\n]*)\n") do
        local c = line:match("^%$ (.*)$")
        if c then
            local why = check()
            if why then
                return false, why
            end
            command, want = c, {}
        else
            want[#want + 1] = line .. "\n"
        end
    end
    local why = check()
    return why == nil, why
end

--- Runs commands where a python3 has a module: the first on PATH, or the system's.
local function with_python(b, module)
    if SANITIZED ~= "" then
        return true -- Python cannot load such a library
    end
    for _, python in ipairs { "python3", "/usr/bin/python3" } do
        local _, _, status = files.command(("%s -c 'import %s'"):format(python, module))
        if status == 0 then
            local _, path = files.command("command -v " .. python)
            write(dir .. "/bin/python3", ('#!/bin/sh\nPYTHONPATH=%s\n'
                .. 'PYTHONDONTWRITEBYTECODE=1\nexport PYTHONPATH '
                .. 'PYTHONDONTWRITEBYTECODE\nexec %s "$@"\n'):format(
                quote(ROOT .. "/src/shell/python"), quote((path:gsub("\n", "")))))
            output("chmod +x " .. quote(dir .. "/bin/python3"))
            local ok, why = run.run(b)
            os.remove(dir .. "/bin/python3")
            return ok, why
        end
    end
    return true
end

function run.python(b) return with_python(b, "sys") end
function run.pandas(b) return with_python(b, "pandas") end

function run.lua(b)
    write(dir .. "/example.lua", 'local H = require "heddle" ' .. b.text)
    local _, text, status = files.command(inside "heddle run example.lua")
    return status == 0, text
end

function run.c(b)
    if BUILD:find "address" or BUILD:find "undefined" then
        return true
    end
    write(dir .. "/example.c", b.text)
    local _, text, status = files.command(inside(("%s -std=c11 -Wall -Wextra -Werror "
        .. "%s -I%s -I%s -o example example.c %s "
        .. "$(pkg-config --libs libzstd liblzma libxxhash) -lm -ldl "
        .. "&& ./example"):format(os.getenv "CC" or "cc", SANITIZED,
        quote(ROOT .. "/src/engine"), quote(ROOT .. "/src/work"),
        quote(("%s/%s/libheddle.a"):format(ROOT, BUILD)))))
    return status == 0, text
end

function run.shown()
    return true
end

-- ---- pages -------------------------------------------------------------------

local function page(path, blocks)
    output(("rm -rf %s/* && mkdir %s/bin && ln -s %s %s/bin/heddle && "
        .. "for f in scenarios policies src; do ln -s %s/$f %s; done"):format(
        dir, dir, quote(HEDDLE), dir, quote(ROOT), dir))
    local ran = 0
    for _, b in ipairs(blocks) do
        local kind, rest = (b.mark or ""):match("^(%w+):?%s*(.*)$")
        local name = ("%s:%d %s"):format(path, b.line, b.mark or "")
        if not run[kind] then
            tap.ok(false, name, "the block has no mark: file, run, python, "
                .. "pandas, lua, c or shown")
        elseif kind ~= "shown" then
            ran = ran + 1
            local ok, why = run[kind](b, rest)
            tap.ok(ok, name, why)
        end
    end
    return ran
end

tap.ok(page("README.md", of_markdown(read "README.md")) >= 4,
    "README.md has examples")
local pages = os.getenv "DOCS_PAGES" or output "ls man/*.[1-9]"
for path in pages:gmatch "[^\n]+" do
    page(path, of_mdoc(read(path)))
end
output("rm -rf " .. quote(dir))
return tap.done()
