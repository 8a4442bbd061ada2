// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_thread - the progress thread: keeps PM's timers, and if it is asked to serves long
 * messages, while the program computes.
 *
 *   parked --long start, or a window--> watching <--no poll of the program for a tick--> napping
 *   --nothing open for long, and no window--> parked
 *
 * Parked, it keeps the timers only (mtl_pm_keep.c): the program takes no lock then, unless it has
 * threads of its own. Watching, it sleeps on PM's descriptors and moves what arrives. Napping, it
 * leaves all to the program, which polls by itself, and looks once a tick whether that is still so.
 *
 * The thread completes no request: without MPI_THREAD_MULTIPLE Open MPI guards neither its requests
 * nor its progress against a second thread. So requests that end here stay in the module's done
 * until the program calls MPI. The same holds for all else that calls Open MPI: addresses of
 * unknown peers, and words about dead ones (mtl_pm_kept).
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"

#include "opal/util/show_help.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * How late the thread may see that the program has left its MPI_Wait: such a look takes a core some
 * microseconds.
 */
#define TICK_NS 1000000
/* So many ticks without an open message until it parks. */
#define PARK_TICKS 50
/*
 * The least slice the kernel gives: a woken thread with a shorter one than the program's runs at
 * once on its core.
 */
#define SLICE_NS 100000

/* A round of progress without what only the program may do. Returns the number of things done. */
static int serve(void)
{
	int n;

	mtl_pm.is_helping = true;
	n = mtl_pm_poll();
	mtl_pm.is_helping = false;
	return n;
}

static uint32_t open_gate(void)
{
	return mtl_pm_helper.allows_threads ? MTL_PM_GATE_SHARED : 0;
}

/*
 * Lock held. From here on the program takes no lock: nothing of it may be touched but by
 * mtl_pm_keep.
 */
static void park(void)
{
	mtl_pm_helper.is_parked = true;
	keep_back(&mtl_pm_helper.keep);
	__atomic_store_n(&mtl_pm.gate, open_gate(), __ATOMIC_RELEASE);
}

/*
 * Lock held: does what is to do, and says how to sleep afterwards, on which descriptor of PM (-1:
 * none) and how long. False: not yet.
 */
static bool look(bool was_told, int *ret_fd, int *ret_ms)
{
	uint32_t polls = __atomic_load_n(&mtl_pm_helper.polls, __ATOMIC_RELAXED);
	bool is_alone = was_told || polls == mtl_pm_helper.seen;
	int rc;

	mtl_pm_helper.seen = polls;
	*ret_fd = -1;
	*ret_ms = TICK_NS / 1000000;
	if (mtl_pm.kept.is_full)
		return true;
	if (!mtl_pm.n_long && !mtl_pm.serves_client && !mtl_pm_has_unfinished()) {
		if (++mtl_pm_helper.idle < PARK_TICKS ||
		    __atomic_load_n(&mtl_pm_helper.is_told, __ATOMIC_ACQUIRE))
			return true;
		park();
		*ret_ms = KEEP_DOZE_MS;
		return true;
	}
	mtl_pm_helper.idle = 0;
	if (!is_alone)
		return true;
	if (serve())
		return mtl_pm.kept.is_full;
	mtl_pm.is_helping = true;
	rc = pmBeforeSelect(mtl_pm.ctx, ret_fd, ret_ms);
	mtl_pm.is_helping = false;
	if (rc == ENOBUFS)
		return false;
	if (rc)
		mtl_pm_fatal("PM failed while waiting: %s", pmLastError());
	mtl_pm_helper.is_armed = true;
	if (*ret_ms < 0 || *ret_ms > TICK_NS / 1000000)
		*ret_ms = TICK_NS / 1000000;
	return true;
}

/* A program that has the lock is in MPI. */
static bool look_if_free(bool was_told, int *ret_fd, int *ret_ms)
{
	bool is_settled;

	*ret_fd = -1;
	*ret_ms = TICK_NS / 1000000;
	if (was_told)
		pthread_mutex_lock(&mtl_pm.lock);
	else if (pthread_mutex_trylock(&mtl_pm.lock))
		return true;
	mtl_pm_disarm();
	if (was_told) {
		mtl_pm_helper.is_parked = false;
		mtl_pm_helper.idle = 0;
	}
	is_settled = look(was_told, ret_fd, ret_ms);
	pthread_mutex_unlock(&mtl_pm.lock);
	return is_settled;
}

/* True: a long message was started meanwhile. */
static bool sleep_on(int fd, int ms)
{
	struct pollfd fds[2] = {{.fd = mtl_pm_helper.event, .events = POLLIN},
				{.fd = fd, .events = POLLIN}};
	uint64_t count;

	if (poll(fds, 2, ms) < 0 && errno != EINTR)
		mtl_pm_fatal("the progress thread cannot sleep: %s", strerror(errno));
	if (!(fds[0].revents & POLLIN) || read(mtl_pm_helper.event, &count, sizeof(count)) < 0)
		return false;
	/* A start that is told from here on rings again; without one the program is back in MPI. */
	return __atomic_exchange_n(&mtl_pm_helper.is_told, false, __ATOMIC_SEQ_CST);
}

/* The kernel's struct sched_attr: its header and that of the C library exclude each other. */
struct slice {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Where the kernel is too old for slices, a thread that shares the program's core is late. */
static void ask_for_short_slices(void)
{
	struct slice attr = {.size = sizeof(attr), .runtime = SLICE_NS};

	syscall(SYS_sched_setattr, 0, &attr, 0);
	prctl(PR_SET_TIMERSLACK, 1000ul);
}

/* The lock is not fair: a thread of the program that waits for it gets it first. */
static void let_program_in(void)
{
	while (__atomic_load_n(&mtl_pm_helper.waiting, __ATOMIC_RELAXED))
		sched_yield();
}

static void *run(void *arg)
{
	bool was_told = false;
	int fd, ms;

	ask_for_short_slices();
	while (!__atomic_load_n(&mtl_pm_helper.is_stopping, __ATOMIC_SEQ_CST)) {
		if (mtl_pm_helper.is_parked && !was_told) {
			fd = -1;
			ms = mtl_pm_keep();
		} else if (!look_if_free(was_told, &fd, &ms)) {
			was_told = false;
			let_program_in();
			continue;
		}
		was_told = sleep_on(fd, ms);
	}
	return NULL;
}

/* Signals are for the program's own threads. */
static int create(void)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&mtl_pm_helper.id, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		pthread_setname_np(mtl_pm_helper.id, "mtl-pm");
	return rc;
}

int mtl_pm_thread_start(void)
{
	uint32_t before = mtl_pm.gate;
	int rc;

	mtl_pm_helper.allows_threads = before || !mtl_pm_keep_begin();
	mtl_pm_helper.is_stopping = mtl_pm_helper.is_told = false;
	mtl_pm_helper.pid = getpid();
	mtl_pm_helper.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (mtl_pm_helper.event < 0)
		return errno;
	mtl_pm.moves_long = mtl_pm.progress_thread > 0;
	park();
	/* Threads of the program that wait for the lock look at it. */
	__atomic_store_n(&mtl_pm.has_thread, true, __ATOMIC_RELEASE);
	rc = create();
	if (!rc)
		return 0;
	__atomic_store_n(&mtl_pm.has_thread, false, __ATOMIC_RELEASE);
	mtl_pm.moves_long = false;
	mtl_pm.gate = before;
	close(mtl_pm_helper.event);
	return rc;
}

void mtl_pm_thread_at_network(void)
{
	int rc;

	mtl_pm.at_network = NULL;
	rc = mtl_pm_thread_start();
	if (rc)
		opal_show_help("help-mtl-pm.txt", "no thread", true, ompi_process_info.nodename,
			       strerror(rc));
}

void mtl_pm_thread_stop(void)
{
	/* what comes from strangers during the end starts none */
	mtl_pm.at_network = NULL;
	if (!mtl_pm.has_thread || mtl_pm_helper.pid != getpid())
		return;
	__atomic_store_n(&mtl_pm_helper.is_stopping, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&mtl_pm_helper.is_told, false, __ATOMIC_SEQ_CST);
	mtl_pm_wake_thread();
	pthread_join(mtl_pm_helper.id, NULL);
	mtl_pm_disarm();
	mtl_pm.has_thread = false;
	mtl_pm.moves_long = false;
	mtl_pm.gate = open_gate();
	close(mtl_pm_helper.event);
}
