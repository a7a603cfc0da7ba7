#!/bin/sh
# locale.sh NAME FOLDER - makes the locale NAME (tr_TR.UTF-8) in FOLDER, where
# LOCPATH=FOLDER finds it; fails where there is no localedef or no source.
#
# SPDX-License-Identifier: MIT
localedef -i "${1%.*}" -f "${1#*.}" "$2/$1" >/dev/null 2>&1
[ -s "$2/$1/LC_NUMERIC" ]
