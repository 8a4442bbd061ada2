// SPDX-License-Identifier: BSD-3-Clause
/* Tests of reads from two owners at a time, by the streams of pm-udp. */
#include "tests/unit/device/longread_pair.h"

#include <errno.h>

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

/*
 * No more is asked for than the bound allows; a pause of this thread looks like an owner's, whose
 * share is the other's.
 */
TAP_TEST(read__of_several_owners_is_bounded)
{
	struct third o = {0};
	struct two t;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t)) && open_third(&t, &o)) {
		struct pmt_link *s = stream_of(&t, 0);
		bool is_bounded = true;
		pmDesc desc[TURNS];

		join_third(&t, &o);
		pmt_bound_init(&s->bound, 1);
		s->bound.is_starting = false;
		read_both(&t, &o, desc);
		for (size_t i = 0; i < TURNS;) {
			is_bounded &= s->n_busy < 2 || outstanding(s) <= 2 * s->bound.bytes + PIECE;
			poll_owner(&t);
			poll_third(&o);
			i += pmIsReadDone(t.ctx[0], desc[i]) != ENOBUFS;
		}
		ok(is_bounded);
		for (size_t i = 0; i < TURNS; i++)
			ok(is_mem(t.to + i * PIECE, (i % 2 ? o.from : t.from) + i * PIECE, PIECE));
		is_int((long)outstanding(s), 0);
		is_int(s->n_unasked, 0);
	}
	close_third(&o);
	close_two(&t);
}

/* One that is asked first and computes has its share under way, and no more. */
TAP_TEST(read__of_an_owner_that_computes_keeps_no_other_waiting)
{
	struct third o = {0};
	struct two t;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t)) && open_third(&t, &o)) {
		uint64_t end = clock_monotonic_ns() + PATIENCE_NS;
		struct pmt_link *s = stream_of(&t, 0);
		pmDesc desc[TURNS];

		join_third(&t, &o);
		pmt_bound_init(&s->bound, 1);
		read_both(&t, &o, desc);
		for (size_t i = 0; i < TURNS; i += 2)
			is_int(finish(&t, desc[i]), 0);
		for (size_t i = 1; i < TURNS; i += 2) {
			while (pmIsReadDone(t.ctx[0], desc[i]) == ENOBUFS &&
			       clock_monotonic_ns() < end)
				poll_third(&o);
		}
		ok(is_mem(t.to + PIECE, o.from, PIECE));
	}
	close_third(&o);
	close_two(&t);
}

/*
 * One that goes takes its reads with it, also those that were not asked for yet; the device makes
 * them, and fails.
 */
TAP_TEST(read__of_an_owner_that_goes)
{
	struct third o = {0};
	struct two t;

	if (open_two(&t, ALWAYS, ALWAYS) && ok(is_by_stream(&t)) && open_third(&t, &o)) {
		struct pmt_link *s = stream_of(&t, 0);
		pmDesc desc[TURNS];

		join_third(&t, &o);
		pmt_bound_init(&s->bound, 1);
		read_both(&t, &o, desc);
		is_int(pmRemoveNode(t.ctx[0], 2), 0);
		for (size_t i = 0; i < TURNS; i++)
			is_int(finish(&t, desc[i]), i % 2 ? EPIPE : 0);
		is_int((long)outstanding(s), 0);
		is_int(s->n_unasked, 0);
		is_int(s->n_busy, 0);
	}
	close_third(&o);
	close_two(&t);
}
