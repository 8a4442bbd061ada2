// SPDX-License-Identifier: BSD-3-Clause
/*
 * pingpong - two processes send a message to and fro by PM and print how long it takes.
 *
 *	pingpong [-n ROUNDS] PORT	waits for the other process
 *	pingpong [-n ROUNDS] HOST PORT	calls it; HOST may be localhost
 *
 * Exit status: 0; 1 when something failed, with a line that says what; 2 for a wrong call.
 */
#include <errno.h>
#include <pm.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "meet.h"

#define ROUNDS 1000       /* of each size, unless -n says otherwise: the same at both ends */
#define PATIENCE_MS 10000 /* how long an answer may take */
#define PAUSE_MS 100      /* how often to look at the clock while waiting */

/*
 * Each side tells this to the other. All fields have the same size on all machines that PM runs on.
 */
struct introduction {
	uint64_t job_key; /* the job's is the sum of both */
	uint64_t address_len;
	unsigned char address[PM_ADDRESS_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Prints PM's own sentence, which names the thing, the place and the remedy. */
static int fail(const char *what, int err)
{
	const char *why = pmLastError();

	fprintf(stderr, "pingpong: %s: %s\n", what, *why ? why : pmErrorString(err));
	return -1;
}

/*
 * PM never blocks: ENOBUFS means "not now". Then pmWait() sleeps until there may be something to
 * do.
 */
static int wait_a_while(pmContext ctx, uint64_t deadline_ns, const char *what)
{
	int err;

	if (now_ns() > deadline_ns) {
		fprintf(stderr, "pingpong: %s: nothing for %d s, so the other side is stuck\n",
			what, PATIENCE_MS / 1000);
		return -1;
	}
	err = pmWait(ctx, PAUSE_MS);
	return err && err != ETIMEDOUT ? fail("pmWait", err) : 0;
}

static int send_message(pmContext ctx, pmNode to, size_t len, unsigned char fill)
{
	uint64_t deadline_ns = now_ns() + PATIENCE_MS * 1000000ull;
	void *buffer;
	pmDesc desc;
	int err;

	while ((err = pmGetSendBuffer(ctx, to, len, &buffer, &desc)) == ENOBUFS)
		if (wait_a_while(ctx, deadline_ns, "send"))
			return -1;
	if (err)
		return fail("pmGetSendBuffer", err);
	memset(buffer, fill, len);
	err = pmSend(ctx, desc);
	return err ? fail("pmSend", err) : 0;
}

static bool is_filled(const unsigned char *data, size_t len, unsigned char fill)
{
	return data[0] == fill && !memcmp(data, data + 1, len - 1);
}

static int receive_message(pmContext ctx, size_t len, unsigned char fill)
{
	uint64_t deadline_ns = now_ns() + PATIENCE_MS * 1000000ull;
	pmNode from;
	pmDesc desc;
	void *buffer;
	size_t got;
	bool is_right;
	int err;

	while ((err = pmReceive(ctx, &buffer, &got, &from, &desc)) == ENOBUFS)
		if (wait_a_while(ctx, deadline_ns, "receive"))
			return -1;
	if (err) /* EPIPE: the other process has died */
		return fail("pmReceive", err);
	is_right = got == len && is_filled(buffer, len, fill);
	err = pmReleaseReceiveBuffer(ctx, desc);
	if (err)
		return fail("pmReleaseReceiveBuffer", err);
	if (!is_right)
		fprintf(stderr, "pingpong: %zu bytes from node %u are not what was sent\n", got,
			from);
	return is_right ? 0 : -1;
}

/* Node 1 sends first; node 0 answers. */
static int play(pmContext ctx, pmNode self, size_t len, long rounds)
{
	pmNode other = 1 - self;
	uint64_t begin_ns = now_ns();

	for (long i = 0; i < rounds; i++) {
		unsigned char fill = (unsigned char)i;
		int err = self ? send_message(ctx, other, len, fill)
			       : receive_message(ctx, len, fill);

		if (!err)
			err = self ? receive_message(ctx, len, fill)
				   : send_message(ctx, other, len, fill);
		if (err)
			return -1;
	}
	if (self)
		printf("%8zu bytes: %8.2f us one way\n", len,
		       (double)(now_ns() - begin_ns) / (2e3 * (double)rounds));
	return 0;
}

static int play_all(pmContext ctx, pmNode self, long rounds)
{
	const char *device;
	size_t mtu;
	int err = pmGetMtu(ctx, 1 - self, &mtu);

	if (!err)
		err = pmGetDeviceName(ctx, 1 - self, &device);
	if (err)
		return fail("the way to the other side", err);
	if (self)
		printf("device %s, messages of up to %zu bytes\n", device, mtu);
	for (size_t len = 8; len <= mtu; len *= 8)
		if (play(ctx, self, len, rounds))
			return -1;
	err = pmQuiesce(ctx,
			PATIENCE_MS); /* what was sent has arrived, so the context may be closed */
	return err ? fail("pmQuiesce", err) : 0;
}

/* Both draw a part of the job's key: a packet with another key is dropped. */
static int open_context(int connection, pmNode self, pmContext *ret_ctx)
{
	struct pmOptions options = {.size = sizeof(options), .self = self, .nodes = 2};
	struct introduction mine = {0}, theirs;
	size_t len = sizeof(mine.address);
	int err;

	if (getrandom(&mine.job_key, sizeof(mine.job_key), 0) != sizeof(mine.job_key)) {
		perror("pingpong: getrandom");
		return -1;
	}
	if (meet_exchange(connection, &mine, &theirs, sizeof(mine)))
		return -1;
	options.job_key = mine.job_key + theirs.job_key;
	err = pmOpenContext(&options, ret_ctx);
	if (err)
		return fail("pmOpenContext", err);
	err = pmGetAddress(*ret_ctx, mine.address, &len);
	if (err)
		return fail("pmGetAddress", err);
	mine.address_len = len;
	if (meet_exchange(connection, &mine, &theirs, sizeof(mine)))
		return -1;
	if (theirs.address_len > sizeof(theirs.address)) {
		fprintf(stderr, "pingpong: the other side speaks something else\n");
		return -1;
	}
	err = pmAddNode(*ret_ctx, 1 - self, theirs.address, theirs.address_len);
	return err ? fail("pmAddNode", err) : 0;
}

/* The number of rounds; 0 for a wrong call. */
static long read_options(int argc, char **argv)
{
	long rounds = ROUNDS;
	int c;

	while ((c = getopt(argc, argv, "n:")) != -1)
		rounds = c == 'n' ? strtol(optarg, NULL, 10) : 0;
	return rounds > 0 && (optind == argc - 1 || optind == argc - 2) ? rounds : 0;
}

int main(int argc, char **argv)
{
	long rounds = read_options(argc, argv);
	pmContext ctx = PM_CONTEXT_NONE;
	pmNode self = optind == argc - 2;
	int connection, err;

	if (!rounds) {
		fprintf(stderr, "usage: pingpong [-n ROUNDS] PORT, and on another host or here:"
				" pingpong [-n ROUNDS] HOST PORT\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	connection = self ? meet_call(argv[optind], argv[optind + 1]) : meet_wait(argv[optind]);
	if (connection < 0)
		return 1;
	err = open_context(connection, self, &ctx);
	if (!err)
		err = play_all(ctx, self, rounds);
	if (ctx != PM_CONTEXT_NONE)
		pmCloseContext(ctx);
	close(connection);
	return err ? 1 : 0;
}
