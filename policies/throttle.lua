-- throttle.lua - fewer cores at work where memory is oversubscribed.
--
-- Li et al., A Framework for Memory Oversubscription Management in Graphics
-- Processing Units (ETC), ASPLOS 2019, section 4.3.  At its first launch, of the
-- cores that an application has work for, `share` percent run.  With adapt = 0
-- that is all, at every launch (naive throttling).  With adapt = 1 detection and
-- execution take turns (memory-aware throttling):
--
--   detection  lasts `detect` epochs.  A far fault during which pages had to be
--              evicted ends it: once it is served its core stops, and execution
--              begins.  If there was no far fault, the core that stopped last
--              resumes; if there were some and all found room, nothing changes.
--   execution  lasts `execute` epochs, in which nothing changes.
--
-- Whether cores that stop at a launch have got blocks before is not said: with
-- hold = 1 these wait until another core has none left.
--
-- With irregular = 1 all that is for applications which app_classify calls
-- irregular, from the instant at which it does.
--
-- `step` and `release` cores stop and resume at a time: the core of the fault and
-- then the highest, the last ones first.  One core always runs.
--
-- An epoch is throttle.cycles.  The built-in "throttle" is the same in C.
--
-- SPDX-License-Identifier: MIT

-- Of an application: stack, the places of cores that stand, and stands, the same
-- as a bit set.
local function stop(s, q, place)
    if s.stands >> place & 1 == 0 and #s.stack + 1 < q.n then
        s.stands = s.stands | 1 << place
        table.insert(s.stack, place)
    end
end

local function go_on(s)
    local place = table.remove(s.stack)
    if place then
        s.stands = s.stands & ~(1 << place)
    end
end

--- A launch starts: the lowest cores run, of as many as get a block.
local function halve(s, q, p)
    local work = math.min(q.n, q.blocks)
    local run = math.max(1, (work * p.share + 99) // 100)
    s.stack, s.stands = {}, 0
    for place = q.n - 1, run, -1 do
        stop(s, q, place)
    end
end

--- Cores that the engine has let run, since no other had a block.
local function forget(s, q)
    local kept = {}
    for _, place in ipairs(s.stack) do
        if q.running >> place & 1 == 0 then
            table.insert(kept, place)
        else
            s.stands = s.stands & ~(1 << place)
        end
    end
    s.stack = kept
end

local function begin(s, detecting, left)
    s.detecting, s.left, s.faults, s.evicted = detecting, left, 0, false
end

--- A core's fault has been served, and pages had to be evicted.
local function throttle(s, q, p)
    local place, n = q.by, p.step
    stop(s, q, place)
    for i = q.n - 1, 0, -1 do
        if n > 1 and s.stands >> i & 1 == 0 then
            stop(s, q, i)
            n = n - 1
        end
    end
    begin(s, false, p.execute)
end

local function epoch(s, p)
    s.left = s.left - 1
    if s.left > 0 then
        return
    elseif not s.detecting then
        begin(s, true, p.detect)
        return
    elseif s.faults == 0 then
        for _ = 1, p.release do
            go_on(s)
        end
    end
    begin(s, false, p.execute)
end

return {
    name = "throttle",
    summary = "fewer cores run while far faults evict pages",
    source = "ETC, ASPLOS 2019, section 4.3",
    params = {
        adapt = { default = 1, max = 1, meaning = "1: memory-aware "
                      .. "throttling; 0: naive, cores stand for good",
                  source = "ETC 4.3" },
        share = { default = 50, min = 1, max = 100, unit = "percent",
                  meaning = "of the cores that get work, those that run at "
                      .. "the start", source = "ETC 4.3" },
        detect = { default = 5, min = 1, max = 1000000, unit = "epochs",
                   meaning = "length of a detection",
                   source = "guess: ETC gives none" },
        execute = { default = 20, min = 1, max = 1000000, unit = "epochs",
                    meaning = "length of an execution",
                    source = "guess: ETC gives none" },
        step = { default = 1, min = 1, max = 64, unit = "cores",
                 meaning = "cores that stop at a time", source = "ETC 5.4" },
        release = { default = 1, min = 1, max = 64, unit = "cores",
                    meaning = "cores that resume at a time",
                    source = "ETC 5.4" },
        hold = { default = 0, max = 1, meaning = "1: cores that stop at a "
                     .. "launch have got blocks before, which wait there; 0: "
                     .. "the others get all", source = "guess: ETC does not "
                     .. "say" },
        irregular = { default = 0, max = 1, meaning = "1: only applications "
                          .. "that app_classify calls irregular",
                      source = "ETC 4" },
    },

    init = function(s, p, place)
        s.app = {}
        for app = 1, place.apps do
            s.app[app] = { stack = {}, stands = 0, started = false,
                detecting = true, left = p.detect, faults = 0,
                evicted = false }
        end
    end,

    core_throttle = function(q, all, p)
        local s = all.app[q.app + 1]
        forget(s, q)
        if p.adapt == 0 and q.cause == "launch" then
            s.stack, s.stands = {}, 0
        end
        if p.irregular == 1 and q.is ~= "irregular" then
            s.stack, s.stands, s.started = {}, 0, false
        elseif q.cause == (p.hold == 1 and "placed" or "launch")
            or p.irregular == 1 and not s.started then
            if not s.started or p.adapt == 0 then
                halve(s, q, p)
            end
            s.started = true
        elseif p.adapt == 1 and q.cause == "epoch" then
            epoch(s, p)
        elseif p.adapt == 1 and q.cause == "fault" then
            s.faults = s.faults + 1
        elseif p.adapt == 1 and q.cause == "served" and s.detecting
            and s.evicted and s.faults > 0 then
            throttle(s, q, p)
        end
        return ~s.stands & (q.n < 64 and (1 << q.n) - 1 or -1)
    end,

    watch = {
        page_evicted = function(n, all)
            all.app[n.app + 1].evicted = true
        end,
    },
}
