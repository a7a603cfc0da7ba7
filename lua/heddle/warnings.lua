--- warnings.lua - warnings on what a run was, in words: results.told.
--
-- Nothing here is an error: the run is what was asked for.  But numbers look the
-- same when a trace is wrong, a policy never answered, a page size was not used,
-- or only the first of many kernels ran.
--
-- A command prints one line for each kind (script.lua): a scenario of sixty runs
-- that its work cuts short would otherwise end in sixty lines.
--
-- SPDX-License-Identifier: MIT
local json = require "heddle.json"
local trace = require "heddle.trace"

local warnings = {}

--- What the reader of a trace noted, in words.
function warnings.note(n)
    return ("%d %s; first: %s"):format(n.count, n.text, n.where)
end

--- What is wrong with a workload that is a trace, in order.
function warnings.trace(label, workload)
    local out = {}
    for _, n in ipairs(trace.notes(workload)) do
        out[#out + 1] = n.told and label .. ": " .. warnings.note(n) or nil
    end
    return out
end

--- The total of a counter of an application (nil: of all), or 0.
local function count(results, name, app)
    for _, c in ipairs(results.counters) do
        if c.component .. "." .. c.name == name then
            return app and c.apps[app] or not app and c.total or 0
        end
    end
    return 0
end

--- Applications of which no kernel was run to its end.
local function cut(say, results, sim)
    local apps = sim.core:apps()
    for i, a in ipairs(results.apps) do
        local first
        for _, k in ipairs(results.kernels) do
            first = first or k.app == a.app and k or nil
        end
        local open = first and (first["end"] == 0
            or a.truncated and first["end"] > first.start + a.cycles)
        local more = sim.extents[i] and #sim.extents[i] - 1
        if open and results.status ~= "done" or open and a.truncated then
            say("%s was cut in its %s kernel (%s%s)%s", a.label,
                more == 0 and "only" or "first", first.name,
                apps[i].kernel <= 1 and apps[i].blocks > 0
                and (", %d of %d blocks done"):format(apps[i].blocks_done,
                    apps[i].blocks) or "",
                more ~= 0 and (": its numbers say nothing of the %sothers")
                    :format(more and more > 1 and more .. " " or "") or "")
        end
    end
end

--- Points that every machine offers, and what asks them only where a switch is on.
local SWITCH = { thread_join = "core.compact" }

--- Policies that were asked nothing, and points that nothing asks.
local function policies(say, results, sim)
    local policy = require "heddle.policy"
    local ok, used = pcall(policy.used, sim.core)
    local offered = ok and policy.offered(sim.core)
    for _, p in ipairs(ok and used or {}) do
        local asked, absent, off = 0, {}, ""
        for _, point in ipairs(p.points) do
            local switch = SWITCH[point]
            asked = asked + count(results, "policy." .. point .. ".asked")
            if #offered[point] == 0 then
                absent[#absent + 1] = point
            elseif switch and results.config[switch] == "false" then
                absent[#absent + 1] = point
                off = (": %s is false"):format(switch)
            end
        end
        if #absent > 0 then
            say("policy %s answers %s, which this machine never asks%s", p.name,
                table.concat(absent, ", "), off)
        end
        if #p.points > #absent and asked == 0 and results.counted > 0 then
            say("policy %s was never asked (it answers %s)", p.name,
                table.concat(p.points, ", "))
        end
    end
end

--- Results of walks that went nowhere for want of a bypass cache.
local function bypass(say, results)
    local lost = count(results, "mmu.unfilled")
    if results.config["bypass.entries"] == "0" and lost > 0 then
        say("the results of %d walks were kept nowhere: a policy sends them to "
            .. "the bypass cache, or to none, and bypass.entries is 0", lost)
    end
end

--- Pages that are in order in memory, but compressed there.
local function packed(say, results)
    local apart = count(results, "memory.contiguous_packed")
    local single = count(results, "memory.coalesced_packed")
    if apart + single > 0 then
        say("compression kept %d pages in order from being contiguous, and %d from "
            .. "being coalesced (counted as they came; memory.contiguous_packed, "
            .. "coalesced_packed)", apart, single)
    end
end

--- Pages of 4 KB where larger ones are set.
local function pages(say, results)
    local page = results.config["vm.page"]
    for i, a in ipairs(page ~= "4K" and results.apps or {}) do
        local all = count(results, "memory.mapped_peak", i)
        local small = all - 16 * count(results, "memory.pages_64k_peak", i)
            - 512 * count(results, "memory.pages_2m_peak", i)
        if small > 0 then
            say("%s: vm.page = %s, but %d of %d base pages (%.1f %%) are pages "
                .. "of 4 KB, where allocations have no whole page%s", a.label,
                page, small, all, 100 * small / all, results.config["vm.round"]
                == "true" and "" or "; vm.round = true rounds them up")
        end
    end
end

--- Texts of one kind, by how they begin or what they contain, whom each is about,
-- and what several of them say together: %1 and %2 are the ranges of the numbers
-- that the last pattern finds in each.
local KINDS = {
    { "^(.-) was cut in its only kernel ", "cut in the only kernel",
        ", %1 of %2 blocks done", "(%d+) of (%d+) blocks done" },
    { "^(.-) was cut in its first kernel ", "cut in the first kernel, with "
        .. "numbers that say nothing of the others", ", %1 of %2 blocks done",
        "(%d+) of (%d+) blocks done" },
    { "^policy (.-) answers .* which this machine never asks",
        "policies that answer points which this machine never asks" },
    { "^policy (.-) was never asked ", "policies that were never asked" },
    { "^()the results of %d+ walks were kept nowhere: ", "results of walks were "
        .. "kept nowhere, since a policy sends them to the bypass cache, or to "
        .. "none, and bypass.entries is 0", ": %1 walks",
        "^the results of (%d+)" },
    { "^()compression kept %d+ pages in order ", "compression kept pages in order "
        .. "apart", ": %1 from being contiguous, %2 from being coalesced",
        "kept (%d+) pages .* and (%d+) from" },
    { "^(.-): vm%.page = .* are pages of 4 KB, ", "pages of 4 KB where vm.page is "
        .. "larger, and allocations have no whole page", ", %1 %% of the base pages",
        "%(([%d.]+) %%%) are pages" },
    { "^(.-) is faster with less memory: ", "faster with less memory than where "
        .. "nothing is evicted" },
}

--- The kind of a text, and whom it is about, or nil; a text of no known kind is
-- one of its own.
function warnings.kind(text)
    for _, k in ipairs(KINDS) do
        local about = text:match(k[1])
        if about then
            return k[2], type(about) == "string" and about or nil
        end
    end
    return text
end

--- The least and the most of the numbers that a pattern finds first (or second) in
-- texts: "3", "0 to 26"; nil: none has one.
local function range(texts, pattern, which)
    local low, high
    for _, text in ipairs(texts) do
        local v = select(which, text:match(pattern))
        if v and (not low or tonumber(v) < tonumber(low)) then
            low = v
        end
        if v and (not high or tonumber(v) > tonumber(high)) then
            high = v
        end
    end
    return low and (low == high and low or low .. " to " .. high)
end

--- Texts of a kind in one: what they say, the ranges of their numbers, and whom they
-- are about, `most` names of them.
function warnings.together(kind, texts, about, most)
    local out = kind
    for _, k in ipairs(KINDS) do
        local first = k[2] == kind and k[4] and range(texts, k[4], 1)
        if first then
            out = out .. k[3]:gsub("%%([12%%])", { ["1"] = first,
                ["2"] = range(texts, k[4], 2), ["%"] = "%" })
        end
    end
    if about[1] then
        out = ("%s: %s%s"):format(out, table.concat(about, ", ", 1, math.min(#about,
            most)), #about > most and ", ..." or "")
    end
    return ("%s (%d warnings, in results.told)"):format(out, #texts)
end

-- ---- results of a series ------------------------------------------------------

--- What makes two runs of far faults equal but for how much memory there is; nil: a
-- run that has not ended, or of another kind.
local function but_for_memory(r)
    if type(r) ~= "table" or r.schema ~= "heddle-results" or r.status ~= "done"
        or r.config["vm.paging"] ~= "fault" then
        return nil
    end
    local parts = { r.machine, table.unpack(r.policies) }
    for _, i in ipairs(r.inputs) do
        parts[#parts + 1] = i.key .. i.hash
    end
    for _, k in ipairs(require("heddle.config").sorted_keys(r.config)) do
        parts[#parts + 1] = k ~= "vm.memory_bytes" and r.config[k] or nil
    end
    return table.concat(parts, "\n")
end

--- One that was faster than memory for all: says so in its `told`, once.
local function faster(run, whole)
    local names, told = {}, run.result.told or json.array {}
    for i, a in ipairs(run.result.apps) do
        names[i] = a.label
    end
    local text = ("%s is faster with less memory: %d core cycles in %d bytes, and "
        .. "%d in %d, where nothing is evicted"):format(table.concat(names,
        " + "), run.cycles, run.bytes, whole.cycles, whole.bytes)
    told[#told + 1] = told[#told] ~= text and text or nil
    run.result.told = told
    return text
end

--- Says of results where less memory was faster than memory for all; returns the
-- texts, too.  `seen` has the runs of earlier series of a script, without results.
function warnings.series(list, seen)
    local groups, out = {}, {}
    for _, r in ipairs(list) do
        local key = but_for_memory(r)
        if key then
            seen[key] = seen[key] or {}
            groups[#groups + 1] = seen[key]
            table.insert(seen[key], { result = r, cycles = r.cycles,
                bytes = tonumber(r.config["vm.memory_bytes"]),
                all = count(r, "evict.evictions") == 0 })
        end
    end
    for _, group in ipairs(groups) do
        local whole
        for _, run in ipairs(group) do
            whole = run.all and (not whole or run.bytes > whole.bytes) and run
                or whole
        end
        for _, run in ipairs(group) do
            if run.result and whole and not run.all
                and run.cycles < whole.cycles then
                out[#out + 1] = faster(run, whole)
            end
            run.result = nil
        end
    end
    return out
end

--- The texts, in order.
function warnings.of(results, sim)
    local out = {}
    local function say(format, ...)
        out[#out + 1] = format:format(...)
    end
    if results.sample then
        say("%s", require("heddle.sampling").text(results.sample))
    end
    table.move(sim.noted, 1, #sim.noted, #out + 1, out)
    cut(say, results, sim)
    policies(say, results, sim)
    bypass(say, results)
    packed(say, results)
    pages(say, results)
    return out
end

return warnings
