# SPDX-License-Identifier: BSD-3-Clause
scstepd_NEEDS := jansson ev.h munge.h pmix hwloc
scstepd_LIBS  := $(shell pkg-config --libs pmix hwloc 2>/dev/null)
