"""results.py - what heddle writes, as rows: dicts, or a frame of pandas.

A source is the path of
    - the folder of a store (out/cache): a file for each simulation;
    - a JSON of H.report.json or `heddle run --results`: one result, a list, or
      results anywhere in a table (heddle_results(5));
    - a JSON of an experiment (out/mask/fig03.json) or of `heddle apps`;
    - a database of H.report.sqlite, or the results.sqlite of experiments;
a Run of heddle.run(), what load() returned, or a list of these.

Numbers stay exact: integers of JSON and of a store are Python's, and a setting that
is a number or true or false is one.  What a result does not have is None in a row,
NaN in a frame.

SPDX-License-Identifier: MIT
"""
import ctypes
import json
import os
import re
import sqlite3
import struct
import warnings

from .errors import Error

#: The tables of a source, and what a row of each is.
TABLES = {
    "apps": "an application of a run, with its counters, metrics and settings",
    "runs": "a run, all of its applications together",
    "kernels": "a launch of a kernel, with the counters that it moved",
    "intervals": "an application in an interval of a run",
    "histograms": "a histogram of an application: percentiles",
    "batches": "a batch of the driver (uvm.mode=driver)",
    "long": "one value, as in H.report.csv",
    "quantities": "a claim of a paper beside what an experiment found",
}
RESULTS, EXPERIMENT, APPS = "heddle-results", "heddle-experiment", "heddle-apps"
#: The schema versions that are read.
VERSIONS = {RESULTS: (1,), EXPERIMENT: (4,), APPS: (1,)}


def _bad(where, why):
    return Error("%s: %s" % (where, why), status=65)


# ---- a store ----------------------------------------------------------------------


def _plain(data, at):
    """A value in the form of lua/heddle/plain.lua, and where the next begins."""
    kind = data[at:at + 1]
    at += 1
    if kind == b"i":
        return struct.unpack_from("<q", data, at)[0], at + 8
    if kind == b"d":
        return struct.unpack_from("<d", data, at)[0], at + 8
    if kind == b"s":
        end = at + 4 + struct.unpack_from("<I", data, at)[0]
        if end > len(data):
            raise ValueError("a text is cut")
        return data[at + 4:end].decode("utf-8", "replace"), end
    if kind in (b"T", b"F"):
        return kind == b"T", at
    if kind == b"n":
        return None, at
    if kind not in (b"t", b"a"):
        raise ValueError("no value begins with %r" % kind)
    n = struct.unpack_from("<I", data, at)[0]
    at += 4
    table = {}
    for _ in range(n):
        key, at = _plain(data, at)
        table[key], at = _plain(data, at)
    # Lua has lists and tables of names in one kind.
    if n == 0:
        return [] if kind == b"a" else {}, at
    if all(table.get(i + 1) is not None for i in range(n)):
        return [table[i + 1] for i in range(n)], at
    return table, at


def _checksum():
    """XXH3 of bytes, by the library that heddle uses, too; None where it is not."""
    try:
        fn = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    except (OSError, AttributeError):
        return None
    fn.restype, fn.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
    return lambda data: b"%016x" % fn(data, len(data))


def _store(folder):
    """The results in a store, by the names of their files."""
    checksum, out, damaged = _checksum(), [], []
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".run")):
        with open(os.path.join(folder, name), "rb") as f:
            total, _, data = f.read().partition(b"\n")
        try:
            if checksum and checksum(data) != total:
                raise ValueError("the checksum differs")
            kept, end = _plain(data, 0)
            if end != len(data) or not isinstance(kept, dict):
                raise ValueError("something follows")
        except (ValueError, struct.error, TypeError):
            damaged.append(name)
            continue
        result = kept.get("result")
        if isinstance(result, dict) and result.get("schema") == RESULTS:
            out.append(result)
    if damaged:
        warnings.warn("%s: %d damaged files are left out: %s" % (
            folder, len(damaged), ", ".join(damaged[:3])), stacklevel=4)
    return out


# ---- sources ----------------------------------------------------------------------


def _documents(value, name, out):
    """All tables with a schema in a value of JSON, and the keys that lead to each."""
    if isinstance(value, dict) and "schema" in value:
        out.append((name, value))
    elif isinstance(value, dict):
        for key in value:
            _documents(value[key], name + (str(key),), out)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            _documents(v, name + (str(i + 1),), out)
    return out


def _known(where, documents):
    """Results with the names of their runs; else an Error."""
    out = []
    for name, d in documents:
        schema, version = d["schema"], d.get("schema_version")
        if schema not in VERSIONS:
            raise _bad(where, "no results of heddle: the schema is %r" % schema)
        if version not in VERSIONS[schema]:
            raise _bad(where, "%s of schema version %s; this package reads %s (use "
                       "the one that came with that heddle)" % (
                           schema, version, VERSIONS[schema][-1]))
        out.append(("/".join(name), d))
    return out


class _Source:
    """What a path has: documents [(name, dict)], or the path of a database."""

    def __init__(self, where, documents=(), database=None):
        self.where = where
        self.documents = _known(where, documents)
        self.database = database

    def of(self, schema):
        return [(n, d) for n, d in self.documents if d["schema"] == schema]


def _file(path):
    with open(path, "rb") as f:
        head = f.read(16)
        if head == b"SQLite format 3\0":
            return _Source(path, database=path)
        data = head + f.read()
    try:
        value = json.loads(data.decode("utf-8"))
    except ValueError as e:
        raise _bad(path, "neither JSON, nor a database, nor a store: %s" % e) from None
    found = _documents(value, (), [])
    if not found and value != []:
        raise _bad(path, "JSON without results of heddle (H.report.json writes them, "
                   "and heddle run --results)")
    return _Source(path, found)


def _open(source):
    """The sources of one, or of a list."""
    if isinstance(source, _Source):
        return [source]
    if hasattr(source, "results_path"):  # a Run
        return _open(source.results_path)
    if isinstance(source, dict):
        return [_Source("the value", _documents(source, (), []))]
    if isinstance(source, (list, tuple)):
        if source and all(isinstance(s, dict) for s in source):
            return [_Source("the list", _documents(list(source), (), []))]
        return [s for one in source for s in _open(one)]
    path = os.fspath(source)
    try:
        if os.path.isdir(path):
            found = _store(path)
            if not found and not any(n.endswith(".run") for n in os.listdir(path)):
                raise Error("%s: no store: the folder has no .run file" % path,
                            status=66)
            return [_Source(path, [((str(i + 1),), r)
                                   for i, r in enumerate(found)])]
        return [_file(path)]
    except OSError as e:
        raise Error("%s: %s; the folder of a store, JSON or a database of results is "
                    "expected" % (path, e.strerror or e), status=66) from None


def load(source):
    """The results themselves, a list of dicts as heddle_results(5) describes them.

    A database has rows, and no such results.
    """
    out = []
    for s in _open(source):
        if s.database:
            raise _bad(s.where, "a database has rows, not whole results (heddle.rows)")
        out += [d for _, d in s.documents]
    return out


# ---- rows -------------------------------------------------------------------------


def _value(text):
    """A setting as a number or a truth, if it is one."""
    if not isinstance(text, str):
        return text
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]*\.?[0-9]+(e[-+]?[0-9]+)?", text):
        return float(text)
    return text


def _name(entry):
    return entry["component"] + "." + entry["name"]


def _run(name, r):
    return r.get("label") or name or "1"


def _at(values, i):
    return values[i] if i < len(values) else None


def _tail(row, r, i):
    """What was run: at the end of a row, as in H.report.csv_wide."""
    inputs = r.get("inputs", [])
    row["version"] = r["version"]
    if i is not None:
        row["key"] = inputs[i]["key"] if i < len(inputs) else None
        row["hash"] = r["apps"][i]["hash"]
    row["policies"] = "; ".join(r["policies"])
    for name in sorted(r["config"]):
        row["config." + name] = _value(r["config"][name])
    return row


def _app_rows(source):
    for name, r in source.of(RESULTS):
        for i, a in enumerate(r["apps"]):
            row = {"run": _run(name, r), "machine": r["machine"], "seed": r["seed"],
                   "app": a["app"], "label": a["label"], "status": r["status"],
                   "instructions": a["instructions"], "cycles": a["cycles"],
                   "ipc": a.get("ipc")}
            for c in r["counters"]:
                row[_name(c)] = _at(c["apps"], i)
            for m in r["metrics"]:
                row["metric." + m["name"]] = next(
                    (v.get("value") for v in m["apps"] if v["app"] == a["app"]),
                    None)
            yield _tail(row, r, i)
    for _, d in source.of(APPS):
        for a in d["apps"]:
            row = {k: v for k, v in a.items()
                   if not isinstance(v, (dict, list))}
            row.update(("metric." + k, v) for k, v in a.get("metrics", {}).items())
            row.update(("class." + k, v) for k, v in a.get("classes", {}).items())
            yield row


def _run_rows(source):
    for name, r in source.of(RESULTS):
        row = {"run": _run(name, r), "machine": r["machine"], "seed": r["seed"],
               "apps": "+".join(a["label"] for a in r["apps"]),
               "status": r["status"], "instructions": r["instructions"],
               "cycles": r["cycles"], "counted": r["counted"]}
        for c in r["counters"]:
            row[_name(c)] = c["total"]
        for m in r["metrics"]:
            row["metric." + m["name"]] = m.get("total")
        yield _tail(row, r, None)


def _kernel_rows(source):
    for name, r in source.of(RESULTS):
        for k in r["kernels"]:
            row = {"run": _run(name, r), "kernel": k["name"], "relaunch": k["run"]}
            row.update((key, v) for key, v in k.items()
                       if key not in ("counters", "name", "run"))
            row.update(k["counters"])
            yield row


def _interval_rows(source):
    for name, r in source.of(RESULTS):
        for n, interval in enumerate(r["intervals"]):
            for i, a in enumerate(r["apps"]):
                row = {"run": _run(name, r), "interval": n + 1,
                       "from": interval["from"], "to": interval["to"],
                       "app": a["app"], "label": a["label"],
                       "instructions": interval["instructions"][i]}
                for counter in sorted(interval["counters"]):
                    row[counter] = _at(interval["counters"][counter], i)
                yield row


def _histogram_rows(source):
    for name, r in source.of(RESULTS):
        for h in r["histograms"]:
            for i, a in enumerate(h["apps"]):
                row = {"run": _run(name, r), "app": r["apps"][i]["app"],
                       "label": r["apps"][i]["label"], "histogram": _name(h),
                       "unit": h["unit"]}
                row.update((k, a.get(k)) for k in (
                    "n", "sum", "min", "max", "p50", "p90", "p95", "p99"))
                yield row


def _batch_rows(source):
    for name, r in source.of(RESULTS):
        for b in r.get("batches", []):
            yield dict({"run": _run(name, r)}, **b)


LONG = ("run", "interval", "app", "kernel", "component", "instance", "stat", "unit",
        "value")


def _long_rows(source):
    """One value a row, of counters, metrics and settings."""
    for name, r in source.of(RESULTS):
        run = _run(name, r)

        def row(app, component, instance, stat, unit, value):
            return dict(zip(LONG, (run, None, app, None, component, instance, stat,
                                   unit, value)))

        for stat, unit in (("version", None), ("machine", None), ("seed", None),
                           ("status", None), ("cycles", "core cycles"),
                           ("counted", "core cycles"),
                           ("instructions", "warp instructions")):
            yield row(None, "sim", None, stat, unit, r[stat])
        for i, a in enumerate(r["apps"]):
            for stat, value in (("label", a["label"]),
                                ("key", r["inputs"][i]["key"]),
                                ("hash", a["hash"]), ("finished", a["finished"])):
                yield row(a["app"], "app", None, stat, None, value)
        for setting in sorted(r["config"]):
            yield row(None, "config", None, setting, None, r["config"][setting])
        for c in r["counters"]:
            for a, v in enumerate(c["apps"]):
                yield row(a, c["component"], None, c["name"], c["unit"], v)
            if c.get("none"):
                yield row("none", c["component"], None, c["name"], c["unit"],
                          c["none"])
            for i, v in enumerate(c["instances"]):
                yield row(None, c["component"], i, c["name"], c["unit"], v)
        for m in r["metrics"]:
            for a in m["apps"]:
                yield row(a["app"], "metric", None, m["name"], m["unit"],
                          a.get("value"))
            yield row(None, "metric", None, m["name"], m["unit"], m.get("total"))


#: What a column of the table `quantity` is called in an experiment's JSON.
QUANTITY = {"quantity": "what", "paper_from": "from", "paper_to": "to", "sets": "n",
            "paper_sets": "of"}
QUANTITIES = ("experiment", "quantity", "unit", "paper", "paper_from", "paper_to",
              "heddle", "low", "high", "ratio", "points", "direction", "verdict",
              "counts", "concordant", "pairs", "sets", "paper_sets", "scale",
              "version")


def _quantity_rows(source):
    for _, d in source.of(EXPERIMENT):
        name = d["name"] + ("-" + d["variant"] if d.get("variant") else "")
        for prefix, found in (("", d["quantities"]), ("order: ", d["orders"])):
            for q in found:
                row = {c: q.get(QUANTITY.get(c, c)) for c in QUANTITIES}
                row.update(experiment=name, quantity=prefix + q["what"],
                           scale=d["scale"], version=d["version"])
                if prefix:  # of an order these are lists of designs
                    row.update(paper=None, heddle=None, unit="")
                yield row


ROWS = {"apps": _app_rows, "runs": _run_rows, "kernels": _kernel_rows,
        "intervals": _interval_rows, "histograms": _histogram_rows,
        "batches": _batch_rows, "long": _long_rows, "quantities": _quantity_rows}


# ---- databases --------------------------------------------------------------------


def _query(db, text):
    cursor = db.execute(text)
    names = [d[0] for d in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def _pivot(long):
    """The rows of applications of those of the table `result`."""
    shared, apps, order = {}, {}, []
    for r in long:
        run, app, stat = r["run"], r["app"], r["stat"]
        if r["interval"] is not None or r["kernel"] is not None \
                or r["instance"] is not None or app == "none":
            continue
        if app is None:
            mine = shared.setdefault(run, {"run": run, "policies": []})
            if r["component"] == "config":
                mine["config." + stat] = _value(r["value"])
            elif r["component"] == "sim" and stat == "policy":
                mine["policies"].append(r["value"])
            elif r["component"] == "sim":
                mine[stat] = r["value"]
            continue
        if (run, app) not in apps:
            apps[run, app] = {}
            order.append((run, app))
        if r["component"] == "app":
            apps[run, app][stat] = r["value"]
        else:
            prefix = "metric." if r["component"] == "metric" \
                else r["component"] + "."
            apps[run, app][prefix + stat] = r["value"]
    for run, app in order:
        mine, own = shared.get(run, {}), apps[run, app]
        row = {"run": run, "machine": mine.get("machine"), "seed": mine.get("seed"),
               "app": app, "label": own.pop("label", None),
               "status": mine.get("status"),
               "instructions": own.get("metric.instructions"),
               "cycles": own.get("metric.cycles"), "ipc": own.get("metric.ipc")}
        end = {"version": mine.get("version"), "key": own.pop("key", None),
               "hash": own.pop("hash", None),
               "policies": "; ".join(mine.get("policies", []))}
        own.pop("finished", None)
        row.update(own)
        row.update(end)
        row.update(sorted((k, v) for k, v in mine.items()
                          if k.startswith("config.")))
        yield row


#: The tables of SQLite from which each of TABLES is made.
STORED = {"apps": "result", "long": "result", "batches": "batch",
          "quantities": "quantity"}


def _database_rows(source, table):
    db = sqlite3.connect("file:%s?mode=ro" % source.database.replace(
        "%", "%25").replace("?", "%3f").replace("#", "%23"), uri=True)
    try:
        have = {r["name"] for r in _query(
            db, "select name from sqlite_master where type = 'table'")}
        if table is None:
            table = next((t for t in ("apps", "quantities") if STORED[t] in have),
                         "apps")
        stored = STORED.get(table)
        if stored is None:
            raise _bad(source.where, "a database has no table of %s; it has %s, and "
                       "JSON and stores have them" % (table, ", ".join(STORED)))
        if stored not in have:
            if table == "batches" and "result" in have:
                return []
            raise _bad(source.where, "no table `%s`; %s" % (
                stored, "there are " + ", ".join(sorted(have)) if have
                else "the database is empty"))
        found = _query(db, "select * from %s order by rowid" % stored)
        return list(_pivot(found)) if table == "apps" else found
    except sqlite3.Error as e:
        raise _bad(source.where, "the database cannot be read: %s" % e) from None
    finally:
        db.close()


# ---- what users call --------------------------------------------------------------


def _group(column):
    """Where a column stands: what it is of, counters, metrics, what was run."""
    if column in ("version", "key", "hash", "policies"):
        return 3
    return 4 if column.startswith("config.") else 2 if column.startswith("metric.") \
        else 1 if "." in column else 0


def _even(found):
    """The rows with the same columns: those that any has."""
    columns = list(dict.fromkeys(k for row in found for k in row))
    if any(len(row) != len(columns) for row in found):
        columns.sort(key=_group)
        found = [{k: row.get(k) for k in columns} for row in found]
    return found


def rows(source, table=None):
    """The rows of a table of TABLES, a list of dicts.

    source  see the head of this module
    table   "apps" unless given; "quantities" of experiments
    Raises Error: status 66 where there is nothing, 65 where it is no results.
    """
    if table is not None and table not in TABLES:
        raise Error("there is no table %r; there are %s" % (
            table, ", ".join(TABLES)), status=64)
    out = []
    for s in _open(source):
        if s.database:
            out += _database_rows(s, table)
            continue
        own = table or ("quantities" if s.of(EXPERIMENT) else "apps")
        out += ROWS[own](s)
    return _even(out)


def read(source, table=None):
    """rows() as a frame of pandas, which is imported here and nowhere else."""
    try:
        import pandas
    except ImportError as e:
        raise Error("heddle.read() makes a frame of pandas, which cannot be imported "
                    "(%s): apt install python3-pandas or pip install pandas, or "
                    "heddle.rows(), which needs nothing" % e, status=69) from None
    return pandas.DataFrame(rows(source, table))
