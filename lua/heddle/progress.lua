--- progress.lua - one line on a terminal that says how far a run has come.
--
-- Shown on standard error if that is a terminal, and gone when the run ends.
-- Elsewhere a series alone says how far it is, and how far the simulation under way
-- where its jobs run one by one, in lines that become rare: a log shows within ten
-- seconds that something happens, and after a day has a dozen of them.  The share
-- done is the mean over applications of budget
-- used or thread blocks retired, all launches together, and the time left is
-- guessed from it; where a host function launches kernels it is unknown how many
-- there will be, and the line has the share of the launch alone.
-- The wall clock is used here only: nothing of it reaches a result.
--
-- SPDX-License-Identifier: MIT
local progress = {}

local process = require "heddle.process"

--- Seconds between two lines.
local PERIOD = 0.5

--- Where there is no terminal: seconds of the process until the first line, those
-- until each further one twice as many; 0: none.
local FIRST = tonumber(os.getenv "HEDDLE_PROGRESS") or 8
local start, due = process.time(), FIRST

--- The share of an application's work that is done, 0 to 1; nil where it
-- is unknown how much there is: a host function decides on the next launch.
local function share_of(a, budget, extent, first, last)
    if a.finished then
        return 1
    elseif budget > 0 then
        return math.min(1, a.instructions / budget)
    elseif not extent then
        return nil
    end
    local done, all = 0, 0
    for i = first, last > 0 and math.min(last, #extent) or #extent do
        all = all + extent[i]
        if i < a.kernel then
            done = done + extent[i]
        elseif i == a.kernel and a.blocks > 0 then
            done = done + extent[i] * a.blocks_done / a.blocks
        end
    end
    return all > 0 and done / all or nil
end

--- The share of a run that is done, or nil: the mean over its applications, or
-- what has passed of its cycles if that is more.
local function share(sim, m, apps)
    local set = m.set
    local sum = 0
    for i, a in ipairs(apps) do
        local own = share_of(a, sim.apps[i].budget or set["sim.budget"],
            sim.extents[i], set["sim.first_kernel"], set["sim.last_kernel"])
        sum = sum and own and sum + own
    end
    local done = sum and sum / math.max(1, #apps)
    local now, stop = sim.core:now(), set["sim.stop_cycles"]
    if stop > 0 then
        done = math.max(done or 0, now / stop)
    end
    if m.cycles then
        done = math.max(done or 0, (now - m.from) / m.cycles)
    end
    return done and math.min(done, 1)
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

local function is_due()
    return FIRST > 0 and process.time() - start >= due
end

--- A line on a series: in the place of the one before, or, where there is no
-- terminal, when it is due.
function progress.series(text)
    if process.isatty(2) then
        io.stderr:write("\r\27[K", text)
    elseif is_due() then
        due = 2 * (process.time() - start)
        io.stderr:write("heddle: ", text, "\n")
    end
end

--- Set while a job of a series runs in this process: a function that says how far
-- the series is, and then what it is given.
progress.within = nil

--- Set in a process that runs at once with others of its series: its own jobs do
-- not say how far they are.
progress.several = false

--- Set by what runs several series: a function whose text comes before theirs.
progress.before = nil

--- The settings that say how long a run is.
local LIMITS = { "sim.budget", "sim.stop_cycles", "sim.first_kernel",
    "sim.last_kernel" }

--- Whether a simulation says how far it is, and where: "terminal", or "log", with
-- its series.  One whose option is "series" leaves the terminal to that.
local function place_of(sim)
    if process.isatty(2) then
        return sim.progress ~= "series" and "terminal" or nil
    end
    return progress.within and FIRST > 0 and "log" or nil
end

--- Begins a run of so many cycles (nil: to the end): returns a meter, or nil
-- where nothing shall be shown.
function progress.open(sim, cycles)
    local place = sim.progress ~= false and place_of(sim)
    if not place then
        return nil
    end
    local now, set = process.time(), {}
    for _, s in ipairs(sim.resolved) do
        set[s.name] = s.value
    end
    local m = { start = now, last = now, slice = 20000, set = {},
        from = sim.core:now(), cycles = cycles, log = place == "log" }
    for _, name in ipairs(LIMITS) do
        m.set[name] = tonumber(set[name]) or 0
    end
    m.done = share(sim, m, sim.core:apps()) or 0
    return m
end

--- The line: what is done, where the applications are, when it ends.
local function line(sim, m, now)
    local apps = sim.core:apps()
    local done, names = share(sim, m, apps), {}
    for i, a in ipairs(apps) do
        names[i] = ("%s k%d"):format(a.name, a.kernel)
        if not done and a.blocks > 0 then
            names[i] = ("%s %d %%"):format(names[i],
                a.blocks_done * 100 // a.blocks)
        end
    end
    local spent, left = now - m.start, "?"
    if done and done - m.done > 0.005 then
        left = clock(spent / (done - m.done) * (1 - done))
    end
    return ("%scycle %d  %s  %.0f k cycles/s  ETA %s"):format(
        done and ("%3d %%  "):format(math.floor(done * 100)) or "",
        sim.core:now(), table.concat(names, ", "),
        (sim.core:now() - m.from) / 1000 / math.max(spent, 1e-3), left)
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
    if m.log then
        if progress.within and is_due() then
            progress.within(line(sim, m, now))
        end
        return
    end
    if now - m.last < PERIOD then
        return
    end
    m.last = now
    m.shown = true
    io.stderr:write("\r\27[K" .. line(sim, m, now))
end

function progress.close(sim)
    if sim.meter and sim.meter.shown then
        io.stderr:write("\r\27[K")
    end
    sim.meter = nil
end

return progress
