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

-- An instruction that is not alu as one string; `alu` instructions of the warp came
-- before it.
local FULL = { [32] = 0xffffffff, [64] = -1 }
local PACK = { [32] = ("j"):rep(32), [64] = ("j"):rep(64) }
local function pack(e, alu, lanes)
    local head = ("%d %s %d %d %d %s"):format(e.launch, e.kernel, e.block, e.warp, alu,
        e.kind)
    if not e.addr then
        return head
    end
    local lane = e.addr
    if e.mask ~= FULL[lanes] then
        lane = {}
        for l = 0, lanes - 1 do
            lane[l] = e.mask >> l & 1 == 1 and e.addr[l] or 0
        end
    end
    return ("%s %x %d\n%s"):format(head, e.mask, e.bytes,
        PACK[lanes]:pack(table.unpack(lane, 0, lanes - 1)))
end

-- What pack() made, for a reader.
local function text(s, lanes)
    local head, addresses = tostring(s):match "^(.-)\n(.*)"
    return head and head .. " " .. table.concat({ PACK[lanes]:unpack(addresses) }, " ", 1,
        lanes) or tostring(s)
end

-- A visitor that hands each such string to `line`; alu runs are summed, since
-- the engine joins and splits them as it likes.
local function summing(lanes, line)
    local alu = 0
    return function(e)
        if e.kind == "alu" then
            alu = alu + e.n
        else
            line(pack(e, alu, lanes))
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
            wrong = ("instruction %d:\n  engine %s\n  twin   %s"):format(n,
                text(s, lanes), text(want[n], lanes))
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
