"""scenario.py - scenarios by the command: heddle.run("sweep.lua", seeds=2).

The command is that of HEDDLE, if it is set; else the one that was installed or built
with this package; else the one on PATH.  It writes the results of the script to a file
(heddle run --results), and its progress and warnings go through while it runs.

SPDX-License-Identifier: MIT
"""
import codecs
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from .errors import Error

HERE = os.path.dirname(os.path.abspath(__file__))


def near(path):
    """Where a file of the installation, "bin/heddle", and one of the build is, of
    which this package is part, in share/heddle/python or src/shell/python."""
    root = os.path.normpath(os.path.join(HERE, *[os.pardir] * 4))
    if os.path.basename(os.path.dirname(HERE)) != "python":
        return []  # pip has installed it
    return [os.path.join(root, path),
            os.path.join(root, "build", "release", os.path.basename(path))]


def command():
    """The path of the command; Error, with the places that were searched."""
    given = os.environ.get("HEDDLE")
    if given:
        if not (os.path.isfile(given) and os.access(given, os.X_OK)):
            raise Error("HEDDLE=%s: no program is there" % given, status=66)
        return os.path.abspath(given)
    places = near("bin/heddle")
    for path in places:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("heddle")
    if not found:
        raise Error("there is no command heddle: HEDDLE is not set, and none is %s"
                    % ", ".join(places + ["on PATH"]), status=66)
    return os.path.abspath(found)


class Run:
    """What came of a scenario.

    output        what it printed
    messages      what it printed on standard error: progress and warnings
    status        its exit status, 0
    results_path  a JSON of its results (heddle.read(run), heddle.rows(run)); it goes
                  with this object, unless run() was given its path
    """

    def __init__(self, output, messages, status, results_path, folder):
        self.output, self.messages, self.status = output, messages, status
        self.results_path, self._folder = results_path, folder

    def __repr__(self):
        return "<heddle.Run, status %d>" % self.status


def _word(name, value):
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name):
        raise Error("'%s' is no name of an argument: letters, digits, _ and ."
                    % name, status=64)
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (list, tuple)):
        value = ",".join(str(v) for v in value)
    return "%s=%s" % (name, value)


def _terminal():
    """Whether what goes through is seen on a terminal, where progress is a line."""
    try:
        return os.isatty(sys.stderr.fileno()) and os.name == "posix"
    except (AttributeError, OSError, ValueError):
        return False


def _stderr(quiet):
    """(end to read, end for the command) of its standard error."""
    if not quiet and _terminal():
        import pty
        import tty
        try:
            ends = pty.openpty()
            tty.setraw(ends[1])  # lines stay as they are
            return ends
        except OSError:  # a container without /dev/pts: lines, as in a file
            pass
    return os.pipe()


def _forward(end, quiet):
    """Reads what the command says, and passes it on; returns all of it."""
    decode, said = codecs.getincrementaldecoder("utf-8")("replace").decode, []
    while True:
        try:
            data = os.read(end, 4096)
        except OSError:  # a terminal whose other end is closed
            data = b""
        text = decode(data, not data)
        said.append(text)
        if text and not quiet:
            sys.stderr.write(text)
            sys.stderr.flush()
        if not data:
            return "".join(said)


def _why(said, program, status):
    """The error in what a command said: the last "heddle: ", and what follows."""
    lines = re.sub(r"[^\n]*\r", "", said).strip("\n").split("\n")
    at = max((i for i, line in enumerate(lines) if line.startswith("heddle: ")),
             default=None)
    if at is None:
        return "%s: %s" % (program, "ended by signal %d" % -status if status < 0
                           else "exit status %d" % status)
    return "\n".join(lines[at:])[len("heddle: "):]


def _call(words, cwd, quiet, env=None):
    """(output, what was said, exit status) of the command with these words."""
    with tempfile.TemporaryFile() as out:
        end, theirs = _stderr(quiet)
        try:
            # A session of its own: Ctrl-C comes here, and goes there once.
            process = subprocess.Popen(
                [command()] + words, stdin=subprocess.DEVNULL, stdout=out,
                stderr=theirs, cwd=cwd, env=env, start_new_session=True)
        except OSError as e:
            os.close(end)
            raise Error("%s: %s" % (e.filename or "heddle", e.strerror),
                        status=66) from None
        finally:
            os.close(theirs)
        try:
            said = _forward(end, quiet)
            process.wait()
        except BaseException as e:
            process.send_signal(signal.SIGINT if isinstance(e, KeyboardInterrupt)
                                else signal.SIGTERM)
            process.wait()
            raise
        finally:
            os.close(end)
        out.seek(0)
        return out.read().decode("utf-8", "replace"), said, process.returncode


def run(script, arguments=None, *, cwd=None, quiet=False, check=False, results=True,
        **more):
    """Runs a scenario; returns a Run.

    script      path of a Lua file
    arguments   a dict of those that it declares (H.args); keywords are more of them.
                True is true, a list its members with commas between
    cwd         the folder that it runs in
    quiet       progress and warnings are not passed on to sys.stderr
    check       verifies every invariant on the way (heddle run --check)
    results     True; a path, where they are kept; False: none are written
    Raises Error with heddle's message, exit status and output.  Ctrl-C ends the
    command, too.
    """
    given = dict(arguments or {})
    given.update(more)
    folder = path = None
    if results is True:
        folder = tempfile.TemporaryDirectory(prefix="heddle_")
        path = os.path.join(folder.name, "results.json")
    elif results:
        path = os.path.abspath(os.fspath(results))
    words = ["run"] + (["--check"] if check else [])
    words += ["--results", path] if path else []
    words += ["--", os.fspath(script)]
    words += [_word(name, value) for name, value in given.items()]
    output, said, status = _call(words, cwd, quiet)
    if status != 0:
        if folder:
            folder.cleanup()
        raise Error(_why(said, os.fspath(script), status), status=status,
                    output=output)
    return Run(output, said, status, path, folder)


def _quietly(words, cwd=None):
    output, said, status = _call(words, cwd, True)
    if status != 0:
        raise Error(_why(said, "heddle " + words[0], status), status=status,
                    output=output)
    return output


def record(app, path, **parameters):
    """Records an application of heddle's library, or a Lua file that returns one, as a
    trace for heddle.trace(); returns the path.  parameters: size="T", ..."""
    _quietly(["trace", "record", app, os.fspath(path)] +
             [_word(k, v) for k, v in parameters.items()])
    return path


SETTINGS = b"""local H = require "heddle"
local a = H.args { machine = "", file = "" }
H.config_write("-", a.file ~= "" and H.config_read(a.file) or H.machine(a.machine))
"""


def settings(machine="maxwell"):
    """All settings of a machine (heddle list machines), or of a file of settings that
    H.config_write wrote, as a dict of texts, for Sim."""
    machine = os.fspath(machine)
    with tempfile.NamedTemporaryFile(suffix=".lua") as f:
        f.write(SETTINGS)
        f.flush()
        name = "file" if os.path.isfile(machine) else "machine"
        text = _quietly(["run", f.name, _word(name, machine)])
    return dict(re.findall(r"^([a-z0-9_.]+) *= *([^#\n]*?) *(?:#.*)?$", text, re.M))
