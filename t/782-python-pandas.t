#!/bin/sh
# 782-python-pandas.t - pins: heddle.read() makes frames of pandas, whose columns are
# numbers where heddle's are; the notebook of the manual runs from its first cell to
# its last, and shows what its text says.
#
# SPDX-License-Identifier: MIT
. t/lib/python.sh
wants_python pandas
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{
    "$python" t/python/frame.py "$folder"
    "$python" t/python/notebook.py
} | awk '/^1\.\./ { next }
    /^(not )?ok / { n++; sub(/[0-9]+/, n) }
    { print } END { print "1.." n }'
