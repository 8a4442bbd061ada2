// SPDX-License-Identifier: BSD-3-Clause
/*
 * state - stop and go, saving and restoring. A message is with its receiver as soon as it is in the
 * ring, so a stopped link is quiet when its queues and one-sided operations have ended. Saved form:
 * a magic word, then per received but unread message node, length and bytes, padded to 8.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pm-shmem/bulk.h"
#include "pm-shmem/device.h"
#include "pmcore/util/copy.h"

#define SAVE_MAGIC 0x3176617374687350ull

struct saved_head {
	uint32_t src; /* node */
	uint32_t len; /* bytes */
};

int pms_quiesce(struct pm_link *base)
{
	struct pms_link *link = pms_of(base);

	link->is_stopped = true;
	if (link->n_queued)
		pms_send_queued(link);
	return link->n_queued || link->n_bulk ? -EAGAIN : 0;
}

void pms_resume(struct pm_link *base)
{
	pms_of(base)->is_stopped = false;
}

/* Where saving writes, like snprintf. */
struct writer {
	uint8_t *to;
	size_t room;
	size_t used; /* bytes wanted so far */
};

static void write_bytes(struct writer *w, const void *data, size_t len)
{
	if (w->used + len <= w->room)
		memcpy(w->to + w->used, data, len);
	w->used += len;
}

static void write_message(struct writer *w, uint32_t src, const void *data, uint32_t len)
{
	const struct saved_head head = {.src = src, .len = len};
	const uint64_t zero = 0;

	write_bytes(w, &head, sizeof(head));
	write_bytes(w, data, len);
	write_bytes(w, &zero, -len & 7);
}

int pms_save(struct pm_link *base, void *buf, size_t room)
{
	struct pms_link *link = pms_of(base);
	struct writer w = {.to = buf, .room = room};
	const uint64_t magic = SAVE_MAGIC;

	pms_peer_meet(link);
	write_bytes(&w, &magic, sizeof(magic));
	for (const struct pms_saved *m = link->saved; m; m = m->next)
		write_message(&w, m->src, m->data, m->len);
	for (uint32_t i = 0; i < link->n_inbound; i++) {
		struct pms_ring_rx rx = link->inbound[i]->rx; /* a copy: saving takes nothing out */
		struct pms_message message;
		uint64_t word;

		while ((word = pms_ring_poll(&rx)) &&
		       pms_ring_decode(&rx, rx.next, word, &message)) {
			if (message.kind <= PMS_KIND_BYTES)
				write_message(&w, link->inbound[i]->node, message.data,
					      message.len);
			pms_ring_take(&rx, message.cells);
		}
	}
	return (int)w.used;
}

static int restore_one(struct pms_link *link, const struct saved_head *head, const void *data)
{
	struct pms_saved *m = malloc(sizeof(*m) + head->len);

	if (!m)
		return -ENOMEM;
	m->next = NULL;
	m->id = link->next_saved++;
	m->src = head->src;
	m->len = head->len;
	copy_bytes(m->data, data, head->len);
	*link->saved_tail = m;
	link->saved_tail = &m->next;
	return 0;
}

/* Walks the whole saved form before anything is taken from it. */
static int check_saved(const uint8_t *at, size_t len)
{
	const uint8_t *end = at + len;
	struct saved_head head;
	uint64_t magic;

	if (len < sizeof(magic))
		return -EINVAL;
	memcpy(&magic, at, sizeof(magic));
	if (magic != SAVE_MAGIC)
		return -EINVAL;
	for (at += sizeof(magic); at < end; at += (head.len + 7) & ~7u) {
		if ((size_t)(end - at) < sizeof(head))
			return -EINVAL;
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		if (!head.len || head.len > 65536 || ((head.len + 7) & ~7u) > (size_t)(end - at))
			return -EINVAL;
	}
	return 0;
}

int pms_restore(struct pm_link *base, const void *buf, size_t len,
		int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer), void *arg)
{
	const uint8_t *at = buf, *end = at + len;
	struct saved_head head;
	int err = check_saved(buf, len);

	(void)resolve, (void)arg;
	if (err)
		return err;
	for (at += sizeof(uint64_t); at < end; at += (head.len + 7) & ~7u) {
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		err = restore_one(pms_of(base), &head, at);
		if (err)
			return err;
	}
	return 0;
}

int pms_saved_take(struct pms_link *link, struct pm_inbound *ret)
{
	struct pms_saved *m = link->saved;

	link->saved = m->next;
	if (!link->saved)
		link->saved_tail = &link->saved;
	m->next = link->saved_lent;
	link->saved_lent = m;
	ret->buf = m->data;
	ret->len = m->len;
	ret->src = m->src;
	ret->cookie = m->id;
	link->stats->rx_messages++;
	link->stats->rx_bytes += m->len;
	return 1;
}

void pms_saved_release(struct pms_link *link, uint32_t id)
{
	for (struct pms_saved **at = &link->saved_lent; *at; at = &(*at)->next) {
		struct pms_saved *m = *at;

		if (m->id != id)
			continue;
		*at = m->next;
		free(m);
		return;
	}
}

static void free_saved(struct pms_saved *m)
{
	while (m) {
		struct pms_saved *next = m->next;

		free(m);
		m = next;
	}
}

void pms_saved_fini(struct pms_link *link)
{
	free_saved(link->saved);
	free_saved(link->saved_lent);
}

/* ---- looking ---- */

static const char *const state_names[] = {"alive", "left", "dead"};

int pms_dump(struct pm_link *base, char *buf, size_t room)
{
	struct pms_link *link = pms_of(base);
	int used = snprintf(
		buf, room,
		"shmem: slot %u of %s/%s, ring %u bytes, mtu %u, %u senders, %u peers with "
		"queued messages, %u one-sided under way%s\n",
		link->seg.index, link->env.conf->shmem_dir, link->seg.dir.name, link->seg.ring,
		link->seg.mtu, link->n_inbound, link->n_queued, link->n_bulk,
		link->is_stopped ? ", stopped" : "");

	for (uint32_t i = 0; i < PMS_SLOTS && used >= 0; i++) {
		const struct pm_link_peer *peer = link->peers[i];
		size_t at = (size_t)used < room ? (size_t)used : room;

		if (!peer)
			continue;
		used += snprintf(
			buf + at, room - at,
			"  node %u slot %u %s: cells sent %u of which consumed %u, received %u "
			"of which released %u%s%s\n",
			peer->node, peer->index, state_names[peer->state], peer->tx.tail,
			peer->tx.freed, peer->rx.next, peer->rx.free, peer->queue ? ", queue" : "",
			peer->starved ? ", starved" : "");
	}
	return used;
}

uint64_t pms_memory(struct pm_link *base)
{
	struct pms_link *link = pms_of(base);
	uint64_t per_peer = sizeof(struct pm_link_peer) + pms_cells(link->seg.ring) * 13ull;
	uint64_t bytes = sizeof(*link) + link->seg.mapped + PMS_AREAS_OFFSET;

	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		if (link->peers[i])
			bytes += per_peer;
	bytes += (uint64_t)link->n_small * 2 * PMS_LINE;
	bytes += (uint64_t)link->n_large * (link->seg.mtu + PMS_LINE);
	return bytes + pms_bulk_memory(link);
}
