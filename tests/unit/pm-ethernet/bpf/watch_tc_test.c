// SPDX-License-Identifier: BSD-3-Clause
/* watch_test.c once more, for the programs at tc. */
#define BED_IS_TC true
#include "tests/unit/pm-ethernet/bpf/watch_test.c"
