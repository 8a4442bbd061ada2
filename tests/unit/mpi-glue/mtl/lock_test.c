// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_lock: the program's way in and out, with nobody else, with threads of its own and with the
 * progress thread, which is the test here. Time passes as the test lets it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mpi-glue/mtl/mtl_pm_batch.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"
#include "tests/harness/stillclock.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define NODE 3
#define COMPUTES_NS 100000 /* a program that was away for longer has computed */

static int affinities; /* looked at: once by each thread that joins the batch */

/* The C library's own: the program's functions come before those of its libraries. */
int sched_getaffinity(pid_t thread, size_t size, cpu_set_t *set)
{
	affinities++;
	errno = ENOSYS;
	return -1;
}

/* ---- */

/* As the progress thread finds the program when it begins to watch; @gate: 0: it is parked. */
static void begin(uint32_t gate)
{
	/* Libraries have looked while they were loaded. */
	affinities = 0;
	fake_open("udp");
	fake_start();
	STAILQ_INIT(&mtl_pm.done);
	pthread_mutex_init(&mtl_pm.lock, NULL);
	memset(&mtl_pm_helper, 0, sizeof(mtl_pm_helper));
	mtl_pm_helper.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	mtl_pm_helper.is_parked = !gate;
	mtl_pm.presence = MTL_PM_OUTSIDE;
	mtl_pm.gate = gate;
	mtl_pm.has_lock = mtl_pm.has_batch = false;
	mtl_pm.n_long = 0;
	mtl_pm.has_thread = mtl_pm.moves_long = true;
}

/* The same without that thread. */
static void begin_alone(uint32_t gate)
{
	begin(gate);
	mtl_pm.has_thread = mtl_pm.moves_long = false;
}

static bool is_free(void)
{
	if (pthread_mutex_trylock(&mtl_pm.lock))
		return false;
	pthread_mutex_unlock(&mtl_pm.lock);
	return true;
}

static void finish(void)
{
	ok(is_free() && !mtl_pm.has_lock);
	is_int(mtl_pm.presence, MTL_PM_OUTSIDE);
	is_int(fake.arms, 0);
	close(mtl_pm_helper.event);
	pthread_mutex_destroy(&mtl_pm.lock);
	mtl_pm.has_thread = mtl_pm.moves_long = false;
	mtl_pm.gate = 0;
	fake_close();
}

/* How often the thread was rung for since the last time. */
static int rings(void)
{
	uint64_t count = 0;

	return read(mtl_pm_helper.event, &count, sizeof(count)) == sizeof(count) ? (int)count : 0;
}

/* ---- in and out ---- */

TAP_TEST(enter__a_program_with_one_thread_takes_no_lock)
{
	begin_alone(0);
	mtl_pm_enter();
	is_int(mtl_pm.presence, MTL_PM_INSIDE);
	ok(is_free() && !mtl_pm.has_lock);
	mtl_pm_leave();
	finish();
}

TAP_TEST(enter__a_program_with_threads_takes_it)
{
	begin_alone(MTL_PM_GATE_SHARED);
	mtl_pm_enter();
	is_int(mtl_pm.presence, MTL_PM_INSIDE);
	ok(!is_free() && mtl_pm.has_lock);
	is_int(affinities, 0);
	mtl_pm_leave();
	finish();
}

TAP_TEST(enter__a_thread_of_the_program_joins_the_others)
{
	begin_alone(MTL_PM_GATE_SHARED);
	affinities = 0;
	mtl_pm.has_batch = mtl_pm_batch_start();
	mtl_pm_enter();
	is_int(affinities, 1);
	mtl_pm_leave();
	mtl_pm_batch_stop();
	finish();
}

static struct fake_receive a, b;
static char order[8]; /* of the requests that were called back for */

static void note(char name)
{
	order[strlen(order)] = name;
	ok(is_free() && !mtl_pm.has_lock && mtl_pm.presence == MTL_PM_OUTSIDE);
}

static void end_b(struct mca_mtl_request_t *req)
{
	note('b');
}

/* The program starts another receive in the callback, whose message is there already. */
static void end_a(struct mca_mtl_request_t *req)
{
	note('a');
	memset(&a, 0xee, sizeof(a));
	mtl_pm_enter();
	fake_prepare(&a, 0);
	a.req.super.completion_callback = end_b;
	mtl_pm_complete(&a.req);
	mtl_pm_leave();
}

static void complete_both(void)
{
	memset(order, 0, sizeof(order));
	fake_prepare(&a, 0);
	fake_prepare(&b, 0);
	a.req.super.completion_callback = end_a;
	b.req.super.completion_callback = end_b;
	mtl_pm_complete(&a.req);
	mtl_pm_complete(&b.req);
}

TAP_TEST(leave__calls_back_outside)
{
	for (uint32_t gate = 0; gate <= MTL_PM_GATE_SHARED; gate++) {
		begin_alone(gate);
		mtl_pm_enter();
		complete_both();
		mtl_pm_leave();
		is_str(order, "abb");
		ok(STAILQ_EMPTY(&mtl_pm.done));
		finish();
	}
}

static int rings_at_callback;

static void count_rings(struct mca_mtl_request_t *req)
{
	note('a');
	rings_at_callback = rings();
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
}

TAP_TEST(leave_and_unpark__the_thread_wakes_before_the_callbacks)
{
	begin(0);
	mtl_pm_enter();
	complete_both();
	a.req.super.completion_callback = count_rings;
	mtl_pm_leave_and_unpark(true);
	is_str(order, "ab");
	is_int(rings_at_callback, 1);
	is_int(rings(), 0);
	finish();
}

TAP_TEST(leave_and_unpark__one_that_watches_is_left_alone)
{
	begin(0);
	mtl_pm_enter();
	complete_both();
	mtl_pm_leave_and_unpark(false);
	is_str(order, "abb");
	is_int(rings(), 0);
	is_int(mtl_pm.gate, 0);
	finish();
}

/* ---- past the progress thread ---- */

TAP_TEST(lock__the_thread_has_parked_meanwhile)
{
	begin(0);
	mtl_pm_come_in();
	/* The gate was closed when we looked. */
	mtl_pm_lock();
	ok(is_free() && !mtl_pm.has_lock);
	mtl_pm_leave();
	finish();
}

TAP_TEST(lock__the_thread_had_come_in_for_the_timers)
{
	begin(MTL_PM_GATE_TAKEN);
	mtl_pm_helper.keep.state = KEEP_KEEPS;
	mtl_pm_enter();
	is_int(mtl_pm.gate, 0);
	ok(is_free() && !mtl_pm.has_lock);
	is_int(mtl_pm_helper.keep.state, KEEP_DOZES);
	/* It wakes soon by itself, */
	is_int(rings(), 0);
	mtl_pm_leave();
	/* ... and not if it rests. */
	mtl_pm.gate = MTL_PM_GATE_TAKEN;
	mtl_pm_helper.keep.state = KEEP_RESTS;
	mtl_pm_enter();
	is_int(rings(), 1);
	mtl_pm_leave();
	finish();
}

TAP_TEST(lock__a_rest_that_is_not_of_the_timers_goes_on)
{
	begin(MTL_PM_GATE_SHARED);
	mtl_pm_helper.keep.state = KEEP_RESTS;
	mtl_pm_enter();
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	is_int(mtl_pm_helper.keep.state, KEEP_RESTS);
	is_int(rings(), 0);
	mtl_pm_leave();
	finish();
}

TAP_TEST(lock__pm_hears_that_somebody_is_awake)
{
	int fd, ms;

	begin(MTL_PM_GATE_SHARED);
	is_int(pmBeforeSelect(1, &fd, &ms), 0);
	mtl_pm_helper.is_armed = true;
	mtl_pm_enter();
	is_int(fake.arms, 0);
	ok(!mtl_pm_helper.is_armed);
	mtl_pm_leave();
	/* Once. */
	mtl_pm_enter();
	is_int(fake.arms, 0);
	mtl_pm_leave();
	finish();
}

/* A thread of the program that calls MPI. */
static void *call(void *ret_presence)
{
	mtl_pm_enter();
	*(uint32_t *)ret_presence = mtl_pm.presence;
	mtl_pm_leave();
	return NULL;
}

static uint32_t waiting(void)
{
	return __atomic_load_n(&mtl_pm_helper.waiting, __ATOMIC_ACQUIRE);
}

TAP_TEST(lock__the_thread_sees_that_somebody_waits)
{
	uint32_t presence = MTL_PM_OUTSIDE;
	pthread_t other;

	begin(MTL_PM_GATE_SHARED);
	pthread_mutex_lock(&mtl_pm.lock);
	is_int(pthread_create(&other, NULL, call, &presence), 0);
	while (!waiting())
		sched_yield();
	is_int(presence, MTL_PM_OUTSIDE);
	pthread_mutex_unlock(&mtl_pm.lock);
	pthread_join(other, NULL);
	is_int(presence, MTL_PM_INSIDE);
	is_int(waiting(), 0);
	finish();
}

/* ---- polls ---- */

TAP_TEST(lock_to_poll__one_of_the_programs_threads_is_at_it)
{
	for (int has_thread = 0; has_thread < 2; has_thread++) {
		begin(MTL_PM_GATE_SHARED);
		mtl_pm.has_thread = has_thread;
		mtl_pm_helper.allows_threads = true;
		pthread_mutex_lock(&mtl_pm.lock);
		mtl_pm_come_in();
		ok(!mtl_pm_lock_to_poll());
		is_int(mtl_pm.presence, MTL_PM_OUTSIDE);
		ok(!mtl_pm.has_lock);
		pthread_mutex_unlock(&mtl_pm.lock);
		mtl_pm_come_in();
		ok(mtl_pm_lock_to_poll());
		ok(mtl_pm.has_lock && !is_free());
		mtl_pm_leave();
		finish();
	}
}

static void *hold_for_a_round(void *arg)
{
	pthread_mutex_lock(&mtl_pm.lock);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	while (!waiting())
		sched_yield();
	pthread_mutex_unlock(&mtl_pm.lock);
	return NULL;
}

TAP_TEST(lock_to_poll__waits_for_the_round_of_the_thread)
{
	bool is_held = false;
	pthread_t thread;

	begin(MTL_PM_GATE_SHARED);
	is_int(pthread_create(&thread, NULL, hold_for_a_round, &is_held), 0);
	while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
		sched_yield();
	mtl_pm_come_in();
	ok(mtl_pm_lock_to_poll());
	ok(mtl_pm.has_lock);
	pthread_join(thread, NULL);
	mtl_pm_leave();
	finish();
}

static void poll_once(void)
{
	mtl_pm_come_in();
	ok(mtl_pm_lock_to_poll());
	mtl_pm_leave();
}

TAP_TEST(lock_to_poll__the_thread_sees_that_the_program_polls)
{
	begin(MTL_PM_GATE_SHARED);
	poll_once();
	poll_once();
	is_int(mtl_pm_helper.polls, 2);
	/* One that keeps the timers alone does not look. */
	mtl_pm.moves_long = false;
	poll_once();
	is_int(mtl_pm_helper.polls, 2);
	finish();
}

/* ---- what the thread is told ---- */

/* The program starts something long, and polls so long afterwards. */
static void start_and_poll_after(uint64_t ns)
{
	mtl_pm_enter();
	mtl_pm_thread_tell();
	mtl_pm_leave();
	stillclock_ns += ns;
	poll_once();
	is_int(mtl_pm_helper.started_ns, 0);
}

TAP_TEST(lock_to_poll__a_program_that_computes_is_believed_to_do_it_again)
{
	begin(MTL_PM_GATE_SHARED);
	start_and_poll_after(COMPUTES_NS + 1);
	is_int(mtl_pm_helper.believed, 8);
	start_and_poll_after(COMPUTES_NS);
	is_int(mtl_pm_helper.believed, 7);
	/* Polls without a start tell nothing. */
	poll_once();
	is_int(mtl_pm_helper.believed, 7);
	for (int i = 0; i < 7; i++)
		start_and_poll_after(COMPUTES_NS + 1);
	is_int(mtl_pm_helper.believed, 63);
	start_and_poll_after(COMPUTES_NS + 1);
	is_int(mtl_pm_helper.believed, 64);
	for (int i = 0; i < 65; i++)
		start_and_poll_after(0);
	is_int(mtl_pm_helper.believed, 0);
	finish();
}

TAP_TEST(thread_tell__the_first_start_since_the_last_poll_counts)
{
	begin(MTL_PM_GATE_SHARED);
	mtl_pm_enter();
	mtl_pm_thread_tell();
	stillclock_ns += COMPUTES_NS;
	mtl_pm_thread_tell();
	mtl_pm_leave();
	stillclock_ns += 1;
	poll_once();
	is_int(mtl_pm_helper.believed, 8);
	finish();
}

/* Whether it has to be unparked, and how often it was rung for. */
static int tell(bool *ret_parked)
{
	mtl_pm_helper.is_told = false;
	mtl_pm_enter();
	*ret_parked = mtl_pm_thread_tell();
	mtl_pm_leave();
	return rings();
}

TAP_TEST(thread_tell__each_state_of_the_thread)
{
	bool is_parked;

	begin(0);
	mtl_pm_helper.believed = 1;
	is_int(tell(&is_parked), 0);
	ok(is_parked);
	/* Parked, while the program has the lock as it has threads. */
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	mtl_pm_helper.believed = 0;
	is_int(tell(&is_parked), 1);
	ok(!is_parked);
	/* Napping, it sees the message soon by itself, unless the program is about to compute. */
	mtl_pm_helper.is_parked = false;
	is_int(tell(&is_parked), 0);
	ok(!is_parked);
	mtl_pm_helper.believed = 1;
	is_int(tell(&is_parked), 1);
	ok(!is_parked);
	finish();
}

TAP_TEST(wake_thread__once_until_it_has_seen_it)
{
	begin(MTL_PM_GATE_SHARED);
	mtl_pm_wake_thread();
	mtl_pm_wake_thread();
	is_int(rings(), 1);
	mtl_pm_helper.is_told = false;
	mtl_pm_wake_thread();
	is_int(rings(), 1);
	finish();
}

TAP_TEST(wake_thread__a_bell_that_is_broken)
{
	begin(MTL_PM_GATE_SHARED);
	close(mtl_pm_helper.event);
	mtl_pm_helper.event = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ok(fake_ends_job(mtl_pm_wake_thread));
	is_str(fake_mpi.why, "mtl/pm: the progress thread cannot be woken: Bad file descriptor");
	finish();
}

/* Whether a start of so many bytes makes the thread be told; parked. */
static bool is_told_of(size_t length)
{
	bool is_parked;

	mtl_pm_helper.started_ns = 0;
	mtl_pm_enter();
	is_parked = mtl_pm_tell_thread(length);
	mtl_pm_leave();
	is_int(mtl_pm_helper.started_ns != 0, is_parked);
	return is_parked;
}

TAP_TEST(tell_thread__of_long_messages_that_are_not_over)
{
	struct mtl_pm_peer *peer;

	begin(0);
	peer = mtl_pm_peer_of_node(NODE);
	ok(!is_told_of(MTL_PM_LONG));
	mtl_pm.n_long = 1;
	ok(is_told_of(MTL_PM_LONG));
	ok(!is_told_of(MTL_PM_LONG - 1));
	mtl_pm.n_long = 0;
	mtl_pm_peer_busy(peer);
	ok(is_told_of(MTL_PM_LONG));
	/* One that keeps the timers moves none. */
	mtl_pm.moves_long = false;
	ok(!is_told_of(MTL_PM_LONG));
	TAILQ_REMOVE(&mtl_pm.busy, peer, busy);
	finish();
}
