--[[
432-load-figures.lua - reference figures of the applications, measured.

The literature and measurements of the real programs give lines and pages for
an access, instructions for an item and the like.  Where a file in t/apps/
lists such figures, what the program does here is within 5 % of them.

SPDX-License-Identifier: MIT
]]
local app = require "heddle.app"

package.path = "./?.lua;" .. package.path

local number, failed = 0, {}

local function check(name, what, got, want)
    local good = math.abs(got - want) <= 0.05 * math.abs(want)

    number = number + 1
    print(("%s %d - %s: %s is %.4g, published %.4g"):format(
        good and "ok" or "not ok", number, name, what, got, want))
    if not good then failed[#failed + 1] = name end
end

for _, name in ipairs(app.names()) do
    local form = require("t.apps." .. name:lower())
    for _, figure in ipairs(form.figures and form.figures() or {}) do
        check(name, table.unpack(figure))
    end
end
print("1.." .. number)
