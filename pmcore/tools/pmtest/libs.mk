# SPDX-License-Identifier: BSD-3-Clause
pmtest_NEEDS := pmix
pmtest_LIBS  := $(PMIX_LIBS) -lm
