-- 774-map.lua - pins: what CONTRIBUTING.md says of the engine is there.  The files
-- of the reading order exist and have the stations of heddle run --follow; what it
-- shows of that command is what the command prints; each part has a row, whose
-- files and tests exist; t/run --for finds tests for each source; the lines that it
-- quotes are in the files that it names; comments of sources name files that there
-- are.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"

local text = files.read "CONTRIBUTING.md"
local ENGINE = "src/engine/"

local function exists(path)
    local f = io.open(path)
    return f ~= nil and f:close()
end

--- The rows of the table behind a comment, cells without spaces around them.
local function rows(mark)
    local out = {}
    local at = text:find("<!-- " .. mark .. "; t/774-map.lua -->\n", 1, true)
    local body = at and text:sub(at):match "\n(|.-)\n[^|]" or ""
    for line in body:gmatch "[^\n]+" do
        local row = {}
        for cell in line:gmatch "|%s*([^|]-)%s*%f[|]" do
            row[#row + 1] = cell
        end
        out[#out + 1] = row
    end
    return table.move(out, 3, #out, 1, {}) -- no heading, no rule
end

local missing = {}
local function all(list, what)
    tap.is(table.concat(list, "; "), "", what)
    missing = {}
end

-- ---- the reading order ----------------------------------------------------------

local order, listed = rows "reading order", {}
for _, row in ipairs(order) do
    local path = ENGINE .. row[2]:match "`(.-)`"
    listed[path] = true
    missing[#missing + 1] = not exists(path) and path or nil
end
tap.ok(#order > 8, "there is a reading order", #order)
all(missing, "its files are there")
for station, path in pairs(require "heddle.follow".STATIONS) do
    missing[#missing + 1] = not listed[path] and station .. " " .. path or nil
end
all(missing, "it has the stations of heddle run --follow")

local section = text:match "\n## The engine in an evening\n(.-)\n## "
local dir = files.folder()
files.write(dir .. "/one.lua", section:match "```lua\n(.-)```")
local shown, lines = nil, 0
for line in section:match "```\n(%$.*)```":gmatch "[^\n]+" do
    local words = line:match "^%$ heddle (.*)$"
    if words then
        shown = files.output(("cd %s && %s %s"):format(files.quote(dir),
            files.HEDDLE, words))
    elseif line:find "  src/" then
        lines = lines + 1
        missing[#missing + 1] = not shown:find(line, 1, true) and line or nil
    end
end
os.execute("rm -rf " .. files.quote(dir))
tap.ok(lines > 10, "what the command shows is shown", lines)
all(missing, "as it shows it")
for path in section:gmatch "`(%w+/[%w/]+%.[ch])`" do
    missing[#missing + 1] = not exists(ENGINE .. path) and path or nil
end
all(missing, "other files that are named there are there")

-- ---- parts --------------------------------------------------------------------------

local parts = {}
for _, kind in ipairs { "settings", "counters" } do
    for name in files.output(files.HEDDLE .. " list " .. kind)
        :gmatch "%f[^\n\0]([%w_]+)%.[%w_.]+ " do
        parts[name] = true
    end
end
local n, tests = 0, {}
for name in files.output "ls t":gmatch "[^\n]+" do
    tests[name:match "^(%d+)%-" or ""] = true
end
local seen, name = {}, nil
for _, row in ipairs(rows "parts") do
    if row[1] ~= "" then -- or it is of the part above
        name = row[1]:match "^`([%w_]+)`$" or "?"
        n = n + 1
        if not parts[name] or seen[name] then
            missing[#missing + 1] = name .. (seen[name] and " twice" or " is no part")
        end
        seen[name] = true
    end
    local of = 0
    for path in row[2]:gmatch "`(.-)`" do
        of = of + 1
        missing[#missing + 1] = not exists(ENGINE .. path) and path or nil
    end
    missing[#missing + 1] = of == 0 and name .. " has no file" or nil
    of = 0
    for number in row[3]:gmatch "%S+" do
        of = of + 1
        missing[#missing + 1] = not tests[number] and "t/" .. number or nil
    end
    missing[#missing + 1] = of == 0 and name .. " has no test" or nil
end
for part in pairs(parts) do
    missing[#missing + 1] = not seen[part] and part .. " has no row" or nil
end
for _, row in ipairs(rows "elsewhere") do
    for path in row[1]:gmatch "`(.-)`" do
        missing[#missing + 1] = not exists(path) and path or nil
    end
    for number in row[2]:gmatch "%S+" do
        missing[#missing + 1] = not tests[number] and "t/" .. number or nil
    end
end
table.sort(missing)
tap.ok(n > 20, "the parts have a table", n)
all(missing, "with a row for each, and files and tests that are there")

-- ---- t/run --for ----------------------------------------------------------------------

local FOR = "unset HEDDLE_BUILD; t/run --for "
local found, printed = files.command(FOR .. "$(find src/engine src/policies src/work "
    .. "src/shell -name '*.[ch]' -o -name '*.def')")
tap.ok(found and select(2, printed:gsub("\n", "")) > 150,
    "t/run --for has tests for each source", printed)
tap.is(files.output(FOR .. "src/engine/core/throttle.def"),
    "t/307-core-throttle.lua\nt/830-throttle.lua\nt/834-etc.lua\n", "those of a part's list")
tap.is(files.output(FOR .. "src/engine/translation/prefetch.h 2>&1"),
    "t/run: src/engine/translation/prefetch.h: there is no such file\n",
    "a file that is not there has none")
tap.is(files.output(FOR .. "Makefile src/engine/core/throttle.def 2>&1"),
    "t/307-core-throttle.lua\nt/830-throttle.lua\nt/834-etc.lua\n"
    .. "t/run: CONTRIBUTING.md names no test for Makefile\n", "nor has any other")
tap.is(files.output(FOR .. "src/engine/core/throttle.h ./src/engine/translation/batch.c"),
    "build/release/t/207-vm-batch\nt/307-core-throttle.lua\nt/830-throttle.lua\nt/834-etc.lua\n",
    "a header's are its source's; those of several files are sorted")

-- ---- a mechanism ----------------------------------------------------------------------

local quoted = 0
for path, code in text:gmatch "<!%-%- from (%S+) %-%->\n%s*```c\n(.-)```" do
    local file = files.read(path)
    for line in code:gmatch "[^\n]+" do
        quoted = quoted + 1
        line = line:match "^%s*(.-)%s*$"
        if line ~= "" and not file:find(line, 1, true) then
            missing[#missing + 1] = path .. ": " .. line
        end
    end
end
tap.ok(quoted > 5, "lines are quoted", quoted)
all(missing, "as they are")
for path in text:gmatch "`(t/[%w-]+%.%w+)`" do
    missing[#missing + 1] = not exists(path) and path or nil
end
for path in text:gmatch "`(src/[%w/_.-]+)`" do
    missing[#missing + 1] = not path:find "/$" and not exists(path) and path or nil
end
for path in text:gmatch "`(lua/heddle/[%w/_-]+%.lua)`" do
    missing[#missing + 1] = not path:find "NAME" and not exists(path) and path or nil
end
all(missing, "tests and sources that are named anywhere are there")

-- ---- comments -------------------------------------------------------------------------

-- Every path, and what is left of it behind each of its folders.
local there, sources = {}, {}
for path in files.output "find src lua t bench policies scenarios man -type f"
    :gmatch "[^\n]+" do
    if path:find "^src/.*%.[ch]$" or path:find "^src/.*%.def$"
        or path:find "^lua/.*%.lua$" then
        sources[#sources + 1] = path
    end
    while path do
        there[path] = true
        path = path:match "^[^/]*/(.*)$"
    end
end

--- Files of others, of users and of the build.
local OTHERS = { ["assert.h"] = true, ["embed.c"] = true, ["file.lua"] = true,
    ["lua.h"] = true, ["sysexits.h"] = true }
local ENDS = { c = true, h = true, def = true, lua = true, t = true }

local function other(path)
    return OTHERS[path] or path:find "^uvm_" or path:find "^mm/" -- of Linux
        or path:find "^share/" -- where heddle is installed
        or path:find "^%l?%.%l+$" or path:find "NAME" or path:find "FILE"
end

local named = 0
for _, path in ipairs(sources) do
    local code = files.read(path)
    local pattern = "/%*.-%*/"
    if path:find "%.lua$" then
        code = code:gsub("%-%-%[%[(.-)%]%]", function(essay)
            return "-- " .. essay:gsub("\n", "\n-- ")
        end)
        pattern = "%-%-[^\n]*"
    end
    for comment in code:gmatch(pattern) do
        for word, ending in comment:gmatch "%f[%w_./-]([%w_/-]+%.(%l+))%f[^%w_/]" do
            if ENDS[ending] and not other(word) then
                named = named + 1
                missing[#missing + 1] = not there[word:gsub("^/", "")]
                    and path .. ": " .. word or nil
            end
        end
    end
end
tap.ok(named > 300, "comments name files", named)
all(missing, "files that comments name are there")

tap.done()
