--- diff.lua - two policies in lockstep: the first decision where they part.
--
--     local diff = require "heddle.diff"
--     local where = diff.run(simA, simB, { chunk = 10000, cycles = 1e6 })
--
-- The two simulations are fresh and equal but for their policies.  At every
-- point that a policy of either answers, all decisions of both are heard, also
-- those of defaults, and compared: point, structure, copy, cycle, the whole
-- question, the answer.  So a policy in Lua is compared with its port to C, an
-- asked form with a steered one, a policy with none.
--
-- Both run a chunk of cycles at a time, from a snapshot.  When decisions of a
-- chunk differ, both go back and run it again, and this time the questions of
-- the first pair that differs are kept.  When no decision differs, what was
-- measured is compared at the end of each chunk: a policy may also differ in
-- what it steers or counts.
--
-- The result is nil, { decisions =, points =, cycles =, counters = } if they agree
-- to the end (or for `cycles`): how many decisions at which points, and how many
-- counters; else
--     { kind = "decision", index =, a = D, b = D }, where D is nil (this side
--       decided nothing more) or { point, at, instance, cycle, answer (a
--       number), word, question = { { name, value }, ... }, states = the states
--       of its policies in Lua one cycle before, by name }
--     { kind = "measured", cycle =, what =, a =, b = }
--
-- SPDX-License-Identifier: MIT
local core = require "heddle.core"
local decisions = require "heddle.decisions"
local pretty = require "heddle.pretty"

local diff = {}

-- ---- words ---------------------------------------------------------------------

--- An answer as the point's words have it.
local function word_of(name, answer)
    local info
    for _, p in ipairs(core.points()) do
        info = p.name == name and p or info
    end
    if info.answer == "CHOICE" then
        local i = 0
        for w in info.limit:gmatch("[^|]+") do
            if i == answer then
                return w
            end
            i = i + 1
        end
    elseif info.answer == "BOOL" then
        return answer ~= 0 and "yes" or "no"
    elseif info.answer == "SUBSET" then
        return ("0x%x"):format(answer)
    elseif info.answer == "MEMBER" then
        return ("%d%s"):format(answer & ~64, answer & 64 ~= 0 and ", once" or "")
    elseif info.by_position then -- of candidates
        return ("%d (from 0; %d in Lua)"):format(answer, answer + 1)
    end
    return tostring(answer)
end

--- The value of a field: what is an address or a set of bits as such.
local function show(value, name)
    if type(value) == "table" then
        local out = {}
        for i, v in ipairs(value) do
            if i > 16 then
                out[i] = ".. " .. #value
                break
            end
            out[i] = show(v, name)
        end
        return "{" .. table.concat(out, " ") .. "}"
    end
    return pretty.hex[name] and math.type(value) == "integer"
        and ("0x%x"):format(value) or tostring(value)
end

--- Lines of the states of a side's policies, or of what both have.
local function show_states(out, who, states)
    for _, name in ipairs(pretty.keys(states or {})) do
        out[#out + 1] = ("  %sstate of %s, one cycle before:"):format(who, name)
        local text = pretty.text(states[name], { depth = 3, items = 24 })
        for line in text:gmatch "[^\n]+" do
            out[#out + 1] = "      " .. line
        end
    end
end

--- Lines of text for people; `a` and `b` name the sides.
function diff.describe(where, a, b)
    if where.kind == "measured" then
        return {
            ("no decision differs, but at cycle %d %s does"):format(where.cycle,
                where.what),
            ("  %s: %s"):format(a, where.a), ("  %s: %s"):format(b, where.b),
        }
    end
    local first = where.a or where.b
    local out = { ("decision %d, cycle %d: %s%s"):format(where.index,
        first.cycle, first.point, first.at ~= "" and (" of %s %d"):format(
            first.at, first.instance) or "") }
    local same = where.a and where.b and diff.same_question(where)
    for _, side in ipairs { { a, where.a }, { b, where.b } } do
        local d = side[2]
        if not d then
            out[#out + 1] = ("  %s: decides nothing more"):format(side[1])
        else
            out[#out + 1] = ("  %s: %s%s"):format(side[1], d.word,
                same and "" or (" at cycle %d, %s%s"):format(d.cycle, d.point,
                    d.at ~= "" and " of " .. d.at .. " " .. d.instance or ""))
            for _, f in ipairs(same and {} or d.question or {}) do
                out[#out + 1] = ("      %s = %s"):format(f.name,
                    show(f.value, f.name))
            end
        end
    end
    for _, f in ipairs(same and first.question or {}) do
        out[#out + 1] = ("    %s = %s"):format(f.name, show(f.value, f.name))
    end
    show_states(out, a .. ": ", where.a and where.a.states)
    show_states(out, b .. ": ", where.b and where.b.states)
    return out
end

--- Whether both sides were asked the same, so that only the answer differs.
function diff.same_question(where)
    local a, b = where.a, where.b
    if a.point ~= b.point or a.at ~= b.at or a.instance ~= b.instance
        or a.cycle ~= b.cycle or not a.question or not b.question then
        return false
    end
    for i, f in ipairs(a.question) do
        if show(f.value) ~= show(b.question[i].value) then
            return false
        end
    end
    return true
end

-- ---- comparing -------------------------------------------------------------------

--- Names of the points that a policy of either simulation answers.
local function points_of(a, b)
    local set, list = {}, {}
    for _, sim in ipairs { a, b } do
        for _, name in ipairs(decisions.answered(sim.core)) do
            if not set[name] then
                set[name] = true
                list[#list + 1] = name
            end
        end
    end
    return list
end

--- The first counter, but for those of the policies themselves, that differs.
local function measured(a, b)
    local names = a.core:counters()
    local va, vb = a.core:counter_values(), b.core:counter_values()
    local n = 0
    for i, c in ipairs(names) do
        n = n + (c.component ~= "policy" and 1 or 0)
        for app, instances in ipairs(c.component ~= "policy" and va[i] or {}) do
            for k, v in ipairs(instances) do
                if v ~= vb[i][app][k] then
                    return ("%s.%s of instance %d, application %d"):format(
                        c.component, c.name, k - 1, app - 1), v, vb[i][app][k]
                end
            end
        end
    end
    if a.now ~= b.now then
        return "the end", a.now, b.now
    end
    return nil, n
end

--- The states of a side's policies in Lua, as its simulation stands.
local function states_of(sim)
    local out = {}
    local ok, used = pcall(sim.used, sim)
    for _, u in ipairs(ok and used or {}) do
        out[u.name] = u.state
    end
    return next(out) and out
end

--- Runs the chunk again and keeps the questions of decision i, and the states of
-- the cycle before the first of them.
local function again(sides, i, chunk)
    local found, cycle = {}, math.huge
    for k, side in ipairs(sides) do
        side.sim:restore(side.snapshot)
        side.log:clear()
        side.log:capture(i)
        side.sim.core:run(chunk)
        local d = side.log:entry(i)
        if d then
            d.word = word_of(d.point, d.answer)
            d.question = side.log:captured()
            cycle = math.min(cycle, d.cycle)
        end
        found[k] = d
    end
    for k, side in ipairs(sides) do
        side.sim:restore(side.snapshot)
        side.log:clear()
        if cycle - 1 > side.sim.now then -- not to its events
            side.sim.core:run(cycle - 1 - side.sim.now)
        end
        if found[k] then
            found[k].states = states_of(side.sim)
        end
    end
    return found
end

--- Compares from where both are now; see the head of this file.
function diff.run(a, b, options)
    local o = options or {}
    local chunk, left = o.chunk or 10000, o.cycles or math.huge
    local list = o.points or points_of(a, b)
    local sides, heard, counters = {}, 0, 0
    for k, sim in ipairs { a, b } do
        sides[k] = { sim = sim, log = decisions.listen(sim.core, list) }
    end
    local la <close> = sides[1].log
    local lb <close> = sides[2].log
    while left > 0 do
        local status = {}
        for k, side in ipairs(sides) do
            side.snapshot = side.sim:snapshot(side.snapshot)
            side.log:clear()
            status[k] = side.sim.core:run(math.min(chunk, left))
        end
        local i = la:part(lb)
        if i then
            local found = again(sides, i, math.min(chunk, left))
            return { kind = "decision", index = heard + i, a = found[1],
                b = found[2] }
        end
        heard = heard + #la
        local what, va, vb = measured(a, b)
        counters = va
        if what then
            return { kind = "measured", cycle = a.now, what = what, a = va,
                b = vb }
        end
        if status[1] == "done" or status[2] == "done" then
            break
        end
        left = left - chunk
    end
    return nil, { decisions = heard, points = list, cycles = a.now,
        counters = counters }
end

return diff
