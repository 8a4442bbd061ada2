// SPDX-License-Identifier: BSD-3-Clause
/*
 * A node that does not answer for channel.peer_timeout: how its end is told. Both nodes are here,
 * and one never looks.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pm.h"
#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define CONFIG "devices=self+udp,udp.rails=lo,stream=never,channel.peer_timeout=30"
#define LIMIT_NS 10000000000ull

static pmContext ctx[2];

static void begin(void)
{
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);

	for (pmNode i = 0; i < 2; i++) {
		struct pmOptions options = {.size = sizeof(options),
					    .job_key = (uint64_t)getpid(),
					    .self = i,
					    .nodes = 2,
					    .config = CONFIG};

		okf(!pmOpenContext(&options, &ctx[i]), "%s", pmLastError());
	}
	is_int(pmGetAddress(ctx[1], address, &len), 0);
	is_int(pmAddNode(ctx[0], 1, address, len), 0);
	is_int(pmPost(ctx[0], 1, "hello", 5), 0);
}

static void end(int err)
{
	is_int(err, EPIPE);
	is_str(pmLastError(),
	       "node 1: it has not answered for 30 ms (channel.peer_timeout); look after its "
	       "process, its host and the way there");
	is_int(pmPost(ctx[0], 1, "hello", 5), EPIPE);
	for (int i = 0; i < 2; i++)
		is_int(pmCloseContext(ctx[i]), 0);
}

TAP_TEST(pmReceive__node_is_silent)
{
	uint64_t until = clock_monotonic_ns() + LIMIT_NS;
	int err = ENOBUFS;
	pmNode src = 0;
	pmDesc desc;
	size_t len;
	void *buf;

	begin();
	while (err == ENOBUFS && clock_monotonic_ns() < until)
		err = pmReceive(ctx[0], &buf, &len, &src, &desc);
	is_int(src, 1);
	end(err);
}

TAP_TEST(pmIsSendDone__node_is_silent)
{
	uint64_t until = clock_monotonic_ns() + LIMIT_NS;
	int err = ENOBUFS;

	begin();
	while (err == ENOBUFS && clock_monotonic_ns() < until)
		err = pmIsSendDone(ctx[0], 1);
	end(err);
}

/* Node @node is there, but for its process if that @is_gone. */
static void add(pmNode node, bool is_gone)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = (uint64_t)getpid(),
				    .self = node,
				    .nodes = 3,
				    .config = CONFIG};
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);
	pmContext other;

	okf(!pmOpenContext(&options, &other), "%s", pmLastError());
	is_int(pmGetAddress(other, address, &len), 0);
	is_int(pmAddNode(ctx[0], node, address, len), 0);
	if (is_gone)
		is_int(pmCloseContext(other), 0);
	else
		ctx[1] = other;
	is_int(pmPost(ctx[0], node, "hello", 5), 0);
}

/* The kernel tells of the first one, and time of the second, before either is looked at. */
TAP_TEST(pmReceive__each_dead_node_has_its_own_reason)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = (uint64_t)getpid(),
				    .self = 0,
				    .nodes = 3,
				    .config = CONFIG};
	uint64_t until = clock_monotonic_ns() + LIMIT_NS;
	char whys[3][256] = {""};
	int n = 0;

	okf(!pmOpenContext(&options, &ctx[0]), "%s", pmLastError());
	add(1, true);
	add(2, false);
	/* Nothing can be waited for: the node stays silent. PM's time goes on while it is asked. */
	for (int i = 0; i < 100; i++) {
		int fd, ms;

		pmBeforeSelect(ctx[0], &fd, &ms);
		usleep(1000);
		pmAfterSelect(ctx[0]);
	}
	while (n < 2 && clock_monotonic_ns() < until) {
		pmNode src;
		pmDesc desc;
		size_t len;
		void *buf;

		if (pmReceive(ctx[0], &buf, &len, &src, &desc) == EPIPE) {
			snprintf(whys[src], sizeof(whys[src]), "%s", pmLastError());
			n++;
		}
	}
	is_int(n, 2);
	ok(!strncmp(whys[2], "node 2: it has not answered", 27));
	okf(strstr(whys[1], "node 2") == NULL && *whys[1], "%s", whys[1]);
	for (int i = 0; i < 2; i++)
		is_int(pmCloseContext(ctx[i]), 0);
}
