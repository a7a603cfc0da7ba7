--[[
420-load-twin.lua - the lane engine against the naive twin.

Pinned: for all applications at size T, with warps of 32 and of 64
lanes, both give the same instructions in the same order: launch, kernel,
block, warp, kind, mask, bytes and the address of every active lane; and the
same number of ALU instructions between them.

SPDX-License-Identifier: MIT
]]
local test, run = require "lib.suite"()
local app = require "heddle.app"
local twin = require "heddle.twin"
local survey = require "heddle.survey"

-- One line of text for an instruction that is not alu; `alu` instructions of
-- the warp came before it.
local function text(e, alu, lanes)
    local parts = { e.launch, e.kernel, e.block, e.warp, alu, e.kind }
    if e.addr then
        parts[#parts + 1] = ("%x"):format(e.mask)
        parts[#parts + 1] = e.bytes
        for l = 0, lanes - 1 do
            if e.mask >> l & 1 == 1 then
                parts[#parts + 1] = e.addr[l]
            end
        end
    end
    return table.concat(parts, " ")
end

-- A visitor that hands each such line to `line`; alu runs are summed, since
-- the engine joins and splits them as it likes.
local function summing(lanes, line)
    local alu = 0
    return function(e)
        if e.kind == "alu" then
            alu = alu + e.n
        else
            line(text(e, alu, lanes))
            alu = 0
        end
    end
end

local function compare(name, lanes)
    local a = app.get(name)
    local instance, workload = a:instance("T"), a:workload("T")
    local place = {}
    for i, b in ipairs(survey.buffers(workload)) do
        assert(b.name == instance.buffers[i].name, "order of buffers")
        place[instance.buffers[i]] = b.base
    end
    local want, n, wrong = {}, 0, nil
    twin.walk(instance, summing(lanes, function(s) want[#want + 1] = s end),
        { lanes = lanes, place = place })
    local visit = summing(lanes, function(s)
        n = n + 1
        if s ~= want[n] and not wrong then
            wrong = ("instruction %d:\n  engine %s\n  twin   %s"):format(n, s,
                tostring(want[n]))
        end
    end)
    survey.each(workload, function(e)
        visit(e)
        return wrong ~= nil
    end, { lanes = lanes })
    if wrong then error(wrong, 0) end
    assert(n == #want, ("the engine stops after %d instructions of %d")
        :format(n, #want))
    assert(n > 30, "something was compared")
end

for _, lanes in ipairs { 32, 64 } do
    for _, name in ipairs(app.names()) do
        test(("%s, %d lanes"):format(name, lanes), function()
            compare(name, lanes)
        end)
    end
end

run()
