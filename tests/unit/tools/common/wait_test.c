// SPDX-License-Identifier: BSD-3-Clause
/* How an idle loop uses the core: it polls or it sleeps. */
#include "pmcore/tools/common/wait.h"

#include <sys/resource.h>

#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define POLLING_NS 2000000u      /* far beyond the time after which the gradual loop sleeps */
#define SLEEPING_NS 10000000000u /* however busy the machine is */

static bool open_wait(struct wait *wait, enum wait_how how)
{
	const struct pmOptions options = {
		.size = sizeof(options), .job_key = 1, .nodes = 1, .config = "devices=self"};
	pmContext ctx;

	if (!is_int(pmOpenContext(&options, &ctx), 0))
		return false;
	wait_init(wait, ctx, 0);
	wait->how = how;
	return true;
}

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Idle polls for that long, or until they sleep; whether they did. */
static bool slept(struct wait *wait, uint64_t ns)
{
	uint64_t end = clock_monotonic_ns() + ns;
	long before = sleeps();

	while (clock_monotonic_ns() < end && sleeps() == before)
		is_int(wait_idle(wait, WAIT_MESSAGE), 0);
	return sleeps() != before;
}

TAP_TEST(wait_idle__sleeps_in_the_end)
{
	struct wait wait;

	must(open_wait(&wait, WAIT_GRADUALLY));
	ok(slept(&wait, SLEEPING_NS));
	is_int(pmCloseContext(wait.ctx), 0);
}

TAP_TEST(wait_idle__polls_for_ever)
{
	struct wait wait;

	must(open_wait(&wait, WAIT_POLLING));
	ok(!slept(&wait, POLLING_NS));
	is_int(pmCloseContext(wait.ctx), 0);
}

TAP_TEST(wait_idle__sleeps_at_once)
{
	struct wait wait;
	long before;

	must(open_wait(&wait, WAIT_SLEEPING));
	wait.stays_awake = true;
	before = sleeps();
	is_int(wait_idle(&wait, WAIT_MESSAGE), 0);
	ok(sleeps() > before);
	is_int(pmCloseContext(wait.ctx), 0);
}
