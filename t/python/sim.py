"""sim.py - see t/781-python-sim.t.

SPDX-License-Identifier: MIT
"""
import gc
import io
import os
import signal
import subprocess
import sys
import threading
import time

import heddle
from heddle import scenario, simulation
from tap import done, ok, raises, same

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it

folder = sys.argv[1]
at = lambda name: os.path.join(folder, name)


def write(name, text):
    with open(at(name), "w", encoding="utf-8") as f:
        f.write(text)
    return at(name)


# ---- scenarios
script = write("x.lua", """
local H = require "heddle"
local arg = H.args { trace = "", flag = false, list = "", n = 1, fail = "" }
if arg.fail ~= "" then error(arg.fail) end
print(arg.flag, arg.list, arg.n)
io.stderr:write "half of it\\n"
if arg.trace ~= "" then
    local sim = H.sim { machine = "maxwell", apps = { H.trace(arg.trace) },
        policies = { { use = "srrip", at = "l1cache", bits = 3 } } }
    sim:run()
end
""")
err, sys.stderr = sys.stderr, io.StringIO()
run = heddle.run(script, {"flag": True}, list=["a", "b"], n=2.5)
seen, sys.stderr = sys.stderr.getvalue(), err
same(run.output, "true\ta,b\t2.5\n", "arguments: truths, lists, numbers")
same(seen, "half of it\n", "what is said on the way goes through")
same((run.messages, run.status, heddle.rows(run)), (seen, 0, []),
     "and is kept; no simulation is no row")
path = run.results_path
del run
gc.collect()
ok(not os.path.exists(path), "the results go with the run")
sys.stderr = io.StringIO()
e = raises(lambda: heddle.run(script, fail="no \u20ac left"), 65, "no \u20ac left",
           "a script that fails")
ok(e.message.startswith(script + ":"), "with its place", e.message)
ok(e.message in sys.stderr.getvalue(), "which is said, too")
sys.stderr = err
raises(lambda: heddle.run(script, flagg=1, quiet=True), 64, "has no argument 'flagg'",
       "an argument that there is not")
raises(lambda: heddle.run(script, {"a b": 1}), 64, "'a b' is no name", "a name")
raises(lambda: heddle.run(at("none.lua"), quiet=True), 66, "none.lua", "no script")
e = raises(lambda: heddle.run(write("r.lua", "print 'so far' return 3"), quiet=True), 3,
           "exit status 3", "a status of the script's own")
same(e.output, "so far\n", "with its output")
kept = os.environ["HEDDLE"]
os.environ["HEDDLE"] = at("nowhere")
raises(lambda: heddle.run(script), 66, "HEDDLE=%s: no program" % at("nowhere"),
       "a command that there is not")
del os.environ["HEDDLE"]
ok(os.path.samefile(heddle.command(), kept), "without HEDDLE, that of the checkout")
os.environ["HEDDLE"] = kept

# A series, whose progress is written where it is seen on a terminal.
sweep = write("sweep.lua", """
local H = require "heddle"
local jobs = {}
for i = 1, 3 do
    jobs[i] = { seed = i, machine = "maxwell", apps = { H.app("ATAX", { size = "T" }) } }
end
H.run(jobs, { jobs = 1 })
""")
scenario._terminal = lambda: True
sys.stderr = io.StringIO()
run = heddle.run(sweep)
seen, sys.stderr = sys.stderr.getvalue(), err
try:
    terminal = bool(os.openpty())
except OSError:  # none in this container
    terminal = False
ok("\r" in seen and "3" in seen if terminal else seen == "",
   "on a terminal a line shows progress", seen)
same([r["seed"] for r in heddle.rows(run)], [1, 2, 3], "results of a series")

# ---- Ctrl-C in a scenario, in a process of its own
endless = write("endless.lua", 'io.stderr:write("begun\\n") while true do end')
program = write("c.py", """
import heddle, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
try:
    heddle.run(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
""")
p = subprocess.Popen([sys.executable, program, endless], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, text=True)
p.stderr.readline()
p.send_signal(signal.SIGINT)
said, _ = p.communicate(timeout=60)
same(said, "interrupted\n", "Ctrl-C ends the command, and is raised")


def command_line(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            return f.read()
    except OSError:
        return b""


same([p for p in os.listdir("/proc") if p.isdigit()
      and endless.encode() in command_line(p)], [], "no process is left")

# ---- a simulation, beside the command's of the same trace
heddle.record("ATAX", at("g.hdt"), size="T")
maxwell = heddle.settings("maxwell")
ok(len(maxwell) > 300 and maxwell["l2tlb.entries"] == "512", "settings of a machine",
   maxwell)
write("own.conf", "l2tlb.entries = 64 # of mine\n")
same(heddle.settings(at("own.conf"))["l2tlb.entries"], "64", "and of a file")
raises(lambda: heddle.settings("maxwel"), 78, "there is no machine 'maxwel'",
       "of no machine")
want = heddle.load(heddle.run(script, trace=at("g.hdt"), quiet=True))[0]
totals = {c["component"] + "." + c["name"]: c["total"] for c in want["counters"]}
POLICY = "srrip:bits=3@l1cache"
with heddle.Sim([heddle.trace(at("g.hdt"))], maxwell, [POLICY]) as sim:
    same(sim.status, "ready", "ready")
    same((sim.step(), sim.step(9), sim.now), (1, 10, 10), "steps")
    seen = []
    same(sim.run(90, seen.append), "ok", "so many cycles")
    same((sim.now, seen), (100, [sim]), "and progress")
    snapshot = sim.snapshot()
    same(sim.run(), "done", "to the end")
    same(sim.counters(), totals, "counters are the command's")
    same(sim.now, want["cycles"], "and so are cycles")
    ok(sum(totals.values()) > 10000 and totals["l2tlb.lookups"] > 0, "which moved")
    app, theirs = sim.apps()[0], want["apps"][0]
    same([app[k] for k in ("instructions", "thread_instructions", "cycles", "pages",
                           "footprint", "finished", "truncated", "hash")],
         [theirs[k] for k in ("instructions", "thread_instructions", "cycles", "pages",
                              "footprint", "finished", "truncated", "hash")],
         "applications")
    same([(k["name"], k["end"], k["instructions"]) for k in sim.kernels()],
         [(k["name"], k["end"], k["instructions"]) for k in want["kernels"]],
         "launches")
    hists = {h["component"] + "." + h["name"]: h for h in want["histograms"]}
    own = sim.histograms(0)
    same([(n, h["p95"], [list(b) for b in h["buckets"]]) for n, h in own.items()],
         [(n, hists[n]["apps"][0]["p95"], list(hists[n]["apps"][0]["buckets"]))
          for n in own], "histograms")
    by = {c["component"] + "." + c["name"]: c["instances"] for c in want["counters"]}
    same([sim.instances(n) for n in ("l1tlb.misses", "dram.reads", "core.warps_most")
          if n in by],
         [by[n] for n in ("l1tlb.misses", "dram.reads", "core.warps_most") if n in by],
         "counters of each copy")
    same([c["component"] + "." + c["name"] for c in sim.counter_info()], list(totals),
         "all counters are described")
    same((sim.counter("l2tlb.hits"), sim.counter("l2tlb.hits", 0)),
         (totals["l2tlb.hits"],) * 2, "one counter")
    same(sim.instructions, want["instructions"], "instructions")
    same(sim.counted, want["counted"], "cycles that are counted")
    sim.check()
    ok(sim.objects()["l1tlb"] == 30, "what can be looked at")
    entries = sim.look("l2tlb")
    ok(entries and entries[0]["kind"] == "entry" and entries[0]["app"] == 0,
       "entries of the L2 TLB", entries[:1])
    physical, size = sim.translate(0, entries[0]["vpn"] << 12)
    same((physical >> 12, size), (entries[0]["pfn"], 4096), "translate as it does")
    same(sim.translate(0, 1), None, "where nothing is mapped")
    same(sim.samples(), None, "nothing is sampled")
    sim.restore(snapshot)
    same((sim.now, sim.status), (100, "ok"), "a state is put back")
    ok(isinstance(sim.stuck(), list), "what waits for what")
    sim.reset_counters()
    same(sim.counter("core.instructions"), 0, "counters at 0")
    same(sim.unuse("srrip"), 1, "a policy is unbound")
    raises(lambda: sim.counter("l2tlb.hit"), 64, "no counter 'l2tlb.hit'",
           "a counter that there is not")
    raises(lambda: sim.counters(1), 64, "there is no application 1; there are 1",
           "an application")
    raises(lambda: sim.run(-1), 64, "run: cycles: a whole number from 0", "no cycles")
    raises(lambda: sim.look("l3tlb"), 64, "", "no object")
    raises(lambda: sim.look("l2tlb", 5), 64, "", "no copy")
    raises(lambda: sim.use("srip"), 78, "did you mean 'srrip'?", "no policy")
    raises(lambda: sim.use("srrip", "l2cache", bytes=3), 78,
           'no parameter "bytes"; did you mean "bits"?', "no parameter")
    raises(lambda: sim.use("srrip", bits="x"), 64, "bits: a whole number", "no number")
raises(lambda: sim.now, 64, "this simulation was closed", "a closed one")
same(repr(sim), "<heddle.Sim, closed>", "says so")
snapshot.close()

plain = heddle.Sim(heddle.trace(at("g.hdt")), maxwell)
plain.run()
ok(plain.counters() != totals and plain.counter("policy.repl_victim.asked") == 0,
   "no policy is another machine")
sampled = heddle.Sim(heddle.trace(at("g.hdt"), times=20), dict(
    maxwell, **{"sample.every": 5000, "sample.window": 200, "sample.warm": 100}))
sampled.run()
windows = sampled.samples()
ok(len(windows["windows"]) > 1 and windows["windows"][0]["cycles"] > 0, "windows",
   windows)

raises(lambda: heddle.Sim([heddle.trace(at("g.hdt"))], {"l2tlb.entriez": 3}), 78,
       "l2tlb.entriez: there is no such setting; did you mean l2tlb.entries?",
       "a setting that there is not, in C's words")
e = raises(lambda: heddle.Sim([heddle.trace(at("g.hdt"))], {"l2tlb.entries": "many"}), 78,
           "l2tlb.entries", "a value")
same((e.code, e.name), (-3, "HEDDLE_ECONFIG"), "with C's code")
raises(lambda: heddle.Sim([heddle.trace(at("g.hdt"))], {"sample.every": 5000,
       "sample.launches": True}), 78, "sample.launches",
       "settings that contradict each other")
raises(lambda: heddle.Sim([]), 64, "", "no workload")
raises(lambda: heddle.trace(at("none.hdt")), 66, "none.hdt", "no trace")
raises(lambda: heddle.trace(script), 65, "x.lua", "what is no trace")
raises(lambda: heddle.trace(at("g.hdt"), kernel="1"), 64, "no option 'kernel'",
       "an option")
w = heddle.trace(at("g.hdt"))
same((w.name, w.hash), ("ATAX", want["apps"][0]["hash"]), "a workload")
sims = heddle.Sim([w])
raises(lambda: heddle.Sim([w]), 64, "in use", "one workload in two simulations")
w.close()
same(sims.run(), "done", "a workload may be closed before its simulation")
raises(lambda: w.name, 64, "this workload was closed", "a closed workload")

subprocess.run(["cc", "-shared", "-fPIC", "-Isrc/engine", "-Isrc/work", "-o",
                at("gather.so"), "scenarios/gather.c"], check=True)
with heddle.Sim([heddle.plugin(at("gather.so"), n=4096)]) as sim:
    sim.set_budget(0, 100)
    sim.run()
    same((sim.apps()[0]["name"], sim.apps()[0]["truncated"],
          sim.apps()[0]["instructions"]), ("gather", True, 100), "a plug-in")
raises(lambda: heddle.plugin(at("gather.so"), m=1), 78,
       'workload gather has no parameter "m"', "no parameter of it")
raises(lambda: heddle.plugin(at("none.so")), 65, "cannot load plug-in " + at("none.so"),
       "no plug-in")

# ---- Ctrl-C in a simulation
heddle.record("MM", at("mm.hdt"), size="S")
sim = heddle.Sim(heddle.trace(at("mm.hdt")), maxwell)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    sim.run()
    ok(False, "Ctrl-C in run()", "it ended")
except KeyboardInterrupt:
    now = sim.now
    ok(now > 0, "Ctrl-C in run()")
    ok(sim.run(1000) in ("ok", "done") and sim.now >= now, "which can continue")
sim.close()

# ---- the library
lib = heddle.library()
same((lib.version, lib.number), (heddle.__version__, simulation.VERSION_NUMBER),
     "the library has the package's version")
kept = os.environ["HEDDLE_LIB"]
os.environ["HEDDLE_LIB"] = at("nowhere.so")
raises(heddle.library, 66, "HEDDLE_LIB is the only place looked at.  Looked for:\n    "
       + at("nowhere.so") + ": no such file", "HEDDLE_LIB without a library")
for number in (2000000, 2000, 999):
    with open(at("f.c"), "w") as f:
        f.write("#include <stdint.h>\nuint32_t heddle_version_number(void) "
                "{ return %d; }\n" % number)
    os.environ["HEDDLE_LIB"] = at("f%d.so" % number)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", os.environ["HEDDLE_LIB"],
                    at("f.c")], check=True)
    raises(heddle.library, 65, "libheddle %s, and this package is for 0.1.0" %
           simulation._text_of(number), "another version, %d" % number)
os.environ["HEDDLE_LIB"] = at("gather.so")
raises(heddle.library, 65, "no libheddle", "another library")
os.environ["HEDDLE_LIB"] = script
raises(heddle.library, 66, script, "no library at all")
os.environ["HEDDLE_LIB"] = ""
same(os.path.realpath(simulation._places()[1]), os.path.realpath(
    "build/release/libheddle.so.0"), "without HEDDLE_LIB, that of the checkout")
simulation.near, simulation.command = lambda path: [], lambda: at("bin/heddle")
simulation.NAME = "libheddle.so.none"
e = raises(heddle.library, 66, "libheddle.so is not found; HEDDLE_LIB is not set",
           "none anywhere")
ok(at("lib/libheddle.so.none") in e.message and "\n    libheddle.so.none" in e.message,
   "says where it looked", e.message)
ok(simulation._fits(1005) and not simulation._fits(2000) and not simulation._fits(999),
   "a later patch fits")
done()
