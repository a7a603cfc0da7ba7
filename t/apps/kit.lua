--[[
kit.lua - what the closed forms of the applications share.

A file t/apps/NAME.lua returns
    counts(params, instance)   { ["kernel load|store|atomic buffer"] = number
                               of warp instructions }, and optionally a check
                               (total, barriers, memory), each by kernel
    published                  { S, M, L [, XL = ] } in MB, as the papers' tables have
                               them; footprints must agree within 2 %
    figures()                  { { what, measured, published }, ... }: reference
                               figures, checked within 5 %
    share                      how far a footprint at T may be from the sum of
                               its buffers, where a formula holds a mean (0)

SPDX-License-Identifier: MIT
]]
local M = {}

function M.equal(got, want, what)
    if got ~= want then
        error(("%s: got %s, expected %s"):format(what, tostring(got),
            tostring(want)), 2)
    end
end

return M
