-- 832-checkpoint.lua - pins: a checkpoint that one process has written is gone on
-- from by another, to the bytes of the straight run in everything measured and in
-- all state: programs with contents and a host, traces, generators, plug-ins,
-- applications that are relaunched, faults in the middle, threads that are
-- regrouped, policies in C and in Lua with tables for a state, samples; one that
-- does not fit is refused with the part that differs, a damaged or cut one with
-- words, and whoever refuses goes on; a command that was killed goes on with
-- --checkpoint and prints what it would have.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"

local args = H.args { case = "", path = "", seed = 1, text = "" }
local dir = args.case == "" and files.folder()
local text_trace = args.text ~= "" and args.text
    or dir .. "/kernel-1.traceg"

local FAULTS = whole.join(whole.SMALL, { ["vm.paging"] = "fault",
    ["link.latency"] = 1500, ["vm.page"] = "64K", ["evict.unit"] = "64K",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 1960 })

local function counting()
    return { name = "counting", state = { n = 0, seen = {} },
        tlb_fill = function(q, s)
            local k = q.vpn % 64 + 1
            s.n = s.n + 1
            s.seen[k] = (s.seen[k] or 0) + math.random(2)
            return s.seen[k] % 3 == 0 and "none" or nil
        end }
end

local generated = H.generator { name = "scatter", source = "this test",
    buffers = { H.kernel.f32("a", 1 << 18) },
    kernels = { { name = "k", grid = 12, block = 128, warp = function(t, b)
        for _ = 1, 70 do
            t:load(b.a, function() return math.random(0, 9999) end)
            t:alu(3)
            t:store(b.a, t.gid)
        end
    end } } }

-- A trace as Accel-Sim writes it: each warp loads a line, then from all over, and
-- stores.
local function write_trace(path)
    local out = { "-kernel name = scatter\n-kernel id = 1\n-grid dim = (40,1,1)\n"
        .. "-block dim = (64,1,1)\n-shmem = 0\n-nregs = 16\n"
        .. "-accelsim tracer version = 4\n" }
    local list = {}
    for block = 0, 39 do
        out[#out + 1] = ("#BEGIN_TB\nthread block = %d,0,0\n"):format(block)
        for warp = 0, 1 do
            local line = 0x7f2000000000 + (block * 2 + warp) * 128
            for lane = 1, 32 do
                list[lane] = ("0x%x"):format(0x7f2000100000
                    + (block * 977 + warp * 353 + lane * 131) * 4093 % 2^21 // 4
                    * 4 | 0)
            end
            out[#out + 1] = ("warp = %d\ninsts = 6\n"
                .. "0000 ffffffff 1 R6 S2R 0 0 0\n"
                .. "0010 ffffffff 1 R2 LDG.E 1 R6 4 1 0x%x 4 0\n"
                .. "0020 ffffffff 1 R3 LDG.E 1 R2 4 0 %s 0\n"
                .. "0030 ffffffff 1 R4 FADD 2 R2 R3 0 0\n"
                .. "0040 ffffffff 0 STG.E 2 R6 R4 4 1 0x%x 4 0\n"
                .. "0050 ffffffff 0 EXIT 0 0 0\n"):format(warp, line,
                    table.concat(list, " "), line + 0x800000)
        end
        out[#out + 1] = "#END_TB\n"
    end
    files.write(path, table.concat(out))
end
if args.case == "" then
    write_trace(text_trace)
end

local CASES = {
    contents = whole.maker { "BFS2" },
    relaunch = whole.maker { "GUP", "BFS2" },
    warmup = whole.maker({ "MM", "GUP" }, nil, { budget = 4000, warmup = 700,
        interval = 300 }),
    faults = whole.maker({ "GUP", "MM" }, FAULTS),
    far = whole.maker({ "BFS2" }, whole.join(FAULTS,
        { ["uvm.mode"] = "driver" })),
    regrouped = whole.maker({ "BFS2" }, whole.join(whole.SMALL,
        { ["core.compact"] = true })),
    compressed = whole.maker({ "GUP" }, whole.join(whole.SMALL,
        { ["compress.enable"] = true })),
    generator = whole.maker { generated, "GUP" },
    trace = whole.maker({ H.trace(H.here "../scenarios/data/gather.hdt") }, nil,
        { stop_cycles = 6000 }),
    text = function() -- opened by whoever asks
        return whole.maker { H.trace(text_trace) } ()
    end,
    ["text, faults"] = function()
        return whole.maker({ H.trace(text_trace) }, FAULTS)()
    end,
    policies = whole.maker({ "GUP", "MM" }, nil, nil, {
        { "policies/mask.lua", { epoch = 1000 } }, { counting() },
        { "random", { at = "l2cache" } }, { "srrip", { at = "l1cache" } } }),
}

local function fingerprint(sim)
    local out = whole.statistics(sim)
    out[#out + 1] = ("now %d, %d instructions, state %x, %d samples"):format(
        sim.now, sim.instructions, sim:state_hash(), #sim.samples)
    return table.concat(out, "\n") .. "\n"
end

if args.case ~= "" then -- the other process
    local sim = CASES[args.case]()
    sim:run(17) -- from somewhere else
    sim:load(args.path)
    sim:run()
    io.write(fingerprint(sim))
    return
end

local path = dir .. "/a checkpoint"

for _, name in ipairs(require("heddle.config").sorted_keys(CASES)) do
    local sim = CASES[name]()
    sim:run()
    local last, bad = sim.now, nil
    sim:close()
    for _, part in ipairs { 0, 333, 700 } do
        sim = CASES[name]()
        sim:run(last * part // 1000)
        sim:save(path)
        sim:run()
        local want = fingerprint(sim)
        sim:close()
        local got = files.output(("%s run t/832-checkpoint.lua case=%s path=%s "
            .. "text=%s"):format(files.HEDDLE, files.quote(name),
            files.quote(path), files.quote(text_trace)))
        bad = bad or got ~= want and ("cut at %d of 1000: %s"):format(part,
            got:sub(-300))
    end
    tap.ok(not bad, ("%s: another process goes on (%d cycles)"):format(name,
        last), bad)
end

-- ---- refused ----------------------------------------------------------------------

local function taken(names, settings, options, policies)
    local sim <close> = whole.maker(names, settings, options, policies)()
    sim:run(1500)
    sim:save(path)
    return files.read(path)
end

do
    local text = taken({ "MM", "GUP" }, nil, nil, { { counting() } })
    local function refuses(sim, words, what)
        sim:run(300)
        local before = fingerprint(sim)
        tap.raises(function() sim:load(path) end, words, "refused: " .. what)
        tap.is(fingerprint(sim), before, what .. ": nothing has changed")
        tap.is(sim:run(100), "ok", what .. ": it runs on")
        sim:close()
    end
    local function like(settings, options, policies)
        return whole.maker({ "MM", "GUP" }, settings and whole.join(whole.SMALL,
            settings), options, policies or { { counting() } })()
    end
    refuses(like { ["l2tlb.latency"] = 11 },
        "l2tlb.latency was 10, and is 11 here", "a setting")
    refuses(like(nil, { seed = 2 }), "sim.seed was 1, and is 2 here", "a seed")
    refuses(whole.maker({ "MM", H.app("GUP", { size = "S" }) }, nil, nil,
        { { counting() } })(), "application 1: GUP with other contents",
        "contents of a workload")
    refuses(whole.maker({ "MM" }, nil, nil, { { counting() } })(),
        "application 1: GUP", "fewer workloads")
    refuses(whole.maker({ "MM", "GUP", "TRD" }, nil, nil, { { counting() } })(),
        "application 2: none", "more workloads")
    refuses(like(nil, nil, {}), "policy counting is not bound here", "a policy")
    local other = counting()
    other.tlb_fill = function() end
    refuses(like(nil, nil, { { other } }),
        "policy counting is another here (code", "a policy's code")
    -- What its functions hold in locals, as far as it goes.
    local function holding(half, add, list)
        local function helper(n) return add and n + half(n) or n - half(n) end
        local held = { deep = { { helper }, list } }
        return { name = "holding", tlb_fill = function(q)
            return held.deep[1][1](q.vpn) < held.deep[2][1] and "none" or nil
        end }
    end
    local function thirds() return function(n) return n // 3 end end
    local third = thirds()
    local held = { { holding(third, true, { 5 }) } }
    taken({ "MM", "GUP" }, nil, nil, held)
    for what, p in pairs {
        ["another function in a local"] = holding(function(n) return n // 5 end,
            true, { 5 }),
        ["a system's function there"] = holding(math.abs, true, { 5 }),
        ["another value in a function's local"] = holding(third, false, { 5 }),
        ["other data in a table"] = holding(third, true, { 6 }),
        ["more of them"] = holding(third, true, { 5, 6 }),
    } do
        refuses(like(nil, nil, { { p } }),
            "policy holding is another here (code", what)
    end
    local alike <close> = like(nil, nil, { { holding(thirds(), true, { 5 }) } })
    alike:load(path)
    tap.is(alike.now, 1500, "the same in other closures is the same")
    files.write(path, text)
    -- A plug-in's file is its code.
    local function plugin(name, warps)
        local so, c = dir .. "/" .. name .. ".so", dir .. "/" .. name .. ".c"
        files.write(c, (files.read "policies/plugin.c":gsub(
            "q%->warp < s%->warps", "q->warp < s->warps + " .. warps)))
        files.output(("${CC:-cc} -shared -fPIC -Isrc/engine -o %s %s 2>&1"):format(
            files.quote(so), files.quote(c)))
        return { { so } }
    end
    local first = plugin("first", 0)
    taken({ "MM", "GUP" }, nil, nil, first)
    refuses(like(nil, nil, plugin("second", 1)),
        "policy warpfill is another here (code", "a plug-in's code")
    local same <close> = like(nil, nil, first)
    same:load(path)
    tap.ok(#same:used()[1].code == 16 and same:results().policies[1]:find(
        "warpfill [" .. same:used()[1].code .. "]", 1, true),
        "which results name", same:results().policies[1])
    for _, name in ipairs { "first", "second" } do
        os.remove(dir .. "/" .. name .. ".so")
        os.remove(dir .. "/" .. name .. ".c")
    end
    files.write(path, text)
    refuses(like(nil, nil, { { counting() }, { "lrr" } }),
        "policy lrr is bound here only", "one more")
    files.write(path, (text:gsub("\nbuild [^\n]*", "\nbuild 0", 1)))
    refuses(like(), "damaged", "a changed line")
    files.write(path, (text:gsub("checkpoint 1", "checkpoint 2", 1)))
    refuses(like(), "another version", "another version")
    files.write(path, text:sub(1, 27))
    refuses(like(), "not a checkpoint of heddle", "its first line alone")
    files.write(path, "return 1\n")
    refuses(like(), "not a checkpoint of heddle", "another file")
    files.write(path, "")
    refuses(like(), "not a checkpoint of heddle", "an empty one")
    os.remove(path)
    refuses(like(), "No such file", "none")
    tap.raises(function() like():save(dir .. "/none/x") end, "cannot create",
        "a place that is not there")

    -- Damaged anywhere, cut anywhere, with more at its end.
    local sim <close> = like()
    sim:run(300)
    local before, bad = fingerprint(sim), nil
    local seed = args.seed
    local function draw(n)
        seed = (seed * 6364136223846793005 + 1442695040888963407)
        return (seed >> 33) % n + 1
    end
    for i = 1, 200 do
        local at, how = draw(i % 4 == 0 and 120 or #text), i % 5
        local new = how == 0 and text:sub(1, at - 1)
            or how == 1 and text .. text:sub(1, at)
            or text:sub(1, at - 1) .. string.char(text:byte(at) ~ (1 << i % 8))
                .. text:sub(at + 1)
        files.write(path, new)
        local ok, err = pcall(sim.load, sim, path)
        bad = bad or (ok or err.code ~= -4) and ("%d, at %d: %s"):format(how, at,
            tostring(ok or err.message))
    end
    tap.ok(not bad, "damaged files are refused", bad)
    tap.is(fingerprint(sim), before, "and nothing has changed")
    files.write(path, text)
    sim:load(path)
    tap.is(sim.now, 1500, "the whole one is not")
end

-- ---- the command --------------------------------------------------------------------

do
    local run = dir .. "/run.lua"
    files.write(run, [[
        local H = require "heddle"
        local cycles = H.args { cycles = 150000 }.cycles
        for i = 1, 2 do
            local sim <close> = H.sim { machine = "maxwell", seed = i,
                apps = { H.app("GUP", { size = "S" }) }, interval = 20000,
                stop_cycles = cycles }
            sim:use { name = "p", state = { n = 0 }, tlb_fill = function(_, s)
                s.n = s.n + 1
                return s.n % 5 == 0 and "none" or nil
            end }
            sim:run(30000)
            sim:reset_counters()
            sim:run_until(function(s) return s.now >= 40000 end)
            sim:run()
            H.report.json(sim:results())
            print(sim:used()[1].state.n, sim:state_hash())
        end
    ]])
    local command = ("%s run --checkpoint %s,0 %s"):format(files.HEDDLE,
        files.quote(path), files.quote(run))
    local want = files.output(("(%s run %s 2>/dev/null)"):format(files.HEDDLE,
        files.quote(run)))
    os.remove(path)
    for i = 1, 3 do -- in the first and in the second simulation
        local wait = i < 3 and path or path .. ".2"
        files.output(("rm -f %s; %s >/dev/null 2>&1 & p=$!; while [ ! -e %s ] && "
            .. "kill -0 $p; do sleep 0.02; done; sleep 0.%d; kill -9 $p; wait")
            :format(i > 1 and "none" or files.quote(path), command,
                files.quote(wait), i))
        tap.ok(files.read(wait), "a command was killed that had written its file")
    end
    local ok, got = files.command(("(%s 2>%s/err)"):format(command,
        files.quote(dir)))
    tap.ok(ok and got == want, "given again, it prints what it would have",
        got:sub(1, 300))
    local said = files.read(dir .. "/err")
    tap.ok(said:find "continues at cycle %d+\n.*2: continues at cycle %d+\n",
        "and says where it goes on", said)
    local left = files.output("ls -A " .. files.quote(dir))
    tap.is(left, "err\nkernel-1.traceg\nrun.lua\n", "no file is left of it")
    files.write(path, taken { "GUP" })
    tap.ok(files.output(command):find "other settings", "another's is refused")
    files.output(("rm -f %s %s.2; %s >/dev/null & p=$!; while [ ! -e %s ] && "
        .. "kill -0 $p; do sleep 0.02; done; kill -9 $p; wait"):format(
        files.quote(path), files.quote(path), command, files.quote(path)))
    tap.ok(files.output(command .. " cycles=160000"):find "from another script, or",
        "other arguments are another script")
end

files.output("rm -r " .. files.quote(dir))
tap.done()
