"""abi.py - see t/781-python-sim.t: a C program with all that simulation.py declares of C,
which the compiler compares with the headers, and whose output is what ctypes has.

    abi.py source        prints the program
    abi.py layout        prints what it prints

SPDX-License-Identifier: MIT
"""
import ctypes
import sys

from heddle import simulation


def signed(kind):
    return int(hasattr(kind, "_type_") and kind in (
        ctypes.c_int, ctypes.c_double))


def layout():
    out = []
    for s in simulation.STRUCTURES:
        out.append("%s %d" % (s.c_name, ctypes.sizeof(s)))
        for name, kind in s._fields_:
            field = getattr(s, name)
            whole = kind in (ctypes.c_int, ctypes.c_double, ctypes.c_uint32,
                             ctypes.c_uint64)
            out.append("%s.%s %d %d %d" % (s.c_name, name, field.offset, field.size,
                                           signed(kind) if whole else -1))
    for name, value in simulation.STATUS.items():
        out.append("%s %d" % (name, value))
    out.append("HEDDLE_USE_REPLACE %d" % simulation.USE_REPLACE)
    out.append("HEDDLE_VERSION_NUMBER %d" % simulation.VERSION_NUMBER)
    return out


def source():
    out = ["#include <stdio.h>", "#include <stddef.h>", '#include "heddle.h"',
           '#include "policy.h"', '#include "heddle_work.h"', "",
           "/* An incompatible declaration of a function is an error here. */",
           simulation.PROTOTYPES, "int main(void)", "{"]
    for s in simulation.STRUCTURES:
        c = "struct " + s.c_name
        out.append('    printf("%s %%zu\\n", sizeof(%s));' % (s.c_name, c))
        for name, kind in s._fields_:
            whole = kind in (ctypes.c_int, ctypes.c_double, ctypes.c_uint32,
                             ctypes.c_uint64)
            sign = "(__typeof__(((%s *)0)->%s))-1 < 0" % (c, name) if whole else "-1"
            out.append('    printf("%s.%s %%zu %%zu %%d\\n", offsetof(%s, %s), '
                       'sizeof(((%s *)0)->%s), (int)(%s));' % (
                           s.c_name, name, c, name, c, name, sign))
    for name in list(simulation.STATUS) + ["HEDDLE_USE_REPLACE", "HEDDLE_VERSION_NUMBER"]:
        out.append('    printf("%s %%d\\n", (int)%s);' % (name, name))
    return out + ["    return 0;", "}"]


print("\n".join(layout() if sys.argv[1] == "layout" else source()))
