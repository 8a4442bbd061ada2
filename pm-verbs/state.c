// SPDX-License-Identifier: BSD-3-Clause
/*
 * state - quiescing, saving, restoring, and what people and tools may see of a link. Of a quiet
 * link only messages are saved: connections are made anew by the next context, and count from
 * nothing on both sides. Saved form, for each message: u32 direction, u32 node, u32 length, and the
 * bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/lanes.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/data/grants.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/local.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/hw/shared.h"
#include "pm-verbs/progress.h"
#include "pm-verbs/state.h"

static bool is_quiet(const struct pm_link_peer *peer)
{
	/* what is lost the next connection tells, and a saved link has none */
	if (peer->ops || (peer->is_forged && peer->state != PMV_PEER_LEAVING))
		return false;
	/* one that has closed its context acknowledges no more */
	return peer->state == PMV_PEER_LEAVING ||
	       (!peer->posted.head && !peer->control.head && peer->stage != PMV_DRAINING &&
		peer->stage != PMV_CLOSING);
}

int pmv_quiesce(struct pm_link *base)
{
	struct pmv_link *link = pmv_of(base);

	link->is_stopped = true;
	for (const struct pm_link_peer *p = link->peers; p; p = p->next)
		if ((pmv_peer_is_open(p) && !is_quiet(p)) || p->state == PMV_PEER_LOST)
			return -EAGAIN;
	/* who stands still, or is saved, holds on to no memory */
	pmv_local_rest(link);
	return 0;
}

void pmv_resume(struct pm_link *base)
{
	struct pmv_link *link = pmv_of(base);

	link->is_stopped = false;
	for (struct pm_link_peer *p = link->peers; p; p = p->next)
		pmv_pump(link, p);
}

/* ---- saved state ---- */

enum direction { SAVED_IN, SAVED_OUT };

struct record {
	uint32_t direction; /* enum direction */
	uint32_t node;      /* it came from or goes to */
	uint32_t len;       /* bytes behind it */
};

/* Where saved messages are written as far as there is room. */
struct writer {
	uint8_t *buf;
	size_t room, len;
};

static void write_message(struct writer *w, enum direction direction, const struct pmv_slot *slot)
{
	const struct record r = {direction, slot->peer->node, slot->len - PMV_HEADER};

	/* its asker is not saved as long as an operation is open */
	if (slot->kind == PMV_CARRIED)
		return;
	if (w->len + sizeof(r) + r.len <= w->room) {
		memcpy(w->buf + w->len, &r, sizeof(r));
		memcpy(w->buf + w->len + sizeof(r), slot->data + PMV_HEADER, r.len);
	}
	w->len += sizeof(r) + r.len;
}

int pmv_save(struct pm_link *base, void *buf, size_t room)
{
	struct pmv_link *link = pmv_of(base);
	struct writer w = {buf, room, 0};

	/* what the device has acknowledged nobody else saves */
	while (pmv_progress(link))
		;
	for (const struct pmv_slot *s = link->arrived.head; s; s = s->next)
		write_message(&w, SAVED_IN, s);
	for (const struct pm_link_peer *p = link->peers; p; p = p->next)
		for (const struct pmv_slot *s = p->queue.head; s; s = s->next)
			write_message(&w, SAVED_OUT, s);
	return w.len > INT32_MAX ? -EFBIG : (int)w.len;
}

static int restore_message(struct pmv_link *link, struct pm_link_peer *peer, const struct record *r,
			   const uint8_t *bytes)
{
	struct pmv_slot *slot;

	if (r->direction == SAVED_IN && peer->n_held >= link->n_credits - PMV_RESERVE)
		return -EINVAL; /* more than it ever had credits for */
	slot = pmv_slot_get(link);
	if (!slot)
		return -ENOMEM;
	slot->peer = peer;
	slot->kind = PMV_MESSAGE;
	slot->len = PMV_HEADER + r->len;
	memcpy(slot->data + PMV_HEADER, bytes, r->len);
	peer->n_held += r->direction == SAVED_IN;
	pmv_list_add(r->direction == SAVED_IN ? &link->arrived : &peer->queue, slot);
	return 0;
}

/* The record at @at of @len bytes; false: it is none. */
static bool get_record(const struct pmv_link *link, const uint8_t *at, size_t len,
		       struct record *ret)
{
	if (len < sizeof(*ret))
		return false;
	memcpy(ret, at, sizeof(*ret));
	return ret->direction <= SAVED_OUT && ret->len &&
	       ret->len <= link->buffer_bytes - PMV_HEADER && ret->len <= len - sizeof(*ret);
}

int pmv_restore(struct pm_link *base, const void *buf, size_t len,
		int (*resolve)(void *arg, uint32_t node, struct pm_link_peer **ret_peer), void *arg)
{
	struct pmv_link *link = pmv_of(base);
	const uint8_t *at = buf, *end = at + len;
	struct pm_link_peer *peer;
	struct record r;

	for (; at < end; at += sizeof(r) + r.len) {
		int err;

		if (!get_record(link, at, (size_t)(end - at), &r))
			return -EINVAL;
		err = resolve(arg, r.node, &peer);
		if (!err)
			err = restore_message(link, peer, &r, at + sizeof(r));
		if (err)
			return err;
	}
	for (peer = link->peers; peer; peer = peer->next)
		if (peer->queue.head)
			pmv_connect(link, peer);
	return 0;
}

/* ---- what can be seen ---- */

static const char *stage_name(enum pmv_stage stage)
{
	static const char *const names[] = {"not connected", "connection lost", "greeting",
					    "connected", "closing"};

	return names[stage];
}

static const char *state_name(const struct pm_link_peer *p)
{
	if (!pmv_peer_is_open(p))
		return pmv_peer_is_lost(p) ? "lost" : pmv_peer_is_dead(p) ? "dead" : "left";
	return p->is_waiting ? "waits for a connection" : stage_name(p->stage);
}

static void dump_peer(struct text *text, const struct pm_link_peer *p)
{
	text_add(text,
		 "  node %u: %s, connection %u with %u lanes, %u lent, %u queued, %u posted, %u "
		 "credits, %u "
		 "held%s%s\n",
		 p->node, state_name(p), p->epoch, pmv_lanes_count(p), p->n_lent, p->queue.n,
		 p->posted.n, p->credits, p->n_held, p->why[0] ? ", last: " : "", p->why);
}

int pmv_dump(struct pm_link *base, char *buf, size_t room)
{
	const struct pmv_link *link = pmv_of(base);
	struct text text = {.buf = buf, .room = room};

	if (room)
		buf[0] = '\0';
	text_add(&text, "verbs: %u rails, %u queue pairs, %u of %u buffers of %u bytes free\n",
		 link->n_rails, link->n_qps, link->n_free, link->n_slots, link->buffer_bytes);
	text_add(&text,
		 "  at most %u connections, %u nodes wait for one; %llu closed for others, of them "
		 "%llu made again\n",
		 link->n_most, link->n_waiting, (unsigned long long)link->stats->connections_closed,
		 (unsigned long long)link->stats->connections_reopened);
	for (uint32_t i = 0; i < link->n_rails; i++) {
		const struct pmv_rail *r = &link->rails[i];
		const struct pmv_gid *gid = &r->port.gids[r->gid];

		text_add(&text, "  rail %u: %s:%u, %s, address %u, MTU %u%s\n", i, r->port.device,
			 r->port.number, pmv_protocol_name(gid->protocol), gid->index, r->port.mtu,
			 r->is_down ? ", down" : "");
		if (r->greeter_state == PMV_GREETER_BROKEN)
			text_add(&text, "  rail %u: no greetings go by it: %s\n", i,
				 r->greeter_why);
		else if (r->greeter_starts)
			text_add(&text, "  rail %u: its queue pair for greetings failed %u times\n",
				 i, r->greeter_starts);
		pmv_shared_dump(r, &text);
	}
	if (link->n_refusals)
		text_add(&text, "  %u calls refused by devices, last: %s\n", link->n_refusals,
			 link->refusal);
	pmv_local_dump(link, &text);
	for (const struct pm_link_peer *p = link->peers; p; p = p->next)
		if (p->state != PMV_PEER_DELETED)
			dump_peer(&text, p);
	return (int)text.len;
}

uint64_t pmv_memory(struct pm_link *base)
{
	const struct pmv_link *link = pmv_of(base);
	uint64_t sum = sizeof(*link);

	sum += (uint64_t)(link->n_slots + link->n_plain) *
	       (link->buffer_bytes + sizeof(struct pmv_slot));
	sum += link->n_rails * (PMV_GREETINGS_IN + PMV_GREETINGS_OUT) *
	       (PMV_DATAGRAM + sizeof(struct pmv_datagram));
	sum += link->n_qps * sizeof(struct pmv_qp);
	for (const struct pm_link_peer *p = link->peers; p; p = p->next)
		sum += sizeof(*p) + p->n_grants * sizeof(struct pmv_grant) + pmv_lanes_memory(p);
	return sum;
}
