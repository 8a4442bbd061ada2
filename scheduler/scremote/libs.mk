# SPDX-License-Identifier: BSD-3-Clause
scremote_NEEDS := jansson ev.h munge.h libsodium nettle
scremote_LIBS  := $(shell pkg-config --libs nettle 2>/dev/null)
