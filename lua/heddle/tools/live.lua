--- live.lua - heddle view --follow: series and simulations that run, for a browser.
--
-- serve.c listens on 127.0.0.1; these are its pages:
--     /         how far the series of the store are, and where the simulations are
--               that say so there (publish.lua): web/live.js, which asks for
--     /state    that as JSON, every two seconds
--     /view     the page of the results that are in the store now (view.lua), made
--               in a process of its own, so that /state is answered meanwhile
-- A series that has ended is known by what was last seen of it.  Of results only
-- the last few are read for /state, each once.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local page = require "heddle.page"
local process = require "heddle.process"
local publish = require "heddle.publish"
local series = require "heddle.series"
local store = require "heddle.store"

local live = {}

local LIST = 20 -- of jobs of a kind
local ENDED = 8 -- series

local BODY = [[
<header><h1>%s</h1></header>
<main id="main" data-store="%s"><noscript><p>This page follows a series with a
script of its own; without JavaScript, reload <a href="/state">its state</a>.</p>
</noscript></main>]]

-- ---- the state -------------------------------------------------------------------------

--- What is said of a result: label, applications, cycles, IPC, miss rates.
local function brief(r)
    local apps, value = {}, {}
    for i, a in ipairs(r.apps) do
        apps[i] = a.label
    end
    for _, m in ipairs(r.metrics) do
        value[m.name] = m.total
    end
    return { label = r.label, apps = table.concat(apps, " + "),
        machine = r.machine, status = r.status, cycles = r.cycles,
        ipc = value.ipc, l1 = value.l1tlb_miss_rate, l2 = value.l2tlb_miss_rate }
end

--- A job that has ended as people want to see it; what was read is kept.
local function result_of(self, job)
    local known = self.known[job.file]
    if known == nil and job.file ~= "" then
        local r = store.result(self.dir, job.file)
        local ok, row = pcall(brief, r)
        known = r and ok and row or false
        self.known[job.file] = known
    end
    local out = { title = job.title, at = job.at }
    for k, v in pairs(known or {}) do
        out[k] = v
    end
    return out
end

--- Jobs by state: how many, and some of each: the first that wait, the last that
-- have ended.
local function jobs_of(self, s)
    local by = { waiting = {}, running = {}, lost = {}, done = {}, failed = {} }
    for _, job in ipairs(s.jobs) do
        table.insert(by[job.state], job)
    end
    local counts, out = {}, {}
    for state, list in pairs(by) do
        counts[state] = #list
        local ended = state == "done" or state == "failed"
        if ended then
            table.sort(list, function(a, b) return (a.at or 0) > (b.at or 0) end)
        end
        out[state] = json.array {}
        for i = 1, math.min(LIST, #list) do
            local job = list[i]
            out[state][i] = state == "done" and result_of(self, job)
                or { title = job.title, at = job.at, why = job.why }
        end
    end
    return counts, out
end

local function state_of(self, s)
    local counts, jobs = jobs_of(self, s)
    local done = counts.done + counts.failed
    local spent = os.time() - s.at
    return { pid = s.pid, at = s.at, spent = spent, total = s.total,
        found = s.found, runs = s.runs, gone = s.gone, counts = counts, jobs = jobs,
        left = s.runs and done > 0 and spent / done * (s.total - done) or nil }
end

--- Jobs of a series whose file has gone: what they did since it was read.
local function settle(self, s)
    s.runs, s.gone = false, true
    for _, job in ipairs(s.jobs) do
        local kept = job.file ~= "" and io.open(self.dir .. "/" .. job.file)
        if kept then
            kept:close()
            job.state = "done"
        elseif job.state ~= "failed" and job.state ~= "done" then
            job.state = "lost"
        end
    end
end

--- The simulations that say where they are; one whose file has gone stays as it was
-- last seen, ENDED of them.
local function sims_of(self)
    local out, here = json.array {}, {}
    for _, s in ipairs(publish.list(self.dir)) do
        here[s.path], s.path = s, nil
        s.begun = nil
        out[#out + 1] = s
    end
    for _, path in ipairs(require("heddle.config").sorted_keys(self.running)) do
        if not here[path] then
            table.insert(self.over, 1, self.running[path])
        end
    end
    self.running = here
    for i, s in ipairs(self.over) do
        s.runs, s.gone = false, true
        self.over[i] = i <= ENDED and s or nil
        out[#out + 1] = self.over[i]
    end
    return out
end

--- All of it: the series that are there, then those that have ended, the last
-- first, ENDED of them; one whose file has gone stays as it was last seen.
function live.state(self)
    local out, here = json.array {}, {}
    for _, s in ipairs(series.list(self.dir)) do
        here[s.path] = s
        out[#out + 1] = state_of(self, s)
    end
    for _, path in ipairs(require("heddle.config").sorted_keys(self.seen)) do
        if not here[path] then
            settle(self, self.seen[path])
            table.insert(self.ended, 1, self.seen[path])
        end
    end
    self.seen = here
    for i, s in ipairs(self.ended) do
        self.ended[i] = i <= ENDED and s or nil
        out[#out + 1] = self.ended[i] and state_of(self, s)
    end
    return { version = core.version, store = self.dir, now = os.time(),
        kept = #(store.names(self.dir) or {}), series = out, sims = sims_of(self) }
end

-- ---- pages ------------------------------------------------------------------------------

local HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"

local function results_page(self)
    local v = require("heddle.view").open(self.options)
    if #store.names(self.dir) == 0 then
        return 404, TEXT, "no results yet\n"
    end
    v:read(self.dir)
    return 200, HTML, v:page("Results in " .. self.dir)
end

--- The answer to GET path.
function live.answer(self, path)
    path = path:gsub("%?.*", "")
    if path == "/" then
        local title = "What runs in " .. self.dir
        return 200, HTML, page.frame { title = title, css = "view.css",
            js = "live.js", body = BODY:format(page.escape(title),
                page.escape(self.dir)) }
    elseif path == "/state" then
        return 200, "application/json", json.encode(live.state(self)) .. "\n"
    elseif path == "/view" then
        return results_page(self)
    end
    return 404, TEXT, "there are /, /state and /view\n"
end

function live.open(dir, options)
    return { dir = dir, known = {}, seen = {}, ended = {}, running = {}, over = {},
        options = {
            bytes = (options.size or 8) << 20, filter = options.filter } }
end

--- Serves until Ctrl-C.
function live.serve(dir, port, options)
    if not process.list(dir) then
        local f = io.open(dir, "rb")
        if f then
            f:close()
        end
        error(core.error(f and -4 or -5, dir .. (f and ": a store is expected, "
            .. "a folder such as out/cache" or ": there is no such folder; a store "
            .. "is expected, such as out/cache")), 0)
    end
    local self = live.open(dir, options)
    require("heddle.serve").loop(port, function(chosen)
        print(("http://127.0.0.1:%d/ shows the series and simulations in %s; "
            .. "Ctrl-C ends it")
            :format(chosen, dir))
        io.stdout:flush()
    end, function(path)
        local ok, status, type, body = pcall(live.answer, self, path)
        if ok then
            return status, type, body
        end
        return 500, TEXT, core.problem(status).text .. "\n"
    end, { ["/view"] = true })
    return 0
end

return live
