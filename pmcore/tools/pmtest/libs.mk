# SPDX-License-Identifier: BSD-3-Clause
pmtest_NEEDS := pmix
pmtest_LIBS  := $(shell pkg-config --libs pmix 2>/dev/null) -lm
