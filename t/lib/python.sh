# python.sh - the Python of a test: the first python3 that has all of these modules,
# in $python, or the test is skipped.
#
#     . t/lib/python.sh
#     wants_python pandas
#     "$python" -B t/python/x.py
#
# Of a sanitizer's build the library cannot be loaded into Python.
#
# SPDX-License-Identifier: MIT
PYTHONPATH=$PWD/src/shell/python:$PWD/t/python
PYTHONDONTWRITEBYTECODE=1
HEDDLE_LIB=$PWD/$HEDDLE_BUILD
case $HEDDLE_BUILD in /*) HEDDLE_LIB=$HEDDLE_BUILD ;; esac
export PYTHONPATH PYTHONDONTWRITEBYTECODE HEDDLE_LIB

wants_python() {
    case $HEDDLE_BUILD in
    *address* | *undefined* | *coverage*)
        echo "1..0 # SKIP the library of this build cannot be loaded into Python"
        exit 0
        ;;
    esac
    for python in python3 /usr/bin/python3; do
        # shellcheck disable=SC2016 # of Python
        "$python" -c 'import sys, importlib
for name in sys.argv[1:]: importlib.import_module(name)' "$@" 2>/dev/null && return
    done
    # shellcheck disable=SC2046 # words
    echo "1..0 # SKIP no" $(IFS=' '; echo "python3${1:+ with $*}")
    exit 0
}
