/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requests - what this process asks of the owners it reads from, when, and by which connection: the oldest read first, and
 * from several owners no more together than a switch port before us can hold.
 */
#include <errno.h>

#include "pm-udp/stream/private.h"
#include "pmcore/util/clock.h"

/* Bytes asked for at once: over one rail, and over each of several, which share a read by asking for more as they get it. */
#define PART_ALONE (4u << 20)
#define MOST_ALONE (16u << 20)
#define PART_SHARED (256u << 10)
#define MOST_SHARED (512u << 10)
/* An owner that computes sends nothing, and keeps others waiting no longer than this. */
#define SILENT_NS 5000000ull
/*
 * Bytes under way, in both directions, up to which owners lend their pages, in place of sending copies. One core less copies
 * then. Data that wait longer have left the caches when they are read, and a reader's core alone is slower than both.
 */
#define LENT_MOST (4u << 20)
#define LENT_LEAST (128u << 10) /* of one read; shorter ones are cheaper to copy, many in a call */

static bool is_shared(const struct pmt_link *s, const struct pmt_peer *peer)
{
	return s->n_busy > 1 || peer->n_open > 1;
}

/* The open connection with the least under way that has room for more, or NULL. */
static struct pmt_reading *choose(struct pmt_link *s, struct pmt_peer *peer)
{
	uint64_t most = is_shared(s, peer) ? MOST_SHARED : MOST_ALONE;
	struct pmt_reading *best = NULL;

	for (uint32_t i = 0; i < s->n_rails; i++) {
		struct pmt_reading *r = &peer->reading[i];

		if (r->state == PMT_OPEN && r->count < PMT_PARTS && r->outstanding < most &&
		    (!best || r->outstanding < best->outstanding))
			best = r;
	}
	return best;
}

/* Parts that are small against the bound let other owners send in between. */
static uint64_t part_of(const struct pmt_link *s, const struct pmt_peer *peer)
{
	if (!is_shared(s, peer))
		return PART_ALONE;
	return s->n_busy > 1 && s->bound.bytes < PART_SHARED ? s->bound.bytes : PART_SHARED;
}

static enum pmt_how how(const struct pmt_link *s, uint64_t len)
{
	return len < LENT_LEAST || s->read_bytes + s->serve_bytes > LENT_MOST ? PMT_COPIED
									      : PMT_LENT;
}

/* Writes the request for the next part of the read; its bytes. */
static uint64_t ask(struct pmt_link *s, struct pmt_reading *r, struct pmt_read *read, uint64_t now)
{
	uint64_t left = read->len - read->asked;
	uint64_t most = part_of(s, r->peer);
	struct pmt_request request = {.rkey = read->rkey,
				      .offset = read->offset + read->asked,
				      .length = left < most ? left : most,
				      .how = how(s, read->len)};

	pmt_request_put(r->out + r->out_len, &request);
	r->out_len += PMT_REQUEST;
	r->parts[(r->head + r->count++) % PMT_PARTS] =
		(struct pmt_part){read, read->local + read->asked, request.length};
	if (!r->peer->outstanding)
		r->peer->heard_ns = now;
	r->outstanding += request.length;
	r->peer->outstanding += request.length;
	read->asked += request.length;
	if (read->asked == read->len)
		TAILQ_REMOVE(&s->unasked, read, unasked);
	return request.length;
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

/* Bytes that may be asked for. */
static uint64_t room(const struct pmt_link *s, uint64_t now)
{
	const struct pmt_peer *peer;
	uint64_t coming = 0;

	if (s->n_busy < 2)
		return UINT64_MAX;
	LIST_FOREACH(peer, &s->busy, busy)
	if (now - peer->heard_ns < SILENT_NS)
		coming += peer->outstanding;
	return coming < s->bound.bytes ? s->bound.bytes - coming : 0;
}

void pmt_ask(struct pmt_link *s)
{
	uint64_t now = s->n_busy > 1 ? clock_monotonic_ns() : 0, left;
	struct pmt_read *read, *next_read;
	struct pmt_peer *peer, *next;
	struct pmt_reading *r;

	if (TAILQ_EMPTY(&s->unasked))
		return;
	left = room(s, now);
	for (read = TAILQ_FIRST(&s->unasked); read && left; read = next_read) {
		next_read = TAILQ_NEXT(read, unasked);
		while (read->asked < read->len && left && (r = choose(s, read->peer))) {
			uint64_t n = ask(s, r, read, now);

			left -= n < left ? n : left;
		}
		if (read->asked < read->len && s->n_busy == 1)
			break;
	}
	for (peer = LIST_FIRST(&s->busy); peer; peer = next) {
		next = LIST_NEXT(peer, busy);
		send_requests(s, peer);
	}
}
