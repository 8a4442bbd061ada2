// SPDX-License-Identifier: BSD-3-Clause
/*
 * requests - which data this process asks for, of the owners it reads from, when, and by which
 * connection. Of each owner the oldest read comes first. Of several owners no more is asked
 * together than a switch port before us can hold, by turns.
 */
#include "pm-udp/stream/private.h"
#include "pmcore/util/clock.h"

/*
 * Bytes asked for at once: over one rail, and over each of several, which share a read by asking
 * for more as they get it.
 */
#define PART_ALONE (4u << 20)
#define MOST_ALONE (16u << 20)
#define PART_SHARED (256u << 10)
#define MOST_SHARED (512u << 10)

/* Bytes before copied data, and the reads that are long enough for it to matter: wire.h. */
#define GAP 1088
#define GAP_LEAST (32u << 10)

/* Of one owner now, bytes. */
struct share {
	uint64_t bytes, part; /* under way at most, and of them by one request */
	uint64_t most;        /* under way by one connection, before the last part */
};

static const struct share alone_by_one_rail = {UINT64_MAX, PART_ALONE, MOST_ALONE};
static const struct share alone_by_several = {UINT64_MAX, PART_SHARED, MOST_SHARED};

static bool is_silent(const struct pmt_peer *peer, uint64_t now)
{
	return peer->outstanding && now - peer->heard_ns >= PMT_SILENT_NS;
}

static struct share share_of_several(const struct pmt_link *s, uint64_t now)
{
	const struct pmt_peer *peer;
	uint64_t bytes, part;
	uint32_t n = 0;

	TAILQ_FOREACH(peer, &s->busy, busy) {
		n += !is_silent(peer, now);
	}
	bytes = s->bound.bytes / (n ? n : 1);
	part = s->bound.bytes > PART_SHARED ? PART_SHARED : s->bound.bytes;
	return (struct share){bytes > part ? bytes : part, part, MOST_SHARED};
}

/*
 * So much may be asked for. An owner that was asked for more while it was alone counts as its share
 * only.
 */
static uint64_t room(const struct pmt_link *s, const struct share *share, uint64_t now)
{
	const struct pmt_peer *peer;
	uint64_t coming = 0;

	TAILQ_FOREACH(peer, &s->busy, busy) {
		if (!is_silent(peer, now))
			coming += peer->outstanding < share->bytes ? peer->outstanding
								   : share->bytes;
	}
	return coming < s->bound.bytes ? s->bound.bytes - coming : 0;
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

/* Writes the request for the next part of the read; its bytes. */
static uint64_t ask(struct pmt_link *s, struct pmt_reading *r, struct pmt_read *read, uint64_t most)
{
	uint64_t left = read->len - read->asked;
	struct pmt_request request = {.rkey = read->rkey,
				      .offset = read->offset + read->asked,
				      .length = left < most ? left : most,
				      .how = read->terms.how};

	if (request.how == PMT_COPIED && request.length >= GAP_LEAST)
		request.gap = GAP;

	pmt_request_put(r->out + r->out_len, &request);
	r->out_len += PMT_REQUEST;
	r->parts[(r->head + r->count++) % PMT_PARTS] =
		(struct pmt_part){read, request.gap, read->local + read->asked, request.length};
	if (!r->peer->outstanding)
		r->peer->heard_ns = clock_monotonic_ns();
	r->outstanding += request.gap + request.length;
	r->peer->outstanding += request.gap + request.length;
	read->asked += request.length;
	s->n_unasked -= read->asked == read->len;
	return request.gap + request.length;
}

/*
 * Asks for what there is room for, of the oldest read first; the bytes. The part that reaches the
 * end of @room counts as whole.
 */
static uint64_t ask_peer(struct pmt_link *s, struct pmt_peer *peer, const struct share *share,
			 uint64_t room)
{
	struct pmt_reading *r;
	struct pmt_read *read;
	uint64_t asked = 0;

	TAILQ_FOREACH(read, &peer->reads, link) {
		while (read->asked < read->len) {
			if (asked >= room || peer->outstanding >= share->bytes ||
			    !(r = choose(s, peer, share->most)))
				return asked;
			asked += ask(s, r, read, share->part);
		}
	}
	return asked;
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

static void ask_only(struct pmt_link *s, struct pmt_peer *peer)
{
	ask_peer(s, peer, peer->n_open > 1 ? &alone_by_several : &alone_by_one_rail, UINT64_MAX);
	send_requests(s, peer);
}

/* Those that were asked go behind the others, whose turn it is next. */
static void ask_several(struct pmt_link *s)
{
	uint64_t now = clock_monotonic_ns(), left, asked;
	struct share share = share_of_several(s, now);
	struct pmt_peer *peer, *next;
	bool is_any = false;

	left = room(s, &share, now);
	peer = TAILQ_FIRST(&s->busy);
	for (uint32_t n = s->n_busy; n && left; n--, peer = next) {
		next = TAILQ_NEXT(peer, busy);
		asked = ask_peer(s, peer, &share, left);
		left -= asked < left ? asked : left;
		if (!asked)
			continue;
		is_any = true;
		TAILQ_REMOVE(&s->busy, peer, busy);
		TAILQ_INSERT_TAIL(&s->busy, peer, busy);
	}
	for (peer = is_any ? TAILQ_FIRST(&s->busy) : NULL; peer; peer = next) {
		next = TAILQ_NEXT(peer, busy);
		send_requests(s, peer);
	}
}

void pmt_ask(struct pmt_link *s)
{
	if (!s->n_unasked)
		return;
	if (s->n_busy == 1)
		ask_only(s, TAILQ_FIRST(&s->busy));
	else
		ask_several(s);
}
