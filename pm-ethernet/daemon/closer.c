// SPDX-License-Identifier: BSD-3-Clause
/* Each batch has a thread of its own: grace periods of the kernel pass for all of them together. */
#include "pm-ethernet/daemon/closer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pm-ethernet/daemon/thread.h"
#include "pmcore/util/clock.h"

/* A thread writes is_done and touches its batch no more; the rest is the loop's. */
struct ethd_closing {
	struct ethd_closing *next;
	int fds[ETH_RAILS];
	uint32_t n;
	struct ethd_charge *charge;
	int signal;        /* the eventfd */
	uint64_t begin_ns; /* when it was taken */
	bool is_started;   /* has a thread */
	_Atomic bool is_done;
};

int ethd_closer_open(struct ethd *d)
{
	d->closer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return d->closer < 0 ? -errno : 0;
}

static void close_all(const int *fds, uint32_t n)
{
	while (n)
		close(fds[--n]);
}

static void *work(void *arg)
{
	struct ethd_closing *batch = arg;
	int signal = batch->signal;

	close_all(batch->fds, batch->n);
	atomic_store_explicit(&batch->is_done, true, memory_order_release);
	/* fails only when the counter is full, and then it is readable */
	(void)!write(signal, &(uint64_t){1}, sizeof(uint64_t));
	return NULL;
}

/* A user has only some of the threads, so that another's sockets need not wait for his. */
static bool has_room(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct ethd_closing *batch = d->closing; batch; batch = batch->next)
		n += batch->is_started && batch->charge->uid == uid;
	return n < ETHD_CLOSERS_UID && d->n_closing < ETHD_CLOSERS_MAX;
}

/* False: there is no thread for it. */
static bool start(struct ethd *d, struct ethd_closing *batch)
{
	batch->is_started = !ethd_thread_start(work, batch);
	d->n_closing += batch->is_started;
	return batch->is_started;
}

void ethd_closer_take(struct ethd *d, struct ethd_charge *charge, const int *fds, uint32_t n)
{
	struct ethd_closing *batch = n && d->closer >= 0 ? calloc(1, sizeof(*batch)) : NULL;

	if (batch) {
		memcpy(batch->fds, fds, n * sizeof(fds[0]));
		batch->n = n;
		batch->charge = charge;
		batch->signal = d->closer;
		batch->begin_ns = clock_monotonic_ns();
	}
	if (!batch || (has_room(d, charge->uid) && !start(d, batch))) {
		free(batch);
		close_all(fds, n);
		return;
	}
	charge->n_closing++;
	batch->next = d->closing;
	d->closing = batch;
}

/*
 * Batches that wait have their turn, the oldest first, which is the last in the list. Without a
 * thread it is closed here.
 */
static void start_waiting(struct ethd *d)
{
	for (;;) {
		struct ethd_closing *oldest = NULL;

		for (struct ethd_closing *batch = d->closing; batch; batch = batch->next)
			if (!batch->is_started && has_room(d, batch->charge->uid))
				oldest = batch;
		if (!oldest)
			return;
		if (start(d, oldest))
			continue;
		oldest->is_started = true;
		d->n_closing++;
		work(oldest);
	}
}

bool ethd_closer_is_busy(const struct ethd *d, uint64_t since_ns)
{
	const struct ethd_closing *batch = d->closing;

	while (batch && batch->begin_ns > since_ns)
		batch = batch->next;
	return batch;
}

bool ethd_closer_reap(struct ethd *d)
{
	struct ethd_closing **at = &d->closing;
	bool has_reaped = false;
	uint64_t count;

	(void)!read(d->closer, &count, sizeof(count));
	while (*at) {
		struct ethd_closing *batch = *at;

		if (!atomic_load_explicit(&batch->is_done, memory_order_acquire)) {
			at = &batch->next;
			continue;
		}
		*at = batch->next;
		d->n_closing--;
		batch->charge->n_closing--;
		free(batch);
		has_reaped = true;
	}
	start_waiting(d);
	return has_reaped;
}
