# SPDX-License-Identifier: BSD-3-Clause
scstest_NEEDS := pmix
scstest_LIBS  := $(shell pkg-config --libs pmix 2>/dev/null) -lm
