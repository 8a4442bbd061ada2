// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of longread.c with the stream of pm-udp: two contexts of one process, which reach each
 * other over loopback.
 */
#include "tests/unit/device/longread_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>

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
		/* two thirds of it at most leave by one poll */
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

/*
 * Short ones too, while others are under way; but what fits a few packets goes without a request.
 */
TAP_TEST(read__short_ones_in_a_crowd)
{
	enum { READS = 200, SHORT = 12001 };
	struct two t;
	pmDesc desc[READS];

	if (open_two(&t, AUTO, AUTO) && ok(is_by_stream(&t))) {
		const struct stats_link *stats = composite_of(&t, 0)->stream->stats;
		uint64_t before = stats->read_bytes;

		memset(t.to, 0, LEN);
		for (size_t i = 0; i < READS; i++)
			is_int(pmRead(t.ctx[0], 1, &t.handle, i * SHORT, t.to + i * SHORT, SHORT,
				      &desc[i]),
			       0);
		for (size_t i = 0; i < READS; i++)
			is_int(finish(&t, desc[i]), 0);
		ok(is_mem(t.to, t.from, (size_t)READS * SHORT));
		/* the first was alone */
		is_int((long)(stats->read_bytes - before), (READS - 1) * SHORT);
		for (size_t len = 8000; len <= SHORT; len += SHORT - 8000) {
			is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, len, &desc[0]), 0);
			is_int(finish(&t, desc[0]), 0);
		}
		is_int((long)(stats->read_bytes - before), (READS - 1) * SHORT);
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, 32768, &desc[0]), 0);
		is_int(finish(&t, desc[0]), 0);
		is_int((long)(stats->read_bytes - before), (READS - 1) * SHORT + 32768);
		is_int(composite_of(&t, 0)->n_reads, 0);
	}
	close_two(&t);
}

/* It is open for the one that is read from. */
TAP_TEST(is_open__is_the_owners_word)
{
	struct two t;

	if (open_two(&t, AUTO, AUTO)) {
		is_int(pmIsStreamOpen(t.ctx[1], 0), ENOBUFS);
		ok(is_by_stream(&t));
		is_int(pmIsStreamOpen(t.ctx[1], 0), 0);
		is_int(pmIsStreamOpen(t.ctx[0], 1), ENOBUFS);
		is_int(pmIsStreamOpen(t.ctx[0], 0), ENOBUFS);
		is_int(pmRemoveNode(t.ctx[1], 0), 0);
		is_int(pmIsStreamOpen(t.ctx[1], 0), EHOSTUNREACH);
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

static void *keep_polling(void *arg)
{
	struct two *t = arg;
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

	while (!__atomic_load_n(&t->is_over, __ATOMIC_ACQUIRE) && clock_monotonic_ns() < end)
		poll_owner(t);
	return NULL;
}

/*
 * The connection breaks on the way to being quiet: quiet is the context when the device has made
 * the read again.
 */
TAP_TEST(quiesce__a_read_that_is_lost_meanwhile)
{
	struct two t;
	pthread_t owner;
	pmDesc desc;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		memset(t.to, 0, LEN);
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		poll_owner(&t);
		is_int(pmQuiesce(t.ctx[0], 5), ETIMEDOUT);
		cut(&t);
		is_int(pthread_create(&owner, NULL, keep_polling, &t), 0);
		is_int(pmQuiesce(t.ctx[0], 5000), 0);
		is_int(pmIsReadDone(t.ctx[0], desc), 0);
		ok(is_mem(t.to, t.from, LEN));
		__atomic_store_n(&t.is_over, true, __ATOMIC_RELEASE);
		pthread_join(owner, NULL);
	}
	close_two(&t);
}

/* Takes what there is without asking for the read itself. */
static void poll_reader(const struct two *t)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	is_int(pmReceive(t->ctx[0], &buf, &len, &src, &desc), ENOBUFS);
}

/* A program that may sleep although its read is over would never wake. */
TAP_TEST(before_select__refuses_while_a_read_has_ended_unseen)
{
	struct two t;
	pmDesc desc;
	int fd, timeout_ms, rc = ENOBUFS;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		uint64_t end = clock_monotonic_ns() + PATIENCE_NS;

		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		while (stream_of(&t, 0)->n_reads && clock_monotonic_ns() < end) {
			poll_owner(&t);
			poll_reader(&t);
		}
		is_int(pmBeforeSelect(t.ctx[0], &fd, &timeout_ms), ENOBUFS);
		is_int(pmIsReadDone(t.ctx[0], desc), 0);
		/* nothing new: it may, as soon as the other device has nothing either */
		while (rc == ENOBUFS && clock_monotonic_ns() < end) {
			poll_owner(&t);
			poll_reader(&t);
			rc = pmBeforeSelect(t.ctx[0], &fd, &timeout_ms);
		}
		if (is_int(rc, 0))
			is_int(pmAfterSelect(t.ctx[0]), 0);
	}
	close_two(&t);
}

/* Messages that come as fast as the owner takes them. */
TAP_TEST(read__in_a_flood_of_messages)
{
	struct two t;
	pmDesc desc = 0, message;
	uint64_t end;
	int rc = ENOBUFS;
	pmNode src;
	size_t len;
	void *buf;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t))) {
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, LEN, &desc), 0);
		end = clock_monotonic_ns() + PATIENCE_NS;
		while (rc == ENOBUFS && clock_monotonic_ns() < end) {
			for (int i = 0; i < 4; i++)
				(void)pmPost(t.ctx[0], 1, "flood", 5);
			for (int i = 0; i < 2; i++)
				if (!pmReceive(t.ctx[1], &buf, &len, &src, &message))
					is_int(pmReleaseReceiveBuffer(t.ctx[1], message), 0);
			rc = pmIsReadDone(t.ctx[0], desc);
		}
		is_int(rc, 0);
	}
	close_two(&t);
}

TAP_TEST(open__goes_by_the_rails_that_the_user_named)
{
	static const char rails[] = "devices=self+udp,udp.rails=127.0.0.5";
	static const char device[] = "devices=self+udp,udp.rails=127.0.0.5,stream=never";
	size_t with = 0, without = 0;
	struct two t;

	if (open_two(&t, rails, rails)) {
		is_int(stream_of(&t, 0)->rails[0].address, ntohl(inet_addr("127.0.0.5")));
		ok(is_by_stream(&t));
		is_int(pmGetMtu(t.ctx[0], PM_NODE_ANY, &with), 0);
	}
	close_two(&t);
	if (open_two(&t, device, device))
		is_int(pmGetMtu(t.ctx[0], PM_NODE_ANY, &without), 0);
	close_two(&t);
	is_int((long)with, (long)without);
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
