"""notebook.py - see t/782-python-pandas.t: the code cells of man/heddle.ipynb, in order
in one namespace, without Jupyter.

SPDX-License-Identifier: MIT
"""
import contextlib
import io
import json

from tap import done, ok, same

with open("man/heddle.ipynb", encoding="utf-8") as f:
    notebook = json.load(f)
same((notebook["nbformat"], len({c["id"] for c in notebook["cells"]})),
     (4, len(notebook["cells"])), "a notebook")
names, printed = {"__name__": "notebook"}, ""
for i, cell in enumerate(notebook["cells"]):
    if cell["cell_type"] != "code":
        continue
    out, said = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            exec(compile("".join(cell["source"]), "cell %d" % i, "exec"), names)
        why = None
    except Exception as e:
        why = "%s: %s" % (type(e).__name__, e)
    if not ok(why is None, "cell %d runs" % i, why):
        done()
    printed = out.getvalue()
    ok(not cell["outputs"], "and is kept without output")

table = names["table"]
same(list(table.index), [64, 128, 256, 512, 1024], "a row for each size")
rates = list(table["l2tlb_miss_rate"])
ok(all(a > b for a, b in zip(rates, rates[1:])) and rates[0] > 0.5 > rates[-1],
   "a larger TLB misses less", rates)
ok(table["speedup"].iloc[-1] > 2, "and is faster", list(table["speedup"]))
time = names["time"]
ok((abs(time.sum(axis=1) - 1) < 0.01).all(), "shares of time are 1 together",
   list(time.sum(axis=1)))
with open(names["chart"], encoding="utf-8") as f:
    chart = f.read()
ok("<svg" in chart and "L2 TLB misses of random updates" in chart, "a chart")
same(len(printed.splitlines()), len(names["points"]), "a line for each 500 cycles")
ok(len(names["points"]) > 3 and names["total"]["l2tlb.lookups"] > 50, "that counted",
   names["points"])
names["work"].cleanup()
done()
