"""heddle - results and runs of heddle, a simulator of GPU virtual memory.

    import heddle

    frame = heddle.read("out/cache")            # a store, JSON, a database: pandas
    rows = heddle.rows("results.json")          # the same without pandas
    run = heddle.run("sweep.lua", seeds=2)      # a scenario, by the command
    frame = heddle.read(run)

    with heddle.Sim([heddle.trace("red.hdt")],  # a simulation, by libheddle.so
                    {"l2tlb.entries": 64}) as sim:
        sim.run()
        print(sim.counters()["l2tlb.misses"])

heddle itself needs no Python; this package needs nothing but Python, and pandas
for read() alone.  heddle_python(7) describes it.

SPDX-License-Identifier: MIT
"""
from .errors import Error
from .results import TABLES, load, read, rows
from .scenario import Run, command, record, run, settings
from .simulation import Sim, Workload, library, plugin, trace

__version__ = "0.1.0"
__all__ = ["Error", "Run", "Sim", "TABLES", "Workload", "command", "library", "load",
           "plugin", "read", "record", "rows", "run", "settings", "trace"]
