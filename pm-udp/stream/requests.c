/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requests - which data this process asks for, of the owners it reads from, when, and by which connection: of each owner the
 * oldest read first, and of several no more together than a switch port before us can hold, in equal shares.
 */
#include "pm-udp/stream/private.h"
#include "pmcore/util/clock.h"

/* Bytes asked for at once: over one rail, and over each of several, which share a read by asking for more as they get it. */
#define PART_ALONE (4u << 20)
#define MOST_ALONE (16u << 20)
#define PART_SHARED (256u << 10)
#define MOST_SHARED (512u << 10)
/* Of several owners. Shorter parts cost more than they help. */
#define PART_LEAST (8u << 10)
/* An owner that computes sends nothing. Its share is the others' after this time. */
#define SILENT_NS 5000000ull
/*
 * Bytes under way, in both directions, up to which owners lend their pages, in place of sending copies. One core less copies
 * then. Data that wait longer have left the caches when they are read, and a reader's core alone is slower than both.
 */
#define LENT_MOST (4u << 20)
#define LENT_LEAST (128u << 10) /* of one read; shorter ones are cheaper to copy, many in a call */

/* Under way of one owner, bytes. */
struct share {
	uint64_t bytes, part; /* at most, and of them by one request; the first part may be more */
	uint64_t most;        /* by one connection */
};

static uint32_t count_active(const struct pmt_link *s)
{
	uint64_t now = clock_monotonic_ns();
	const struct pmt_peer *peer;
	uint32_t n = 0;

	LIST_FOREACH(peer, &s->busy, busy)
	{
		n += !peer->outstanding || now - peer->heard_ns < SILENT_NS;
	}
	return n ? n : 1;
}

static struct share share_of_several(const struct pmt_link *s)
{
	uint64_t bytes = s->bound.bytes / count_active(s), part = bytes;

	if (part > PART_SHARED)
		part = PART_SHARED;
	if (part < PART_LEAST)
		part = PART_LEAST;
	return (struct share){bytes, part, MOST_SHARED};
}

static struct share share_of(const struct pmt_peer *peer)
{
	if (peer->n_open > 1)
		return (struct share){UINT64_MAX, PART_SHARED, MOST_SHARED};
	return (struct share){UINT64_MAX, PART_ALONE, MOST_ALONE};
}

/* The open connection with the least under way that has room for more, or NULL. */
static struct pmt_reading *choose(struct pmt_link *s, struct pmt_peer *peer, uint64_t most)
{
	struct pmt_reading *best = NULL;

	for (uint32_t i = 0; i < s->n_rails; i++) {
		struct pmt_reading *r = &peer->reading[i];

		if (r->state == PMT_OPEN && r->count < PMT_PARTS && r->outstanding < most &&
		    (!best || r->outstanding < best->outstanding))
			best = r;
	}
	return best;
}

static enum pmt_how how(const struct pmt_link *s, uint64_t len)
{
	return len < LENT_LEAST || s->read_bytes + s->serve_bytes > LENT_MOST ? PMT_COPIED
									      : PMT_LENT;
}

/* Writes the request for the next part of the read. */
static void ask(struct pmt_link *s, struct pmt_reading *r, struct pmt_read *read, uint64_t most)
{
	uint64_t left = read->len - read->asked;
	struct pmt_request request = {.rkey = read->rkey,
				      .offset = read->offset + read->asked,
				      .length = left < most ? left : most,
				      .how = how(s, read->len)};

	pmt_request_put(r->out + r->out_len, &request);
	r->out_len += PMT_REQUEST;
	r->parts[(r->head + r->count++) % PMT_PARTS] =
		(struct pmt_part){read, read->local + read->asked, request.length};
	if (!r->peer->outstanding)
		r->peer->heard_ns = clock_monotonic_ns();
	r->outstanding += request.length;
	r->peer->outstanding += request.length;
	read->asked += request.length;
	s->n_unasked -= read->asked == read->len;
}

/* May the owner be asked for one part more? */
static bool has_room(const struct pmt_peer *peer, const struct share *share)
{
	return !peer->outstanding || peer->outstanding + share->part <= share->bytes;
}

static void ask_peer(struct pmt_link *s, struct pmt_peer *peer, const struct share *share)
{
	struct pmt_reading *r;
	struct pmt_read *read;

	TAILQ_FOREACH(read, &peer->reads, link)
	{
		while (read->asked < read->len) {
			r = has_room(peer, share) ? choose(s, peer, share->most) : NULL;
			if (!r)
				return;
			ask(s, r, read, share->part);
		}
	}
}

/* Sends the requests of the peer's connections, each with one call. */
static void send_requests(struct pmt_link *s, struct pmt_peer *peer)
{
	for (uint32_t i = 0; i < s->n_rails; i++) {
		struct pmt_reading *r = &peer->reading[i];
		size_t len = r->out_len;

		r->out_len = 0;
		if (len && pmt_say(r, r->out, len)) {
			pmt_reading_fail(s, r);
			return;
		}
	}
}

void pmt_ask(struct pmt_link *s)
{
	struct pmt_peer *peer, *next;
	struct share share = {0};

	if (!s->n_unasked)
		return;
	if (s->n_busy > 1)
		share = share_of_several(s);
	for (peer = LIST_FIRST(&s->busy); peer; peer = next) {
		next = LIST_NEXT(peer, busy);
		if (s->n_busy == 1)
			share = share_of(peer);
		ask_peer(s, peer, &share);
		send_requests(s, peer);
	}
}
