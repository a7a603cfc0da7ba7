--[[
769-words.lua - the sources speak the field's language.

Pinned: no comment begins "The same": it says what it is the same as; and private
words that have a term of the field instead are in no folder that is clean of them.
To hold another folder, add it to the words that it is clean of.

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

-- ---- private words ---------------------------------------------------------------

--- What is clean of all of them: files, and folders with all below.
local CLEAN = "lua man scenarios policies src bench README.md CONTRIBUTING.md "
    .. "CHANGES.md"

-- { patterns of Lua for words in lower case, what to write, where }.  A pattern
-- is of whole words, which may continue on the next line of a comment or a text.
local WORDS = {
    { { "anew" }, "again", CLEAN },
    { { "whoever", "somebody", "nobody" },
        "its name: the policy, a policy, no policy", CLEAN },
    { { "goes on", "go on", "going on", "went on" },
        "continues, proceeds, resumes", CLEAN },
    { { "lies", "lie", "lying" }, "is, resides", CLEAN },
    { { "kvm" }, "program VM, lane engine", CLEAN },
    { { "untold", "unnoticed" }, "reported; a warning", CLEAN },
    { { "on its way", "on their way" }, "in flight", CLEAN },
    { { "unasked", "comes? ahead", "came ahead" }, "prefetched", CLEAN },
    { { "absent pages?", "page absent", "page is absent", "pages are absent" },
        "not resident", CLEAN },
    { { "has brought", "brought by", "pages? brought", "brings pages?" },
        "migrated, prefetched", "man README.md policies CHANGES.md src" },
    { { "brings in", "bring in", "left memory", "left the memory" },
        "migrates; evicted", "src/engine" },
    { { "found absent", "finds? it absent", "ahead of need" },
        "not resident; before a page needs frames", "src policies man" },
    { { "party", "parties", "starves?", "starved", "starving" },
        "requesters of a walk; waits for frames", "src bench" },
    { { "the same for level" }, "what is counted", "src man" },
    { { "told once", "told when" }, "reported", "src man" },
    { { "from afar" }, "remotely", CLEAN },
    { { "lends?", "lent" }, "detach", CLEAN },
    { { "way to memory", "way to the memory", "way to dram" },
        "path, latency to memory", CLEAN },
    { { "the house", "the floors?" }, "module, layer",
        (CLEAN:gsub(" bench", "")) },
}

--- The text of a file in lower case, without the lists in it that the build writes
-- from the engine's tables: their words are to be mended there.
local function prose(path)
    local text = files.read(path):lower()
    text = text:gsub("\n%.\\\" lists? written by.-\n%.\\\" end of lists?", function(s)
        return ("\n"):rep(select(2, s:gsub("\n", "")))
    end)
    return text
end

--- Words over a line's end, too: in between are blanks, marks of comments, quotes.
local function pattern_of(word)
    return "%f[%w_]" .. word:gsub(" ", "[%%s%%*%%-\"%%.]+") .. "%f[^%w_]"
end

local function texts(places)
    return files.output("find " .. places .. " -name '*.lua' -o -name '*.md' -o "
        .. "-name '*.[1-9]' -o -name '*.[ch]' -o -name '*.def' -o -name '*.css' -o "
        .. "-name '*.js'")
end

local read = {}
for _, of in ipairs(WORDS) do
    local found, n = {}, 0
    for path in texts(of[3]):gmatch "[^\n]+" do
        n = n + 1
        read[path] = read[path] or prose(path)
        for _, word in ipairs(of[1]) do
            for at in read[path]:gmatch("()" .. pattern_of(word)) do
                local line = select(2, read[path]:sub(1, at):gsub("\n", "")) + 1
                found[#found + 1] = ("%s:%d: %s"):format(path, line, word)
            end
        end
    end
    tap.ok(n > 0 and #found == 0, ("%s: %s"):format(table.concat(of[1], ", "),
        of[2]), table.concat(found, "\n"))
end
tap.done()
