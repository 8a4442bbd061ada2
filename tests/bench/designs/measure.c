// SPDX-License-Identifier: BSD-3-Clause
#include "tests/bench/designs/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define BATCH_S 2e-3
#define WARM_S 0.02
#define BATCHES_KEPT 4096
#define PATTERN_SHIFT 61 /* bytes between the patterns of two seeds */
#define SEEDS 4
#define CHECKED 3 /* round trips with checked data, before and after */

static unsigned char *pattern, *out, *in;

/*
 * Use by both ranks since a moment: processor time in us, looks that found nothing, ns of each
 * step.
 */
struct used {
	double user_us, kernel_us;
	uint64_t idle;
	uint64_t step_ns[STEPS];
};

void measure_start(void)
{
	size_t bytes = MESSAGE_MAX + SEEDS * PATTERN_SHIFT;

	pattern = malloc(bytes);
	out = aligned_alloc(4096, MESSAGE_MAX);
	in = aligned_alloc(4096, MESSAGE_MAX);
	if (!pattern || !out || !in)
		die("memory for messages");
	for (size_t i = 0; i < bytes; i++)
		pattern[i] = (unsigned char)(i * 2654435761u >> 13);
	memset(out, 1, MESSAGE_MAX);
	memset(in, 2, MESSAGE_MAX);
}

/* --- messages --------------------------------------------------------------------------------- */

static void pull(struct end *end, size_t bytes)
{
	for (size_t done = 0; done < bytes;)
		done += end->design->take(end, in + done, bytes - done);
}

static void trips(struct end *end, size_t bytes, int n)
{
	end->watch.last_ns = end->watch.is_on ? watch_now_ns() : 0;
	for (int i = 0; i < n; i++) {
		if (end->pause_ns && meet_rank == 0)
			end->paused_ns += meet_pause(end->pause_ns);
		if (meet_rank)
			pull(end, bytes);
		end->design->send(end, out, bytes);
		if (!meet_rank)
			pull(end, bytes);
	}
	if (end->design->settle)
		end->design->settle(end);
}

/* Of its own, so that callgrind finds it: what is below it is counted. */
static __attribute__((noinline)) void counted_trips(struct end *end, size_t bytes, int n)
{
	trips(end, bytes, n);
}

static const unsigned char *expected(int seed)
{
	return pattern + seed % SEEDS * PATTERN_SHIFT;
}

static void check(struct end *end, size_t bytes)
{
	for (int seed = 0; seed < CHECKED; seed++) {
		memcpy(out, expected(seed + meet_rank), bytes);
		memset(in, 0, bytes);
		meet();
		trips(end, bytes, 1);
		if (memcmp(in, expected(seed + !meet_rank), bytes))
			die_of(end->design->name, "a message came with wrong data");
	}
}

/* --- batches ---------------------------------------------------------------------------------- */

static double batch(struct end *end, size_t bytes, int n)
{
	double start;

	meet();
	end->paused_ns = 0;
	start = (double)watch_now_ns();
	trips(end, bytes, n);
	return ((double)watch_now_ns() - start - (double)end->paused_ns) / 1e9;
}

/* Round trips of a batch; warms up all that is used. */
static int calibrated(struct end *end, size_t bytes)
{
	double spent = 0;
	int n = 1;

	for (bool is_warm = false;;) {
		double took = batch(end, bytes, n);
		double fitting = n * BATCH_S / took;
		int next = fitting > 2.0 * n ? 2 * n : fitting < 1 ? 1 : (int)fitting;

		spent += took;
		next = (int)meet_tell((uint64_t)next);
		if (is_warm)
			return next;
		is_warm = meet_tell(spent >= WARM_S && next < 2 * n);
		n = next;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct used used_now(const struct end *end)
{
	struct used now = {.idle = end->watch.idle};
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		die("getrusage");
	now.user_us = (double)usage.ru_utime.tv_sec * 1e6 + (double)usage.ru_utime.tv_usec;
	now.kernel_us = (double)usage.ru_stime.tv_sec * 1e6 + (double)usage.ru_stime.tv_usec;
	memcpy(now.step_ns, end->watch.ns, sizeof(now.step_ns));
	return now;
}

/* Of both ranks, since @before. */
static struct used used_since(const struct end *end, const struct used *before)
{
	struct used ours = used_now(end), theirs;

	ours.user_us -= before->user_us;
	ours.kernel_us -= before->kernel_us;
	ours.idle -= before->idle;
	for (int i = 0; i < STEPS; i++)
		ours.step_ns[i] -= before->step_ns[i];
	meet_exchange(&ours, sizeof(ours), &theirs);
	ours.user_us += theirs.user_us;
	ours.kernel_us += theirs.kernel_us;
	ours.idle += theirs.idle;
	for (int i = 0; i < STEPS; i++)
		ours.step_ns[i] += theirs.step_ns[i];
	return ours;
}

/* --- output ----------------------------------------------------------------------------------- */

static void print_steps(const struct used *used, double messages)
{
	static const char *const names[STEPS] = {"build", "send", "wait", "receive", "unpack"};

	printf(", \"steps_us\": {");
	for (int i = 0; i < STEPS; i++)
		printf("%s\"%s\": %.4f", i ? ", " : "", names[i],
		       (double)used->step_ns[i] / 1e3 / messages);
	printf("}");
}

/* @spent: seconds of all batches. */
static void print(const struct end *end, size_t bytes, double *times, int kept, double messages,
		  double spent, const struct used *used)
{
	qsort(times, (size_t)kept, sizeof(*times), by_value);
	printf("{\"design\": \"%s\", \"bytes\": %zu, \"half_rtt_us\": %.4f", end->design->name,
	       bytes, times[kept / 2] / 2);
	printf(", \"mean_us\": %.4f", spent * 1e6 / messages);
	printf(", \"messages\": %.0f, \"user_us\": %.4f, \"kernel_us\": %.4f", messages,
	       used->user_us / messages, used->kernel_us / messages);
	printf(", \"idle\": %.4f", (double)used->idle / messages);
	if (end->watch.is_on)
		print_steps(used, messages);
}

static void run_counted(struct end *end, size_t bytes, int n)
{
	trips(end, bytes, n / 10 + 1);
	meet();
	counted_trips(end, bytes, n);
	if (meet_rank == 0)
		printf("{\"design\": \"%s\", \"bytes\": %zu, \"messages\": %d}\n",
		       end->design->name, bytes, 2 * n);
}

static void run_timed(struct end *end, size_t bytes, const struct measurement *how)
{
	static double times[BATCHES_KEPT];
	double before_ns = how->has_no_line ? 0 : meet_probe(), after_ns, spent = 0;
	int n = calibrated(end, bytes), batches = 0, kept;
	struct used used;
	uint64_t from_ns;

	end->watch.is_on = how->is_stepped;
	end->pause_ns = how->is_paused ? (uint64_t)(BATCH_S * 1e9 / n) : 0;
	used = used_now(end);
	from_ns = watch_now_ns();
	do {
		double took = batch(end, bytes, n);

		spent += took;
		times[batches++ % BATCHES_KEPT] = took / n * 1e6;
	} while (meet_tell(spent < how->seconds));
	kept = batches < BATCHES_KEPT ? batches : BATCHES_KEPT;
	used = used_since(end, &used);
	if (meet_rank == 0) {
		print(end, bytes, times, kept, 2.0 * batches * n, spent, &used);
		printf(", \"from_ns\": %llu, \"to_ns\": %llu", (unsigned long long)from_ns,
		       (unsigned long long)watch_now_ns());
	}
	end->watch.is_on = false;
	end->pause_ns = 0;
	after_ns = how->has_no_line ? 0 : meet_probe();
	if (meet_rank == 0 && !how->has_no_line)
		printf(", \"line_ns\": [%.1f, %.1f]", before_ns, after_ns);
	if (meet_rank == 0)
		printf("}\n");
}

void measure(struct end *end, size_t bytes, const struct measurement *how)
{
	check(end, bytes);
	if (how->operations)
		run_counted(end, bytes, how->operations);
	else
		run_timed(end, bytes, how);
	check(end, bytes);
	fflush(stdout);
}
