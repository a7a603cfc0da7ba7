--- estimate.lua - how long a trace will run on a machine, and in what memory.
--
--     local estimate = require "heddle.estimate"
--     local e = estimate.of(w, instructions, sim, made, estimate.SECONDS)
--     e.seconds, e.low, e.high, e.kilobytes, e.share, e.complete
--
-- The time of a run is that of its work: warp instructions, and the lines that
-- their accesses touch, which are known of the whole trace without time (a survey).
-- What the work costs depends on the host, the machine and its settings, so the
-- first part of the trace is run, for so many seconds of CPU time, and what that
-- comes to in its second half is taken for the rest: in the first, queues fill, and
-- instructions issue sooner than they can later.  A line counts as four
-- instructions, which fitted the traces tried best.
--
-- Memory is what the process has needed by the end of that part: all pages are
-- mapped and all structures made before the first cycle.  What grows is a row of
-- counters for each kernel.
--
-- Left out: what comes later and is unlike the first part.  estimate.OFF is how far
-- off this was where it was tried (heddle_capture(7)); e.low and e.high are the
-- estimate with that.
--
-- SPDX-License-Identifier: MIT
local survey = require "heddle.survey"

local estimate = {}

estimate.OFF = { 0.5, 1.6 } -- actual time over estimate, least and most
estimate.SECONDS = 1.5      -- of the part that is run

local LINE = 4               -- a line in instructions
local LIMIT = 50000000       -- instructions of the survey
local CYCLES = 200           -- of the first step

--- Most memory of this process so far in KB; nil where the system does not say.
local function peak()
    local f = io.open("/proc/self/status")
    local text = f and f:read "a"
    if f then
        f:close()
    end
    return text and tonumber(text:match "VmHWM:%s*(%d+)")
end

--- Lines that all of a workload touches, from a survey of its first part.
local function lines_of(w, instructions)
    local s = survey.run(w, { limit = LIMIT })
    local lines, seen = 0, 0
    for _, k in ipairs(s.kernels) do
        seen = seen + k.instructions
        for _, use in ipairs(k.uses) do
            lines = lines + use.lines
        end
    end
    return seen > 0 and seen < instructions and lines * instructions / seen
        or lines
end

--- What is left at the cost of the second half of what was run.
local function rest(marks, all)
    local last = marks[#marks]
    local from = { seconds = 0, work = 0 }
    for _, m in ipairs(marks) do
        if m.seconds <= last.seconds / 2 then
            from = m
        end
    end
    local work = last.work - from.work
    if work <= 0 then
        from, work = { seconds = 0, work = 0 }, math.max(last.work, 1)
    end
    return math.max(all - last.work, 0) * (last.seconds - from.seconds) / work
end

--- of(w, instructions, sim, seconds): the estimate for a workload w (open, without
-- a run) of so many instructions, by sim, a simulation of one like it that has not
-- begun, and the seconds that making sim took.
function estimate.of(w, instructions, sim, made, seconds)
    local all = instructions + LINE * lines_of(w, instructions)
    local marks, cycles, start = {}, CYCLES, os.clock()
    local status
    repeat
        status = sim:run(cycles)
        local spent = os.clock() - start
        marks[#marks + 1] = { seconds = spent, work = sim.instructions
            + LINE * sim:counters().core.lines }
        local step = spent - (marks[#marks - 1] or { seconds = 0 }).seconds
        if step < seconds / 20 then
            cycles = cycles * 2
        end
    until status ~= "ok" or spent >= seconds
    local spent = marks[#marks].seconds
    local more = status == "ok" and rest(marks, all) or 0
    local kb = peak()
    return {
        seconds = made + spent + more,
        low = made + spent + more * estimate.OFF[1],
        high = made + spent + more * estimate.OFF[2],
        spent = spent,
        complete = status ~= "ok",
        share = sim.instructions / math.max(instructions, 1),
        kilobytes = kb,
    }
end

return estimate
