#!/bin/sh
# 780-python.t - pins: the rows that the Python package makes of what heddle writes: of
# a store, JSON and SQLite equal, and equal to H.report.csv_wide and csv cell by cell;
# claims of experiments; what is no results, or damaged, is said in words.
#
# SPDX-License-Identifier: MIT
. t/lib/python.sh
wants_python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" t/python/rows.py "$folder"
