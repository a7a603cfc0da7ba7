--- common.lua - what the experiments of ETC have in common: programs by class,
-- how much memory there is, and the designs.
--
-- Li et al., A Framework for Memory Oversubscription Management in Graphics
-- Processing Units (ETC), ASPLOS 2019.  Programs of size S, but for SCAN, which
-- has 8 MB: 7.75 to 54 MB, 20.5 on average (the paper: 7.28 to 70, 22.5); whole
-- runs, all pages on the host at cycle 0.  Memory is a share of the pages of 64 KB
-- that the program touches with memory for all.  inputs=padded takes sizes that
-- are no powers of two where those of S are: rows whose lengths are collide in
-- slices of the L2, which the memory for all shows most.
--
-- BL, the baseline: faults of 20 us, pages of 64 KB, Zheng's locality-aware
-- prefetcher (512 KB from the faulting page on, into free frames only), up to
-- 2 MB are evicted at once, those into which a page migrated longest ago, strictly
-- before the page that needs their frames arrives; all are written back.  PE evicts
-- one unit, while the page migrates, when a fault has left less than 2 MB free and
-- more is allocated than memory holds (section 4.2).  NT and MT stop cores (section
-- 4.3).
-- CC compresses pages in memory (section 4.4): by what buffers hold, where a
-- program has real values, else by a ratio (compress.ratio, whose default is
-- LCP's mean on processors; the paper gives none of its programs'), and writes
-- draw whether they fit.  ETC gives each program what its class gets, by the
-- paper's list: PE; PE and CC; MT and CC.
--
-- quick: the first two programs of a class, if a figure does not name others; full:
-- all.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local characterise = require "heddle.characterise"
local experiment = require "heddle.experiment"
local suites = require "heddle.suites"

local common = {}

local PAGE, TABLES = 65536, 4096
local ETC = suites.get "etc"

-- ---- designs --------------------------------------------------------------------

common.BL = { name = "BL" }
common.PE = { name = "PE", policies = { { use = "etc",
    classes = 1111111111111111 } } }
common.NT = { name = "NT", policies = { { use = "throttle", adapt = 0 } } }

--- Memory-aware throttling whose first cores stop when they have blocks.
common.HOLD = { name = "MT, hold",
    policies = { { use = "throttle", hold = 1 } } }

--- Memory-aware throttling with epochs of so many thousand cycles; without: of
-- 100 and 400 thousand.  The paper gives none: runs of a few million cycles see few
-- of the long ones, and a detection without a fault, after which a core resumes, is
-- the rarer the longer it lasts.
function common.MT(detect, execute)
    local epoch = math.min(detect or 20, 20)
    return { name = detect and ("MT %d/%d k"):format(detect, execute) or "MT",
        settings = { ["throttle.cycles"] = 1000 * epoch },
        policies = { { use = "throttle", detect = (detect or 100) // epoch,
            execute = (execute or 400) // epoch } } }
end

common.PACKED = { ["compress.enable"] = true }
common.CC = { name = "CC", settings = common.PACKED }

--- What ETC gives regular programs whose kernels share data.
common.PECC = { name = "PE+CC", settings = common.PACKED, policies = { {
    use = "etc", classes = 2222222222222222 } } }

local DIGIT = { regular = 1, ["regular, sharing"] = 2, irregular = 3 }

--- ETC whole: the policy that chooses by class, the paper's list; `more`:
-- parameters of it and of its throttling; listed = false: by its samples.
function common.etc(more)
    more = more or {}
    return { name = more.name or "ETC", of = function(name)
        local mt = common.MT(more.detect, more.execute).policies[1]
        local class = DIGIT[ETC.class[name]]
        mt.irregular = 1
        mt.step, mt.release = more.step, more.release
        local settings = common.MT(more.detect, more.execute).settings
        settings["compress.enable"] = true
        return { settings = settings, policies = { mt, { use = "etc",
            classes = more.listed ~= false and class or 0,
            sharing = class == 2 and 1 or 0 } } }
    end }
end

common.ETC = common.etc()

--- The paper's class of a program.
function common.class(name)
    return ETC.class[name]
end

-- ---- runs -----------------------------------------------------------------------

-- Sizes other than S.
local INPUTS = {
    papers = { SCAN = { n = 1 << 20 } },
    padded = { SCAN = { n = 17 << 16 }, ATAX = { nx = 2048, ny = 2080 },
        BICG = { nx = 2048, ny = 2080 }, GESUMMV = { n = 2080 },
        MVT = { n = 2080 }, LUD = { n = 2080 }, ["2DCONV"] = { n = 2080 },
        ["3DCONV"] = { ni = 128, nj = 128, nk = 136 },
        CORR = { m = 2080, n = 2080 }, COVAR = { m = 2080, n = 2080 },
        FDTD = { nx = 1024, ny = 1056 } },
}

--- A program of that name, in the inputs of the run.
local function program(x, name)
    local options = { size = x.size }
    for k, v in pairs((INPUTS[x.arg.inputs] or {})[name] or {}) do
        options[k] = v
    end
    return H.app(name, options)
end

local function job(x, name, pages, design, more)
    local settings = {
        ["vm.paging"] = "fault", ["evict.unit"] = x.arg.unit,
        ["vm.table_frames"] = TABLES,
        ["vm.memory_bytes"] = pages and TABLES * 4096 + pages * PAGE or 3 << 30,
    }
    design = design.of and design.of(name) or design
    for _, list in ipairs { x:settings(), design.settings or {}, more or {} } do
        for k, v in pairs(list) do
            settings[k] = v
        end
    end
    return { machine = "etc", seed = x.arg.seed,
        apps = { program(x, name) },
        policies = design.policies, settings = settings, interval = x.interval }
end

--- An experiment, open, with the programs of a class, or of a list (quick: the
-- first two, or `few`, or those that `few` names).
function common.open(figure, class, title, few)
    local arg = H.args(experiment.args {
        programs = "", -- names, separated by commas; "": those of the scale
        unit = "2M",   -- what leaves at once: 4K, 64K, 2M
        memory = "",   -- percent of what is touched, separated by commas
        size = "",     -- T, S, M, ...; "": that of the paper's footprints, S
        inputs = "papers", -- papers, padded: sizes that are no powers of two
        variant = experiment.FIRST,
    })
    local x = experiment.open { name = "etc/" .. figure,
        source = "ETC (ASPLOS 2019), " .. figure:gsub("fig", "figure "),
        title = title, arg = arg, choices = {
            { "padded", {}, arg = { inputs = "padded" } },
            { "unit-64K", {}, arg = { unit = "64K" } },
            { "hashed", { ["dram.channel_hash"] = "ipoly",
                ["l2cache.slice_hash"] = "ipoly", ["l2cache.set_hash"] = "ipoly" } },
        } }
    x.programs, x.shares = {}, {}
    x.size = arg.size ~= "" and arg.size or ETC.size
    if type(few) == "string" and arg.programs == "" and arg.scale ~= "full" then
        arg.programs = few
    end
    for name in arg.programs:gmatch "[^,]+" do
        x.programs[#x.programs + 1] = name
    end
    for _, name in ipairs(type(class) == "table" and class or ETC.apps) do
        if arg.programs == ""
            and (type(class) == "table" or ETC.class[name] == class)
            and (arg.scale == "full" or #x.programs < (few or 2)) then
            x.programs[#x.programs + 1] = name
        end
    end
    local of = 0
    for _, name in ipairs(type(class) == "table" and class or ETC.apps) do
        of = of + ((type(class) == "table" or ETC.class[name] == class) and 1 or 0)
    end
    x:scope(#x.programs, of, "programs")
    for share in (arg.memory ~= "" and arg.memory or "75,50"):gmatch "%d+" do
        x.shares[#x.shares + 1] = tonumber(share)
    end
    x:say("%s%s", type(class) == "string" and class .. ": " or "",
        table.concat(x.programs, ", "))
    return x
end

--- Runs each program with memory for all; `more`: settings.
function common.whole(x, more)
    local jobs = {}
    for i, name in ipairs(x.programs) do
        jobs[i] = job(x, name, nil, common.BL, more)
    end
    return x:run(jobs)
end

--- Runs each program with memory for all, and in each share of it under each
-- design: a list of { program, share, whole = result, [design name] = result }.
-- `more`: settings of all runs; x.interval: cycles of their intervals.
function common.measure(x, designs, more)
    local jobs, out, whole = {}, {}, common.whole(x, more)
    local fit = { { "program", "MB touched" } }
    for k, share in ipairs(x.shares) do
        fit[1][k + 2] = share .. " %"
    end
    if not x.told then
        x.told = true
        x:say("memory: %s %% of the pages of 64 KB that they touch; units of "
            .. "%s leave",
            table.concat(x.shares, " and "), x.arg.unit)
    end
    for i, name in ipairs(x.programs) do
        local touched = (H.report.counter(whole[i], "fault.pages") * 4096
            + PAGE - 1) // PAGE
        fit[i + 1] = { name, ("%.2f"):format(touched / 16) }
        for k, share in ipairs(x.shares) do
            local pages = touched * share // 100
            if more and more["uvm.mode"] == "driver" then -- which gives 2 MB
                pages = (pages + 31) // 32 * 32
            end
            fit[i + 1][k + 2] = ("%.1f"):format(pages / 32)
            out[#out + 1] = { program = name, share = share, whole = whole[i] }
            for _, d in ipairs(designs) do
                jobs[#jobs + 1] = job(x, name, pages, d, more)
            end
        end
    end
    if not x.fits then
        x.fits = true
        x:table("memory, in multiples of the 2 MB that are evicted at most and "
            .. "below which PE acts", fit)
    end
    for k, r in ipairs(x:run(jobs)) do
        out[(k - 1) // #designs + 1][designs[(k - 1) % #designs + 1].name] = r
    end
    return out
end

--- A counter's increments, interval by interval.
function common.series(r, counter)
    local out = {}
    for i, part in ipairs(r.intervals) do
        out[i] = 0
        for _, v in ipairs(part.counters[counter] or {}) do
            out[i] = out[i] + v
        end
    end
    return out
end

--- Which pages a program touches when, without time: draws it, and returns the
-- mean share of the touched pages that is in use at a time (a column of the
-- picture), and what else the survey says.
function common.footprint(x, name)
    local row = characterise.measure(name, { size = x.size, machine = "etc",
        timed = false, picture = true })
    local p, used, rows, n = row.survey.picture, 0, {}, 0
    for c = 1, p.columns do
        for y = 1, p.rows do
            if ("<I4"):unpack(p.cells[c], 4 * y - 3) > 0 then
                used, n = used + 1, n + (rows[y] and 0 or 1)
                rows[y] = true
            end
        end
    end
    x:picture(characterise.picture(row))
    return used / p.columns / n, row.metrics
end

--- What is known of each program without time: a list of { program, class,
-- factor (coalescing factor of the global loads), pages (of an instruction),
-- loads (the same of loads) }.
function common.survey(x)
    local out = {}
    for i, name in ipairs(x.programs) do
        local row = characterise.measure(name, { size = x.size,
            machine = "etc", timed = false })
        local pages, n = 0, 0
        for _, k in ipairs(row.survey.kernels) do
            for _, u in ipairs(k.uses) do
                if u.kind == "load" then
                    pages, n = pages + u.pages, n + u.instructions
                end
            end
        end
        out[i] = { program = name, loads = pages / n, class = ETC.class[name],
            factor = characterise.global_factor(row),
            pages = row.metrics.pages_mean }
    end
    return out
end

--- Pictures of two programs, of which `wide` has more pages in use at a time.
function common.shape(x, narrow, wide)
    local used, few = {}, {}
    for _, name in ipairs { narrow, wide } do
        local share, metrics = common.footprint(x, name)
        used[name], few[name] = share, metrics.accesses_per_page
        x:quantity { name .. ": touched pages in use at a time",
            heddle = 100 * share, unit = "%" }
        x:quantity { name .. ": accesses a page", heddle = few[name] }
    end
    x:order { "pages in use at a time", paper = { wide, narrow },
        heddle = used }
end

--- Performance of a run: the share of that with memory for all.
function common.share(r, design)
    return r.whole.cycles / r[design].cycles
end

--- Pages migrated in a run, of those that migrate with memory for all.
function common.times(r, design)
    return H.report.counter(r[design], "fault.pages")
        / H.report.counter(r.whole, "fault.pages")
end

-- What a design does that BL does not, as counters say it.
local ACTS = { { "^PE", "evict.ahead", "no unit is evicted ahead of need" },
    { "CC", "compress.reads", "no compressed line is read" },
    { "^[NM]T", "throttle.stops", "no core stops" } }

--- Says of which runs a mechanism is no part, since what starts it did not occur;
-- and where less memory is faster.
function common.exercised(x, all, designs)
    for _, r in ipairs(all) do
        if r.BL.cycles < r.whole.cycles then
            x:say("%s at %d %%: BL is faster than with memory for all",
                r.program, r.share)
        end
        for _, d in ipairs(designs) do
            for _, a in ipairs(ACTS) do
                if d.name:find(a[1])
                    and H.report.counter(r[d.name], a[2]) == 0 then
                    x:say("not exercised: %s at %d %%, %s: %s", r.program,
                        r.share, d.name, a[3])
                end
            end
        end
    end
end

--- Cores that a design lets run again, in all runs.
function common.released(all, design)
    local n = 0
    for _, r in ipairs(all) do
        n = n + H.report.counter(r[design], "throttle.resumes")
            - H.report.counter(r[design], "throttle.forced")
    end
    return n
end

--- Whether ETC leaves programs alone that have enough: its cycles over those of BL,
-- where memory holds all that is allocated, and where it holds exactly what is
-- touched, which may be less.
function common.enough(x)
    local whole, jobs = common.whole(x), {}
    for i, name in ipairs(x.programs) do
        local touched = (H.report.counter(whole[i], "fault.pages") * 4096
            + PAGE - 1) // PAGE
        jobs[#jobs + 1] = job(x, name, nil, common.ETC)
        jobs[#jobs + 1] = job(x, name, touched, common.BL)
        jobs[#jobs + 1] = job(x, name, touched, common.ETC)
    end
    local r, all, exact = x:run(jobs), {}, {}
    for i in ipairs(x.programs) do
        all[i] = r[3 * i - 2].cycles / whole[i].cycles
        exact[i] = r[3 * i].cycles / r[3 * i - 1].cycles
    end
    for _, row in ipairs { { "that is allocated", all },
        { "that is touched", exact } } do
        local most = math.max(table.unpack(row[2]))
        x:quantity { "cycles of ETC over BL, the most, memory for all "
            .. row[1], heddle = most, unit = "times" }
    end
end

--- The mean gain over BL at a share of memory, in percent, and that of each
-- program.
function common.gain(all, design, share)
    local sum, each = 0.0, {}
    for _, r in ipairs(all) do
        if r.share == share then
            local v = r.BL.cycles / r[design].cycles
            sum, each[#each + 1] = sum + v, 100 * (v - 1)
        end
    end
    return #each > 0 and 100 * (sum / #each - 1) or nil, each
end

--- A claim of that gain.
function common.claim(x, q, all, design, share)
    q.unit, q.kind = "%", "gain"
    q.heddle, q.each = common.gain(all, design, share)
    x:quantity(q)
end

--- An order of designs that the paper says: mean performance at a share of
-- memory, the best first; `only`: of these
-- programs.
function common.order(x, all, what, share, paper, only)
    local mean, each, n = {}, {}, 0
    for _, r in ipairs(all) do
        if r.share == share and (not only or only(r.program)) then
            n = n + 1
            for _, d in ipairs(paper) do
                local v = d == "unlimited" and 1 or common.share(r, d)
                mean[d], each[d] = (mean[d] or 0.0) + v, each[d] or {}
                each[d][n] = v
            end
        end
    end
    if n > 0 then
        for d, v in pairs(mean) do
            mean[d] = v / n
        end
        x:order { ("%s, %d %%"):format(what, share), paper = paper,
            heddle = mean, each = each }
    end
end

--- The table and the chart of performance, with memory for all as 1; `value`
-- and `title` for another figure of each run.
function common.show(x, all, designs, title, value)
    local rows = { { "program", "memory" } }
    local chart = { groups = {}, series = {}, title = title,
        unit = title:find "^performance" and "times" or title,
        xlabel = "program, and memory: percent of the pages that it touches" }
    for i, d in ipairs(designs) do
        rows[1][i + 2] = d.name
        chart.series[i] = { name = d.name, values = {} }
    end
    for g, r in ipairs(all) do
        local row = { r.program, r.share .. " %" }
        chart.groups[g] = r.program .. " " .. r.share
        for i, d in ipairs(designs) do
            local v = (value or common.share)(r, d.name)
            row[i + 2] = math.type(v) == "integer" and v or ("%.3f"):format(v)
            chart.series[i].values[g] = v
        end
        rows[#rows + 1] = row
    end
    x:table(title, rows)
    x:bars(chart)
end

-- ---- hashed addresses ----------------------------------------------------------

-- The papers' simulator takes channel, slice and set from bits of the address;
-- cards hash them, in ways that are not published.  variant=hashed is Accel-Sim's
-- guess.

--- Cycles of the irregular programs under BL, with all pages resident from the
-- start, with memory for all and with each share, by bits and hashed: rows of a
-- power of two meet in one slice of the L2, the less the more slowly pages come.
-- Where less memory is faster it is noted.  No rows where a choice is what runs.
function common.hashed(x, all)
    local hash
    for _, c in ipairs(x:alternatives()) do
        hash = c.name == "hashed" and c.settings or hash
    end
    local jobs, kinds = {}, { { "bits" }, { "ipoly", hash } }
    local names, pages, done = {}, {}, {}
    for _, r in ipairs(all) do
        local name = r.program
        if hash and ETC.class[name] == "irregular" and not pages[name] then
            names[#names + 1], pages[name] = name, (H.report.counter(r.whole,
                "fault.pages") * 4096 + PAGE - 1) // PAGE
        end
    end
    for _, name in ipairs(names) do
        for _, kind in ipairs(kinds) do
            local resident = { ["vm.paging"] = "none" }
            for k, v in pairs(kind[2] or {}) do
                resident[k] = v
            end
            jobs[#jobs + 1] = job(x, name, nil, common.BL, resident)
            jobs[#jobs + 1] = job(x, name, nil, common.BL, kind[2])
            for _, share in ipairs(x.shares) do
                jobs[#jobs + 1] = job(x, name, pages[name] * share // 100,
                    common.BL, kind[2])
            end
        end
    end
    local rows = { { "program", "addresses", "resident", "all" } }
    for i, share in ipairs(x.shares) do
        rows[1][i + 4] = share .. " %"
    end
    for k, r in ipairs(#jobs > 0 and x:run(jobs) or {}) do
        local n = #x.shares + 2
        local row, i = (k - 1) // n, (k - 1) % n
        done = i == 0 and {} or done
        done[i + 1] = r.cycles
        rows[row + 2] = rows[row + 2] or { names[row // 2 + 1],
            kinds[row % 2 + 1][1] }
        rows[row + 2][i + 3] = r.cycles
        for m = 1, i do
            if done[i + 1] < done[m] then
                x:note("%s, %s: %s is faster than %s, %d cycles and %d",
                    rows[row + 2][1], rows[row + 2][2], rows[1][i + 3],
                    rows[1][m + 2], done[i + 1], done[m])
            end
        end
    end
    if #rows > 1 then
        x:table("cycles under BL, addresses by bits and hashed", rows)
    end
end

return common
