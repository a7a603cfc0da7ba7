"""simulation.py - simulations in this process, by libheddle.so: heddle.Sim.

Workloads are traces and plug-ins, as in heddle(3); applications of heddle's library
are Lua, and record() makes traces of them.  Policies are those in C.

The library is that of HEDDLE_LIB, a file or its folder, if it is set; else the one
that was installed or built with this package, or with the command; else the one that
the system's loader finds.  It has to have this package's version: the same major and,
before 1.0, the same minor number, and no older patch.

What C has is declared here as C: PROTOTYPES are lines of heddle.h, and ctypes gets
its types from them; t/780-python.t has a compiler compare them, and every structure,
with the headers.

SPDX-License-Identifier: MIT
"""
import ctypes
import os
import re
import shutil
import time
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char, c_char_p, c_double,
                    c_int, c_size_t, c_uint32, c_uint64, c_void_p)

from .scenario import command, near
from .errors import Error

#: HEDDLE_VERSION_NUMBER of the headers that this file follows.
VERSION_NUMBER = 1000
NAME = "libheddle.so.0"
ALL = 2**32 - 1  # UINT32_MAX: of all applications
FOREVER = 2**64 - 1

PROTOTYPES = """
const char *heddle_status_name(int status);
const char *heddle_version(void);
uint32_t heddle_version_number(void);
heddle_config *heddle_config_new(void);
void heddle_config_free(heddle_config *c);
int heddle_config_set(heddle_config *c, const char *name, const char *value);
int heddle_config_check(heddle_config *c);
const struct heddle_error *heddle_config_error(const heddle_config *c);
void heddle_workload_free(heddle_workload *w);
const char *heddle_workload_name(const heddle_workload *w);
uint64_t heddle_workload_hash(const heddle_workload *w);
heddle_sim *heddle_new(heddle_config *c, const struct heddle_alloc *alloc, heddle_workload *const *workloads, uint32_t n, struct heddle_error *error);
void heddle_free(heddle_sim *s);
const struct heddle_error *heddle_error(const heddle_sim *s);
int heddle_run(heddle_sim *s, uint64_t cycles);
uint64_t heddle_now(const heddle_sim *s);
uint64_t heddle_counted(const heddle_sim *s);
uint64_t heddle_instructions(const heddle_sim *s);
int heddle_set_budget(heddle_sim *s, uint32_t app, uint64_t instructions);
int heddle_set_start(heddle_sim *s, uint32_t app, uint64_t instructions);
void heddle_reset_counters(heddle_sim *s);
uint32_t heddle_apps(const heddle_sim *s);
int heddle_app(const heddle_sim *s, uint32_t app, struct heddle_app_info *out);
uint32_t heddle_kernels(const heddle_sim *s);
int heddle_kernel(const heddle_sim *s, uint32_t i, struct heddle_kernel_info *out);
int heddle_counter(const heddle_sim *s, uint32_t i, struct heddle_counter_info *out);
int heddle_counter_total(const heddle_sim *s, const char *name, uint32_t app, uint64_t *out);
uint64_t heddle_counter_value(const heddle_sim *s, uint32_t i, uint32_t instance, uint32_t app);
int heddle_hist(const heddle_sim *s, uint32_t i, struct heddle_hist_info *out);
int heddle_hist_summary(const heddle_sim *s, uint32_t i, uint32_t app, struct heddle_hist_summary *out);
int heddle_hist_bucket(const heddle_sim *s, uint32_t i, uint32_t app, uint32_t b, struct heddle_hist_bucket *out);
int heddle_sample(const heddle_sim *s, struct heddle_sample_info *out);
int heddle_sample_window(const heddle_sim *s, uint32_t i, struct heddle_window_info *out);
int heddle_object(const heddle_sim *s, uint32_t i, struct heddle_object_info *out);
int heddle_look(heddle_sim *s, const char *object, uint32_t instance, struct heddle_visitor *v);
int heddle_stuck(heddle_sim *s, struct heddle_visitor *v);
int heddle_check(heddle_sim *s);
int heddle_translate(heddle_sim *s, uint32_t app, uint64_t va, uint64_t *pa, uint64_t *page_bytes);
int heddle_snapshot_take(heddle_sim *s, heddle_snapshot **k);
int heddle_snapshot_restore(heddle_sim *s, const heddle_snapshot *k);
void heddle_snapshot_free(heddle_snapshot *k);
const struct heddle_policy *heddle_policy_find(const char *name, const char **nearest);
const struct heddle_policy *heddle_policy_load(const char *path, struct heddle_error *error);
int heddle_use(heddle_sim *s, const struct heddle_policy *p, const char *at, const char *const *names, const uint64_t *values, uint32_t n, uint32_t flags);
int heddle_unuse(heddle_sim *s, const char *name, const char *at);
heddle_workload *heddle_trace_open(const char *path, const struct heddle_trace_options *o, struct heddle_error *error);
const struct heddle_work *heddle_work_load(const char *path, struct heddle_error *error);
heddle_workload *heddle_work_new(const struct heddle_work *work, const struct heddle_work_options *o, struct heddle_error *error);
"""

TYPES = {"int": c_int, "uint32_t": c_uint32, "uint64_t": c_uint64,
         "size_t": c_size_t, "double": c_double, "void": None}


def _type(text):
    """The type of ctypes for a declaration, with or without the name at its end."""
    text = text.strip()
    if re.match(r"const char \*(\w*)$", text):
        return c_char_p
    return c_void_p if "*" in text else TYPES[text.split()[0]]


def prototypes():
    """{ name: (result, arguments) } of PROTOTYPES."""
    out = {}
    for line in PROTOTYPES.strip().split("\n"):
        result, name, args = re.match(
            r"(.*?)(heddle_\w+)\(([^()]*)\);$", line).groups()
        out[name] = (_type(result), [] if args == "void"
                     else [_type(a) for a in args.split(",")])
    return out


# ---- structures -----------------------------------------------------------------------

U32, U64, TEXT = c_uint32, c_uint64, c_char_p


class CError(Structure):
    c_name = "heddle_error"
    _fields_ = [("code", c_int), ("text", c_char * 1024)]


class Info(Structure):
    """One that begins with its size."""

    def __init__(self):
        super().__init__()
        self.size = ctypes.sizeof(self)

    def dict(self):
        return {name: _plain(getattr(self, name))
                for name, *_ in self._fields_ if name != "size"}


class AppInfo(Info):
    c_name = "heddle_app_info"
    _fields_ = [("size", c_size_t), ("name", TEXT), ("footprint", U64),
                ("pages", U64), ("instructions", U64), ("before", U64),
                ("thread_instructions", U64), ("cycles", U64), ("completions", U64),
                ("kernel", U32), ("blocks_done", U64), ("blocks", U64),
                ("finished", c_int), ("truncated", c_int), ("hash", U64)]


class KernelInfo(Info):
    c_name = "heddle_kernel_info"
    _fields_ = [("size", c_size_t), ("name", TEXT), ("app", U32), ("id", U32),
                ("run", U32), ("start", U64), ("end", U64), ("instructions", U64),
                ("thread_instructions", U64), ("blocks", U64), ("launches", U64),
                ("cycles", U64), ("stands_for", U64),
                ("stands_for_instructions", U64), ("unlike", U64), ("stream", U32),
                ("overlap", U64)]


class CounterInfo(Info):
    c_name = "heddle_counter_info"
    _fields_ = [("size", c_size_t), ("component", TEXT), ("name", TEXT),
                ("unit", TEXT), ("meaning", TEXT), ("instances", U32),
                ("peak", c_int), ("level", c_int)]


class HistInfo(Info):
    c_name = "heddle_hist_info"
    _fields_ = [("size", c_size_t), ("component", TEXT), ("name", TEXT),
                ("unit", TEXT), ("meaning", TEXT)]


class HistSummary(Structure):
    c_name = "heddle_hist_summary"
    _fields_ = [(name, U64) for name in ("n", "sum", "min", "max", "p50", "p90",
                                         "p95", "p99")]


class HistBucket(Structure):
    c_name = "heddle_hist_bucket"
    _fields_ = [("from", U64), ("to", U64), ("n", U64)]


class SampleInfo(Info):
    c_name = "heddle_sample_info"
    _fields_ = [("size", c_size_t), ("windows", U64), ("instructions", U64),
                ("launches", U64), ("skipped", U64)]


class WindowInfo(Info):
    c_name = "heddle_window_info"
    _fields_ = [("size", c_size_t), ("first", U64), ("instructions", U64),
                ("cycles", c_double)]


class ObjectInfo(Info):
    c_name = "heddle_object_info"
    _fields_ = [("size", c_size_t), ("name", TEXT), ("instances", U32)]


ROW = CFUNCTYPE(None, c_void_p, TEXT)
NUMBER = CFUNCTYPE(None, c_void_p, TEXT, U64)
WORD = CFUNCTYPE(None, c_void_p, TEXT, TEXT)


class Visitor(Structure):
    c_name = "heddle_visitor"
    _fields_ = [("row", ROW), ("number", NUMBER), ("text", WORD), ("ud", c_void_p)]


class TraceOptions(Structure):
    c_name = "heddle_trace_options"
    _fields_ = [("context", U32), ("keep", U64), ("resident", U64),
                ("registers", U32), ("binary_version", U32), ("shared_bytes", U32),
                ("repair_shared", c_int), ("strict", c_int), ("classes", c_int),
                ("streams", c_int), ("kernels", TEXT), ("blocks", TEXT),
                ("repair", c_int), ("times", U32)]


class WorkOptions(Structure):
    c_name = "heddle_work_options"
    _fields_ = [("names", POINTER(TEXT)), ("values", POINTER(U64)), ("n", U32),
                ("argument", TEXT), ("path", TEXT), ("ud", c_void_p)]


STRUCTURES = (CError, AppInfo, KernelInfo, CounterInfo, HistInfo, HistSummary,
              HistBucket, SampleInfo, WindowInfo, ObjectInfo, Visitor, TraceOptions,
              WorkOptions)

#: enum heddle_status, and the exit status that the command has for each.
STATUS = {"HEDDLE_OK": 0, "HEDDLE_DONE": 1, "HEDDLE_STOPPED": 2, "HEDDLE_ENOMEM": -1,
          "HEDDLE_EINVAL": -2, "HEDDLE_ECONFIG": -3, "HEDDLE_EDATA": -4,
          "HEDDLE_ENOINPUT": -5, "HEDDLE_EIO": -6, "HEDDLE_EPOLICY": -7,
          "HEDDLE_ESTUCK": -8, "HEDDLE_ECHECK": -9, "HEDDLE_EPROGRAM": -10,
          "HEDDLE_ECREATE": -11}
EXIT = {-1: 71, -2: 64, -3: 78, -4: 65, -5: 66, -6: 74, -7: 70, -8: 70, -9: 70,
        -10: 65, -11: 73}
USE_REPLACE = 1  # HEDDLE_USE_REPLACE


def _plain(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _c(text):
    """A text for C."""
    text = os.fspath(text) if hasattr(text, "__fspath__") else str(text)
    if "\0" in text:
        raise Error("a text with a zero byte: %r" % text, status=64)
    return os.fsencode(text)


# ---- the library -----------------------------------------------------------------------


def _places():
    """Where to look, in order: (path, what it is)."""
    given = os.environ.get("HEDDLE_LIB")
    if given:
        if os.path.isdir(given):
            given = os.path.join(given, NAME)
        return [given]
    out = near("lib/" + NAME)
    try:
        folder = os.path.dirname(os.path.realpath(command()))
        out += [os.path.join(folder, NAME),
                os.path.normpath(os.path.join(folder, os.pardir, "lib", NAME))]
    except Error:
        pass
    return list(dict.fromkeys(out)) + [NAME]


def _fits(number):
    """Whether a library of this version is what this file was written for."""
    own, its = divmod(VERSION_NUMBER, 1000000), divmod(number, 1000000)
    if own[0] != its[0]:
        return False
    return number >= VERSION_NUMBER and (
        own[0] > 0 or its[1] // 1000 == own[1] // 1000)


def _text_of(number):
    return "%d.%d.%d" % (number // 1000000, number // 1000 % 1000, number % 1000)


class Library:
    """libheddle.so: path, version, number, and its functions by name."""

    def __init__(self, path):
        self.path = path
        lib = ctypes.CDLL(path)
        try:
            lib.heddle_version_number.restype = c_uint32
            self.number = lib.heddle_version_number()
        except AttributeError:
            raise Error("%s: no heddle_version_number(): no libheddle" % path,
                        status=65) from None
        if not _fits(self.number):
            raise Error("%s: libheddle %s, and this package is for %s: take the one in "
                        "share/heddle/python of that heddle, or set HEDDLE_LIB"
                        % (path, _text_of(self.number), _text_of(VERSION_NUMBER)), status=65)
        for name, (result, arguments) in prototypes().items():
            fn = getattr(lib, name)
            fn.restype, fn.argtypes = result, arguments
            setattr(self, name[len("heddle_"):], fn)
        self.version = _text_of(self.number)

    def fail(self, error):
        """Raises what a struct heddle_error says."""
        name = _plain(self.status_name(error.code))
        raise Error(_plain(error.text), EXIT.get(error.code, 1), error.code, name)


_loaded = {}


def library():
    """The library, which is loaded once; Error, with where it was looked for."""
    places, why = _places(), []
    for path in places:
        if path in _loaded:
            return _loaded[path]
        if path != NAME and not os.path.exists(path):
            why.append("%s: no such file" % path)
            continue
        try:
            _loaded[path] = Library(path)
            return _loaded[path]
        except OSError as e:
            text = str(e)
            why.append(text if text.startswith(path) else "%s: %s" % (path, text))
    raise Error("libheddle.so is not found; HEDDLE_LIB is %s.  Looked for:\n    %s" % (
        "not set" if not os.environ.get("HEDDLE_LIB") else "the only place looked at",
        "\n    ".join(why)), status=66)


# ---- workloads ---------------------------------------------------------------------------


class Workload:
    """What a simulation runs: of trace() or plugin().  One simulation at a time."""

    def __init__(self, lib, pointer, kept=()):
        self._lib, self._pointer, self._kept = lib, pointer, kept

    @property
    def name(self):
        return _plain(self._lib.workload_name(self.pointer))

    @property
    def hash(self):
        """Of everything that defines it: 16 hexadecimal digits."""
        return "%016x" % self._lib.workload_hash(self.pointer)

    @property
    def pointer(self):
        if not self._pointer:
            raise Error("this workload was closed", status=64)
        return self._pointer

    def close(self):
        """Gives it back; a simulation that uses it keeps it until its own end."""
        if self._pointer:
            self._lib.workload_free(self._pointer)
        self._pointer = None

    def __del__(self):
        if getattr(self, "_pointer", None):
            self.close()


def _whole(what, value, most=FOREVER):
    if isinstance(value, bool) or not isinstance(value, int) \
            or not 0 <= value <= most:
        raise Error("%s: a whole number from 0 to %d is expected, not %r"
                    % (what, most, value), status=64)
    return value


def trace(path, **options):
    """A workload of a trace: a kernelslist.g, a .traceg, a container (.hdt), ...

    options are those of struct heddle_trace_options (heddle_work.h): context, kernels
    ("1,5-8,gemm"), blocks ("64"), times, registers, strict, classes, streams, repair.
    """
    lib, o, error = library(), TraceOptions(), CError()
    names = {name for name, *_ in TraceOptions._fields_}
    for name, value in options.items():
        if name not in names:
            raise Error("trace: there is no option '%s'; there are %s" % (
                name, ", ".join(sorted(names))), status=64)
        if name in ("kernels", "blocks"):
            value = _c(value)
        else:
            value = _whole("trace: " + name, int(value) if isinstance(value, bool)
                           else value, FOREVER if name in ("keep", "resident")
                           else 2**31 - 1)
        setattr(o, name, value)
    pointer = lib.trace_open(_c(path), byref(o), byref(error))
    if not pointer:
        lib.fail(error)
    return Workload(lib, pointer)


def _arrays(parameters, what):
    names = (TEXT * len(parameters))(*[_c(n) for n in parameters])
    values = (U64 * len(parameters))(*[
        _whole("%s: %s" % (what, n), v) for n, v in parameters.items()])
    return names, values


def plugin(path, argument=None, **parameters):
    """A workload of a plug-in in C ("./gather.so"), with whole numbers for its
    parameters."""
    lib, error = library(), CError()
    work = lib.work_load(_c(path), byref(error))
    if not work:
        lib.fail(error)
    names, values = _arrays(parameters, "plugin")
    o = WorkOptions(names, values, len(parameters),
                    None if argument is None else _c(argument), _c(path), None)
    pointer = lib.work_new(work, byref(o), byref(error))
    if not pointer:
        lib.fail(error)
    return Workload(lib, pointer, (o, names, values))


# ---- simulations -------------------------------------------------------------------------

WORDS = {0: "ok", 1: "done", 2: "stopped"}


def _policy(text):
    """name:parameter=value@place, as heddle diff has it: (name, at, parameters)."""
    name, _, at = text.partition("@")
    name, *pairs = name.split(":")
    parameters = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not re.fullmatch(r"[0-9]+", value):
            raise Error("policy %s: parameter=number is expected, not '%s'" % (
                name, pair), status=64)
        parameters[key] = int(value)
    return name, at, parameters


class Sim:
    """A simulation: a machine under workloads, each an application from 0 on.

    workloads   a list of Workloads
    settings    a dict, {"l2tlb.entries": 64}: heddle list settings; the rest are
                defaults.  settings() has those of a machine
    policies    a list of texts: names, as "srrip", with parameters and a place,
                "srrip:bits=3@l2cache", or plug-ins, "./x.so"

    Cycles are core cycles.  It is used by one thread at a time, and holds the memory of
    the machine until close(), or the end of a with statement.  What goes wrong is an
    Error with heddle's text.
    """

    def __init__(self, workloads, settings=None, policies=()):
        self._lib, self._pointer, self.status = library(), None, "ready"
        if isinstance(workloads, Workload):
            workloads = [workloads]
        lib, error = self._lib, CError()
        given = (c_void_p * max(1, len(workloads)))(*[w.pointer for w in workloads])
        config = lib.config_new()
        if not config:
            raise Error("not enough memory", 71, -1, "HEDDLE_ENOMEM")
        try:
            for name, value in (settings or {}).items():
                if isinstance(value, bool):
                    value = "true" if value else "false"
                if lib.config_set(config, _c(name), _c(value)) < 0:
                    self._config_failed(config)
            if lib.config_check(config) < 0:
                self._config_failed(config)
            self._pointer = lib.new(config, None, given, len(workloads),
                                    byref(error))
        finally:
            lib.config_free(config)
        if not self._pointer:
            lib.fail(error)
        try:
            for text in [policies] if isinstance(policies, str) else policies:
                name, at, parameters = _policy(text)
                self.use(name, at, **parameters)
        except BaseException:
            self.close()
            raise

    def _config_failed(self, config):
        found = CError.from_address(self._lib.config_error(config))
        self._lib.fail(CError(found.code, found.text))

    @property
    def pointer(self):
        if not self._pointer:
            raise Error("this simulation was closed", status=64)
        return self._pointer

    def _checked(self, status):
        """A status of C: its number, or the error of the simulation."""
        if status >= 0:
            return status
        found = CError.from_address(self._lib.error(self.pointer))
        if found.code == 0:  # a call that only describes
            found = CError(status, b"no such number, name or value")
        self._lib.fail(CError(found.code, found.text))

    # ---- life

    def run(self, cycles=None, progress=None):
        """Runs at most so many cycles, to the end unless given.  Returns "done" (all
        applications have finished), "stopped" (a stop condition), or "ok".

        progress(sim) is called several times a second.  Ctrl-C ends the call with
        KeyboardInterrupt between two cycles; the simulation can continue."""
        left = FOREVER if cycles is None else _whole("run: cycles", cycles)
        part = 10000
        while True:
            n, start = min(part, left), time.monotonic()
            try:
                self.status = WORDS[self._checked(self._lib.run(self.pointer, n))]
            except Error as e:
                self.status = e.name or "error"
                raise
            if cycles is not None:
                left -= n
            if progress:
                progress(self)
            if self.status != "ok" or left == 0:
                return self.status
            if time.monotonic() - start < 0.05:
                part *= 2
            elif time.monotonic() - start > 0.2:
                part = max(1000, part // 2)

    def step(self, cycles=1):
        """Runs so many cycles, 1 unless given; returns the cycle it is now."""
        self.run(cycles)
        return self.now

    def close(self):
        """Gives the memory back."""
        if self._pointer:
            self._lib.free(self._pointer)
        self._pointer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_pointer", None):
            self.close()

    def __repr__(self):
        return "<heddle.Sim, %s>" % ("closed" if not self._pointer
                                     else "%s at cycle %d" % (self.status, self.now))

    @property
    def now(self):
        """Cycles since the start."""
        return self._lib.now(self.pointer)

    @property
    def counted(self):
        """Cycles that the counters of all cover."""
        return self._lib.counted(self.pointer)

    @property
    def instructions(self):
        """Warp instructions of all applications."""
        return self._lib.instructions(self.pointer)

    def set_budget(self, app, instructions):
        """An application's own budget of warp instructions, before the first run."""
        self._checked(self._lib.set_budget(self.pointer, _whole("app", app, ALL),
                                           _whole("instructions", instructions)))

    def set_start(self, app, instructions):
        """An application counts from its instruction of this number on."""
        self._checked(self._lib.set_start(self.pointer, _whole("app", app, ALL),
                                          _whole("instructions", instructions)))

    # ---- policies

    def use(self, name, at="", replace=False, **parameters):
        """Binds a policy in C: its name, or "./x.so"; at: one structure ("l2cache");
        replace: others that answer the same points are unbound."""
        lib, error = self._lib, CError()
        if os.sep in name:
            policy = lib.policy_load(_c(name), byref(error))
            if not policy:
                lib.fail(error)
        else:
            nearest = c_char_p()
            policy = lib.policy_find(_c(name), byref(nearest))
            if not policy:
                raise Error("there is no policy '%s' in C%s; those in Lua are for "
                            "scenarios (heddle.run)" % (
                                name, " (did you mean '%s'?)" % _plain(nearest.value)
                                if nearest.value else ""), 78, -3, "HEDDLE_ECONFIG")
        names, values = _arrays(parameters, "policy " + name)
        self._checked(lib.use(self.pointer, policy, _c(at), names, values,
                              len(parameters), USE_REPLACE if replace else 0))

    def unuse(self, name=None, at=None):
        """Unbinds policies of this name at this place, any unless given; how many."""
        return self._checked(self._lib.unuse(
            self.pointer, None if name is None else _c(name),
            None if at is None else _c(at)))

    # ---- what happened

    def _all(self, call, kind):
        """What a call of C describes by number, until there is no more."""
        i = 0
        while True:
            info = kind()
            if call(self.pointer, i, byref(info)) < 0:
                return
            yield i, info
            i += 1

    def _app(self, app):
        n = self._lib.apps(self.pointer)
        if app is None:
            return ALL
        if _whole("app", app, ALL) >= n:
            raise Error("there is no application %d; there are %d, from 0"
                        % (app, n), status=64)
        return app

    def apps(self):
        """A dict for each application, as struct heddle_app_info (heddle.h)."""
        out = []
        for i in range(self._lib.apps(self.pointer)):
            info = AppInfo()
            self._checked(self._lib.app(self.pointer, i, byref(info)))
            row = info.dict()
            row.update(app=i, finished=bool(info.finished),
                       truncated=bool(info.truncated), hash="%016x" % info.hash)
            out.append(row)
        return out

    def kernels(self):
        """A dict for each launch, as struct heddle_kernel_info."""
        out = []
        for i in range(self._lib.kernels(self.pointer)):
            info = KernelInfo()
            self._checked(self._lib.kernel(self.pointer, i, byref(info)))
            out.append(info.dict())
        return out

    def counters(self, app=None):
        """{"l2tlb.hits": 66, ...}: of one application, or of all and none, over all
        copies of each component."""
        app, out, value = self._app(app), {}, c_uint64()
        for _, info in self._all(self._lib.counter, CounterInfo):
            name = info.component + b"." + info.name
            self._checked(self._lib.counter_total(self.pointer, name, app,
                                                  byref(value)))
            out[_plain(name)] = value.value
        return out

    def counter(self, name, app=None):
        """One of them."""
        value, app = c_uint64(), self._app(app)
        if self._lib.counter_total(self.pointer, _c(name), app, byref(value)) < 0:
            raise Error("there is no counter '%s' (heddle list counters)" % name,
                        64, -2, "HEDDLE_EINVAL")
        return value.value

    def counter_info(self):
        """A dict for each: component, name, unit, meaning, instances, peak, level."""
        return [dict(info.dict(), peak=bool(info.peak), level=bool(info.level))
                for _, info in self._all(self._lib.counter, CounterInfo)]

    def instances(self, name, app=None):
        """A counter in each copy of its component: a list."""
        n, app = self._lib.apps(self.pointer), self._app(app)
        for i, info in self._all(self._lib.counter, CounterInfo):
            if info.component + b"." + info.name == _c(name):
                apps = range(n + 1) if app == ALL else [app]
                fold = max if info.peak else sum
                return [fold(self._lib.counter_value(self.pointer, i, k, a)
                             for a in apps) for k in range(info.instances)]
        raise Error("there is no counter '%s' (heddle list counters)" % name,
                    64, -2, "HEDDLE_EINVAL")

    def reset_counters(self):
        """Sets all counters to 0."""
        self._lib.reset_counters(self.pointer)

    def histograms(self, app):
        """{"walk.cycles": {"n", "sum", "min", "max", "p50", ..., "buckets": [(from,
        to, n), ...]}, ...} of an application."""
        app, out = self._app(_whole("app", app, ALL)), {}
        for i, info in self._all(self._lib.hist, HistInfo):
            s, buckets, b, at = HistSummary(), [], HistBucket(), 0
            self._checked(self._lib.hist_summary(self.pointer, i, app, byref(s)))
            while self._lib.hist_bucket(self.pointer, i, app, at, byref(b)) >= 0:
                if b.n:
                    buckets.append((getattr(b, "from"), b.to, b.n))
                at += 1
            out[_plain(info.component + b"." + info.name)] = dict(
                {name: getattr(s, name) for name, _ in s._fields_},
                unit=_plain(info.unit), buckets=buckets)
        return out

    def samples(self):
        """What was simulated in detail of a sampled run (sample.every,
        sample.launches), with its windows; None: nothing is sampled."""
        info = SampleInfo()
        if self._lib.sample(self.pointer, byref(info)) < 0:
            return None
        return dict(info.dict(), windows=[w.dict() for _, w in self._all(
            self._lib.sample_window, WindowInfo)])

    # ---- looking inside

    def _visit(self, call):
        rows = []
        visitor = Visitor(
            ROW(lambda ud, kind: rows.append({"kind": _plain(kind)})),
            NUMBER(lambda ud, field, v: rows[-1].update({_plain(field): v})),
            WORD(lambda ud, field, v: rows[-1].update({_plain(field): _plain(v)})),
            None)
        self._checked(call(byref(visitor)))
        return rows

    def objects(self):
        """{"l1tlb": 30, ...}: what can be looked at, and how many copies there are."""
        return {_plain(info.name): info.instances
                for _, info in self._all(self._lib.object, ObjectInfo)}

    def look(self, name, instance=0):
        """The entries of one copy, a dict each."""
        return self._visit(lambda v: self._lib.look(
            self.pointer, _c(name), _whole("instance", instance, ALL), v))

    def stuck(self):
        """What waits for what, a dict each."""
        return self._visit(lambda v: self._lib.stuck(self.pointer, v))

    def check(self):
        """Verifies every invariant now; Error names the one that fails."""
        self._checked(self._lib.check(self.pointer))

    def translate(self, app, address):
        """(physical address, bytes of the page), as the page table has it, or None."""
        pa, size = c_uint64(), c_uint64()
        if self._lib.translate(self.pointer, self._app(_whole("app", app, ALL)),
                               _whole("address", address), byref(pa),
                               byref(size)) < 0:
            return None
        return pa.value, size.value

    # ---- snapshots

    def snapshot(self):
        """A copy of the state, for restore()."""
        return Snapshot(self)

    def restore(self, snapshot):
        """Puts a state back, of this simulation or one of the same settings, workloads
        and policies."""
        self._checked(self._lib.snapshot_restore(self.pointer, snapshot.pointer))
        self.status = snapshot.status


class Snapshot:
    """A state of a simulation."""

    def __init__(self, sim):
        self._lib, self.pointer, self.status = sim._lib, None, sim.status
        pointer = c_void_p()
        sim._checked(self._lib.snapshot_take(sim.pointer, byref(pointer)))
        self.pointer = pointer.value

    def close(self):
        """Gives its memory back."""
        if self.pointer:
            self._lib.snapshot_free(self.pointer)
        self.pointer = None

    def __del__(self):
        if getattr(self, "pointer", None):
            self.close()
