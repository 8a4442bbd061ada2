/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * takeover - a node goes on by another link when the one that it was reached by has lost its way.
 * Both ends leave the old link: the one that notices first sends a mark by the new one, which makes
 * the other do the same. Messages that the old link is not known to have delivered follow with
 * their numbers. The other end drops those that it has already: every message arrives once and in
 * order.
 *
 * A link that hears nothing of a node can't tell a way that is broken from a process that computes.
 * So the process is asked by the next link: one that answers there, and stays silent at the old
 * one, is reached by that no more.
 *
 * It is a link itself, in a slot that the composite gets with the first such node. The node's
 * messages pass through it in parts that fit the new link, by carry(), for as long as the node is
 * in contact.
 */
#ifndef PM_DEVICE_TAKEOVER_H
#define PM_DEVICE_TAKEOVER_H

#include "pmcore/device/composite.h"

#define TAKEOVER_NAME "takeover" /* of the slot */

/*
 * receive() of the link in @slot has said @got, other than 0 or 1, about @in->src: 0 or -EPIPE for
 * the program, or 2: *in is for the api.
 */
int takeover_event(struct composite *c, unsigned int slot, int got, struct pm_inbound *in);
/* The node is removed: no link that has asked it, or was asked by it, knows it any more. */
void takeover_forget(struct composite *c, const struct composite_node *n);
/*
 * The link in @slot says that the node is dead, which may go by another one: whether that is to be
 * believed.
 */
bool takeover_believes(struct composite *c, unsigned int slot, uint32_t node);
/*
 * The node is found dead, for what c->why says; of one that was taken over it gets both links'
 * reasons.
 */
void takeover_mark_dead(struct composite *c, uint32_t node);
/* The node goes by this link? */
bool takeover_has(const struct composite *c, const struct composite_node *n);
/* The node's peer at the link that has taken it. */
struct pm_link_peer *takeover_peer(const struct composite_node *n);
/* Whether the link in slot @i takes the node, 0 and *ret_peer; c->why has its reason if not. */
int takeover_ask(struct composite *c, const struct composite_node *n, unsigned int i,
		 struct pm_link_peer **ret_peer);
/* Opens the slot, as the first node does: for a state that was saved with one. */
int takeover_open(struct composite *c);

#endif
