/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_thread - the progress thread without a thread: the test runs its work, and what it sleeps in
 * is the test's. For one file of a program: it defines functions of the C library.
 */
#ifndef TESTS_UNIT_MPI_GLUE_MTL_FAKE_THREAD_H
#define TESTS_UNIT_MPI_GLUE_MTL_FAKE_THREAD_H

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define NODE 3
#define NAPS 80
#define FD 77     /* PM's, to be waited for */
#define TICK_MS 1 /* between two looks */

static struct {
	void *(*run)(void *); /* its work; NULL: there is no thread */
	int create_error;
	sigset_t blocked; /* signals, when it was created */
	char name[16];
	int joins;
	uint32_t slice_ns; /* of the core that it has asked for */
	int membarrier;    /* what the kernel says to it; 0: it has what is needed */
	int registrations; /* for it */
} thread;

/* How it has slept: for which descriptor of PM, and at most how long. */
static struct nap {
	int fd, ms;
} naps[NAPS];
static int n_naps, last_nap;   /* it ends after that one */
static int nap_error;          /* of poll(); 0: none */
static void (*at_nap)(void);   /* what happens while it sleeps; NULL: nothing */
static void (*at_yield)(void); /* the same while it lets the program in */
static int yields;

/* ---- of the C library: the program's own functions come before those of its libraries ---- */

int pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (thread.create_error)
		return thread.create_error;
	*ret = pthread_self();
	thread.run = run;
	pthread_sigmask(SIG_BLOCK, NULL, &thread.blocked);
	return 0;
}

int pthread_setname_np(pthread_t id, const char *name)
{
	ok(pthread_equal(id, pthread_self()));
	strncpy(thread.name, name, sizeof(thread.name) - 1);
	return 0;
}

int pthread_join(pthread_t id, void **ret)
{
	thread.joins++;
	return 0;
}

int sched_yield(void)
{
	yields++;
	mtl_pm_helper.waiting = 0;
	if (at_yield)
		at_yield();
	return 0;
}

struct slice {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void note_slice(const struct slice *attr)
{
	is_int(attr->size, sizeof(*attr));
	is_int(attr->policy, SCHED_OTHER);
	thread.slice_ns = (uint32_t)attr->runtime;
}

static long answer_barrier(int command)
{
	if (command == MEMBARRIER_CMD_QUERY && !thread.membarrier)
		return MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	thread.registrations += command == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	return thread.membarrier;
}

long syscall(long number, ...)
{
	long answer = 0;
	va_list args;

	va_start(args, number);
	if (number == SYS_membarrier)
		answer = answer_barrier(va_arg(args, int));
	else if (number == SYS_sched_setattr && !va_arg(args, int))
		note_slice(va_arg(args, const struct slice *));
	va_end(args);
	return answer;
}

static short is_rung(void)
{
	struct pollfd bell = {.fd = mtl_pm_helper.event, .events = POLLIN};
	const struct timespec none = {0};

	return ppoll(&bell, 1, &none, NULL) == 1 ? POLLIN : 0;
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	is_int(n, 2);
	is_int(fds[0].fd, mtl_pm_helper.event);
	ok(fds[0].events == POLLIN && fds[1].events == POLLIN);
	if (ok(n_naps < NAPS))
		naps[n_naps++] = (struct nap){.fd = fds[1].fd, .ms = ms};
	if (at_nap)
		at_nap();
	if (n_naps >= last_nap)
		mtl_pm_helper.is_stopping = true;
	fds[0].revents = is_rung();
	fds[1].revents = 0;
	errno = nap_error;
	return nap_error ? -1 : 0;
}

/* ---- */

static void begin(int progress_thread)
{
	fake_open("udp");
	fake_start();
	mtl_pm_peer_of_node(NODE);
	memset(&thread, 0, sizeof(thread));
	memset(naps, 0, sizeof(naps));
	memset(&mtl_pm_helper, 0, sizeof(mtl_pm_helper));
	n_naps = yields = nap_error = 0;
	at_nap = at_yield = NULL;
	fake.wait_fd = FD;
	pthread_mutex_init(&mtl_pm.lock, NULL);
	mtl_pm.presence = MTL_PM_OUTSIDE;
	mtl_pm.gate = 0;
	mtl_pm.n_long = 0;
	mtl_pm.has_thread = mtl_pm.moves_long = mtl_pm.has_lock = false;
	mtl_pm.progress_thread = progress_thread;
	mtl_pm.at_network = NULL;
}

static void started(void)
{
	begin(1);
	is_int(mtl_pm_thread_start(), 0);
}

static void finish(void)
{
	mtl_pm_thread_stop();
	is_int(fake.arms, 0);
	pthread_mutex_destroy(&mtl_pm.lock);
	mtl_pm.gate = 0;
	mtl_pm.progress_thread = 0;
	fake_close();
}

/* It lives until it has slept so often. */
static void live(int sleeps)
{
	last_nap = sleeps;
	thread.run(NULL);
	is_int(n_naps, sleeps);
	mtl_pm_helper.is_stopping = false;
}

static void is_nap(int nth, int fd, int ms)
{
	okf(naps[nth - 1].fd == fd && naps[nth - 1].ms == ms, "sleep %d: %d, %d ms", nth,
	    naps[nth - 1].fd, naps[nth - 1].ms);
}

#endif
