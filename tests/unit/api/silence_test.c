// SPDX-License-Identifier: BSD-3-Clause
/*
 * A node that does not answer for channel.peer_timeout: how its end is told. Both nodes are here,
 * and one never looks.
 */
#include <errno.h>
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
