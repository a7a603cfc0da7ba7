--[[
432-load-figures.lua - reference figures of the applications, measured.

The literature and measurements of the real programs give lines and pages for
an access, instructions for an item and the like.  Where a file in t/apps/
lists such figures, what the program does here is within 5 % of them.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local app = require "heddle.app"

package.path = "./?.lua;" .. package.path

local function check(name, what, got, want)
    tap.ok(math.abs(got - want) <= 0.05 * math.abs(want),
        ("%s: %s is %.4g, published %.4g"):format(name, what, got, want))
end

for _, name in ipairs(app.names()) do
    local form = require("t.apps." .. name:lower())
    for _, figure in ipairs(form.figures and form.figures() or {}) do
        check(name, table.unpack(figure))
    end
end

tap.done()
