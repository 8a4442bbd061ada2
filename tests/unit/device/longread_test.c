// SPDX-License-Identifier: BSD-3-Clause
/* Tests of longread.c with the stream of pm-udp: two contexts of one process, which reach each other over loopback. */
#include "pmcore/device/longread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
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
	bool is_over; /* for a thread that polls the owner */
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

/* Short ones too, if somebody asks for them; but what fits a few packets goes without a request. */
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
		is_int((long)(stats->read_bytes - before), (long)READS * SHORT);
		is_int(pmRead(t.ctx[0], 1, &t.handle, 0, t.to, 8000, &desc[0]), 0);
		is_int(finish(&t, desc[0]), 0);
		is_int((long)(stats->read_bytes - before), (long)READS * SHORT);
	}
	close_two(&t);
}

/* A second owner, node 2 of the reader. */
struct third {
	pmContext ctx;
	uint8_t *from;
	pmHandle handle;
};

static bool open_third(struct two *t, struct third *o)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = (uint64_t)getpid(),
				    .self = 2,
				    .config = ALWAYS};
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);

	memset(o, 0, sizeof(*o));
	o->from = malloc(LEN);
	memset(o->from, 3, LEN);
	return okf(!pmOpenContext(&options, &o->ctx), "%s", pmLastError()) &&
	       is_int(pmGetAddress(o->ctx, address, &len), 0) &&
	       is_int(pmAddNode(t->ctx[0], 2, address, len), 0) &&
	       is_int(pmAddNode(o->ctx, 0, t->address[0], t->address_len[0]), 0) &&
	       is_int(pmMLock(o->ctx, o->from, LEN, &o->handle), 0);
}

static void close_third(struct third *o)
{
	if (o->ctx)
		pmCloseContext(o->ctx);
	free(o->from);
}

static void poll_third(const struct third *o)
{
	pmDesc desc;
	pmNode src;
	size_t len;
	void *buf;

	pmReceive(o->ctx, &buf, &len, &src, &desc);
}

/* Of all owners. */
static uint64_t outstanding(const struct pmt_link *s)
{
	const struct pmt_peer *peer;
	uint64_t bytes = 0;

	LIST_FOREACH(peer, &s->peers, link)
	bytes += peer->outstanding;
	return bytes;
}

static void join_third(struct two *t, const struct third *o)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
	uint32_t readers = stream_of(t, 0)->n_readers;
	pmDesc desc;

	do {
		is_int(pmRead(t->ctx[0], 2, &o->handle, 0, t->to, LEN, &desc), 0);
		while (pmIsReadDone(t->ctx[0], desc) == ENOBUFS && clock_monotonic_ns() < end)
			poll_third(o);
	} while (!pmt_is_read_by((void *)context_get(o->ctx)->c->stream->link, 0) &&
		 clock_monotonic_ns() < end);
	is_int(stream_of(t, 0)->n_readers, readers + 1);
}

/* Reads from both by turns. */
enum { TURNS = 40, PIECE = 70000 };

static void read_both(struct two *t, const struct third *o, pmDesc desc[TURNS])
{
	memset(t->to, 0, LEN);
	for (size_t i = 0; i < TURNS; i++)
		is_int(pmRead(t->ctx[0], i % 2 ? 2 : 1, i % 2 ? &o->handle : &t->handle, i * PIECE,
			      t->to + i * PIECE, PIECE, &desc[i]),
		       0);
}

/* No more is asked for than the bound allows, and the part that reaches it. */
TAP_TEST(read__of_several_owners_is_bounded)
{
	struct third o = {0};
	struct two t;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t)) && open_third(&t, &o)) {
		struct pmt_link *s = stream_of(&t, 0);
		uint64_t most = 0;
		pmDesc desc[TURNS];

		join_third(&t, &o);
		pmt_bound_init(&s->bound, 1);
		s->bound.is_starting = false;
		read_both(&t, &o, desc);
		for (size_t i = 0; i < TURNS;) {
			most = outstanding(s) > most ? outstanding(s) : most;
			poll_owner(&t);
			poll_third(&o);
			i += pmIsReadDone(t.ctx[0], desc[i]) != ENOBUFS;
		}
		okf(most <= s->bound.bytes + PIECE, "%lu bytes under way", (unsigned long)most);
		for (size_t i = 0; i < TURNS; i++)
			ok(is_mem(t.to + i * PIECE, (i % 2 ? o.from : t.from) + i * PIECE, PIECE));
		is_int((long)outstanding(s), 0);
	}
	close_third(&o);
	close_two(&t);
}

/* It is asked first, and keeps the others waiting for a moment only. */
TAP_TEST(read__of_an_owner_that_computes_keeps_no_other_waiting)
{
	struct third o = {0};
	struct two t;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t)) && open_third(&t, &o)) {
		struct pmt_link *s = stream_of(&t, 0);
		pmDesc desc[TURNS];

		join_third(&t, &o);
		pmt_bound_init(&s->bound, 1);
		s->bound.bytes = s->bound.least;
		read_both(&t, &o, desc);
		for (size_t i = 0; i < TURNS; i += 2)
			is_int(finish(&t, desc[i]), 0);
		for (size_t i = 1; i < TURNS; i += 2) {
			int rc;

			while ((rc = pmIsReadDone(t.ctx[0], desc[i])) == ENOBUFS)
				poll_third(&o);
			is_int(rc, 0);
		}
	}
	close_third(&o);
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

/* The connection breaks on the way to being quiet: quiet is the context when the device has made the read again. */
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
