# SPDX-License-Identifier: BSD-3-Clause
scnoded_NEEDS := jansson ev.h munge.h libsodium hwloc
scnoded_LIBS  := $(shell pkg-config --libs hwloc 2>/dev/null)
