--- progress.lua - one line on a terminal that says how far a run has come.
--
-- Shown on standard error if that is a terminal, never elsewhere, and gone
-- when the run ends.  The share done is the mean over applications of budget
-- used or, for one launch, blocks retired; the time left is guessed from it.
-- The wall clock is used here only: nothing of it reaches a result.
--
-- SPDX-License-Identifier: MIT
local progress = {}

local process = require "heddle.process"

--- Seconds between two lines.
local PERIOD = 0.5

--- The share of the work that is done, 0 to 1.
local function share(sim)
    local sum, apps = 0, sim.core:apps()
    local budget = 0
    for _, s in ipairs(sim.resolved) do
        if s.name == "sim.budget" then
            budget = tonumber(s.value) or 0
        end
    end
    for _, a in ipairs(apps) do
        if a.finished then
            sum = sum + 1
        elseif budget > 0 then
            sum = sum + math.min(1, a.instructions / budget)
        elseif a.blocks > 0 then
            sum = sum + a.blocks_done / a.blocks
        end
    end
    return sum / math.max(1, #apps), apps
end

local function clock(seconds)
    seconds = math.floor(seconds)
    if seconds >= 3600 then
        return ("%d:%02d:%02d"):format(seconds // 3600, seconds // 60 % 60,
            seconds % 60)
    end
    return ("%d:%02d"):format(seconds // 60, seconds % 60)
end

progress.clock = clock

--- Set by what runs several series: a function whose text comes before theirs.
progress.before = nil

--- Begins: returns a meter, or nil where nothing shall be shown.
function progress.open(sim)
    if sim.progress == false or not process.isatty(2) then
        return nil
    end
    local now = process.time()
    return { start = now, last = now, slice = 20000, from = sim.core:now() }
end

function progress.show(sim)
    local m = sim.meter
    if not m then
        return
    end
    local now = process.time()
    local took = now - (m.before or m.start)
    m.before = now
    if took < PERIOD / 4 then
        m.slice = math.min(m.slice * 2, 1 << 40)
    elseif took > PERIOD then
        m.slice = math.max(m.slice // 2, 100)
    end
    if now - m.last < PERIOD then
        return
    end
    m.last = now
    local done, apps = share(sim)
    local names = {}
    for i, a in ipairs(apps) do
        names[i] = ("%s k%d"):format(a.name, a.kernel)
    end
    local spent = now - m.start
    local left = done > 0.01 and clock(spent / done - spent) or "?"
    m.shown = true
    io.stderr:write(("\r\27[K%3d %%  cycle %d  %s  %.0f k cycles/s  ETA %s")
        :format(math.floor(done * 100), sim.core:now(),
            table.concat(names, ", "),
            (sim.core:now() - m.from) / 1000 / math.max(spent, 1e-3), left))
end

function progress.close(sim)
    if sim.meter and sim.meter.shown then
        io.stderr:write("\r\27[K")
    end
    sim.meter = nil
end

return progress
