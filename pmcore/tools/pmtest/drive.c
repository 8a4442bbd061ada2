// SPDX-License-Identifier: BSD-3-Clause
/*
 * drive - the passes of each test and size: one that verifies every message, some that warm up and
 * find out how many messages fill the time, one that measures.
 */
#include "pmcore/tools/pmtest/drive.h"

#include <errno.h>
#include <stdlib.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/pmtest/command.h"
#include "pmcore/tools/pmtest/pass.h"
#include "pmcore/tools/pmtest/region.h"
#include "pmcore/tools/pmtest/report.h"
#include "pmcore/tools/pmtest/transfer.h"
#include "pmcore/util/clock.h"

#define CHECK_BYTES (4u << 20) /* about so much is verified ... */
#define CHECK_COUNT 32u        /* ... in at most so many messages */
#define DEPTH 16u
#define WARMUP_COUNT 1000u /* before a measurement by iterations */
#define STEADY_NS 20000000 /* a warm-up of that length tells the speed */

/* Of the running measurement, for the progress line. */
static const char *progress_test;
static uint64_t progress_size, progress_shown_ns;

static void show_progress(uint64_t done, uint64_t count)
{
	uint64_t now = clock_monotonic_ns();

	if (now - progress_shown_ns < 200000000)
		return;
	progress_shown_ns = now;
	message_progress("%s, %llu bytes: %llu %%", progress_test,
			 (unsigned long long)progress_size,
			 (unsigned long long)(done * 100 / count));
}

static int verify(struct session *s, const struct plan *plan, struct pass *pass)
{
	uint64_t count = CHECK_BYTES / transfer_bytes(pass->size);

	if (plan->no_check)
		return 0;
	pass->is_checked = true;
	pass->count = count > CHECK_COUNT ? CHECK_COUNT : count;
	return pass_run(s, pass);
}

static double per_second(const struct pass *pass)
{
	return (double)pass->count * 1e9 / (double)pass->elapsed_ns;
}

/*
 * Passes of growing length until one of them lasts, and one more of that length: a hiccup in one
 * must not be taken for the speed. Finds the number of messages per second.
 */
static int warm_up(struct session *s, const struct plan *plan, struct pass *pass, double *ret_per_s)
{
	uint64_t enough = STEADY_NS;
	double first;
	int rc;

	if (plan->seconds > 0 && plan->seconds * 1e9 / 8 < STEADY_NS)
		enough = (uint64_t)(plan->seconds * 1e9 / 8);
	pass->count = 1;
	do {
		rc = pass_run(s, pass);
		if (!rc && pass->elapsed_ns < enough)
			pass->count *= pass->elapsed_ns < enough / 16 ? 8 : 2;
	} while (!rc && pass->elapsed_ns < enough);
	if (rc)
		return rc;
	first = per_second(pass);
	rc = pass_run(s, pass);
	*ret_per_s = per_second(pass) > first ? per_second(pass) : first;
	return rc;
}

static int warm_up_count(struct session *s, const struct plan *plan, struct pass *pass)
{
	uint64_t fallback = pass->count / 10 + 1 < WARMUP_COUNT ? pass->count / 10 + 1
								: WARMUP_COUNT;

	pass->count = plan->warmup == UINT64_MAX ? fallback : plan->warmup;
	return pass->count ? pass_run(s, pass) : 0;
}

static int measure(struct session *s, const struct plan *plan, struct pass *pass)
{
	double per_s = 0;
	int rc = 0;

	pass->is_checked = false;
	pass->count = plan->iterations;
	if (plan->iterations || plan->warmup != UINT64_MAX)
		rc = warm_up_count(s, plan, pass);
	if (!rc && !plan->iterations)
		rc = warm_up(s, plan, pass, &per_s);
	if (rc)
		return rc;
	pass->count = plan->iterations ? plan->iterations : (uint64_t)(per_s * plan->seconds) + 1;
	pass->tick = message_has_progress() ? show_progress : NULL;
	return pass_run(s, pass);
}

static uint64_t depth_of(const struct plan *plan, uint64_t size)
{
	uint64_t depth = plan->depth ? plan->depth : DEPTH;
	uint64_t most = PASS_DEPTH_BYTES / transfer_bytes(size);

	return !plan->depth && depth > most ? most : depth;
}

static int run_case(struct session *s, const struct plan *plan, enum test test, uint64_t size,
		    struct pass *pass)
{
	size_t len;
	int rc = -ENOMEM;

	*pass = (struct pass){.test = test, .size = size, .depth = 1, .samples = pass->samples};
	if (plan_is_one_sided(test))
		pass->depth = depth_of(plan, size);
	len = pass->depth * transfer_bytes(size);
	pass->in = region_memory(len);
	pass->out = region_memory(len);
	progress_test = plan_test_name(test);
	progress_size = size;
	show_progress(0, 1);
	if (pass->in && pass->out)
		rc = boot_random(&pass->seed);
	if (!rc)
		rc = verify(s, plan, pass);
	if (!rc)
		rc = measure(s, plan, pass);
	free(pass->in);
	free(pass->out);
	message_progress_end();
	return rc;
}

static int run_all(struct session *s, const struct plan *plan, struct report *report)
{
	double samples[PASS_SAMPLES];
	struct pass pass = {.samples = samples};
	int rc = 0;

	for (enum test test = 0; test < TESTS && !rc; test++) {
		for (size_t i = 0; i < plan->sizes.count && !rc; i++) {
			if (!plan_has(plan, test, plan->sizes.size[i]))
				continue;
			rc = run_case(s, plan, test, plan->sizes.size[i], &pass);
			if (!rc)
				report_case(report, &pass);
		}
	}
	return rc;
}

/* Agrees on the size of fragments. */
static int greet(struct session *s)
{
	struct command hello = {.type = COMMAND_HELLO, .size = s->mtu};
	int rc;

	if (s->peer == s->self)
		return 0;
	rc = command_send(s, &hello);
	if (!rc)
		rc = command_receive(s, COMMAND_HELLO, &hello);
	if (!rc && hello.size && hello.size < s->mtu)
		s->mtu = hello.size;
	return rc;
}

int drive(struct session *s, const struct plan *plan)
{
	struct command quit = {.type = COMMAND_QUIT};
	struct report report;
	int rc;

	rc = greet(s);
	if (rc)
		return rc;
	report_begin(&report, plan, s);
	rc = run_all(s, plan, &report);
	report_end(&report, rc);
	/* After wrong data both sides still know where they are. */
	if ((!rc || rc == -EBADMSG) && s->peer != s->self && command_send(s, &quit) && !rc)
		return -EPIPE;
	return rc;
}
