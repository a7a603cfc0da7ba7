--- heddle - what a scenario writer uses: machines, applications, simulations,
-- results.
--
--     local H = require "heddle"
--     local sim = H.sim {
--         machine = H.machine("maxwell") { ["l2tlb.entries"] = 1024 },
--         apps = { H.app("ATAX", { size = "S" }), H.app("GUP") },
--     }
--     sim:run()
--     H.report.text(sim:results())
--
-- Machines are tables of settings that derive from one another (machines.lua).
-- Applications are descriptions: each simulation builds its own workload from
-- one, so a description can be used any number of times (workload.lua).  A
-- simulation is an object (sim.lua), its results are one table (results.lua).
-- Many simulations run side by side in processes with H.run (runner.lua).
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local script = require "heddle.script"

local H = { version = core.version }

--- Arguments of the script, name = value, once H.args was called.
H.arg = script.arg

--- Declares the script's arguments with their defaults:
--     H.args { scale = "quick", cores = 30 }
-- A number's or boolean's default makes the argument one, too.  An argument
-- that was given but not declared is an error that lists the declared ones.
H.args = script.declare

--- A path beside the script's own.
H.here = script.here

--- For the command: begin(options) before a script, finish(ok, err) after it,
-- and the error handler between them.
H.begin, H.finish, H.traceback = script.begin, script.finish, script.traceback

--- Parts of the library, loaded when first used.
local PARTS = {
    report = "heddle.report",
    runner = "heddle.runner",
    svg = "heddle.svg",
    json = "heddle.json",
    machines = "heddle.machines",
    designs = "heddle.designs",
    energy = "heddle.energy",
    suites = "heddle.suites",
    part = "heddle.part",
    kernel = "heddle.kernel",
    policy = "heddle.policy",
    index = "heddle.index",
    generate = "heddle.generate",
    survey = "heddle.survey",
    characterise = "heddle.characterise",
}

--- Functions, by the module that has them.
local FUNCTIONS = {
    machine = "heddle.machines",
    config_read = "heddle.config",
    config_write = "heddle.config",
    config = "heddle.config",
    app = "heddle.workload",
    trace = "heddle.workload",
    program = "heddle.workload",
    plugin = "heddle.workload",
    generator = "heddle.generator",
    sim = "heddle.sim",
    run = "heddle.runner",
}

--- What scripts use, beside what load answers.
local OWN = { args = true, arg = true, here = true, version = true }

--- The names that scripts use, for completion.
local function names()
    local out = {}
    for _, list in ipairs { OWN, PARTS, FUNCTIONS } do
        for name in pairs(list) do
            out[#out + 1] = name
        end
    end
    table.sort(out)
    return out
end

--- An error about a name that `what` does not have, with the nearest that it has.
local function no_name(what, key, has)
    error(core.error(-2, ("%s has no '%s'%s"):format(what, tostring(key),
        require("heddle.index").meant(key, has))), 0)
end

--- Lets a part refuse names that it does not have.
local function strict(part, name)
    return getmetatable(part) and part or setmetatable(part, {
        __index = function(_, key)
            no_name("H." .. name, key,
                require("heddle.config").sorted_keys(part))
        end,
    })
end

local function load(_, key)
    local value
    if PARTS[key] then
        value = strict(require(PARTS[key]), key)
    elseif FUNCTIONS[key] then
        value = require(FUNCTIONS[key])[key]
    else
        no_name("heddle", key, names())
    end
    rawset(H, key, value)
    return value
end

return setmetatable(H, { __index = load, __names = names,
    __private = true })
