# SPDX-License-Identifier: BSD-3-Clause
scstest_NEEDS := pmix
scstest_LIBS  := $(PMIX_LIBS) -lm
