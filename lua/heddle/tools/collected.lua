--- collected.lua - the results of a script, all of them, in one file: heddle run
-- --results.
--
--     script.options.results = collected.open "all.json"
--
-- A JSON list in the order in which the script got them: what sim:results(), H.run
-- and the store return, each result once; then, of simulations that ran and whose
-- results the script never asked for, what they had measured when they ended, were
-- closed, or the script was over.  Jobs of a series are in processes of their own,
-- and their results are those that the series returns.
--
-- Results are written as they come, to PATH.part, which becomes PATH when the script
-- ends well and is removed otherwise: a reader of PATH finds all or nothing.
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local json = require "heddle.json"
local measured = require "heddle.results"

local Collected = {}
Collected.__index = Collected

local collected = {}

local function fail(self, code, why)
    error(core.error(code, ("--results: %s: %s"):format(self.path, why)), 0)
end

local function write(self, text)
    local ok, why = self.file:write(text)
    if not ok then
        fail(self, -6, why)
    end
end

--- Adds a result unless it is there already; `sim`: whose it is, where that is
-- known.
function Collected:add(result, sim)
    if type(result) ~= "table" or result.schema ~= measured.SCHEMA
        or self.seen[result] or self.ended[sim or result] then
        return
    end
    self.seen[result] = true
    if sim then
        self.asked[sim] = true
        self.ended[sim] = result.status == "done" or nil
    end
    write(self, (self.count > 0 and ",\n" or "") .. json.encode(result))
    self.count = self.count + 1
end

--- A simulation ends, or is closed: its result, if the script never asked for one.
function Collected:leave(sim)
    if not self.waiting[sim] then
        return
    end
    self.waiting[sim] = nil
    if not self.asked[sim] and sim.status ~= "ready" then
        self:add(measured.collect(sim), sim)
    end
end

--- All that wait and are over (`all`: or are not), in the order in which they were
-- made.
local function leave(self, all)
    local list = {}
    for sim in pairs(self.waiting) do
        if all or sim.status == "done" or self.asked[sim] then
            list[#list + 1] = sim
        end
    end
    table.sort(list, function(a, b) return a.serial < b.serial end)
    for _, sim in ipairs(list) do
        self:leave(sim)
    end
end

--- The script has made a simulation, which is kept until its result is known.
function Collected:made(sim)
    leave(self, false)
    self.waiting[sim] = true
end

--- The script is over; ok: it ended well.
function Collected:finish(ok)
    if ok then
        leave(self, true)
        write(self, "]\n")
    end
    local closed, why = self.file:close()
    if ok and not closed then
        fail(self, -6, why)
    elseif not ok then
        os.remove(self.part)
        return
    end
    ok, why = os.rename(self.part, self.path)
    if not ok then
        fail(self, -11, why)
    end
end

function collected.open(path)
    local weak = { __mode = "k" }
    local self = setmetatable({ path = path, part = path .. ".part", count = 0,
        seen = setmetatable({}, weak), asked = setmetatable({}, weak),
        ended = setmetatable({}, weak), waiting = {} }, Collected)
    local why
    self.file, why = io.open(self.part, "wb")
    if not self.file then
        fail(self, -11, why)
    end
    write(self, "[")
    return self
end

return collected
