-- throttle.lua - fewer cores at work where memory is oversubscribed.
--
-- Li et al., A Framework for Memory Oversubscription Management in Graphics
-- Processing Units (ETC), ASPLOS 2019, section 4.3.  At its first launch, of the
-- cores that an application has work for, `share` percent run.  With adapt = 0
-- that is all, at every launch (naive throttling).  With adapt = 1 it is the
-- machine of the paper's figure 7 (memory-aware throttling):
--
--   detection  lasts until the first far fault of a core that runs, `detect`
--              epochs at most.  If none came, the core that stopped last resumes,
--              and execution begins.
--   fault      until that fault has been served.  If pages of the application
--              were evicted in the detection, or some had to be for this fault,
--              its core stops, else nothing changes; execution begins.
--   execution  lasts `execute` epochs, in which nothing changes.
--
-- All cores run while memory holds all that is allocated, as it is compressed by
-- now (4.3, 4.5); when it no longer does detection begins.  Naive throttling does
-- not ask.
--
-- Whether cores that stop at a launch have got blocks before is not said: with
-- hold = 1 these wait until another core has none left.
--
-- With irregular = 1 all that is for applications which app_classify calls
-- irregular, from the instant at which it does.
--
-- `step` and `release` cores stop and resume at a time (section 6.4): the core of
-- the fault and then the highest that run; the last to stop first.  One core
-- always runs.
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

local function begin(s, state, left)
    s.now, s.left, s.evicted = state, left, false
end

--- The fault that has ended the detection was served, and pages were evicted.
local function throttle(s, q, p)
    local n = p.step
    stop(s, q, q.by)
    for i = q.n - 1, 0, -1 do
        if n > 1 and s.stands >> i & 1 == 0 then
            stop(s, q, i)
            n = n - 1
        end
    end
end

local function epoch(s, p)
    if s.now == "fault" then
        return
    end
    s.left = s.left - 1
    if s.left > 0 then
        return
    elseif s.now == "execution" then
        begin(s, "detection", p.detect)
        return
    end
    for _ = 1, p.release do
        go_on(s)
    end
    begin(s, "execution", p.execute)
end

--- A request of a core waits for the host, or has been served.
local function fault(s, q, p)
    if s.now == "detection" and q.cause == "fault"
        and s.stands >> q.by & 1 == 0 then
        s.now, s.by, s.vpn = "fault", q.by, q.vpn
    elseif s.now == "fault" and q.cause == "served" and q.by == s.by
        and q.vpn == s.vpn then
        if s.evicted or q.evicted == 1 then
            throttle(s, q, p)
        end
        begin(s, "execution", p.execute)
    end
end

return {
    name = "throttle",
    summary = "fewer cores run while far faults evict pages",
    source = "ETC, ASPLOS 2019, section 4.3",
    params = {
        adapt = { default = 1, max = 1, meaning = "1: memory-aware throttling; 0: "
                      .. "naive, stopped cores stay stopped",
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
                 meaning = "cores that stop at a time",
                 source = "ETC 5, Design Parameters; 6.4" },
        release = { default = 1, min = 1, max = 64, unit = "cores",
                    meaning = "cores that resume at a time",
                    source = "ETC 5, Design Parameters; 6.4" },
        hold = { default = 0, max = 1, meaning = "1: cores that stop at a launch "
                     .. "have got blocks before, which wait there; 0: the other "
                     .. "cores get all blocks", source = "guess: ETC does not "
                     .. "say" },
        irregular = { default = 0, max = 1, meaning = "1: only applications "
                          .. "that app_classify calls irregular",
                      source = "ETC 4" },
    },

    init = function(s, p, place)
        s.app = {}
        for app = 1, place.apps do
            s.app[app] = { stack = {}, stands = 0, started = false,
                now = "detection", left = p.detect, by = 0, vpn = 0,
                evicted = false }
        end
    end,

    core_throttle = function(q, all, p)
        local s = all.app[q.app + 1]
        forget(s, q)
        if p.adapt == 0 and q.cause == "launch" then
            s.stack, s.stands = {}, 0
        end
        local other = p.irregular == 1 and q.is ~= "irregular"
        if other or p.adapt == 1 and q.allocated <= q.capacity then
            s.stack, s.stands = {}, 0
            s.started = s.started and not other
            begin(s, "detection", p.detect)
        elseif q.cause == (p.hold == 1 and "placed" or "launch")
            or p.irregular == 1 and not s.started then
            if not s.started or p.adapt == 0 then
                halve(s, q, p)
            end
            s.started = true
        elseif p.adapt == 1 and q.cause == "epoch" then
            epoch(s, p)
        elseif p.adapt == 1 then
            fault(s, q, p)
        end
        return ~s.stands & (q.n < 64 and (1 << q.n) - 1 or -1)
    end,

    watch = {
        page_evicted = function(n, all)
            local s = all.app[n.app + 1]
            s.evicted = s.evicted or s.now == "detection"
        end,
    },
}
