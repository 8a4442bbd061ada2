// SPDX-License-Identifier: BSD-3-Clause
/* Sleeping and waking: one context per thread, the peer sends while the other sleeps. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "tests/conformance/variant.h"

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

struct sender {
	struct crew *crew;
	unsigned int from;
	int count;
	long pause_ns; /* longest pause between messages: random below it */
};

static void *send_slowly(void *arg)
{
	struct sender *s = arg;
	uint64_t rng = 42 + s->from;

	for (int i = 0; i < s->count; i++) {
		struct timespec pause = {0, (long)(tap_rand(&rng) % (uint64_t)s->pause_ns)};

		/*
		 * the pause is what is tested: the receiver has to be asleep for some of the
		 * messages
		 */
		nanosleep(&pause, NULL);
		while (crew_send(s->crew, s->from, 0, 64) == ENOBUFS)
			crew_receive(s->crew, s->from);
	}
	/* its own acks and retransmissions go on until all has arrived */
	for (double end = seconds() + 10; seconds() < end;) {
		if (pmIsSendDone(s->crew->ctx[s->from], PM_NODE_ANY) == PM_SUCCESS)
			break;
		pmWait(s->crew->ctx[s->from], 5);
	}
	return NULL;
}

CONFORMS(pmWait__time_limit)
{
	double start = seconds(), took;

	is_int(pmWait(crew->ctx[0], 50), ETIMEDOUT);
	took = seconds() - start;
	okf(took > 0.045 && took < 1, "took %.3f s", took);
	is_int(pmWait(crew->ctx[0], 0), ETIMEDOUT);
	must(crew_send_hard(crew, 0, 0, 8));
	is_int(pmWait(crew->ctx[0], 1000), PM_SUCCESS);
	crew_drain(crew);
	(void)variant;
}

/* No wake-up may be lost: a lost one shows as a wait that lasts its whole second. */
CONFORMS(pmWait__wakes_for_each_device)
{
	enum { COUNT = 150 };
	struct sender senders[2] = {{crew, 1, COUNT, 400000}, {crew, 2, COUNT, 400000}};
	pthread_t threads[2];
	int got = 0, late = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, send_slowly, &senders[i]);
	while (got < 2 * COUNT && late < 3) {
		double start = seconds();
		int err = pmWait(crew->ctx[0], 2000);

		late += err == ETIMEDOUT || seconds() - start > 1.5;
		while (crew_receive(crew, 0))
			got++;
	}
	/* the senders wait for their acks */
	for (double end = seconds() + 0.2; seconds() < end;)
		crew_receive(crew, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	is_int(got, 2 * COUNT);
	is_int(late, 0);
	(void)variant;
}

CONFORMS(pmBeforeSelect__descriptor_becomes_readable)
{
	int fd = -1, timeout = 0, err, tries = 0;
	struct pollfd pfd;

	while ((err = pmBeforeSelect(crew->ctx[0], &fd, &timeout)) == ENOBUFS && tries++ < 1000)
		crew_turn(crew);
	must(err == PM_SUCCESS);
	is_int(pmBeforeSelect(crew->ctx[0], &fd, &timeout), EINVAL);
	must(crew_send(crew, 1, 0, 32) == PM_SUCCESS);
	must(crew_send(crew, 2, 0, 32) == PM_SUCCESS);
	for (tries = 0; tries < 200; tries++) {
		crew_receive(crew, 1);
		crew_receive(crew, 2);
		pfd = (struct pollfd){.fd = fd, .events = POLLIN};
		if (poll(&pfd, 1, 10) == 1)
			break;
	}
	ok(tries < 200);
	is_int(pmAfterSelect(crew->ctx[0]), PM_SUCCESS);
	is_int(pmAfterSelect(crew->ctx[0]), EINVAL);
	crew_drain(crew);
	(void)variant;
}
