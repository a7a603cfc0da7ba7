-- 774-map.lua - pins: what CONTRIBUTING.md says of the engine is there.  The files
-- of the reading order exist and have the stations of heddle run --follow; what it
-- shows of that command is what the command prints; each part has a row, whose
-- files and tests exist; the lines that it quotes are in the files that it names.
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
local seen = {}
for _, row in ipairs(rows "parts") do
    local name = row[1]:match "^`([%w_]+)`$" or "?"
    n = n + 1
    if not parts[name] or seen[name] then
        missing[#missing + 1] = name .. (seen[name] and " twice" or " is no part")
    end
    seen[name] = true
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
for name in pairs(parts) do
    missing[#missing + 1] = not seen[name] and name .. " has no row" or nil
end
table.sort(missing)
tap.ok(n > 20, "the parts have a table", n)
all(missing, "with a row for each, and files and tests that are there")

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
all(missing, "tests and sources that are named anywhere are there")

tap.done()
