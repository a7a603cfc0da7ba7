--- common.lua - what the experiments of Pichai et al. have in common: programs,
-- the part of them that is run, and the designs.
--
-- Pichai, Hsu, Bhattacharjee (ASPLOS 2014): six programs on a GPU with a TLB and
-- a walker in each core (preset pichai).  full: size XL, from the launch with the
-- most memory instructions on, 3 million warp instructions; what comes before
-- runs without time.  quick: size S and fewer of all, for tests and a first look.
--
-- Designs are settings of the preset: how addresses are translated, who is
-- scheduled how.  Performance is thread instructions a cycle: warps get ahead of
-- one another in other ways, so the same number of warp instructions is not
-- always the same work.  Compaction needs fewer of them: such a design runs twice,
-- the second time for as many as do the thread instructions of the first design
-- of a figure.  A program is built once, and every design starts there.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local characterise = require "heddle.characterise"
local experiment = require "heddle.experiment"
local store = require "heddle.store"
local suites = require "heddle.suites"

local common = {}

local SUITE = suites.get "pichai"
local QUICK = { "BFS", "KMEANS" }

-- ---- designs --------------------------------------------------------------------

--- How addresses are translated.
common.tlb = {
    ideal = { name = "no TLB", settings = { ["sim.translation"] = "off" } },
    naive = { name = "naive", settings = { ["l1tlb.blocking"] = "full" } },
    augmented = { name = "augmented", settings = {
        ["l1tlb.blocking"] = "hits", ["l1tlb.overlap"] = "ahead",
        ["walk.batch"] = 32 } },
}

--- Who is scheduled how: loose round robin is the paper's reference, CCWS has
-- greedy then oldest underneath.
common.LRR = { name = "LRR", settings = { ["core.scheduler"] = "lrr" } }
common.GTO = { name = "GTO", settings = { ["core.scheduler"] = "gto" } }

local function over_gto(name, policy)
    return { name = name, settings = common.GTO.settings,
        policies = { policy } }
end

common.CCWS = over_gto("CCWS", { use = "ccws" })

--- TA-CCWS x:1.
function common.TA(x)
    return over_gto(("TA-CCWS %d:1"):format(x),
        { use = "ccws", tlb_weight = x })
end

--- TCWS with so many victim tags a warp, and points by depth.
function common.TCWS(entries, lru)
    return over_gto(("TCWS %d%s"):format(entries, lru > 0
        and " LRU(" .. tostring(lru):gsub(".", "%0,"):sub(1, -2) .. ")" or ""),
        { use = "tcws", vta_entries = entries, lru = lru })
end

--- Thread block compaction; with so many bits a counter, TLB-aware.
function common.TBC(bits)
    return { name = bits and ("TBC %d bit"):format(bits) or "TBC",
        settings = { ["core.compact"] = true },
        policies = bits and { { use = "cpm", bits = bits } } or nil }
end

--- Two designs together, of which one may have policies.
function common.both(a, b)
    local d = { name = a.name .. ", " .. b.name, settings = {},
        policies = a.policies or b.policies }
    for _, of in ipairs { a, b } do
        for k, v in pairs(of.settings or {}) do
            d.settings[k] = v
        end
    end
    return d
end

--- Causes that several figures have in common.
common.why = {
    lines = "of these programs MUM loses lines that its victim tags still have; "
        .. "assign of KMEANS sweeps 34 lines a warp before one comes again, more "
        .. "than 16 tags, and hits in no L1 look-up under any scheduler (its "
        .. "first kernel, invert, has what CCWS is for: 6.6 times LRR without a "
        .. "TLB in its first 300,000 instructions, launch=1); "
        .. "STREAMCLUSTER, PATHFINDER and MEMC hit no tag to speak of, and "
        .. "STREAMCLUSTER is the slower by GTO underneath, since warps that go "
        .. "side by side share lines",
    walks = "one walker of a core is what limits MUM and MEMC, which a TLB makes "
        .. "7 to 12 times slower (the paper: 20 to 50 %): MUM's 526,599 walks of "
        .. "some 900 cycles by 30 walkers are its 15.8 million cycles, whoever "
        .. "loads; and greedy then oldest under the naive TLB brings warps of "
        .. "STREAMCLUSTER out of step, which makes 15 times as many walks as LRR",
    regroup = "few of these programs are regrouped: of 300,000 warp instructions "
        .. "of size S, BFS forms warps of 17 threads, with 2.8 pages more an "
        .. "access and 6.7 points more misses, and MEMC of 15; KMEANS, "
        .. "STREAMCLUSTER and MUM form none, since loops of all threads go on or "
        .. "end together there, and PATHFINDER does at the edges of its rows",
    matrix = "two warps hit one entry 7 times in 500 cycles seldom, so 3 bits "
        .. "keep most threads apart; and one walker of a core limits BFS, MUM and "
        .. "MEMC whoever shares a warp",
}

-- ---- runs -----------------------------------------------------------------------

--- An experiment, open; `more`: arguments beside those of all.
function common.open(figure, title, more)
    local arg = {
        programs = "", -- names, separated by commas; "": those of the scale
        size = "", budget = 0, -- "", 0: those of the scale
        launch = 0, -- where to begin; 0: full, the busiest; quick, the first
    }
    for k, v in pairs(more or {}) do
        arg[k] = v
    end
    arg = H.args(experiment.args(arg))
    local x = experiment.open { name = "pichai/" .. figure, arg = arg,
        source = "Pichai et al. (ASPLOS 2014), "
            .. figure:gsub("fig0?", "figure "), title = title }
    x.programs = {}
    for name in arg.programs:gmatch "[^,]+" do
        x.programs[#x.programs + 1] = name
    end
    if #x.programs == 0 then
        x.programs = x.full and SUITE.apps or QUICK
    end
    x.size = arg.size ~= "" and arg.size or x.full and SUITE.size or "S"
    x.budget = arg.budget > 0 and arg.budget or x.full and 3000000 or 20000
    x:say("%s of size %s, %d warp instructions",
        table.concat(x.programs, ", "), x.size, x.budget)
    return x
end

--- Number of the launch with the most memory instructions.
local function busiest(x, name)
    return store.keep(("busiest %s %s"):format(name, x.size), x.arg.cache,
        function()
            return characterise.busiest(characterise.measure(name,
                { size = x.size, machine = "pichai", timed = false }).survey)
        end)
end

local function threads(r)
    return H.report.counter(r, "core.thread_instructions")
end

--- Runs each program under each design: a list of { program, [design name] =
-- result }.
function common.measure(x, designs)
    local out = {}
    for i, name in ipairs(x.programs) do
        local app, jobs = H.app(name, { size = x.size }), {}
        local built = table.pack(app.make())
        app.make = function() return table.unpack(built, 1, built.n) end
        local first = x.arg.launch > 0 and x.arg.launch
            or x.full and busiest(x, name) or 1
        for k, d in ipairs(designs) do
            jobs[k] = { machine = "pichai", seed = x.arg.seed, apps = { app },
                budget = x.budget, policies = d.policies,
                settings = { ["sim.first_kernel"] = first } }
            for key, v in pairs(d.settings) do
                jobs[k].settings[key] = v
            end
        end
        local results, again, of = x:run(jobs), {}, {}
        for k, r in ipairs(results) do
            if jobs[k].settings["core.compact"] then
                jobs[k].budget = math.ceil(x.budget * threads(results[1])
                    / threads(r))
                again[#again + 1], of[#of + 1] = jobs[k], k
            end
        end
        for n, r in ipairs(#again > 0 and x:run(again) or {}) do
            results[of[n]] = r
        end
        out[i] = { program = name }
        for k, r in ipairs(results) do
            out[i][designs[k].name] = r
        end
    end
    return out
end

--- Thread instructions a cycle.
function common.performance(r)
    return threads(r) / r.cycles
end

--- How much better one result is than another, in percent.
function common.gain(r, base)
    return 100 * (common.performance(r) / common.performance(base) - 1)
end

--- The mean of f(row) over the rows; `only`: a set of programs.
function common.mean(all, f, only)
    local sum, n = 0.0, 0
    for _, row in ipairs(all) do
        if not only or only[row.program] then
            sum, n = sum + f(row), n + 1
        end
    end
    return n > 0 and sum / n or nil
end

--- An order of designs, by their mean performance over that of the first one of
-- `paper`, which is the best there; `why`, where it differs.
function common.order(x, all, what, paper, why)
    local mean = {}
    for _, name in ipairs(paper) do
        mean[name] = common.mean(all, function(row)
            return common.performance(row[name])
                / common.performance(row[paper[1]])
        end)
    end
    x:order { what, paper = paper, heddle = mean, why = why }
end

--- The table and the chart of performance over that of the design `base`.
function common.show(x, all, designs, base, title)
    local rows = { { "program" } }
    local chart = { groups = {}, series = {}, title = title }
    for i, d in ipairs(designs) do
        rows[1][i + 1] = d.name
        chart.series[i] = { name = d.name, values = {} }
    end
    for g, row in ipairs(all) do
        rows[g + 1], chart.groups[g] = { row.program }, row.program
        for i, d in ipairs(designs) do
            local v = common.performance(row[d.name])
                / common.performance(row[base.name])
            rows[g + 1][i + 1] = ("%.3f"):format(v)
            chart.series[i].values[g] = v
        end
    end
    x:table(title, rows)
    x:bars(chart)
end

return common
