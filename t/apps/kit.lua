--[[
kit.lua - what the closed forms of the applications share.

A file t/apps/NAME.lua returns
    counts(params, instance)   { ["kernel load|store|atomic buffer"] = number
                               of warp instructions }, and optionally a check
                               (total, barriers, memory), each by kernel
    published                  { S, M, L [, XL =, XXL = ] } in MB, as the papers' tables have
                               them; footprints must agree within 2 %
    figures()                  { { what, measured, published }, ... }: reference
                               figures, checked within 5 %
    less                       parameters that make counting cheap, of less than T
    others                     lists of more, each counted, too
    share                      how far a footprint at T may be from the sum of
                               its buffers, where a formula holds a mean (0)

For figures:
    measure(instance, options)  means of what the naive twin does, by "kernel
                               kind buffer" and by kernel; options are those
                               of twin.walk
    profile(name, params, options)  the same from the lane engine, for sizes at
                               which the twin is too slow; options are those
                               of survey.profile
    threads(name, params, options)  { [kernel] = instructions of all its
                               threads }, from the lane engine; [1]: all
                               kernels; options are those of survey.each

SPDX-License-Identifier: MIT
]]
local twin = require "heddle.twin"
local measure = require "t.apps.measure"

local M = {}

function M.equal(got, want, what)
    if got ~= want then
        error(("%s: got %s, expected %s"):format(what, tostring(got),
            tostring(want)), 2)
    end
end

-- { ["kernel kind buffer"] = { count =, lanes =, lines =, pages = } }, the last
-- three a mean over its instructions, with lines of 128 bytes and pages of
-- 4 KB; and [kernel] = { warps =, instructions =, memory = }, of all its warps.
function M.measure(instance, options)
    local rows = {}
    local function row(key, fields)
        rows[key] = rows[key] or fields
        return rows[key]
    end
    twin.walk(instance, function(e)
        local k = row(e.kernel, { warps = 0, instructions = 0, memory = 0 })
        k.instructions = k.instructions + e.n
        if e.kind == "exit" then k.warps = k.warps + 1 end
        if not e.addr then return end
        k.memory = k.memory + 1
        local r = row(e.kernel .. " " .. e.kind .. " " .. e.buffer.name,
            { count = 0, lanes = 0, lines = 0, pages = 0 })
        r.count = r.count + 1
        r.lanes = r.lanes + measure.bits(e.mask)
        r.lines = r.lines + measure.touched(e, 128)
        r.pages = r.pages + measure.touched(e, 4096)
    end, options)
    for _, r in pairs(rows) do
        if r.count then
            for _, what in ipairs { "lanes", "lines", "pages" } do
                r[what] = r[what] / r.count
            end
        end
    end
    return rows
end

-- Rows of a profile of the application `name` by "kernel kind buffer", and by
-- "kernel kind" where there is no buffer.
function M.profile(name, params, options)
    local app, survey = require "heddle.app", require "heddle.survey"
    local rows = {}
    for _, r in ipairs(survey.profile(app.get(name):workload(params), options)) do
        local key = r.kernel .. " " .. r.kind
        rows[r.buffer and key .. " " .. r.buffer or key] = r
    end
    return rows
end

-- Instructions that the threads of each kernel execute, and of all in [1].
function M.threads(name, params, options)
    local app, survey = require "heddle.app", require "heddle.survey"
    local sums = { 0 }
    survey.each(app.get(name):workload(params), function(e)
        local n = measure.bits(e.mask)
        sums[e.kernel] = (sums[e.kernel] or 0) + n * e.n
        sums[1] = sums[1] + n * e.n
    end, options)
    return sums
end

return M
