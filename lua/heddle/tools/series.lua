--- series.lua - what a series that runs lets others see: its queue, and how far it
-- is.
--
--     local log <close> = series.open(dir, titles, files, found)
--     log:begins(i)                   in the process that runs job i
--     log:ends(i [, why])             why: it failed
--
--     for _, s in ipairs(series.list(dir)) do print(s.total, #s.done) end
--
-- A store (store.lua) has one file for each series that uses it now,
-- PROCESS.series: a line of JSON that says what it is, a line for each job in the
-- order in which they begin, then a line whenever one begins or ends, added by the
-- process that runs it.  The file goes with its series, however that ends; of one
-- that was killed it stays, until another begins.  A reader knows by the
-- process whether a series, or a job of it, still runs, which is true on the
-- machine where it does.
--
-- The file is for people who look on.  One that cannot be written harms nothing,
-- and nothing of it reaches a result: here, as in progress.lua, there is a clock.
--
-- SPDX-License-Identifier: MIT
local json = require "heddle.json"
local process = require "heddle.process"

local series = { SCHEMA = "heddle-series" }

local Log = {}
Log.__index = Log

-- ---- processes -----------------------------------------------------------------------

local function text_of(path)
    local f <close> = io.open(path, "rb")
    return f and f:read "a"
end

--- A process: its number, and when it began, since numbers are used again; of
-- this one, or of number `pid`; nil: there is none.
local function who(pid)
    local number, rest = (text_of(("/proc/%s/stat"):format(pid or "self")) or "")
        :match "^(%d+).*%) (.*)"
    local n, begun = 0
    for word in (rest or ""):gmatch "%S+" do
        n = n + 1
        begun = n == 20 and word or begun
    end
    return number and tonumber(number), begun, rest and rest:sub(1, 1)
end

--- Whether a process that the file names runs.
local function lives(pid, begun)
    local _, at, state = who(pid)
    return at ~= nil and at == begun and state ~= "Z" and state ~= "X"
end

series.who, series.lives = who, lives

-- ---- writing ---------------------------------------------------------------------------

local function add(self, lines)
    local f <close> = io.open(self.path, "ab")
    if f then
        f:write(table.concat(lines, "\n"), "\n")
    end
end

--- Removes the files of a list { path =, runs = } whose processes do not run: what
-- killed ones have left is of no use.
function series.sweep(list)
    for _, s in ipairs(list) do
        if not s.runs then
            os.remove(s.path)
        end
    end
end

--- Begins: titles and files (names in the store; "" for one that is not kept) of
-- the jobs to run, and how many others were found.
function series.open(dir, titles, files, found)
    local pid, begun = who()
    local self = setmetatable({ path = ("%s/%d.series"):format(dir, pid or 0),
        pid = pid }, Log)
    series.sweep(series.list(dir))
    os.remove(self.path)
    local lines = { json.encode { schema = series.SCHEMA, schema_version = 1,
        pid = pid, begun = begun, at = os.time(), total = #titles,
        found = found } }
    for i, title in ipairs(titles) do
        lines[i + 1] = json.encode { title = title, file = files[i] }
    end
    add(self, lines)
    return self
end

function Log:begins(i)
    local pid, begun = who()
    add(self, { json.encode { begins = i, pid = pid, begun = begun,
        at = os.time() } })
end

function Log:ends(i, why)
    add(self, { json.encode { ends = i, why = why, at = os.time() } })
end

function Log:close()
    if who() == self.pid then -- not in its children
        os.remove(self.path)
    end
end

Log.__close = Log.close

-- ---- reading ---------------------------------------------------------------------------

--- A line of the file as a table; one that is not whole, or of another program, as
-- an empty one.
local function line_of(text)
    local ok, v = pcall(json.decode, text)
    return ok and type(v) == "table" and v or {}
end

local function read(path)
    local lines = {}
    for line in (text_of(path) or ""):gmatch "([^\n]*)\n" do
        lines[#lines + 1] = line_of(line)
    end
    local head = lines[1]
    if not head or head.schema ~= series.SCHEMA or head.schema_version ~= 1
        or math.type(head.total) ~= "integer" then
        return nil
    end
    local s = { path = path, pid = head.pid, at = tonumber(head.at) or 0,
        total = head.total, found = tonumber(head.found) or 0, jobs = {},
        runs = lives(head.pid, head.begun) }
    for i = 1, head.total do
        local job = lines[i + 1] or {}
        s.jobs[i] = { title = tostring(job.title or "job " .. i),
            file = tostring(job.file or ""), state = "waiting" }
    end
    for i = head.total + 2, #lines do
        local e = lines[i]
        local job = s.jobs[e.begins or e.ends or 0]
        if job and e.begins then
            job.state, job.at = lives(e.pid, e.begun) and "running" or "lost",
                e.at
        elseif job then
            job.state, job.at = e.why and "failed" or "done", e.at
            job.why = e.why and tostring(e.why)
        end
    end
    return s
end

--- The series of a store, by their processes: { path, pid, at, total, found, runs
-- (whether it does), jobs = { { title, file, state, at, why }, ... } }; a job's
-- state is waiting, running, lost (its process is gone), done or failed.
function series.list(dir)
    local out = {}
    for _, name in ipairs(process.list(dir) or {}) do
        out[#out + 1] = name:find "^%d+%.series$" and read(dir .. "/" .. name)
            or nil
    end
    table.sort(out, function(a, b) return a.path < b.path end)
    return out
end

return series
