"""rows.py - see t/780-python.t.

SPDX-License-Identifier: MIT
"""
import csv
import json
import os
import shutil
import subprocess
import sys
import warnings

import heddle
from heddle import results
from tap import done, ok, raises, same

folder = sys.argv[1]
HEDDLE = os.environ["HEDDLE"]
at = lambda name: os.path.join(folder, name)


def write(name, text):
    with open(at(name), "w", encoding="utf-8") as f:
        f.write(text)
    return at(name)


script = write("sweep.lua", """
local H = require "heddle"
local store = require "heddle.store"
local arg = H.args { dir = "" }
local jobs = {}
for _, entries in ipairs { 64, 512 } do
    jobs[#jobs + 1] = { machine = H.machine("maxwell") { ["l2tlb.entries"] = entries },
        label = entries == 64 and 'sm"all, \\195\\169' or nil, interval = 2000,
        policies = { "srrip" }, apps = { H.app("GUP", { size = "T" }),
        H.app("RED", { size = "T" }) } }
end
local r = store.run(jobs, { dir = arg.dir .. "/store", jobs = 1 })
store.keep("other", arg.dir .. "/store", function() return 7 end)
H.report.json(r, arg.dir .. "/list.json")
H.report.json(r[1], arg.dir .. "/one.json")
H.report.json({ maxwell = { { SharedTLB = { ws = 1.5, run = r[1] } },
    { SharedTLB = { run = r[2] } } } }, arg.dir .. "/nested.json")
H.report.csv_wide(r, arg.dir .. "/wide.csv")
H.report.csv(r, arg.dir .. "/long.csv")
H.report.sqlite(r, arg.dir .. "/db.sqlite")
""")
heddle.run(script, dir=folder, results=False, quiet=True)


def cells(name):
    with open(at(name), newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def number(text):
    """A cell of CSV as rows() has it: nothing is None."""
    return None if text == "" else results._value(text)


# ---- one table from each form
wide, rows = cells("wide.csv"), heddle.rows(at("list.json"))
same(list(rows[0]), list(wide[0]), "the columns are those of H.report.csv_wide")
differ = [(k, r[k], w[k]) for r, w in zip(rows, wide) for k in w
          if r[k] != (w[k] if isinstance(r[k], str) else number(w[k]))]
ok(len(rows) == len(wide) == 4 and not differ, "and so are all values", differ[:5])
same(rows[0]["run"], 'sm"all, \u00e9', "a label is itself")
ok(rows[0]["config.l2tlb.entries"] == 64 and rows[0]["config.core.classes"] is False
   and isinstance(rows[0]["cycles"], int) and isinstance(rows[0]["ipc"], float),
   "numbers are numbers, and true and false are truths")
same(rows[0]["policies"].split("@")[0].split(":")[0].split(" ")[0], "srrip",
     "policies are texts")
same(heddle.load(at("store"))[0]["schema"], "heddle-results",
     "of a store there are whole results")
order = lambda found: sorted(found, key=lambda r: (r["config.l2tlb.entries"],
                                                   r.get("app", 0)))
strip = lambda found: [{k: v for k, v in r.items() if k != "run"} for r in found]
for table in ("apps", "runs"):
    same(strip(order(heddle.rows(at("store"), table))),
         strip(order(heddle.rows(at("list.json"), table))),
         "a store has the same rows of " + table)
whole = lambda path: sorted(heddle.load(path),
                            key=lambda r: r["config"]["l2tlb.entries"])
ok(whole(at("store")) == whole(at("list.json")), "and results that are equal in all")

stored = heddle.rows(at("db.sqlite"))
differ = [(k, a[k], b.get(k)) for a, b in zip(rows, stored) for k in a
          if not (k == "policies" or a[k] == b.get(k))]
ok(len(stored) == 4 and not differ, "a database has the same", differ[:5])
long = cells("long.csv")
for name, found in (("database", heddle.rows(at("db.sqlite"), "long")),
                    ("JSON", heddle.rows(at("list.json"), "long"))):
    text = lambda v: "" if v is None else \
        str(v).lower() if isinstance(v, bool) else str(v)
    key = lambda r: tuple(text(r[c]) for c in results.LONG[:8])
    want = {key(r): r["value"] for r in long}
    got = {key(r): r["value"] for r in found}
    off = [(k, got[k], want.get(k)) for k in got
           if k[6] not in ("policy", "finished") and (text(got[k]) != want.get(k) and (
               want.get(k) in (None, "") or float(want[k]) != float(got[k])))
           and got[k] is not None]
    ok(len(got) > 1000 and not off, "rows of one value, of a %s" % name, off[:5])
same(len(heddle.rows(at("db.sqlite"), "long")), len(long), "all that CSV has")

# ---- the other tables
one = heddle.load(at("one.json"))[0]
run = heddle.rows(at("one.json"), "runs")[0]
ok(run["apps"] == "GUP+RED" and run["cycles"] == one["cycles"]
   and run["l2tlb.hits"] == rows[0]["l2tlb.hits"] + rows[1]["l2tlb.hits"],
   "a run has what its applications have together")
kernels = heddle.rows(at("one.json"), "kernels")
same([(k["kernel"], k["relaunch"], k["end"], k.get("core.instructions"))
      for k in kernels], [(k["name"], k["run"], k["end"],
                           k["counters"].get("core.instructions"))
                          for k in one["kernels"]], "launches")
intervals = heddle.rows(at("one.json"), "intervals")
ok(sum(i["instructions"] for i in intervals if i["app"] == 1)
   == rows[1]["instructions"] and intervals[0]["to"] == 2000, "intervals add up")
hists = [h for h in heddle.rows(at("one.json"), "histograms")
         if h["histogram"] == "walk.latency"]
ok(len(hists) == 2 and hists[0]["n"] > 0 and hists[0]["p50"] <= hists[0]["p99"],
   "histograms", hists)
same(heddle.rows(at("one.json"), "batches"), [], "no batch is no row")
same([r["run"] for r in heddle.rows(at("nested.json"))],
     ['sm"all, \u00e9'] * 2
     + ["maxwell/2/SharedTLB/run"] * 2, "results in tables are named by their keys")
same(len(heddle.rows([at("one.json"), at("store")])), 6, "several sources")
same(heddle.rows(one), heddle.rows(at("one.json")), "a result itself")
same(heddle.rows([]), [], "nothing")

# ---- experiments and applications
subprocess.run([HEDDLE, "run", "scenarios/mask/table2.lua", "out=" + folder,
                "cache=" + at("cache"), "jobs=1"], check=True,
               stdout=subprocess.DEVNULL)
found, kept = heddle.rows(at("mask/table2.json")), heddle.rows(at("results.sqlite"))
ok(len(found) == len(kept) > 0 and all(
    a[k] == b[k] for a, b in zip(found, kept) for k in a),
    "an experiment's JSON and the database of claims have equal rows",
    [(a, b) for a, b in zip(found, kept) if any(a[k] != b[k] for k in a)][:1])
ok(kept[0]["experiment"] == "mask/table2" and kept[0]["verdict"], "claims of a paper")
with open(at("apps.json"), "wb") as f:
    subprocess.run([HEDDLE, "apps", "GUP", "size=T", "format=json", "jobs=1"],
                   check=True, stdout=f)
apps = heddle.rows(at("apps.json"))
ok(apps[0]["name"] == "GUP" and 0 < apps[0]["metric.memory_share"] < 1
   and apps[0]["class.mask"], "heddle apps", apps[0])

# ---- what is no results
raises(lambda: heddle.rows(at("none")), 66, at("none") + ": No such file", "no file")
os.mkdir(at("empty"))
raises(lambda: heddle.rows(at("empty")), 66, "no store", "a folder without a result")
raises(lambda: heddle.rows(at("wide.csv")), 65, "neither JSON", "CSV")
raises(lambda: heddle.rows(write("x.json", '{"a": [1, 2]}')), 65,
       "JSON without results of heddle", "any JSON")
raises(lambda: heddle.rows(write("y.json", '{"schema": "other"}')), 65,
       "the schema is 'other'", "another schema")
raises(lambda: heddle.rows(dict(one, schema_version=2)), 65,
       "heddle-results of schema version 2; this package reads 1", "a later version")
raises(lambda: heddle.rows(at("one.json"), "rows"), 64, "there are apps, runs",
       "a table that there is not")
raises(lambda: heddle.rows(at("db.sqlite"), "kernels"), 65, "has no table of kernels",
       "one that a database has not")
raises(lambda: heddle.rows(at("db.sqlite"), "quantities"), 65, "no table `quantity`",
       "nor this database")
raises(lambda: heddle.load(at("db.sqlite")), 65, "rows, not whole results",
       "a database has no whole results")
with open(at("db.sqlite"), "rb") as f:
    head = f.read(3000)
with open(at("cut.sqlite"), "wb") as f:
    f.write(head)
raises(lambda: heddle.rows(at("cut.sqlite")), 65, "cannot be read", "a cut database")

# ---- damage
names = sorted(n for n in os.listdir(at("store")) if n.endswith(".run"))
for what, change in (("cut", lambda d: d[:len(d) // 2]),
                     ("changed", lambda d: d[:-9] + bytes([d[-9] ^ 1]) + d[-8:])):
    if what == "changed" and not results._checksum():
        continue
    shutil.copytree(at("store"), at(what))
    for name in names:
        with open(os.path.join(at(what), name), "r+b") as f:
            data = f.read()
            if b"heddle-results" in data:
                f.seek(0)
                f.truncate()
                f.write(change(data))
                break
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        left = heddle.rows(at(what))
    ok(len(left) == 2 and "1 damaged files" in str(seen[0].message)
       and name in str(seen[0].message),
       "a file of a store that is %s is left out, and said" % what,
       (len(left), [str(w.message) for w in seen]))

# ---- without pandas
sys.modules["pandas"] = None
raises(lambda: heddle.read(at("one.json")), 69, "heddle.rows(), which needs nothing",
       "without pandas read() says what to do")
done()
