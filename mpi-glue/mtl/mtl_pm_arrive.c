// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_arrive - what each arriving datagram means. One function per kind; anything no honest peer
 * sends is counted and dropped.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "pmcore/util/copy.h"

#include <errno.h>
#include <string.h>

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
		mtl_pm_receive_head(r, data, size);
		return;
	}
	m = mtl_pm_hold(c, e, peer_of(node), size, size);
	m->remote = remote;
	m->got = size;
	copy_bytes(m->data, data, size);
}

static void fill_receive(struct mtl_pm_peer *peer, const void *data, size_t length, bool is_last)
{
	struct mtl_pm_receive *r = &peer->filling->receive;
	size_t room = r->wanted - r->got;

	/* Bytes that a short receive has no room for are counted, not kept. */
	mtl_pm_unpack(r, data, length < room ? length : room);
	peer->filling_left -= length;
	if (!peer->filling_left || is_last) {
		peer->filling = NULL;
		mtl_pm_receive_head_done(r, 0);
	}
}

static void fill_message(struct mtl_pm_peer *peer, const void *data, size_t length, bool is_last)
{
	struct mtl_pm_message *m = peer->open;

	copy_bytes(m->data + m->got, data, length);
	m->got += length;
	if (is_last)
		m->head = m->got;
	if (m->got < m->head)
		return;
	peer->open = NULL;
	if (m->claimed) {
		mtl_pm_receive_head(&m->claimed->receive, m->data, m->head);
		mtl_pm_message_free(m);
	}
}

static void fill(struct mtl_pm_peer *peer, const void *data, size_t length, bool is_last)
{
	if (peer->filling && length <= peer->filling_left)
		fill_receive(peer, data, length, is_last);
	else if (peer->open && length <= peer->open->head - peer->open->got)
		fill_message(peer, data, length, is_last);
	else
		mtl_pm.damaged++;
}

static bool may_begin(const struct mtl_pm_peer *peer, size_t head)
{
	if (!peer->open && !peer->filling && head <= ENVELOPE_FIRST_MAX)
		return true;
	mtl_pm.damaged++;
	return false;
}

/* A receive whose first @head bytes come now and in MORE. */
static void begin_filling(struct mtl_pm_peer *peer, struct mtl_pm_receive *r, size_t head)
{
	r->has_head_due = true;
	peer->filling = mtl_pm_request_of_receive(r);
	peer->filling_left = head;
}

static void on_first(const struct envelope_first *first, const void *data, size_t length,
		     pmNode node)
{
	const struct envelope *e = &first->base;
	struct mtl_pm_peer *peer = peer_of(node);
	struct match_context *c;
	struct match_entry *match;

	if (!may_begin(peer, first->size))
		return;
	c = context_of(e);
	match = match_arrive(c, e->source, e->tag);
	if (match) {
		struct mtl_pm_receive *r = mtl_pm_receive_of_match(match);

		mtl_pm_receive_matched(r, e->source, e->tag, first->size);
		mtl_pm_way_note(r, peer, first->size, first->stamp, WAY_COPY);
		begin_filling(peer, r, first->size);
	} else {
		peer->open = mtl_pm_hold(c, e, peer, first->size, first->size);
	}
	fill(peer, data, length, false);
}

static void on_rts(const struct envelope_rts *rts, const void *data, size_t length, pmNode node)
{
	const struct envelope *e = &rts->base;
	struct mtl_pm_peer *peer = peer_of(node);
	struct match_context *c;
	struct match_entry *match;
	pmHandle handle;

	if (rts->head && !may_begin(peer, rts->head))
		return;
	memcpy(handle.word, rts->handle, sizeof(handle.word));
	c = context_of(e);
	match = match_arrive(c, e->source, e->tag);
	if (match) {
		struct mtl_pm_receive *r = mtl_pm_receive_of_match(match);

		mtl_pm_receive_matched(r, e->source, e->tag, rts->size);
		if (rts->head)
			begin_filling(peer, r, rts->head);
		mtl_pm_fetch(r, peer, rts->id, &handle, rts->head, rts->size, e->stamp);
	} else {
		struct mtl_pm_message *m = mtl_pm_hold(c, e, peer, rts->size, rts->head);

		m->is_rts = true;
		m->remote = rts->id;
		m->handle = handle;
		if (rts->head)
			peer->open = m;
	}
	if (length)
		fill(peer, data, length, false);
}

static void on_control(const void *datagram, const void *data, size_t length, pmNode node)
{
	struct mtl_pm_peer *peer = peer_of(node);
	const struct envelope_control *m = datagram;

	switch (m->kind) {
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
	case ENVELOPE_READ:
	case ENVELOPE_COPY:
		mtl_pm_on_way(m, peer);
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

/* Not one of ours. */
static void arrive_for_client(const void *datagram, size_t length, pmNode node)
{
	if (mtl_pm.client && length >= sizeof(uint32_t) &&
	    envelope_kind(datagram) >= ENVELOPE_OTHERS)
		mtl_pm.client->arrive(peer_of(node), datagram, length);
	else
		mtl_pm.damaged++;
}

static void arrive(const void *datagram, size_t length, pmNode node)
{
	const struct envelope *e = datagram;
	int head = envelope_parse(datagram, length);
	const char *data = (const char *)datagram + head;

	if (OPAL_UNLIKELY(head < 0)) {
		arrive_for_client(datagram, length, node);
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
		on_rts(datagram, data, length, node);
		break;
	default:
		on_control(datagram, data, length, node);
		break;
	}
}

/* The next parts of the peer's open message: how many of these datagrams are some. */
static size_t go_on(struct mtl_pm_peer *peer, const struct iovec *row, size_t n)
{
	size_t i;

	for (i = 0; i < n && (peer->filling || peer->open); i++) {
		const struct envelope_control *m = row[i].iov_base;
		int head = envelope_parse_part(m, row[i].iov_len, ENVELOPE_MORE);

		if (head < 0)
			break;
		fill(peer, (const char *)m + head, row[i].iov_len - (size_t)head,
		     m->id == ENVELOPE_LAST);
	}
	return i;
}

size_t mtl_pm_arrive(const struct iovec *row, size_t n, pmNode node)
{
	size_t taken = 0;

	if (envelope_parse_part(row->iov_base, row->iov_len, ENVELOPE_MORE) >= 0)
		taken = go_on(peer_of(node), row, n);
	if (taken)
		return taken;
	arrive(row->iov_base, row->iov_len, node);
	return 1;
}
