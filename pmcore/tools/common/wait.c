// SPDX-License-Identifier: BSD-3-Clause
/* wait - the slow path of idle polls. */
#include "pmcore/tools/common/wait.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "pmcore/util/clock.h"

#define SPIN_NS 20000u
#define YIELD_NS 100000u
#define LONG_YIELD_NS 1500u /* a yield that finds nobody takes about 450 ns */
#define CHECK_NS 50000000u  /* between two looks whether the others are there */
#define SLEEP_MS 50         /* so that signals and the time limit are seen */
#define ROOM_MS 1           /* not every device wakes a sender when room appears */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

void wait_catch_signals(void)
{
	/* SA_RESETHAND: who asks twice is not kept waiting. No SA_RESTART: sleeps end. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

bool wait_is_interrupted(void)
{
	return interrupted;
}

void wait_init(struct wait *wait, pmContext ctx, uint64_t limit_ns)
{
	*wait = (struct wait){.ctx = ctx, .limit_ns = limit_ns};
}

static void yield(struct wait *wait, uint64_t now)
{
	sched_yield();
	wait->is_shared = clock_monotonic_ns() - now >= LONG_YIELD_NS;
}

/*
 * Until a packet comes in, which may be the acknowledgement that makes room; without spinning
 * before, as pmWait.
 */
static void sleep_at_once(pmContext ctx, int most_ms)
{
	struct pollfd pfd = {.events = POLLIN};
	int timeout_ms;

	if (pmBeforeSelect(ctx, &pfd.fd, &timeout_ms) != PM_SUCCESS)
		return;
	/* An interrupted sleep is as good as a finished one: the caller looks again. */
	poll(&pfd, 1, timeout_ms >= 0 && timeout_ms < most_ms ? timeout_ms : most_ms);
	pmAfterSelect(ctx);
}

/* Whether to stop; asks the kernel rarely. */
static int check(struct wait *wait, uint64_t now)
{
	if (interrupted)
		return -EINTR;
	if (wait->limit_ns && now - wait->since_ns > wait->limit_ns)
		return -ETIMEDOUT;
	if (!wait->is_gone || now - wait->checked_ns < CHECK_NS)
		return 0;
	wait->checked_ns = now;
	return wait->is_gone(wait->arg) ? -ECONNRESET : 0;
}

int wait_slow(struct wait *wait, enum wait_for what)
{
	uint64_t now = clock_monotonic_ns(), idle;

	if (wait->polls <= WAIT_CHECK_POLLS)
		wait->since_ns = now;
	idle = now - wait->since_ns;
	if (wait->how == WAIT_POLLING)
		return check(wait, now);
	if (idle < SPIN_NS && !wait->is_shared && wait->how != WAIT_SLEEPING)
		return 0;
	if ((idle < YIELD_NS || wait->stays_awake) && wait->how != WAIT_SLEEPING)
		yield(wait, now);
	else if (what == WAIT_ROOM)
		sleep_at_once(wait->ctx, ROOM_MS);
	else if (wait->how == WAIT_SLEEPING)
		sleep_at_once(wait->ctx, SLEEP_MS);
	else
		pmWait(wait->ctx, SLEEP_MS);
	return check(wait, now);
}
