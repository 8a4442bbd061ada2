# SPDX-License-Identifier: BSD-3-Clause
scnoded_NEEDS := jansson ev.h munge.h libsodium hwloc
scnoded_HWLOC := $(shell pkg-config --libs hwloc 2>/dev/null)
# Of libpm the checksum of pmcore/wire.
scnoded_LIBS   = $(LIBPM_A) $(scnoded_HWLOC)
