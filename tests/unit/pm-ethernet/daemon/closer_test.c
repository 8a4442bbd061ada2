/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of pm-ethernet/daemon/closer.c; the end of a pipe does for a socket. */
#include "pm-ethernet/daemon/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "pm-ethernet/daemon/ports.h"
#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define WAIT_MS 10000
#define NS_PER_S 1000000000ull

/* A daemon with one port, which is in use. */
static struct ethd *make(void)
{
	struct ethd *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	ok(!ethd_closer_open(d));
	d->n_ports = 1;
	d->ports[0].switch_ifindex = 1;
	d->ports[0].context = 7;
	return d;
}

static void destroy(struct ethd *d)
{
	if (d->closer >= 0)
		close(d->closer);
	free(d);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Ends when every batch has been reaped, each after a report. */
static bool reap_all(struct ethd *d)
{
	struct pollfd watched = {.fd = d->closer, .events = POLLIN};

	while (d->n_closing) {
		if (poll(&watched, 1, WAIT_MS) != 1)
			return false;
		ethd_closer_reap(d);
	}
	return true;
}

TAP_TEST(ethd_closer_take__the_port_is_free_when_all_is_closed)
{
	struct ethd *d = make();
	int fds[2];

	must(pipe(fds) == 0);
	ethd_closer_take(d, 1, fds, 2, 0);
	is_int(d->n_closing, 1);
	is_int(d->ports[0].context, 0);
	is_int(d->ports[0].busy_until_ns == UINT64_MAX, 1);
	ok(reap_all(d));
	ok(!is_open(fds[0]) && !is_open(fds[1]));
	ok(d->ports[0].busy_until_ns < clock_monotonic_ns() + NS_PER_S);
	ok(!ethd_closer_reap(d));
	destroy(d);
}

TAP_TEST(ethd_closer_take__more_batches_than_threads)
{
	enum { MANY = 3 * ETHD_CLOSERS_MAX };
	struct ethd *d = make();
	int fds[MANY];
	bool is_any_open = false;

	for (int i = 0; i < MANY; i++) {
		fds[i] = dup(d->closer);
		must(fds[i] >= 0);
	}
	for (int i = 0; i < MANY; i++) {
		ethd_closer_take(d, (uid_t)i % 3, &fds[i], 1, -1);
		must(d->n_closing <= ETHD_CLOSERS_MAX);
	}
	ok(reap_all(d));
	for (int i = 0; i < MANY; i++)
		is_any_open |= is_open(fds[i]);
	ok(!is_any_open);
	destroy(d);
}

TAP_TEST(ethd_closer_take__a_user_has_only_some_of_the_threads)
{
	struct ethd *d = make();

	for (int i = 0; i < 2 * ETHD_CLOSERS_UID; i++) {
		int fd = dup(d->closer);

		must(fd >= 0);
		ethd_closer_take(d, 1000, &fd, 1, -1);
	}
	/* none has been reaped */
	is_int(d->n_closing, ETHD_CLOSERS_UID);
	ok(reap_all(d));
	destroy(d);
}

/* A user who opens and closes all the time lengthens nobody's wait. */
TAP_TEST(ethd_closer_is_busy__with_what_was_taken_before)
{
	struct ethd *d = make();
	uint64_t before = clock_monotonic_ns();
	int fds[2];

	must(pipe(fds) == 0);
	ok(!ethd_closer_is_busy(d, UINT64_MAX));
	while (clock_monotonic_ns() == before)
		;
	ethd_closer_take(d, 1, &fds[0], 1, -1);
	ok(!ethd_closer_is_busy(d, before));
	ok(ethd_closer_is_busy(d, clock_monotonic_ns()));
	ethd_closer_take(d, 1, &fds[1], 1, -1);
	ok(!ethd_closer_is_busy(d, before));
	ok(ethd_closer_is_busy(d, clock_monotonic_ns()));
	ok(reap_all(d));
	ok(!ethd_closer_is_busy(d, UINT64_MAX));
	destroy(d);
}

TAP_TEST(ethd_closer_take__without_a_loop_the_caller_closes)
{
	struct ethd *d = make();
	int fds[2];

	must(pipe(fds) == 0);
	close(d->closer);
	d->closer = -1;
	ethd_closer_take(d, 1, fds, 2, 0);
	ok(!is_open(fds[0]) && !is_open(fds[1]));
	is_int(d->n_closing, 0);
	is_int(d->ports[0].context, 0);
	is_int(d->ports[0].busy_until_ns, 0);
	destroy(d);
}

TAP_TEST(ethd_closer_take__a_port_without_sockets)
{
	struct ethd *d = make();

	ethd_closer_take(d, 1, NULL, 0, 0);
	is_int(d->n_closing, 0);
	is_int(d->ports[0].context, 0);
	is_int(d->ports[0].busy_until_ns, 0);
	destroy(d);
}
