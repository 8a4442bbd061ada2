/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_thread - the progress thread: serves long messages while the program computes.
 *
 *   parked --long start--> watching <--no poll of the program for a tick--> napping --nothing open for long--> parked
 *
 * Parked, it costs nothing: the program takes no lock then, unless it has threads of its own. Watching, it sleeps on
 * PM's descriptors and moves what arrives. Napping, it leaves all to the program, which polls by itself, and looks
 * once a tick whether that is still so.
 *
 * The thread completes no request: without MPI_THREAD_MULTIPLE Open MPI guards neither its requests nor its progress
 * against a second thread. So requests that end here stay in the module's done until the program calls MPI. The same
 * holds for all else that calls Open MPI: addresses of unknown peers, and words about dead ones (mtl_pm_kept).
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_batch.h"

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

/* How late the thread may see that the program has left its MPI_Wait: such a look takes a core some microseconds. */
#define TICK_NS 1000000
/* So many ticks without an open message until it parks. */
#define PARK_TICKS 50
/* The least slice the kernel gives: a woken thread with a shorter one than the program's runs at once on its core. */
#define SLICE_NS 100000
/* A program that stays away from MPI for so long after a start computes. */
#define COMPUTES_NS 100000
/*
 * A computation makes the thread wake at once at so many of the next starts, several at so many at most; a program begins
 * with one. So a process that lost its core for once, which looks the same, costs little.
 */
#define BELIEVED 8
#define BELIEVED_MAX 64

static struct {
	pthread_t id;
	pid_t pid;           /* a child after fork() has no thread */
	int event;           /* wakes it */
	bool is_stopping;    /* atomic */
	bool is_told;        /* atomic: event was written, and not seen yet */
	bool is_parked;      /* lock held */
	bool is_armed;       /* PM sleeps: lock held */
	bool allows_threads; /* the program has threads of its own */
	uint32_t waiting;    /* of the program, for the lock; atomic */
	uint32_t polls;      /* of the program; atomic */
	uint32_t seen;       /* polls at the last look */
	uint32_t idle;       /* ticks without an open message */
	uint32_t believed; /* starts for which the program still counts as one that computes; atomic */
	uint64_t started_ns; /* of the first start since the last poll; 0: none; atomic */
} helper = {.event = -1, .believed = BELIEVED};

static void disarm(void)
{
	if (!helper.is_armed)
		return;
	helper.is_armed = false;
	pmAfterSelect(mtl_pm.ctx);
}

/* Lock held. */
static void join_batch(void)
{
	if (mtl_pm.has_batch)
		mtl_pm_batch_join();
}

/* The thread may have parked while we waited for the lock: then there is nobody to lock out any more. */
void mtl_pm_lock(void)
{
	if (!mtl_pm.has_thread) {
		pthread_mutex_lock(&mtl_pm.lock);
		join_batch();
		return;
	}
	__atomic_fetch_add(&helper.waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&mtl_pm.lock);
	__atomic_fetch_sub(&helper.waiting, 1, __ATOMIC_RELAXED);
	disarm();
	if (!mtl_pm_is_locking())
		pthread_mutex_unlock(&mtl_pm.lock);
	else
		join_batch();
}

/* Whether the program has computed since it started something, which tells what it will do next time. */
static void note_return(void)
{
	uint64_t started_ns = __atomic_exchange_n(&helper.started_ns, 0, __ATOMIC_RELAXED);
	uint32_t believed = __atomic_load_n(&helper.believed, __ATOMIC_RELAXED);

	if (!started_ns)
		return;
	if (mtl_pm_now_ns() - started_ns > COMPUTES_NS)
		believed = believed + BELIEVED < BELIEVED_MAX ? believed + BELIEVED : BELIEVED_MAX;
	else if (believed)
		believed--;
	__atomic_store_n(&helper.believed, believed, __ATOMIC_RELAXED);
}

bool mtl_pm_lock_to_poll(void)
{
	if (mtl_pm.has_thread) {
		__atomic_fetch_add(&helper.polls, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&helper.started_ns, __ATOMIC_RELAXED))
			note_return();
		/* The thread's round is short. Polling until it is over could keep the core from it. */
		if (!helper.allows_threads) {
			mtl_pm_lock();
			return true;
		}
	}
	if (pthread_mutex_trylock(&mtl_pm.lock))
		return false;
	join_batch();
	disarm();
	return true;
}

static void wake(void)
{
	const uint64_t one = 1;

	if (__atomic_exchange_n(&helper.is_told, true, __ATOMIC_ACQ_REL))
		return;
	if (write(helper.event, &one, sizeof(one)) != sizeof(one))
		mtl_pm_fatal("the progress thread cannot be woken: %s", strerror(errno));
}

bool mtl_pm_thread_tell(void)
{
	if (!__atomic_load_n(&helper.started_ns, __ATOMIC_RELAXED))
		__atomic_store_n(&helper.started_ns, mtl_pm_now_ns(), __ATOMIC_RELAXED);
	if (!mtl_pm_is_locking())
		return true;
	/* a napping thread looks by itself soon */
	if (helper.is_parked || __atomic_load_n(&helper.believed, __ATOMIC_RELAXED))
		wake();
	return false;
}

void mtl_pm_thread_unpark(void)
{
	__atomic_store_n(&mtl_pm.is_locking, true, __ATOMIC_RELEASE);
	wake();
}

/* A round of progress without what only the program may do. Returns the number of things done. */
static int serve(void)
{
	int n;

	mtl_pm.is_helping = true;
	n = mtl_pm_poll();
	mtl_pm.is_helping = false;
	return n;
}

/*
 * Lock held: does what is to do, and says how to sleep afterwards, on which descriptor of PM (-1: none) and how long.
 * False: not yet.
 */
static bool look(bool was_told, int *ret_fd, int *ret_ms)
{
	uint32_t polls = __atomic_load_n(&helper.polls, __ATOMIC_RELAXED);
	bool is_alone = was_told || polls == helper.seen;
	int rc;

	helper.seen = polls;
	*ret_fd = -1;
	*ret_ms = TICK_NS / 1000000;
	if (mtl_pm.kept.is_full)
		return true;
	if (!mtl_pm.n_long && !mtl_pm_has_unfinished()) {
		if (++helper.idle < PARK_TICKS ||
		    __atomic_load_n(&helper.is_told, __ATOMIC_ACQUIRE))
			return true;
		helper.is_parked = true;
		*ret_ms = -1;
		/* from here on the program takes no lock: nothing of it may be touched before the next wake-up */
		__atomic_store_n(&mtl_pm.is_locking, helper.allows_threads, __ATOMIC_RELEASE);
		return true;
	}
	helper.idle = 0;
	if (!is_alone)
		return true;
	if (serve())
		return mtl_pm.kept.is_full;
	rc = pmBeforeSelect(mtl_pm.ctx, ret_fd, ret_ms);
	if (rc == ENOBUFS)
		return false;
	if (rc)
		mtl_pm_fatal("PM failed while waiting: %s", pmLastError());
	helper.is_armed = true;
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
	disarm();
	if (was_told) {
		helper.is_parked = false;
		helper.idle = 0;
	}
	is_settled = look(was_told, ret_fd, ret_ms);
	pthread_mutex_unlock(&mtl_pm.lock);
	return is_settled;
}

static bool sleep_on(int fd, int ms)
{
	struct pollfd fds[2] = {{.fd = helper.event, .events = POLLIN},
				{.fd = fd, .events = POLLIN}};
	uint64_t count;

	if (poll(fds, 2, ms) < 0 && errno != EINTR)
		mtl_pm_fatal("the progress thread cannot sleep: %s", strerror(errno));
	if (!(fds[0].revents & POLLIN) || read(helper.event, &count, sizeof(count)) < 0)
		return false;
	/* a start that is told from here on writes to the descriptor again */
	(void)__atomic_exchange_n(&helper.is_told, false, __ATOMIC_SEQ_CST);
	return true;
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
	while (__atomic_load_n(&helper.waiting, __ATOMIC_RELAXED))
		sched_yield();
}

static void *run(void *arg)
{
	bool was_told = false;
	int fd, ms;

	ask_for_short_slices();
	while (!__atomic_load_n(&helper.is_stopping, __ATOMIC_SEQ_CST)) {
		if (!look_if_free(was_told, &fd, &ms)) {
			was_told = false;
			let_program_in();
			continue;
		}
		do
			was_told = sleep_on(fd, ms);
		while (!was_told && helper.is_parked);
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
	rc = pthread_create(&helper.id, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int mtl_pm_thread_start(void)
{
	int rc;

	helper.allows_threads = mtl_pm.is_locking;
	helper.is_stopping = false;
	helper.pid = getpid();
	helper.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (helper.event < 0)
		return errno;
	mtl_pm.is_locking = true; /* until it parks */
	mtl_pm.has_thread = true;
	rc = create();
	if (!rc)
		return 0;
	mtl_pm.has_thread = false;
	mtl_pm.is_locking = helper.allows_threads;
	close(helper.event);
	return rc;
}

void mtl_pm_thread_stop(void)
{
	if (!mtl_pm.has_thread || helper.pid != getpid())
		return;
	__atomic_store_n(&helper.is_stopping, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&helper.is_told, false, __ATOMIC_SEQ_CST);
	wake();
	pthread_join(helper.id, NULL);
	disarm();
	mtl_pm.has_thread = false;
	mtl_pm.is_locking = helper.allows_threads;
	close(helper.event);
}
