#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Line coverage per source file of a build made with --coverage, lowest first.
# usage: mk/coverage.sh BUILD
set -eu
build=$1
find "$build/obj" -name '*.gcda' ! -path '*/tests/*' | while read -r data; do
	gcov -n -o "$(dirname "$data")" "$data" 2>/dev/null
done | awk -F "'" '
	/^File/ { file = $2 }
	/^Lines executed/ && file ~ /\.c$/ {
		split($0, part, /[:%]| of /)
		printf "%6.1f %% of %5d  %s\n", part[2], part[4], file
		file = ""
	}' | sort -n
