-- What GUP at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local warps = p.threads // 32
    return {
        ["update load start"] = warps,
        ["update atomic Tab"] = 2 * warps * p.updates,
    }, function(total)
        equal(total.update, warps * (20 * p.updates + 23), "instructions")
    end
end

-- 661 instructions a thread of 32 updates (MAFIA's run).  Lines and pages of
-- an atomic: of all of the program at m = 19, of the first warps, whose values
-- are sparse, and of larger tables.
local function figures()
    local app, survey = require "heddle.app", require "heddle.survey"
    local run = { size = "S", threads = 1024, updates = 32 }
    local all = kit.profile("GUP", { size = "S" })["update atomic Tab"]
    local large = kit.profile("GUP", { size = "M", updates = 8 },
        { every = 16 })["update atomic Tab"]
    local pages, atomics = 0, 0
    survey.each(app.get("GUP"):workload { size = "S" }, function(e)
        if e.block >= 16 then return true end -- of four warps
        if e.kind ~= "atomic" then return end
        local seen = {}
        for _, at in pairs(e.addr) do seen[at >> 12] = true end
        for _ in pairs(seen) do pages = pages + 1 end
        atomics = atomics + 1
    end)
    return {
        { "instructions a thread",
            kit.threads("GUP", run)[1] / run.threads, 661 },
        { "lines an atomic, m = 19", all.lines, 31.5 },
        { "pages an atomic, m = 19", all.pages, 30.5 },
        { "pages an atomic, first 64 warps", pages / atomics, 26 },
        { "pages an atomic, m = 23", large.pages, 31.9 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 4.7, 67, 269 }, -- MB of S, M and L
}
