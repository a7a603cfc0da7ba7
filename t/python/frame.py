"""frame.py - see t/782-python-pandas.t.

SPDX-License-Identifier: MIT
"""
import os
import sys

import heddle
from tap import done, ok, same

script = os.path.join(sys.argv[1], "x.lua")
with open(script, "w", encoding="utf-8") as f:
    f.write("""
local H = require "heddle"
for _, n in ipairs { 64, 512 } do
    local sim = H.sim { interval = 2000, settings = { ["l2tlb.entries"] = n },
        label = tostring(n), machine = n == 512 and "fermi" or "maxwell",
        apps = { H.app("GUP", { size = "T" }) } }
    sim:run()
end
""")
run = heddle.run(script, quiet=True)
frame, rows = heddle.read(run), heddle.rows(run)
same((len(frame), list(frame.columns)), (2, list(rows[0])), "a frame has the rows")
off = [(name, v, rows[i][name]) for i in range(2) for name, v in frame.iloc[i].items()
       if not (v == rows[i][name] or (v != v and rows[i][name] is None))]
ok(not off, "with their values", off[:5])
same([str(frame[name].dtype) for name in ("cycles", "l2tlb.hits", "ipc", "label",
                                          "config.l2tlb.entries",
                                          "config.core.classes")],
     ["int64", "int64", "float64", "object", "int64", "bool"], "as numbers")
only = [c for c in frame.columns if frame[c].isna().any()]
ok(all(frame[c].isna().tolist().count(True) == 1 for c in only),
   "what one of them lacks is NaN", only)
for table in heddle.TABLES:
    same(len(heddle.read(run, table)), len(heddle.rows(run, table)), "table " + table)
wide = heddle.read(run, "intervals").groupby("run")["instructions"].sum()
same([int(wide["64"]), int(wide["512"])], [r["instructions"] for r in rows],
     "intervals add up")
same(len(heddle.read([])), 0, "an empty frame")
done()
