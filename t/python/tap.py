"""tap.py - the Test Anything Protocol for tests of the Python package.

SPDX-License-Identifier: MIT
"""
import heddle

count = failed = 0


def ok(condition, name, note=None):
    global count, failed
    count += 1
    print("%s %d - %s" % ("ok" if condition else "not ok", count, name))
    if not condition:
        failed += 1
        if note is not None:
            print("# " + str(note)[:2000].replace("\n", "\n# "))
    return condition


def same(got, expected, name):
    return ok(got == expected and type(got) is type(expected), name,
              "got      %r\nexpected %r" % (got, expected))


def raises(fn, status, text, name):
    """fn() raises heddle.Error with this exit status and this text in it."""
    try:
        fn()
    except heddle.Error as e:
        ok(e.status == status and text in e.message, name,
           "got      %s: %s\nexpected %s: ...%s..." % (e.status, e, status, text))
        return e
    ok(False, name, "nothing was raised")
    return heddle.Error("")


def done():
    print("1..%d" % count)
    raise SystemExit(1 if failed else 0)
