// SPDX-License-Identifier: BSD-3-Clause
/* shift: calls of other threads run in the loop, each once and in order, and none after the end. */
#include "scheduler/scstepd/pmix/shift.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/harness/tap.h"

#define CALLS 1000

static struct {
	struct ev_loop *loop;
	int n;
	int last;
	bool is_ordered;
	pthread_t thread; /* that ran the calls */
} t;

struct call {
	int number;
};

static void run(void *arg)
{
	struct call *call = arg;

	t.is_ordered &= call->number == t.last + 1;
	t.last = call->number;
	t.thread = pthread_self();
	t.n++;
	free(call);
}

static int post(int number)
{
	struct call *call = malloc(sizeof(*call));
	int rc;

	call->number = number;
	rc = shift_post(run, call);
	if (rc)
		free(call);
	return rc;
}

static void *post_all(void *arg)
{
	int *failed = arg;

	for (int i = 1; i <= CALLS; i++)
		*failed |= post(i);
	return NULL;
}

static void begin(void)
{
	t.n = t.last = 0;
	t.is_ordered = true;
	t.loop = ev_loop_new(EVFLAG_AUTO);
	shift_open(t.loop);
}

static void finish(void)
{
	shift_close();
	ev_loop_destroy(t.loop);
}

TAP_TEST(shift_post__from_another_thread)
{
	pthread_t thread;
	int failed = 0;

	begin();
	must(!pthread_create(&thread, NULL, post_all, &failed));
	while (t.n < CALLS)
		ev_run(t.loop, EVRUN_ONCE);
	pthread_join(thread, NULL);
	is_int(failed, 0);
	is_int(t.n, CALLS);
	ok(t.is_ordered);
	ok(pthread_equal(t.thread, pthread_self()));
	finish();
}

static void post_again(void *arg)
{
	is_int(t.n, 0);
	is_int(post(1), 0);
	is_int(t.n, 0);
}

TAP_TEST(shift_post__from_within_a_call)
{
	begin();
	is_int(shift_post(post_again, NULL), 0);
	is_int(t.n, 0);
	while (!t.n)
		ev_run(t.loop, EVRUN_ONCE);
	is_int(t.n, 1);
	finish();
}

static void close_it(void *arg)
{
	shift_close();
}

static void count(void *arg)
{
	t.n++;
}

TAP_TEST(shift_close__drops_what_waits)
{
	begin();
	is_int(shift_post(count, NULL), 0);
	shift_close();
	is_int(post(1), -ESHUTDOWN);
	ev_run(t.loop, EVRUN_NOWAIT);
	is_int(t.n, 0);
	/* Twice is fine, and it may be opened again. */
	shift_close();
	shift_open(t.loop);
	is_int(post(1), 0);
	ev_run(t.loop, EVRUN_NOWAIT);
	is_int(t.n, 1);
	finish();
}

TAP_TEST(shift_close__from_within_a_call)
{
	begin();
	is_int(shift_post(close_it, NULL), 0);
	is_int(shift_post(count, NULL), 0);
	ev_run(t.loop, EVRUN_NOWAIT);
	is_int(t.n, 0);
	finish();
}
