// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/takeover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/address.h"
#include "pmcore/device/stubs.h"
#include "pmcore/device/takeover_private.h"
#include "pmcore/wire/atomic.h"

bool takeover_has(const struct composite *c, const struct composite_node *n)
{
	return c->takeover && n->link == c->takeover->link;
}

struct pm_link_peer *takeover_peer(const struct composite_node *n)
{
	return taken_of(n->peer)->to_peer;
}

/* ---- the end of a node ---- */

/* @sentence without the node that it begins with. */
static const char *bare(const char *sentence, uint32_t node)
{
	char prefix[24];
	int len = snprintf(prefix, sizeof(prefix), "node %u: ", node);

	return sentence + (strncmp(sentence, prefix, (size_t)len) ? 0 : len);
}

/* The new link has found the node dead: c->why gets both reasons. */
static void died(struct composite *c, struct composite_node *n)
{
	struct taken *t = taken_of(n->peer);
	char why[200];

	if (t->is_dead)
		return;
	t->is_dead = true;
	snprintf(why, sizeof(why), "%.199s", bare(c->why, n->node));
	snprintf(c->why, sizeof(c->why), "node %u: %s: %s; then %s: %s", n->node, t->from->name,
		 t->why, t->to->name, why[0] ? why : "it does not answer");
	t->takeover->stats->peers_dead++;
	t->from->ops.leaving->forsake(t->from->link, t->from_peer);
	takeover_drop_queues(t);
}

void takeover_mark_dead(struct composite *c, uint32_t node)
{
	struct composite_node *n = nodemap_get(&c->nodes, node);

	if (!n || n->is_dead)
		return;
	if (takeover_has(c, n))
		died(c, n);
	composite_bury(c, n);
}

void takeover_kill(struct taken *t, const char *why)
{
	struct composite *c = t->takeover->c;

	if (t->is_dying || t->is_dead)
		return;
	t->is_dying = true;
	t->takeover->base.is_empty = false;
	snprintf(c->why, sizeof(c->why), "%s", why);
	takeover_mark_dead(c, t->node->node);
}

/* ---- the change ---- */

int takeover_open(struct composite *c)
{
	struct composite_slot *slot = &c->slots[c->n_slots];
	struct stats_page *page = stats_page(c->stats);
	struct takeover *tk;

	if (c->takeover)
		return 0;
	if (c->n_slots == COMPOSITE_LINKS)
		return -ENOSPC;
	tk = calloc(1, sizeof(*tk));
	if (!tk)
		return -ENOMEM;
	stubs_link(&takeover_ops, &slot->ops);
	tk->base.ops = &slot->ops;
	tk->c = c;
	tk->stats = slot->stats = &page->links[c->n_slots];
	tk->ready.tail = &tk->ready.head;
	slot->link = &tk->base;
	slot->device = takeover_ops.name;
	strcpy(slot->name, takeover_ops.name);
	strcpy(slot->stats->name, takeover_ops.name);
	c->takeover = slot;
	page->n_links = ++c->n_slots;
	return 0;
}

static void note_change(struct composite *c, const struct taken *t)
{
	size_t used = strlen(c->note);

	snprintf(c->note + used, sizeof(c->note) - used, "%snode %u goes by %s: %s: %s",
		 used ? "; " : "", t->node->node, t->to->name, t->from->name, t->why);
}

int takeover_enter(struct composite *c, struct composite_node *n, unsigned int to,
		   struct pm_link_peer *to_peer, const char *why)
{
	struct taken *t = calloc(1, sizeof(*t));
	int err = t ? takeover_open(c) : -ENOMEM;

	if (err) {
		free(t);
		return err;
	}
	t->takeover = takeover_of(c->takeover->link);
	t->node = n;
	t->from = &c->slots[n->slot];
	t->from_peer = n->peer;
	t->to = &c->slots[to];
	t->to_peer = to_peer;
	t->is_leaving = true;
	t->out_tail = &t->out;
	taken_in_init(&t->waiting);
	snprintf(t->why, sizeof(t->why), "%.159s", bare(why, n->node));
	t->next_taken = t->takeover->all;
	t->takeover->all = t;
	t->takeover->stats->peers++;
	t->takeover->base.is_empty = false;
	n->peer = (struct pm_link_peer *)t;
	n->link = c->takeover->link;
	n->ops = &c->takeover->ops;
	n->slot = (uint8_t)to;
	composite_reached(c, t->to);
	if (n->n_awaited)
		n->ops->await(n->link, n->peer, true);
	note_change(c, t);
	return 0;
}

int takeover_ask(struct composite *c, const struct composite_node *n, unsigned int i,
		 struct pm_link_peer **ret_peer)
{
	struct composite_slot *slot = &c->slots[i];
	const void *part;
	size_t len;
	int err;

	c->why[0] = '\0';
	if (!slot->link->can_carry || !n->address)
		return -EHOSTUNREACH;
	err = address_find(n->address, n->address_len, slot->name, &part, &len);
	return err ? err : slot->ops.peer_add(slot->link, n->node, part, len, ret_peer);
}

/* ---- doubt ---- */

/* The node's link in @slot hears nothing of it: one that could take the node asks the process. */
static void doubt(struct composite *c, uint32_t node, unsigned int slot)
{
	struct composite_node *n = nodemap_get(&c->nodes, node);
	struct pm_link_peer *peer;

	if (!n || n->slot != slot || n->is_dead || takeover_has(c, n))
		return;
	for (unsigned int i = slot + 1; i < c->n_slots; i++) {
		struct composite_slot *by = &c->slots[i];

		if (takeover_ask(c, n, i, &peer))
			continue;
		n->asked = (uint8_t)i;
		if (!by->ops.ask(by->link, peer)) {
			n->is_answered = true;
			c->slots[slot].ops.leaving->lives(c->slots[slot].link, n->peer);
		}
		break;
	}
	c->why[0] = '\0';
}

/* A refusal by a link that never brought an answer may be that of a firewall. */
bool takeover_believes(struct composite *c, unsigned int slot, uint32_t node)
{
	const struct composite_node *n = nodemap_get(&c->nodes, node);
	const struct composite_slot *own = n ? &c->slots[n->slot] : NULL;
	uint64_t none;

	if (!n || n->is_dead || n->asked != slot || takeover_has(c, n))
		return true;
	if (!n->is_answered)
		return false;
	own->ops.leaving->leave(own->link, n->peer, &none);
	own->ops.leaving->forsake(own->link, n->peer);
	return true;
}

/* It may come back with another address, or as a process that has heard of nothing. */
void takeover_forget(struct composite *c, const struct composite_node *n)
{
	struct pm_link_peer *peer;

	for (unsigned int i = 0; n->address && i < c->n_slots; i++)
		if (i != n->slot && !takeover_ask(c, n, i, &peer))
			c->slots[i].ops.peer_del(c->slots[i].link, peer);
}

/* ---- the change of both ends ---- */

/* The node's link in @slot has lost its way to it. */
static int lost(struct composite *c, uint32_t node, unsigned int slot)
{
	struct composite_node *n = nodemap_get(&c->nodes, node);
	struct pm_link_peer *peer;
	char why[COMPOSITE_WHY], said[COMPOSITE_WHY] = "";
	int err;

	snprintf(why, sizeof(why), "%s", c->why);
	err = n ? 0 : composite_node(c, node, &n);
	if (err || n->slot != slot || n->is_dead)
		return err ? -EPIPE : 0;
	for (unsigned int i = slot + 1; i < c->n_slots; i++) {
		err = takeover_ask(c, n, i, &peer);
		if (!err)
			return takeover_enter(c, n, i, peer, why) ? -EPIPE : 0;
		composite_note_refusal(c, node, said);
	}
	snprintf(c->why, sizeof(c->why), "node %u: %.220s%s%.220s", node, bare(why, node),
		 said[0] ? "; not by another device: " : "", said);
	c->slots[slot].ops.leaving->forsake(c->slots[slot].link, n->peer);
	return -EPIPE;
}

/*
 * The node has left the link that @in names, and goes on by the one in @slot: so do we. 0, -EPIPE.
 */
static int follow(struct composite *c, unsigned int slot, const struct pm_inbound *in)
{
	struct composite_node *n;
	struct pm_link_peer *peer;
	char name[CONF_NAME_MAX], why[64];
	int err;

	if (!takeover_mark(in->buf, in->len, name))
		return 0;
	err = composite_node(c, in->src, &n);
	if (err)
		return 0;
	if (strcmp(c->slots[n->slot].name, name) || !c->slots[n->slot].link->can_leave) {
		snprintf(c->why, sizeof(c->why),
			 "node %u: it has left %s, which is not how it is reached from here",
			 in->src, name);
		return -EPIPE;
	}
	err = takeover_ask(c, n, slot, &peer);
	snprintf(why, sizeof(why), "it has lost its way to us");
	if (!err)
		err = takeover_enter(c, n, slot, peer, why);
	if (!err)
		return 0;
	snprintf(c->why, sizeof(c->why), "node %u: it has left %s, and cannot be followed: %s",
		 in->src, name, strerror(-err));
	return -EPIPE;
}

/* Something that the other end's composite has sent. */
static int carried(struct composite *c, unsigned int slot, const struct pm_inbound *in)
{
	struct composite_node *n = nodemap_get(&c->nodes, in->src);
	struct composite_slot *s = &c->slots[slot];
	struct taken_in *part;
	int err = 0;

	if (!n || (!n->is_dead && !takeover_has(c, n))) {
		err = follow(c, slot, in);
		n = nodemap_get(&c->nodes, in->src);
	}
	if (err || !n || n->is_dead || !takeover_has(c, n)) {
		s->ops.release(s->link, in->cookie);
		return err;
	}
	part = takeover_in(in->src, 0);
	if (!part) {
		s->ops.release(s->link, in->cookie);
		takeover_kill(taken_of(n->peer), "no memory for a message");
		return 0;
	}
	part->data = in->buf;
	part->len = in->len;
	part->slot = (int)slot;
	part->cookie = in->cookie;
	taken_in_add(&taken_of(n->peer)->waiting, part);
	c->takeover->link->is_empty = false;
	/* what it is taken from is busy, though nothing of it is for the program */
	composite_look_everywhere(c);
	return 0;
}

/*
 * Of a taken node it comes through this link, or by the old one as long as that is being left. By
 * the new link comes what takeover_frame.c sends.
 */
static bool is_for_api(const struct composite *c, unsigned int slot, const struct pm_inbound *in)
{
	const struct composite_slot *s = &c->slots[slot];
	const struct composite_node *n = nodemap_get(&c->nodes, in->src);
	const struct taken *t;

	if (s == c->takeover)
		return true;
	if (!wire_is_atomic(in->buf, in->len) || (n && n->is_dead))
		return false;
	t = n && takeover_has(c, n) ? taken_of(n->peer) : NULL;
	return !t || (t->is_leaving && t->from == s);
}

int takeover_event(struct composite *c, unsigned int slot, int got, struct pm_inbound *in)
{
	if (got == -ETIMEDOUT) {
		doubt(c, in->src, slot);
		return 0;
	}
	if (got == -ENETUNREACH)
		return lost(c, in->src, slot);
	return is_for_api(c, slot, in) ? 2 : carried(c, slot, in);
}
