// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_hold - messages that came before their receive: their memory, and its bound. Above the
 * limit the senders are told to keep their data and announce it only; they are let go at half of
 * it.
 */
#include "mpi-glue/mtl/mtl_pm.h"

#include <stdlib.h>

/* Announced messages often bring no data here and are many: they take no block of the free list. */
static struct mtl_pm_message *alloc_message(size_t data, bool is_whole)
{
	struct mtl_pm_message *m = mtl_pm.free_messages;
	bool is_small = is_whole && data <= MTL_PM_SMALL;

	if (is_small && m) {
		mtl_pm.free_messages = m->next;
		return m;
	}
	m = malloc(sizeof(*m) + (is_small ? MTL_PM_SMALL : data));
	if (!m)
		mtl_pm_fatal("out of memory for a message that no receive is posted for");
	m->is_small = is_small;
	return m;
}

static void choke(struct mtl_pm_peer *peer)
{
	if (peer->is_choked)
		return;
	peer->is_choked = true;
	TAILQ_INSERT_TAIL(&mtl_pm.choked, peer, choke);
	mtl_pm_note_control(peer, ENVELOPE_CHOKE, 0, 0);
}

static void unchoke_all(void)
{
	struct mtl_pm_peer *peer;

	while ((peer = TAILQ_FIRST(&mtl_pm.choked))) {
		TAILQ_REMOVE(&mtl_pm.choked, peer, choke);
		peer->is_choked = false;
		mtl_pm_note_control(peer, ENVELOPE_UNCHOKE, 0, 0);
	}
}

/* Queues a message of @size bytes, of which @head come unasked; the caller fills in the rest. */
struct mtl_pm_message *mtl_pm_hold(struct match_context *c, const struct envelope *e,
				   struct mtl_pm_peer *peer, size_t size, size_t head)
{
	struct mtl_pm_message *m = alloc_message(head, head == size);

	m->match.source = e->source;
	m->match.tag = e->tag;
	m->peer = peer;
	m->claimed = NULL;
	m->size = size;
	m->head = head;
	m->got = 0;
	m->remote = 0;
	m->is_rts = false;
	m->charged = head || !size ? sizeof(*m) + head : 0;
	if (match_store(c, &m->match))
		mtl_pm_fatal("out of memory for a queue of messages");
	mtl_pm.unexpected_bytes += m->charged;
	if (mtl_pm.unexpected_bytes > mtl_pm.unexpected_limit && m->charged)
		choke(peer);
	return m;
}

void mtl_pm_message_free(struct mtl_pm_message *m)
{
	mtl_pm.unexpected_bytes -= m->charged;
	if (!TAILQ_EMPTY(&mtl_pm.choked) && mtl_pm.unexpected_bytes <= mtl_pm.unexpected_limit / 2)
		unchoke_all();
	if (!m->is_small) {
		free(m);
		return;
	}
	m->next = mtl_pm.free_messages;
	mtl_pm.free_messages = m;
}

void mtl_pm_message_drop(struct mtl_pm_message *m)
{
	if (m->peer->open == m)
		m->peer->open = NULL;
	mtl_pm_message_free(m);
}
