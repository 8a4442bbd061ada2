// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_memory: what malloc is told to keep, and that it is told nothing against the user. */
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/mtl/mtl_pm_context.h"
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define MIB (1u << 20)

static struct {
	int calls;
	int threshold, trim; /* as malloc was told last */
} told;

/* The C library's own: the program's functions come before those of its libraries. */
int mallopt(int option, int value)
{
	told.calls++;
	if (option == M_MMAP_THRESHOLD)
		told.threshold = value;
	else if (is_int(option, M_TRIM_THRESHOLD))
		told.trim = value;
	return 1;
}

static void begin(void)
{
	unsetenv("GLIBC_TUNABLES");
	unsetenv("MALLOC_TRIM_THRESHOLD_");
	unsetenv("MALLOC_MMAP_THRESHOLD_");
}

static void keep(unsigned long long bytes)
{
	memset(&told, 0, sizeof(told));
	mtl_pm_memory_keep(bytes);
}

TAP_TEST(memory_keep__large_blocks_are_no_mappings)
{
	begin();
	keep(16 * MIB);
	is_int(told.calls, 2);
	is_int(told.threshold, 16 * MIB);
	is_int(told.trim, 16 * MIB);
}

TAP_TEST(memory_keep__more_than_the_c_library_can)
{
	begin();
	keep(64 * MIB);
	/* A higher one glibc would refuse. */
	is_int(told.threshold, 32 * MIB);
	is_int(told.trim, 64 * MIB);
	keep(1ull << 40);
	is_int(told.threshold, 32 * MIB);
	is_int(told.trim, INT_MAX);
	keep(1ull << 32);
	is_int(told.trim, INT_MAX);
}

TAP_TEST(memory_keep__nothing_to_keep)
{
	begin();
	keep(0);
	is_int(told.calls, 0);
}

/* With this variable in the environment. */
static int calls_with(const char *name, const char *value)
{
	begin();
	setenv(name, value, 1);
	keep(64 * MIB);
	unsetenv(name);
	return told.calls;
}

TAP_TEST(memory_keep__the_user_has_tuned_it)
{
	is_int(calls_with("MALLOC_TRIM_THRESHOLD_", "131072"), 0);
	is_int(calls_with("MALLOC_MMAP_THRESHOLD_", "131072"), 0);
	is_int(calls_with("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=131072"), 0);
	is_int(calls_with("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1:"
					    "glibc.malloc.mmap_threshold=131072"),
	       0);
	/* That is of something else. */
	is_int(calls_with("GLIBC_TUNABLES", "glibc.cpu.x86_rep_movsb_threshold=1"), 2);
}
