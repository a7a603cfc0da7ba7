--- suite.lua - tests that are functions: one line of TAP each.
--
--     local test, run = require "lib.suite"()
--     test("what holds", function() assert(...) end)
--     run()
--
-- SPDX-License-Identifier: MIT
return function()
    local tests = {}

    local function test(name, fn)
        tests[#tests + 1] = { name, fn }
    end

    --- Runs all; one that raises fails, with the message as a note.
    local function run()
        print("1.." .. #tests)
        for i, t in ipairs(tests) do
            local ok, err = pcall(t[2])
            print((ok and "ok " or "not ok ") .. i .. " - " .. t[1])
            if not ok then
                print("# " .. tostring(err):gsub("\n", "\n# "))
            end
        end
    end

    return test, run
end
