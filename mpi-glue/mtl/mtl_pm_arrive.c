/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_arrive - what each arriving datagram means. One function per kind; anything no honest peer
 * sends is counted and dropped.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#include <errno.h>
#include <string.h>

/* Messages sent unasked in parts are of medium size: senders' limits stay far below this. */
#define FIRST_SIZE_MAX (256u << 20)

static struct match_context *context_of(const struct envelope *e)
{
	struct match_context *c = match_context(&mtl_pm.match, envelope_context(e));

	if (!c)
		mtl_pm_fatal("out of memory for a communicator");
	return c;
}

/* A peer that has never been sent to is made here: whoever wrote must be reachable. */
static struct mtl_pm_peer *peer_of(pmNode node)
{
	struct mtl_pm_peer *peer = mtl_pm_peer_of_node(node);

	if (!peer)
		mtl_pm_fatal("no way back to node %u that sent a message: %s", node, pmLastError());
	return peer;
}

/* EAGER and EAGER_SYNC: @remote is 0 or what ACK must carry. */
static void on_eager(const struct envelope *e, const void *data, size_t size, uint64_t remote,
		     pmNode node)
{
	struct match_context *c = context_of(e);
	struct match_entry *match = match_arrive(c, e->source, e->tag);
	struct mtl_pm_message *m;

	if (OPAL_LIKELY(match != NULL)) {
		struct mtl_pm_receive *r = mtl_pm_receive_of_match(match);

		if (remote)
			mtl_pm_note_control(peer_of(node), ENVELOPE_ACK, remote, 0);
		mtl_pm_receive_matched(r, e->source, e->tag, size);
		mtl_pm_receive_all(r, data, size);
		return;
	}
	m = mtl_pm_hold(c, e, peer_of(node), size, false);
	m->remote = remote;
	m->got = size;
	memcpy(m->data, data, size);
}

static void fill_receive(struct mtl_pm_peer *peer, const void *data, size_t length)
{
	struct mtl_pm_receive *r = &peer->filling->receive;
	size_t room = r->wanted - r->got;

	/* What was cut off by a short receive is counted, not kept. */
	mtl_pm_unpack(r, data, length < room ? length : room);
	peer->filling_left -= length;
	if (!peer->filling_left) {
		peer->filling = NULL;
		mtl_pm_receive_finish(r, 0);
	}
}

static void fill_message(struct mtl_pm_peer *peer, const void *data, size_t length)
{
	struct mtl_pm_message *m = peer->open;

	memcpy(m->data + m->got, data, length);
	m->got += length;
	if (m->got < m->size)
		return;
	peer->open = NULL;
	if (m->claimed) {
		mtl_pm_receive_all(&m->claimed->receive, m->data, m->size);
		mtl_pm_message_free(m);
	}
}

static void on_more(struct mtl_pm_peer *peer, const void *data, size_t length)
{
	if (peer->filling && length <= peer->filling_left)
		fill_receive(peer, data, length);
	else if (peer->open && length <= peer->open->size - peer->open->got)
		fill_message(peer, data, length);
	else
		mtl_pm.damaged++;
}

static void on_first(const struct envelope_first *first, const void *data, size_t length,
		     pmNode node)
{
	const struct envelope *e = &first->base;
	struct mtl_pm_peer *peer = peer_of(node);
	struct match_context *c;
	struct match_entry *match;

	if (peer->open || peer->filling || first->size > FIRST_SIZE_MAX) {
		mtl_pm.damaged++;
		return;
	}
	c = context_of(e);
	match = match_arrive(c, e->source, e->tag);
	if (match) {
		struct mtl_pm_receive *r = mtl_pm_receive_of_match(match);

		mtl_pm_receive_matched(r, e->source, e->tag, first->size);
		peer->filling = mtl_pm_request_of_receive(r);
		peer->filling_left = first->size;
	} else {
		peer->open = mtl_pm_hold(c, e, peer, first->size, false);
	}
	on_more(peer, data, length);
}

static void on_rts(const struct envelope_rts *rts, pmNode node)
{
	const struct envelope *e = &rts->base;
	struct match_context *c = context_of(e);
	struct mtl_pm_peer *peer = peer_of(node);
	struct match_entry *match = match_arrive(c, e->source, e->tag);
	pmHandle handle;

	memcpy(handle.word, rts->handle, sizeof(handle.word));
	if (match) {
		struct mtl_pm_receive *r = mtl_pm_receive_of_match(match);

		mtl_pm_receive_matched(r, e->source, e->tag, rts->size);
		mtl_pm_fetch(r, peer, rts->id, &handle);
	} else {
		struct mtl_pm_message *m = mtl_pm_hold(c, e, peer, rts->size, true);

		m->remote = rts->id;
		m->handle = handle;
	}
}

static void on_control(const void *datagram, const void *data, size_t length, pmNode node)
{
	struct mtl_pm_peer *peer = peer_of(node);
	const struct envelope_control *m = datagram;

	switch (m->kind) {
	case ENVELOPE_MORE:
		on_more(peer, data, length);
		break;
	case ENVELOPE_DATA:
		mtl_pm_on_data(m, data, length, peer);
		break;
	case ENVELOPE_ACK:
	case ENVELOPE_FIN:
		mtl_pm_on_ack(m, peer);
		break;
	case ENVELOPE_PULL:
		mtl_pm_on_pull(datagram, peer);
		break;
	case ENVELOPE_CHOKE:
	case ENVELOPE_UNCHOKE:
		mtl_pm_peer_choke(peer, m->kind == ENVELOPE_CHOKE);
		break;
	default:
		mtl_pm.damaged++;
		break;
	}
}

void mtl_pm_arrive(const void *datagram, size_t length, pmNode node)
{
	const struct envelope *e = datagram;
	int head = envelope_parse(datagram, length);
	const char *data = (const char *)datagram + head;

	if (OPAL_UNLIKELY(head < 0)) {
		mtl_pm.damaged++;
		return;
	}
	length -= (size_t)head;
	switch (envelope_kind(datagram)) {
	case ENVELOPE_EAGER:
		on_eager(e, data, length, 0, node);
		break;
	case ENVELOPE_EAGER_SYNC:
		on_eager(e, data, length, ((const struct envelope_sync *)datagram)->id, node);
		break;
	case ENVELOPE_FIRST:
		on_first(datagram, data, length, node);
		break;
	case ENVELOPE_RTS:
		on_rts(datagram, node);
		break;
	default:
		on_control(datagram, data, length, node);
		break;
	}
}
