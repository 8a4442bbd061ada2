// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/daemon/closer.c; the end of a pipe does for a socket. */
#include "pm-ethernet/daemon/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define WAIT_MS 10000

static struct ethd *make(void)
{
	struct ethd *d = calloc(1, sizeof(*d));

	if (!d)
		abort();
	ok(!ethd_closer_open(d));
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

	while (d->closing) {
		if (poll(&watched, 1, WAIT_MS) != 1)
			return false;
		ethd_closer_reap(d);
	}
	return true;
}

TAP_TEST(ethd_closer_take__the_charge_tells_until_all_is_closed)
{
	struct ethd *d = make();
	struct ethd_charge charge = {.uid = 1};
	int fds[2];

	must(pipe(fds) == 0);
	ethd_closer_take(d, &charge, fds, 2);
	is_int(d->n_closing, 1);
	is_int(charge.n_closing, 1);
	ok(reap_all(d));
	ok(!is_open(fds[0]) && !is_open(fds[1]));
	is_int(charge.n_closing, 0);
	is_int(d->n_closing, 0);
	ok(!ethd_closer_reap(d));
	destroy(d);
}

TAP_TEST(ethd_closer_take__more_batches_than_threads)
{
	enum { MANY = 3 * ETHD_CLOSERS_MAX };
	struct ethd_charge charges[3] = {{.uid = 0}, {.uid = 1}, {.uid = 2}};
	struct ethd *d = make();
	int fds[MANY];
	bool is_any_open = false;

	for (int i = 0; i < MANY; i++) {
		fds[i] = dup(d->closer);
		must(fds[i] >= 0);
	}
	for (int i = 0; i < MANY; i++) {
		ethd_closer_take(d, &charges[i % 3], &fds[i], 1);
		must(d->n_closing <= ETHD_CLOSERS_MAX);
	}
	ok(reap_all(d));
	for (int i = 0; i < MANY; i++)
		is_any_open |= is_open(fds[i]);
	ok(!is_any_open);
	is_int(charges[0].n_closing + charges[1].n_closing + charges[2].n_closing, 0);
	destroy(d);
}

/*
 * The caller, which is the daemon's loop, closes none of them: it would wait for the kernel at
 * each.
 */
TAP_TEST(ethd_closer_take__a_user_has_only_some_of_the_threads)
{
	struct ethd_charge much = {.uid = 1000}, other = {.uid = 1001};
	struct ethd *d = make();

	for (int i = 0; i < 2 * ETHD_CLOSERS_UID; i++) {
		int fd = dup(d->closer);

		must(fd >= 0);
		ethd_closer_take(d, &much, &fd, 1);
	}
	/* none has been reaped */
	is_int(d->n_closing, ETHD_CLOSERS_UID);
	is_int(much.n_closing, 2 * ETHD_CLOSERS_UID);
	for (int i = 0; i < 2; i++) {
		int fd = dup(d->closer);

		must(fd >= 0);
		ethd_closer_take(d, &other, &fd, 1);
	}
	is_int(d->n_closing, ETHD_CLOSERS_UID + 2);
	ok(reap_all(d));
	is_int(much.n_closing + other.n_closing, 0);
	destroy(d);
}

/* A user who opens and closes all the time lengthens nobody's wait. */
TAP_TEST(ethd_closer_is_busy__with_what_was_taken_before)
{
	struct ethd *d = make();
	struct ethd_charge charge = {.uid = 1};
	uint64_t before = clock_monotonic_ns();
	int fds[2];

	must(pipe(fds) == 0);
	ok(!ethd_closer_is_busy(d, UINT64_MAX));
	while (clock_monotonic_ns() == before)
		;
	ethd_closer_take(d, &charge, &fds[0], 1);
	ok(!ethd_closer_is_busy(d, before));
	ok(ethd_closer_is_busy(d, clock_monotonic_ns()));
	ethd_closer_take(d, &charge, &fds[1], 1);
	ok(!ethd_closer_is_busy(d, before));
	ok(ethd_closer_is_busy(d, clock_monotonic_ns()));
	ok(reap_all(d));
	ok(!ethd_closer_is_busy(d, UINT64_MAX));
	destroy(d);
}

TAP_TEST(ethd_closer_take__without_a_loop_the_caller_closes)
{
	struct ethd *d = make();
	struct ethd_charge charge = {.uid = 1};
	int fds[2];

	must(pipe(fds) == 0);
	close(d->closer);
	d->closer = -1;
	ethd_closer_take(d, &charge, fds, 2);
	ok(!is_open(fds[0]) && !is_open(fds[1]));
	is_int(charge.n_closing, 0);
	destroy(d);
}

TAP_TEST(ethd_closer_take__nothing)
{
	struct ethd *d = make();
	struct ethd_charge charge = {.uid = 1};

	ethd_closer_take(d, &charge, NULL, 0);
	ok(!d->closing);
	is_int(charge.n_closing, 0);
	destroy(d);
}
