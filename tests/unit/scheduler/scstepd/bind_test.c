// SPDX-License-Identifier: BSD-3-Clause
/* bind: on a machine of hwloc's making, with four cores of two processors each. */
#include "scheduler/scstepd/bind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scstepd/small_order.h"

static struct small_order small;
static struct bind *bound;
static char why[256];

/* @ranks ranks here, with @cores cores each. */
static bool open_with(const char *machine, const char *cpus, uint32_t ranks, uint32_t cores,
		      enum job_bind how)
{
	setenv("HWLOC_SYNTHETIC", machine, 1);
	small_order_init(&small, 2, ranks);
	small.order.here = 1;
	small.order.hosts[0].ranks = 99;
	small.job.cores = cores;
	small.job.bind = how;
	why[0] = '\0';
	errno = 0;
	bound = bind_open(&small.order, cpus, why, sizeof(why));
	return bound != NULL;
}

static bool begin(const char *cpus, uint32_t ranks, uint32_t cores, enum job_bind how)
{
	return okf(open_with("core:4 pu:2", cpus, ranks, cores, how), "%s", why);
}

static void finish(void)
{
	bind_close(bound);
	small_order_fini(&small);
}

static void is_text(uint32_t slot, const char *want)
{
	char *text = bind_text(bound, slot);

	is_str(text, want);
	free(text);
}

static void is_mask(uint32_t slot, unsigned long want)
{
	unsigned long *mask = NULL;
	int bytes = bind_mask(bound, slot, &mask);

	if (is_int(bytes, sizeof(*mask)))
		is_int(mask[0], want);
	free(mask);
}

TAP_TEST(bind__a_core_for_each_rank)
{
	must(begin("0,2,4,6", 4, 1, JOB_BIND_CORE));
	is_text(0, "core 0 (cpu 0)");
	is_text(3, "core 3 (cpu 6)");
	is_mask(0, 1ul << 0);
	is_mask(2, 1ul << 4);
	finish();
}

/* scnoded lists them in the order of use. */
TAP_TEST(bind__in_the_order_of_the_list)
{
	must(begin("6,0,4", 3, 1, JOB_BIND_CORE));
	is_mask(0, 1ul << 6);
	is_mask(1, 1ul << 0);
	is_mask(2, 1ul << 4);
	finish();
}

/* Cores that world 0 leaves are for worlds that are spawned. */
TAP_TEST(bind__cores_that_are_left)
{
	must(begin("0,2,4", 2, 1, JOB_BIND_CORE));
	is_mask(2, 1ul << 4);
	is_mask(3, 1ul << 0 | 1ul << 2 | 1ul << 4);
	finish();
}

/* As people count them, and hwloc's own tools. */
TAP_TEST(bind_text__cores_by_their_logical_numbers)
{
	must(okf(open_with("core:4(indexes=7,5,3,1) pu:2", "0,2", 2, 1, JOB_BIND_CORE), "%s", why));
	is_text(1, "core 1 (cpu 2)");
	finish();
}

TAP_TEST(bind__several_cores_for_each_rank)
{
	must(begin("0,2,4,6", 2, 2, JOB_BIND_CORE));
	is_text(0, "core 0-1 (cpu 0,2)");
	is_text(1, "core 2-3 (cpu 4,6)");
	/* A rank of a later world for which there is none has all of the job's. */
	is_text(2, "core 0-3 (cpu 0,2,4,6)");
	finish();
	must(begin("0,2,4", 1, 2, JOB_BIND_CORE));
	is_mask(0, 1ul << 0 | 1ul << 2);
	is_mask(1, 1ul << 0 | 1ul << 2 | 1ul << 4);
	finish();
}

TAP_TEST(bind__not_enough_for_each)
{
	must(begin("0,2,4", 4, 1, JOB_BIND_CORE));
	is_text(0, "core 0-2 (cpu 0,2,4)");
	is_text(3, "core 0-2 (cpu 0,2,4)");
	finish();
	/* Enough for one rank, not for both. */
	must(begin("0,2,4", 2, 2, JOB_BIND_CORE));
	is_mask(0, 1ul << 0 | 1ul << 2 | 1ul << 4);
	finish();
	must(begin("0,2", 1, 3, JOB_BIND_CORE));
	is_mask(0, 1ul << 0 | 1ul << 2);
	finish();
}

TAP_TEST(bind__to_the_host)
{
	must(begin("2,4", 2, 1, JOB_BIND_HOST));
	is_text(0, "core 1-2 (cpu 2,4)");
	is_text(1, "core 1-2 (cpu 2,4)");
	finish();
}

TAP_TEST(bind__not_at_all)
{
	must(begin("2,4", 2, 1, JOB_BIND_NONE));
	is_text(0, "not bound (core 0-3, cpu 0-7)");
	is_mask(1, 0xff);
	finish();
}

/* Without a list nobody is bound, whatever the job wants: its cores are pretended. */
TAP_TEST(bind__no_list)
{
	must(begin("", 2, 1, JOB_BIND_CORE));
	is_text(0, "not bound (core 0-3, cpu 0-7)");
	is_mask(0, 0xff);
	finish();
}

TAP_TEST(bind__cpus_that_the_machine_does_not_have)
{
	must(begin("2,64,4294967296,4,99999999999999999999", 2, 1, JOB_BIND_CORE));
	is_mask(0, 1ul << 2);
	is_mask(1, 1ul << 4);
	finish();
	ok(!open_with("core:4 pu:2", "64", 1, 1, JOB_BIND_CORE));
	is_int(errno, EPERM);
	is_str(why, "host host: none of the cpus 64 may be used by its scnoded; restart it there");
	small_order_fini(&small);
}

/* A list that cannot be read takes nothing away. */
TAP_TEST(bind__a_list_that_is_none)
{
	must(begin("nonsense", 2, 1, JOB_BIND_CORE));
	is_mask(0, 0xff);
	finish();
}

/* Some virtual machines show processors only. */
TAP_TEST(bind__a_machine_without_cores)
{
	must(okf(open_with("pu:4", "1,3", 2, 1, JOB_BIND_CORE), "%s", why));
	is_text(0, "core 1 (cpu 1)");
	is_text(1, "core 3 (cpu 3)");
	finish();
}

TAP_TEST(bind_mask__of_many_processors)
{
	unsigned long *mask = NULL;

	must(okf(open_with("core:100 pu:1", "3,99", 2, 1, JOB_BIND_CORE), "%s", why));
	if (is_int(bind_mask(bound, 1, &mask), 2 * sizeof(*mask))) {
		is_int(mask[0], 0);
		is_int(mask[1], 1ul << (99 - 64));
	}
	free(mask);
	ok(bind_topology(bound) != NULL);
	finish();
	bind_close(NULL);
}
