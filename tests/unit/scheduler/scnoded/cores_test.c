// SPDX-License-Identifier: BSD-3-Clause
/*
 * cores: on machines of hwloc's making. The processors that this process may use are the test's,
 * as hwloc does not ask the kernel about such a machine.
 */
#include "scheduler/scnoded/cores.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "tests/harness/tap.h"

#define FOUR_CORES "core:4 pu:2" /* cpus 0 and 1 are the first one */

static const char *allowed; /* to this process; NULL: the kernel does not tell */
static struct cores *cores;
static char why[256];

int hwloc_get_cpubind(hwloc_topology_t topology, hwloc_cpuset_t set, int flags)
{
	ok(topology != NULL);
	is_int(flags, HWLOC_CPUBIND_PROCESS);
	return allowed ? hwloc_bitmap_list_sscanf(set, allowed) : -1;
}

static bool open_on(const char *machine, const char *may, const char *request)
{
	setenv("HWLOC_SYNTHETIC", machine, 1);
	allowed = may;
	why[0] = '\0';
	cores = cores_open(request, why, sizeof(why));
	return cores != NULL;
}

static void finish(void)
{
	cores_close(cores);
	cores = NULL;
}

/* All of them, in their order. */
static void are(const char *want)
{
	uint32_t numbers[16], n = cores_count(cores);
	char *list;

	must(n <= 16);
	for (uint32_t i = 0; i < n; i++)
		numbers[i] = i;
	list = cores_list(cores, numbers, n);
	is_str(list, want);
	free(list);
}

static void has_mask(unsigned long want)
{
	size_t bytes = 0;
	const unsigned long *mask = cores_mask(cores, &bytes);

	is_int(bytes, sizeof(*mask));
	ok(mask && *mask == want);
}

static void opens(const char *machine, const char *may, const char *request, const char *list,
		  unsigned long mask)
{
	must(okf(open_on(machine, may, request), "%s", why));
	are(list);
	has_mask(mask);
	finish();
}

static void is_refused(const char *may, const char *request, const char *want)
{
	ok(!open_on(FOUR_CORES, may, request));
	is_str(why, want);
	finish();
}

TAP_TEST(cores_open__one_processor_of_each_core)
{
	opens(FOUR_CORES, "0-7", NULL, "0,2,4,6", 0xff);
	/* The other thread of a core if the first one is not allowed. */
	opens(FOUR_CORES, "1,4-5", NULL, "1,4", 0x32);
	/* The kernel does not tell: all of the machine. */
	opens(FOUR_CORES, NULL, NULL, "0,2,4,6", 0xff);
}

TAP_TEST(cores_open__neighbours_share_caches)
{
	opens("package:2 core:2 pu:1(indexes=0,2,1,3)", "0-3", NULL, "0,2,1,3", 0xf);
}

TAP_TEST(cores_open__list)
{
	opens(FOUR_CORES, "0-7", "4-7,0", "0,4,6", 0xf1);
	/* Only of the allowed ones. */
	opens(FOUR_CORES, "2-5", "0-3,5", "2,5", 0x2c);
	/* And of those that are there. */
	opens(FOUR_CORES, "0-7", "6-99", "6", 0xc0);
	opens(FOUR_CORES, NULL, "3", "3", 0x8);
	opens(FOUR_CORES, "0-7", "3-", "3,4,6", 0xf8);
	opens(FOUR_CORES, "0-7", "0 2-3,, 6", "0,2,6", 0x4d);
}

TAP_TEST(cores_open__machine_without_cores)
{
	opens("numa:1 pu:3", "0-2", NULL, "0,1,2", 0x7);
	opens("numa:1 pu:3", "0-2", "1-2", "1,2", 0x6);
}

TAP_TEST(cores_open__none_is_left)
{
	is_refused("0-3", "4-7", "--cores 4-7: none of them is there and allowed to this process");
	is_refused("0-7", "8", "--cores 8: none of them is there and allowed to this process");
}

TAP_TEST(cores_open__no_list)
{
	static const char *const wrong[] = {
		"",         "all", "-1", ",1",   " 1",   "1,a",   "1;2",
		"0-3:2",    "0x3", "1,", "1--3", "1-a",  "1-,3",  "1-2-3",
		"0	1", "1.5", "08", "010",  "0-09", "08-15", "1,00",
	};
	char want[100];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(want, sizeof(want),
			 "--cores %s: wanted is a list of processors such as 0-3,8", wrong[i]);
		is_refused("0-7", wrong[i], want);
	}
}

TAP_TEST(cores_open__as_if_there_were_so_many)
{
	const uint32_t numbers[] = {0, 4};
	size_t bytes = 77;
	char *list;

	must(open_on(FOUR_CORES, "0", "5x"));
	is_int(cores_count(cores), 5);
	list = cores_list(cores, numbers, 2);
	is_str(list, "");
	free(list);
	ok(!cores_mask(cores, &bytes));
	is_int(bytes, 0);
	finish();
}

TAP_TEST(cores_open__bounds_of_a_pretended_number)
{
	static const char *const wrong[] = {"x",
					    "0x",
					    "4097x",
					    "-5x",
					    "5xx",
					    "5 x",
					    "+5x",
					    "1.5x",
					    " 5x",
					    "1e3x",
					    "0-3x",
					    "0x5x",
					    "99999999999999999999x",
					    "-18446744073709551611x"};
	char want[100];

	must(open_on(FOUR_CORES, "0", "1x"));
	is_int(cores_count(cores), 1);
	finish();
	must(open_on(FOUR_CORES, "0", "4096x"));
	is_int(cores_count(cores), 4096);
	finish();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(want, sizeof(want),
			 "--cores %s: wanted is a list of processors, or 1x to 4096x", wrong[i]);
		is_refused("0-7", wrong[i], want);
	}
}

TAP_TEST(cores_list__some)
{
	const uint32_t some[] = {2, 0}, beyond[] = {4, 3, UINT32_MAX};
	char *list;

	must(open_on(FOUR_CORES, "0-7", NULL));
	list = cores_list(cores, some, 2);
	is_str(list, "4,0");
	free(list);
	/* A number that there is not has no processor. */
	list = cores_list(cores, beyond, 3);
	is_str(list, "6");
	free(list);
	list = cores_list(cores, some, 0);
	is_str(list, "");
	free(list);
	finish();
}

TAP_TEST(cores_mask__more_processors_than_bits_of_a_word)
{
	const unsigned long *mask;
	const uint32_t last[] = {2};
	size_t bytes = 0;
	char *list;

	must(open_on("core:80 pu:2", "0-159", "0,64,159"));
	mask = cores_mask(cores, &bytes);
	is_int(bytes, 3 * sizeof(*mask));
	must(mask && bytes == 3 * sizeof(*mask));
	ok(mask[0] == 1 && mask[1] == 1 && mask[2] == 1ul << 31);
	list = cores_list(cores, last, 1);
	is_str(list, "159");
	free(list);
	finish();
}

TAP_TEST(cores_close__nothing)
{
	cores_close(NULL);
	ok(!cores);
}

TAP_TEST(cores_memory__as_the_kernel_tells)
{
	struct sysinfo host;

	must(!sysinfo(&host));
	is_int(cores_memory(), (uint64_t)host.totalram * host.mem_unit);
	ok(cores_memory_free() > 0 && cores_memory_free() < cores_memory());
}
