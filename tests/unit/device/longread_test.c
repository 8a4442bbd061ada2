// SPDX-License-Identifier: BSD-3-Clause
/* Tests of longread.c with the stream of pm-udp: two contexts of one process, which reach each other over loopback. */
#include "pmcore/device/longread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-udp/stream/private.h"
#include "pmcore/api/context.h"
#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define LEN (3u << 20)
#define PATIENCE_NS 10000000000ull

struct two {
	pmContext ctx[2];
	uint8_t address[2][PM_ADDRESS_MAX];
	size_t address_len[2];
	uint8_t *from, *to; /* LEN bytes each; node 1 has the first, node 0 reads into the other */
	pmHandle handle;
};

static bool open_one(struct two *t, int i, const char *config)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = (uint64_t)getpid(),
				    .self = (uint32_t)i,
				    .config = config};

	t->address_len[i] = PM_ADDRESS_MAX;
	return okf(!pmOpenContext(&options, &t->ctx[i]), "%s", pmLastError()) &&
	       is_int(pmGetAddress(t->ctx[i], t->address[i], &t->address_len[i]), 0);
}

static bool open_two(struct two *t, const char *reader, const char *owner)
{
	memset(t, 0, sizeof(*t));
	t->from = malloc(LEN);
	t->to = calloc(1, LEN);
	for (uint32_t i = 0; i < LEN; i++)
		t->from[i] = (uint8_t)(i * 2654435761u >> 24);
	if (!open_one(t, 0, reader) || !open_one(t, 1, owner))
		return false;
	for (uint32_t i = 0; i < 2; i++)
		is_int(pmAddNode(t->ctx[i], !i, t->address[!i], t->address_len[!i]), 0);
	return is_int(pmMLock(t->ctx[1], t->from, LEN, &t->handle), 0);
}

static void close_two(struct two *t)
{
	for (int i = 0; i < 2; i++)
		if (t->ctx[i])
			pmCloseContext(t->ctx[i]);
	free(t->from);
	free(t->to);
}

static struct composite *composite_of(const struct two *t, int i)
{
	return context_get(t->ctx[i])->c;
}

static struct pmt_link *stream_of(const struct two *t, int i)
{
	return (struct pmt_link *)composite_of(t, i)->stream->link;
}

static void poll_owner(const struct two *t)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	if (t->ctx[1])
		pmReceive(t->ctx[1], &buf, &len, &src, &desc);
}

/* The end of the read, while the owner is polled. */
static int finish(const struct two *t, pmDesc desc)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
	int rc;

	do {
		poll_owner(t);
		rc = pmIsReadDone(t->ctx[0], desc);
	} while (rc == ENOBUFS && clock_monotonic_ns() < end);
	return rc;
}

static int read_all(struct two *t)
{
	pmDesc desc;
	int rc;

	memset(t->to, 0, LEN);
	rc = pmRead(t->ctx[0], 1, &t->handle, 0, t->to, LEN, &desc);
	return rc ? rc : finish(t, desc);
}

/* Reads until the connection is open and one has gone by it. */
static bool is_by_stream(struct two *t)
{
	struct composite *c = composite_of(t, 0);
	uint64_t before = c->stream->stats->read_bytes;
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	do {
		if (!is_int(read_all(t), 0) || !is_mem(t->to, t->from, LEN))
			return false;
	} while (c->stream->stats->read_bytes == before && clock_monotonic_ns() < end);
	return c->stream->stats->read_bytes == before + LEN;
}

#define ALWAYS "devices=self+udp,stream=always"
#define AUTO "devices=self+udp"
#define NEVER "devices=self+udp,stream=never"

TAP_TEST(read__goes_by_the_stream)
{
	struct two t;
	uint64_t worth = 0;

	if (open_two(&t, ALWAYS, ALWAYS)) {
		ok(is_by_stream(&t));
		ok(is_by_stream(&t));
		is_int(pmGetLongRead(t.ctx[0], 1, &worth), 0);
		ok(worth > 65536);
		is_int(pmGetLongRead(t.ctx[0], 0, &worth), 0);
		is_int((long)worth, 0);
	}
	close_two(&t);
}

TAP_TEST(read__auto_has_one_too)
{
	struct two t;

	if (open_two(&t, AUTO, AUTO))
		ok(is_by_stream(&t));
	close_two(&t);
}

/* One of the two has none: the device reads. */
TAP_TEST(read__without_a_stream_at_one_end)
{
	struct two t;
	uint64_t worth = 1;

	if (open_two(&t, ALWAYS, NEVER)) {
		is_int(read_all(&t), 0);
		ok(is_mem(t.to, t.from, LEN));
		is_int((long)composite_of(&t, 0)->stream->stats->read_bytes, 0);
		is_int(pmGetLongRead(t.ctx[0], 1, &worth), 0);
		is_int((long)worth, 0);
	}
	close_two(&t);
	if (open_two(&t, NEVER, ALWAYS)) {
		ok(!composite_of(&t, 0)->stream);
		is_int(read_all(&t), 0);
		ok(is_mem(t.to, t.from, LEN));
	}
	close_two(&t);
}

/* Closes the owner's end of all connections, as a host that fails does. */
static void cut(const struct two *t)
{
	struct pmt_owned *o;

	TAILQ_FOREACH(o, &stream_of(t, 1)->owned, link)
	shutdown(o->socket.fd, SHUT_RDWR);
}

TAP_TEST(read__is_made_again_when_the_connection_breaks)
{
	struct two t;
	pmDesc desc;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		memset(t.to, 0, LEN);
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		is_int((long)stream_of(&t, 0)->n_reads, 1);
		/* a third of it at most leaves by one poll */
		poll_owner(&t);
		cut(&t);
		is_int(finish(&t, desc), 0);
		ok(is_mem(t.to, t.from, LEN));
		is_int((long)stream_of(&t, 0)->n_reads, 0);
		is_int((long)stream_of(&t, 0)->n_readers, 0);
		is_int(read_all(&t), 0);
		ok(is_mem(t.to, t.from, LEN));
	}
	close_two(&t);
}

/* A withdrawn region is not sent on, and the device says that it is refused. */
TAP_TEST(read__of_a_region_that_goes)
{
	struct two t;
	pmDesc desc;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		poll_owner(&t);
		is_int(pmMUnlock(t.ctx[1], &t.handle), 0);
		memset(t.from, 0xee, LEN);
		is_int(finish(&t, desc), EACCES);
		is_int(read_all(&t), EACCES);
	}
	close_two(&t);
}

TAP_TEST(read__of_a_node_that_dies_or_is_removed)
{
	struct two t;
	pmDesc desc;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		is_int(pmCloseContext(t.ctx[1]), 0);
		t.ctx[1] = PM_CONTEXT_NONE;
		is_int(finish(&t, desc), EPIPE);
	}
	close_two(&t);
	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		is_int(pmRemoveNode(t.ctx[0], 1), 0);
		is_int(finish(&t, desc), EPIPE);
		is_int((long)stream_of(&t, 0)->n_reads, 0);
	}
	close_two(&t);
}

TAP_TEST(read__many_at_once_and_of_every_length)
{
	static const size_t lengths[] = {65535, 65536, 65537, 1 << 20, (1 << 20) + 13, LEN};
	struct two t;
	pmDesc desc[100];

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		memset(t.to, 0, LEN);
		for (int i = 0; i < 100; i++)
			is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, lengths[i % 6], &desc[i]),
			       0);
		for (int i = 99; i >= 0; i--)
			is_int(finish(&t, desc[i]), 0);
		ok(is_mem(t.to, t.from, LEN));
	}
	close_two(&t);
}

TAP_TEST(quiesce__waits_for_reads_and_goes_on)
{
	struct two t;
	pmDesc desc;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		is_int(pmQuiesce(t.ctx[0], 5), ETIMEDOUT);
		is_int(finish(&t, desc), 0);
		is_int(pmQuiesce(t.ctx[0], 2000), 0);
		is_int(pmResume(t.ctx[0]), 0);
		ok(is_by_stream(&t));
	}
	close_two(&t);
}

/* The reader sleeps on its descriptors until the owner has sent all. */
TAP_TEST(wait__wakes_for_a_stream)
{
	struct two t;
	pmDesc desc;
	int rc;

	if (open_two(&t, ALWAYS ",wait.spin=0", ALWAYS) && ok(is_by_stream(&t))) {
		uint64_t start = clock_monotonic_ns();

		memset(t.to, 0, LEN);
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		do {
			poll_owner(&t);
			pmWait(t.ctx[0], 1);
			rc = pmIsReadDone(t.ctx[0], desc);
		} while (rc == ENOBUFS && clock_monotonic_ns() - start < PATIENCE_NS);
		is_int(rc, 0);
		ok(is_mem(t.to, t.from, LEN));
	}
	close_two(&t);
}

TAP_TEST(open__refused_where_packets_are_wanted)
{
	struct pmOptions options = {.size = sizeof(options), .job_key = 1};
	pmContext ctx;

	options.config = "devices=self+udp,channel.crc=1,stream=always";
	is_int(pmOpenContext(&options, &ctx), ENODEV);
	okf(strstr(pmLastError(), "stream=always: fault, trace and channel.crc"), "%s",
	    pmLastError());
	options.config = "devices=self,stream=always";
	is_int(pmOpenContext(&options, &ctx), ENODEV);
	okf(strstr(pmLastError(), "no network device"), "%s", pmLastError());
	options.config = "devices=self+udp,channel.crc=1";
	is_int(pmOpenContext(&options, &ctx), 0);
	ok(!context_get(ctx)->c->stream);
	is_int(pmCloseContext(ctx), 0);
}
