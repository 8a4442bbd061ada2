// SPDX-License-Identifier: BSD-3-Clause
/* Each batch has a thread of its own: grace periods of the kernel pass for all of them together. */
#include "pm-ethernet/daemon/closer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pm-ethernet/daemon/ports.h"
#include "pm-ethernet/daemon/thread.h"
#include "pmcore/util/clock.h"

/* A thread writes is_done and touches its batch no more; the rest is the loop's. */
struct ethd_closing {
	struct ethd_closing *next;
	int fds[ETH_RAILS];
	uint32_t n;
	uid_t uid;
	int port;   /* -1 = none */
	int signal; /* the eventfd */
	uint64_t begin_ns;
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

/* Memory of sockets that are being closed counts for nobody, so a user has only so much of it. */
static bool has_room(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct ethd_closing *batch = d->closing; batch; batch = batch->next)
		n += batch->uid == uid;
	return n < ETHD_CLOSERS_UID && d->n_closing < ETHD_CLOSERS_MAX;
}

void ethd_closer_take(struct ethd *d, uid_t uid, const int *fds, uint32_t n, int port)
{
	struct ethd_closing *batch =
		n && d->closer >= 0 && has_room(d, uid) ? calloc(1, sizeof(*batch)) : NULL;

	if (batch) {
		memcpy(batch->fds, fds, n * sizeof(fds[0]));
		batch->n = n;
		batch->uid = uid;
		batch->port = port;
		batch->signal = d->closer;
		batch->begin_ns = clock_monotonic_ns();
	}
	if (!batch || ethd_thread_start(work, batch)) {
		free(batch);
		close_all(fds, n);
		if (port >= 0)
			ethd_port_give(d, port);
		return;
	}
	if (port >= 0)
		ethd_port_rest(d, port);
	batch->next = d->closing;
	d->closing = batch;
	d->n_closing++;
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
		if (batch->port >= 0)
			ethd_port_give(d, batch->port);
		free(batch);
		has_reaped = true;
	}
	return has_reaped;
}
