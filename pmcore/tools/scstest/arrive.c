// SPDX-License-Identifier: BSD-3-Clause
/* arrive - every datagram that comes in is entered in its sender's ledger and verified. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/pattern.h"
#include "pmcore/tools/scstest/stress.h"

#define BURST 16
#define COMPLAINTS 10 /* lines about wrong things; the rest is only counted */

bool arrive_may_complain(struct stress *st)
{
	if (++st->complaints == COMPLAINTS + 1)
		message_note("more is wrong; from here on it is only counted");
	return st->complaints <= COMPLAINTS;
}

/* Enters the number; says what is wrong with it. */
static void enter(struct stress *st, uint32_t src, uint64_t number)
{
	static const char *const words[] = {
		[LEDGER_GAP] = "is missing before",
		[LEDGER_LATE] = "came too late:",
		[LEDGER_DUPLICATE] = "came twice:",
	};
	struct ledger *ledger = &st->peers[src].ledger;
	uint64_t expected = ledger->next;
	enum ledger_verdict verdict = ledger_enter(ledger, number);

	if (verdict != LEDGER_GOOD && arrive_may_complain(st))
		message_error("a datagram of node %u %s number %" PRIu64 " (expected %" PRIu64 ")",
			      src, words[verdict], number, expected);
}

static void corrupt(struct stress *st, uint32_t src, const char *what,
		    const struct pattern_fault *fault)
{
	st->totals.corrupt++;
	if (arrive_may_complain(st))
		message_error("%s of node %u: byte %" PRIu64 ": expected 0x%02x, got 0x%02x", what,
			      src, fault->offset, fault->expected, fault->got);
}

static int malformed(struct stress *st, uint32_t src, size_t len)
{
	st->totals.corrupt++;
	if (arrive_may_complain(st))
		message_error("a datagram of node %u, %zu bytes, makes no sense", src, len);
	return 0;
}

/* Looks at what @src wrote into its place here. */
static void inspect_place(struct stress *st, uint32_t src, const struct packet *head)
{
	struct pattern_fault fault;

	if (head->size > st->hello.place_size)
		malformed(st, src, head->size);
	else if (pattern_check(st->places + src * st->hello.place_size, head->size, head->seed, 0,
			       &fault))
		corrupt(st, src, "a write", &fault);
	send_owe(st, src, OWE_CHECKED);
}

static void finish_write(struct stress *st, struct peer *peer)
{
	if (!peer->is_writing)
		return;
	peer->is_writing = false;
	st->n_writing--;
	st->totals.writes++;
	st->totals.write_bytes += peer->write_size;
}

/* PM keeps the order, so all that it sent before has come, or the ledger has seen the gap. */
static void end_of(struct stress *st, struct peer *peer)
{
	if (peer->has_ended)
		return;
	peer->has_ended = true;
	st->n_ended++;
}

static int take_body(struct stress *st, uint32_t src, const struct packet *head, const char *body,
		     size_t len)
{
	struct peer *peer = &st->peers[src];
	struct pattern_fault fault;

	switch ((enum packet_kind)head->kind) {
	case PACKET_DATA:
		if (head->size != len)
			return malformed(st, src, len);
		if (pattern_check(body, len, head->seed, 0, &fault))
			corrupt(st, src, "a datagram", &fault);
		return 0;
	case PACKET_HELLO:
		if (len != sizeof(peer->hello))
			return malformed(st, src, len);
		memcpy(&peer->hello, body, len);
		peer->is_known = true;
		return 0;
	case PACKET_WRITTEN:
		inspect_place(st, src, head);
		return 0;
	case PACKET_CHECKED:
		finish_write(st, peer);
		return 0;
	case PACKET_END:
		end_of(st, peer);
		return 0;
	case PACKET_TOTALS:
		if (len != sizeof(*st->all) || !st->all)
			return malformed(st, src, len);
		memcpy(&st->all[src], body, len);
		st->n_totals++;
		return 0;
	}
	return malformed(st, src, len);
}

static int take(struct stress *st, uint32_t src, const char *data, size_t len)
{
	struct packet head;
	const char *body;
	size_t body_len;

	if (src >= st->session->nodes || len < sizeof(head))
		return malformed(st, src, len);
	memcpy(&head, data, sizeof(head));
	body = data + sizeof(head);
	body_len = len - sizeof(head);
	if (head.magic != PACKET_MAGIC ||
	    head.check != packet_check(&head, body, head.kind == PACKET_DATA ? 0 : body_len))
		return malformed(st, src, len);
	enter(st, src, head.number);
	/* Totals cannot contain themselves. */
	if (head.kind != PACKET_TOTALS) {
		st->totals.received++;
		st->totals.received_bytes += len;
	}
	return take_body(st, src, &head, body, body_len);
}

int arrive_some(struct stress *st)
{
	pmContext ctx = st->session->ctx;
	pmNode src = st->session->self;
	pmDesc desc;
	size_t len;
	void *buf;
	int n, err, rc;

	for (n = 0; n < BURST; n++) {
		err = pmReceive(ctx, &buf, &len, &src, &desc);
		if (err == ENOBUFS)
			return n;
		if (err)
			return session_failed(st->session, "pmReceive", src, err);
		rc = take(st, src, buf, len);
		err = pmReleaseReceiveBuffer(ctx, desc);
		if (err)
			return session_failed(st->session, "pmReleaseReceiveBuffer", src, err);
		if (rc)
			return rc;
	}
	return n;
}
