# SPDX-License-Identifier: BSD-3-Clause
scored_NEEDS := jansson ev.h munge.h libsodium sqlite3
scored_LIBS  := $(shell pkg-config --libs sqlite3 2>/dev/null)
