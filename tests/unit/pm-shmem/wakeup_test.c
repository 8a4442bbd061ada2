// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define INDEX 5

static char dir_path[64];
static int dir, fifo;
static struct pms_slot slot;
static struct pms_waker waker;

static bool begin(void)
{
	snprintf(dir_path, sizeof(dir_path), "/dev/shm/pms-test-XXXXXX");
	if (!ok(mkdtemp(dir_path)))
		return false;
	dir = open(dir_path, O_RDONLY | O_DIRECTORY);
	slot = (struct pms_slot){0};
	waker = (struct pms_waker){.slot = &slot, .fd = -1};
	return is_int(pms_fifo_create(dir, INDEX, &fifo), 0);
}

static void end(void)
{
	if (waker.fd >= 0)
		close(waker.fd);
	close(fifo);
	pms_fifo_remove(dir, INDEX);
	close(dir);
	is_int(rmdir(dir_path), 0);
}

static bool is_readable(void)
{
	struct pollfd p = {.fd = fifo, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

TAP_TEST(wake__nobody_asleep)
{
	must(begin());
	ok(!pms_wake(&waker, dir, INDEX));
	ok(!is_readable());
	is_int(waker.fd, -1);
	end();
}

TAP_TEST(wake__once_per_sleep)
{
	must(begin());
	for (uint32_t count = 1; count < 5; count++) {
		pms_sleep_begin(&slot, count);
		ok(pms_wake(&waker, dir, INDEX));
		ok(is_readable());
		ok(!pms_wake(&waker, dir, INDEX));
		pms_sleep_end(&slot, fifo);
		ok(!is_readable());
	}
	end();
}

TAP_TEST(sleep_end__empties_a_full_fifo)
{
	must(begin());
	for (uint32_t count = 1; count <= 70000; count++) {
		atomic_store(&slot.sleeping, count);
		pms_wake(&waker, dir, INDEX);
		is_int(slot.sleeping, 0);
	}
	ok(is_readable());
	pms_sleep_end(&slot, fifo);
	ok(!is_readable());
	end();
}

TAP_TEST(wake__the_sleeper_is_gone)
{
	must(begin());
	signal(SIGPIPE, SIG_DFL);
	pms_sleep_begin(&slot, 1);
	ok(pms_wake(&waker, dir, INDEX));
	close(fifo);
	pms_sleep_begin(&slot, 2);
	/* no reader but ourselves: no SIGPIPE */
	pms_wake(&waker, dir, INDEX);
	close(waker.fd);
	waker.fd = -1;
	pms_fifo_remove(dir, INDEX);
	pms_sleep_begin(&slot, 3);
	ok(!pms_wake(&waker, dir, INDEX));
	fifo = open("/dev/null", O_RDONLY);
	end();
}

TAP_TEST(fifo_create__replaces_what_a_killed_process_left)
{
	char path[128];
	struct stat st;

	must(begin());
	close(fifo);
	snprintf(path, sizeof(path), "%s/wake.%d", dir_path, INDEX);
	must(is_int(unlink(path), 0));
	must(is_int(symlink("/etc/passwd", path), 0));
	must(is_int(pms_fifo_create(dir, INDEX, &fifo), 0));
	is_int(lstat(path, &st), 0);
	ok(S_ISFIFO(st.st_mode));
	is_int(st.st_mode & 07777, 0600);
	end();
}

TAP_TEST(wake__something_else_in_place_of_the_fifo)
{
	char path[128];

	must(begin());
	snprintf(path, sizeof(path), "%s/wake.%d", dir_path, INDEX);
	must(is_int(unlink(path), 0));
	must(is_int(symlink("/etc/passwd", path), 0));
	pms_sleep_begin(&slot, 1);
	ok(!pms_wake(&waker, dir, INDEX));
	is_int(waker.fd, -1);
	end();
}

/* ---- store buffering: of sleeper and sender at least one must see the other ---- */

#define ROUNDS 30000
/* Beside other programs each round waits for both sides to have a core: fewer are done then. */
#define LIMIT_NS 20000000000ull

static _Atomic bool is_over;
static alignas(PMS_LINE) _Atomic uint32_t cell; /* what the sender publishes: the round */
static alignas(PMS_LINE) _Atomic uint32_t turn; /* the round both may start */
static alignas(PMS_LINE) _Atomic uint32_t sent; /* the round the sender has finished */
static bool has_woken;                          /* in that round */

static void spin(uint64_t n)
{
	while (n--)
		atomic_signal_fence(memory_order_seq_cst);
}

/* A core of its own for each side, where there are two. */
static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void wait_for(_Atomic uint32_t *word, uint32_t round)
{
	while (atomic_load(word) != round)
		if (sched_yield())
			abort();
}

/*
 * As wait_for, but without leaving the core, and with the flag at hand: a load that hits is done
 * while the store before it still waits for its line. False: no more rounds begin.
 */
static bool start_with(uint32_t round)
{
	for (uint32_t spins = 0; atomic_load(&turn) != round; spins++) {
		if (atomic_load(&is_over))
			return false;
		if (atomic_load(&slot.sleeping) || spins > 10000)
			sched_yield();
	}
	return true;
}

static void *be_sender(void *arg)
{
	uint64_t random = tap_seed();

	pin(1);
	for (uint32_t round = 1; start_with(round); round++) {
		spin(tap_rand(&random) % 200);
		atomic_store_explicit(&cell, round, memory_order_release);
		has_woken = pms_wake(&waker, dir, INDEX);
		atomic_store(&sent, round);
	}
	return arg;
}

TAP_TEST(wake__races_with_sleep)
{
	uint64_t random = tap_seed() + 1, begun_ns = clock_monotonic_ns();
	uint32_t unseen = 0, round = 0;
	pthread_t thread;
	cpu_set_t all;

	must(begin());
	atomic_store(&cell, 0);
	atomic_store(&turn, 0);
	sched_getaffinity(0, sizeof(all), &all);
	pin(0);
	must(!pthread_create(&thread, NULL, be_sender, NULL));
	while (round < ROUNDS && clock_monotonic_ns() - begun_ns < LIMIT_NS) {
		bool has_seen;

		round++;
		atomic_store(&turn, round);
		/*
		 * the start takes its time to the other core: around that much, so that both happen
		 * at once, and with the cell at hand as the flag is there
		 */
		for (uint64_t n = tap_rand(&random) % 500; n > 0; n--)
			atomic_load_explicit(&cell, memory_order_relaxed);
		pms_sleep_begin(&slot, round);
		has_seen = atomic_load_explicit(&cell, memory_order_acquire) == round;
		wait_for(&sent, round);
		okf(has_seen || has_woken, "round %u: a wake-up was lost", round);
		unseen += !has_seen;
		pms_sleep_end(&slot, fifo);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(all), &all);
	tap_diag("%u of %u rounds needed the wake-up", unseen, round);
	end();
}
