// SPDX-License-Identifier: BSD-3-Clause
/* keep: the progress thread comes in while the program is outside of MPI, and only then. */
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As mtl_pm_thread_start leaves it, but that the test is the thread. */
static void open_door(uint32_t gate)
{
	fake_open("udp");
	STAILQ_INIT(&mtl_pm.done);
	pthread_mutex_init(&mtl_pm.lock, NULL);
	ok(mtl_pm_keep_begin());
	mtl_pm_helper.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	mtl_pm_helper.allows_threads = gate;
	mtl_pm_helper.is_parked = true;
	keep_back(&mtl_pm_helper.keep);
	mtl_pm.presence = MTL_PM_OUTSIDE;
	mtl_pm.gate = gate;
	mtl_pm.has_thread = true;
}

static void close_door(void)
{
	is_int(fake.arms, 0);
	close(mtl_pm_helper.event);
	mtl_pm.has_thread = false;
	mtl_pm.gate = 0;
	pthread_mutex_destroy(&mtl_pm.lock);
	fake_close();
}

/* How often the thread was rung for since the last time: 0 or 1. */
static int rings(void)
{
	uint64_t count = 0;

	return read(mtl_pm_helper.event, &count, sizeof(count)) == sizeof(count) ? (int)count : 0;
}

static long barrier(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/* The first test: a process that is registered stays so. */
TAP_TEST(mtl_pm_keep__the_program_waits_for_no_registration)
{
	open_door(0);
	is_int(barrier(), -1);
	mtl_pm_enter();
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	mtl_pm_leave();
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(barrier(), -1);
	is_int(mtl_pm_keep(), KEEP_SETTLE_MS);
	is_int(barrier(), 0);
	close_door();
}

TAP_TEST(mtl_pm_keep__a_program_in_MPI_is_left_alone)
{
	open_door(0);
	for (int i = 0; i < 4; i++) {
		mtl_pm_enter();
		is_int(mtl_pm_keep(), KEEP_DOZE_MS);
		is_int(mtl_pm_keep(), KEEP_DOZE_MS);
		mtl_pm_leave();
		is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	}
	is_int(fake.rounds, 0);
	is_int(mtl_pm.gate, 0);
	is_int(rings(), 0);
	close_door();
}

TAP_TEST(mtl_pm_keep__away_with_nothing_owed_is_a_rest)
{
	open_door(0);
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(mtl_pm_keep(), KEEP_SETTLE_MS);
	is_int(mtl_pm_keep(), KEEP_REST_MS);
	is_int(fake.rounds, 2);
	is_int(mtl_pm.gate, MTL_PM_GATE_TAKEN);
	/* the program comes back: it takes no lock, and the thread dozes again */
	mtl_pm_enter();
	is_int(mtl_pm.gate, 0);
	ok(!mtl_pm.has_lock);
	is_int(rings(), 1);
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	mtl_pm_leave();
	close_door();
}

TAP_TEST(mtl_pm_keep__owed_is_looked_at_again)
{
	open_door(0);
	fake.is_owed = true;
	fake.is_waiting = true;
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(mtl_pm_keep(), KEEP_PACE_MS);
	is_int(mtl_pm_keep(), KEEP_PACE_MS);
	is_int(fake.rounds, 2);
	mtl_pm_enter();
	mtl_pm_leave();
	/* it wakes by itself */
	is_int(rings(), 0);
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(fake.rounds, 2);
	close_door();
}

TAP_TEST(mtl_pm_keep__a_program_with_threads)
{
	open_door(MTL_PM_GATE_SHARED);
	mtl_pm_enter();
	ok(mtl_pm.has_lock);
	/* marked by chance while another thread is inside */
	mtl_pm.presence = MTL_PM_UNSEEN;
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(fake.rounds, 0);
	mtl_pm_leave();
	ok(!mtl_pm.has_lock);
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(mtl_pm_keep(), KEEP_SETTLE_MS);
	is_int(mtl_pm_keep(), KEEP_REST_MS);
	ok(mtl_pm_lock_to_poll());
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	is_int(rings(), 1);
	mtl_pm_leave();
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(fake.rounds, 2);
	close_door();
}

static bool has_helped;

static void note_helping(void)
{
	has_helped = mtl_pm.is_helping;
}

/* PM may ask for the address of a stranger, which is not to be looked up in Open MPI then. */
TAP_TEST(mtl_pm_keep__calls_nothing_of_Open_MPI)
{
	open_door(0);
	fake.at_round = note_helping;
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(mtl_pm_keep(), KEEP_SETTLE_MS);
	ok(has_helped && !mtl_pm.is_helping);
	close_door();
}

/* As where no descriptor is free: the program computes on. */
TAP_TEST(mtl_pm_keep__an_error_of_PM_is_left_to_the_program)
{
	open_door(0);
	fake.is_owed = true;
	fake.round_error = EMFILE;
	is_int(mtl_pm_keep(), KEEP_DOZE_MS);
	is_int(mtl_pm_keep(), KEEP_PACE_MS);
	is_int(fake.rounds, 1);
	close_door();
}

/* --- both at once --- */

enum { CALLS = 250000, ROUNDS_MIN = 1000, CALLS_MAX = 100 * CALLS, LONGEST = 8192 };

static struct {
	uint64_t ours;   /* written inside by both, without anything atomic */
	uint64_t rounds; /* the thread's */
	bool is_inside, has_met, is_over;
} shared;

/* Some microseconds, which is what the thread's steps take. */
static void compute(uint64_t long_)
{
	for (volatile uint64_t i = 0; i < long_; i++)
		;
}

static void be_inside(uint64_t long_)
{
	uint64_t before = shared.ours;

	if (__atomic_exchange_n(&shared.is_inside, true, __ATOMIC_RELAXED))
		shared.has_met = true;
	compute(long_);
	shared.ours = before + 1;
	__atomic_store_n(&shared.is_inside, false, __ATOMIC_RELAXED);
}

static void be_inside_for_a_round(void)
{
	be_inside(LONGEST / 8);
	__atomic_fetch_add(&shared.rounds, 1, __ATOMIC_RELAXED);
}

static void *keep_all_the_time(void *arg)
{
	while (!__atomic_load_n(&shared.is_over, __ATOMIC_ACQUIRE)) {
		mtl_pm_keep();
		rings();
	}
	return arg;
}

/* A program whose calls, and what it computes between them, are of all lengths. */
static uint64_t call_for_long(void)
{
	uint64_t calls = 0;

	while (calls < CALLS || (calls < CALLS_MAX &&
				 __atomic_load_n(&shared.rounds, __ATOMIC_RELAXED) < ROUNDS_MIN)) {
		mtl_pm_enter();
		be_inside(calls * 7 % LONGEST);
		mtl_pm_leave();
		compute(calls++ * 5 % LONGEST);
	}
	return calls;
}

TAP_TEST(mtl_pm_keep__never_inside_with_the_program)
{
	pthread_t thread;
	uint64_t calls;

	open_door(0);
	fake.at_round = be_inside_for_a_round;
	is_int(pthread_create(&thread, NULL, keep_all_the_time, NULL), 0);
	calls = call_for_long();
	__atomic_store_n(&shared.is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	ok(!shared.has_met);
	is_int(shared.ours, calls + shared.rounds);
	close_door();
}
