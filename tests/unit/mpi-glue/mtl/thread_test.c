// SPDX-License-Identifier: BSD-3-Clause
/* mtl_pm_thread: how the progress thread starts and stops, and what it does while it is parked. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/unit/mpi-glue/mtl/fake_thread.h"

/* ---- starts ---- */

TAP_TEST(start__is_parked_beside_a_program_without_threads)
{
	sigset_t mine;

	started();
	ok(thread.run && mtl_pm.has_thread && mtl_pm.moves_long);
	ok(mtl_pm_helper.is_parked && !mtl_pm_helper.allows_threads);
	is_int(mtl_pm.gate, 0);
	/* which takes a while, and is the thread's to do */
	is_int(thread.registrations, 0);
	is_str(thread.name, "mtl-pm");
	/* Signals are for the program's threads. */
	ok(sigismember(&thread.blocked, SIGTERM) && sigismember(&thread.blocked, SIGINT));
	pthread_sigmask(SIG_BLOCK, NULL, &mine);
	ok(!sigismember(&mine, SIGTERM));
	ok(fcntl(mtl_pm_helper.event, F_GETFD) & FD_CLOEXEC);
	finish();
}

TAP_TEST(start__keeps_timers_alone)
{
	begin(0);
	is_int(mtl_pm_thread_start(), 0);
	ok(mtl_pm.has_thread && !mtl_pm.moves_long);
	finish();
}

TAP_TEST(start__beside_a_program_with_threads)
{
	begin(1);
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	is_int(mtl_pm_thread_start(), 0);
	ok(mtl_pm_helper.allows_threads && mtl_pm_helper.is_parked);
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	finish();
}

/* Then the program takes the lock always. */
TAP_TEST(start__on_a_kernel_without_its_barrier)
{
	begin(1);
	thread.membarrier = -1;
	is_int(mtl_pm_thread_start(), 0);
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	finish();
}

static void is_refused(int error)
{
	is_int(mtl_pm_thread_start(), error);
	ok(!mtl_pm.has_thread && !mtl_pm.moves_long);
}

TAP_TEST(start__no_thread_is_to_be_had)
{
	for (uint32_t gate = 0; gate <= MTL_PM_GATE_SHARED; gate++) {
		begin(1);
		mtl_pm.gate = gate;
		thread.create_error = EAGAIN;
		thread.membarrier = -1;
		is_refused(EAGAIN);
		is_int(mtl_pm.gate, gate);
		ok(fcntl(mtl_pm_helper.event, F_GETFD) < 0);
		finish();
		is_int(thread.joins, 0);
	}
}

TAP_TEST(start__no_descriptor_is_to_be_had)
{
	struct rlimit before, none;

	begin(1);
	must(!getrlimit(RLIMIT_NOFILE, &before));
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	must(!setrlimit(RLIMIT_NOFILE, &none));
	is_refused(EMFILE);
	is_int(setrlimit(RLIMIT_NOFILE, &before), 0);
	ok(!thread.run);
	finish();
}

TAP_TEST(at_network__the_first_peer_behind_a_network_starts_it)
{
	begin(0);
	mtl_pm.at_network = mtl_pm_thread_at_network;
	fake.device = "shmem";
	mtl_pm_peer_of_node(10);
	ok(!mtl_pm.has_thread);
	fake.device = "udp";
	mtl_pm_peer_of_node(11);
	ok(mtl_pm.has_thread && !mtl_pm.at_network);
	thread.run = NULL;
	mtl_pm_peer_of_node(12);
	ok(!thread.run);
	ok(!fake_mpi.asked);
	finish();
}

TAP_TEST(at_network__people_are_told_once_if_it_cannot)
{
	begin(0);
	thread.create_error = EAGAIN;
	mtl_pm.at_network = mtl_pm_thread_at_network;
	mtl_pm_peer_of_node(10);
	ok(!mtl_pm.has_thread && !mtl_pm.at_network);
	is_str(fake_mpi.asked, "no thread");
	finish();
}

/* ---- stops ---- */

TAP_TEST(stop__rings_and_waits_for_its_end)
{
	int event;

	started();
	event = dup(mtl_pm_helper.event);
	mtl_pm_helper.is_told = true;
	mtl_pm.at_network = mtl_pm_thread_at_network;
	mtl_pm_thread_stop();
	ok(mtl_pm_helper.is_stopping);
	is_int(thread.joins, 1);
	ok(!mtl_pm.has_thread && !mtl_pm.moves_long && !mtl_pm.at_network);
	mtl_pm_helper.event = event;
	ok(is_rung());
	close(event);
	/* There is none any more. */
	finish();
	is_int(thread.joins, 1);
}

TAP_TEST(stop__pm_hears_that_it_sleeps_no_more)
{
	int fd, ms;

	started();
	pmBeforeSelect(1, &fd, &ms);
	mtl_pm_helper.is_armed = true;
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	finish();
	is_int(fake.arms, 0);
}

TAP_TEST(stop__leaves_the_gate_as_threads_of_the_program_need_it)
{
	begin(1);
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	is_int(mtl_pm_thread_start(), 0);
	mtl_pm_thread_stop();
	is_int(mtl_pm.gate, MTL_PM_GATE_SHARED);
	finish();
	started();
	mtl_pm.gate = MTL_PM_GATE_SHARED;
	mtl_pm_thread_stop();
	is_int(mtl_pm.gate, 0);
	finish();
}

TAP_TEST(stop__a_child_of_the_program_has_no_thread)
{
	pid_t pid;

	started();
	pid = mtl_pm_helper.pid;
	is_int(pid, getpid());
	mtl_pm_helper.pid = pid + 1;
	mtl_pm_thread_stop();
	is_int(thread.joins, 0);
	ok(mtl_pm.has_thread && !is_rung());
	mtl_pm_helper.pid = pid;
	finish();
}

/* ---- parked ---- */

TAP_TEST(run__asks_for_short_slices)
{
	started();
	live(1);
	is_int(thread.slice_ns, 100000);
	is_int(prctl(PR_GET_TIMERSLACK), 1000);
	finish();
}

static void be_in_mpi(void)
{
	mtl_pm.presence = MTL_PM_INSIDE;
}

TAP_TEST(run__parked_it_looks_after_nothing_while_the_program_calls_mpi)
{
	started();
	at_nap = be_in_mpi;
	live(4);
	for (int i = 1; i <= 4; i++)
		is_nap(i, -1, KEEP_DOZE_MS);
	is_int(fake.rounds, 0);
	is_int(fake.polls, 0);
	finish();
}

TAP_TEST(run__parked_it_keeps_the_timers_of_a_program_that_is_away)
{
	started();
	live(3);
	is_nap(1, -1, KEEP_DOZE_MS);
	is_nap(2, -1, KEEP_SETTLE_MS);
	is_nap(3, -1, KEEP_REST_MS);
	is_int(fake.polls, 0);
	finish();
}

/* Rung for by chance, without a start: as when the program was faster. */
static void ring_only(void)
{
	const uint64_t one = 1;

	is_int(write(mtl_pm_helper.event, &one, sizeof(one)), sizeof(one));
}

TAP_TEST(run__parked_it_stays_so_without_a_start)
{
	started();
	mtl_pm.n_long = 1;
	at_nap = ring_only;
	live(2);
	is_nap(2, -1, KEEP_SETTLE_MS);
	ok(mtl_pm_helper.is_parked);
	is_int(fake.polls, 0);
	finish();
}
