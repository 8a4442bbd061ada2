// SPDX-License-Identifier: BSD-3-Clause
/*
 * composite_nodes - the nodes in contact: their addresses, the first link that reaches each of
 * them, their death. Knows nothing of nodes that change their link; see takeover.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/device/address.h"
#include "pmcore/device/composite.h"
#include "pmcore/device/longread.h"
#include "pmcore/device/registry.h"

void composite_explain(struct composite *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->why, sizeof(c->why), format, args);
	va_end(args);
}

int composite_address(struct composite *c, void *buf, size_t room)
{
	int len = address_begin(buf, room, c->self);

	for (unsigned int i = 0; len > 0 && i < c->n_slots; i++) {
		struct composite_slot *slot = &c->slots[i];
		size_t part_room;
		uint8_t *part = address_room(buf, room, &part_room);
		int part_len;

		if (slot == c->takeover)
			continue;
		part_len = part ? slot->ops.address(slot->link, part, part_room) : -ENOSPC;
		/* nodes are reached without it */
		if (part_len < 0 && slot == c->stream)
			continue;
		if (part_len < 0)
			return part_len;
		len = address_add(buf, slot->name, (size_t)part_len);
	}
	return len;
}

/*
 * The address that a node in contact was added with, where it is kept. The other end may have lost
 * its way by the link that reaches it from here, and come by another one, which asks for its part.
 */
static bool recall(struct composite *c, uint32_t node)
{
	const struct composite_node *n = nodemap_get(&c->nodes, node);

	if (!n || n->is_dead || !n->address)
		return false;
	memcpy(c->resolved, n->address, n->address_len);
	c->resolved_len = n->address_len;
	return true;
}

/* Copies @node's address to c->resolved, checked. */
static int resolve(struct composite *c, uint32_t node)
{
	const void *addr;
	size_t len;
	int err;

	if (node == c->self) {
		err = composite_address(c, c->resolved, sizeof(c->resolved));
		if (err < 0)
			return err;
		c->resolved_len = (size_t)err;
		return 0;
	}
	if (!c->resolver && recall(c, node))
		return 0;
	if (!c->resolver) {
		composite_explain(c, "node %u: no address given: call pmAddNode or set a resolver",
				  node);
		return -EHOSTUNREACH;
	}
	err = c->resolver(c->resolver_arg, node, &addr, &len);
	if (err && err != EAGAIN && recall(c, node))
		return 0;
	if (err) {
		if (err != EAGAIN)
			composite_explain(c, "node %u: no address: %s", node, strerror(err));
		return -err;
	}
	if (len > sizeof(c->resolved) || address_check(addr, len, node)) {
		composite_explain(c, "node %u: damaged address", node);
		return -EINVAL;
	}
	memcpy(c->resolved, addr, len);
	c->resolved_len = len;
	return 0;
}

int composite_part(void *arg, uint32_t node, const char *name, const void **ret_addr,
		   size_t *ret_len)
{
	struct composite *c = arg;
	int err = resolve(c, node);

	return err ? err : address_find(c->resolved, c->resolved_len, name, ret_addr, ret_len);
}

void composite_note_refusal(const struct composite *c, uint32_t node, char *said)
{
	size_t used = strlen(said);
	char prefix[24];
	int len = snprintf(prefix, sizeof(prefix), "node %u: ", node);
	bool is_named = !strncmp(c->why, prefix, (size_t)len);

	if (c->why[0])
		snprintf(said + used, COMPOSITE_WHY - used, "%s%s", used ? "; " : "",
			 c->why + (is_named ? len : 0));
}

/*
 * Finds the link's part of the address in c->resolved. A node that goes the other way over the same
 * kind of port is told of by name.
 */
static int find_part(struct composite *c, const char *name, const void **ret_part, size_t *ret_len)
{
	const char *other = registry_other_way(name);
	int err = address_find(c->resolved, c->resolved_len, name, ret_part, ret_len);

	if (err == -EHOSTUNREACH && other &&
	    !address_find(c->resolved, c->resolved_len, other, ret_part, ret_len))
		composite_explain(
			c,
			"it is reached by %s and not by %s: set verbs.path, devices and the size "
			"of the job alike",
			other, name);
	return err;
}

/* No link takes the node. */
static int explain_refusals(struct composite *c, uint32_t node, const char *said, bool is_full)
{
	const char *colon = said[0] ? ": " : "";

	if (is_full) {
		composite_explain(c, "node %u: no space for it is left%s%s", node, colon, said);
		return -ENOSPC;
	}
	composite_explain(c, "node %u: no device reaches it%s%s%s%s%s", node, colon, said,
			  c->closed[0] ? " (not open: " : "", c->closed, c->closed[0] ? ")" : "");
	return -EHOSTUNREACH;
}

/* The address of a node that its link may lose, for the one that takes it over. */
static int keep_address(const struct composite *c, struct composite_node *n)
{
	n->address = malloc(c->resolved_len);
	if (!n->address)
		return -ENOMEM;
	memcpy(n->address, c->resolved, c->resolved_len);
	n->address_len = c->resolved_len;
	return 0;
}

/* The node is reached by the link in slot @i. */
static int take_node(struct composite *c, struct composite_node *n, uint32_t node, unsigned int i)
{
	struct composite_slot *slot = &c->slots[i];
	int err;

	n->node = node;
	n->slot = (uint8_t)i;
	n->link = slot->link;
	n->ops = &slot->ops;
	n->mtu = slot->ops.mtu(slot->link, n->peer);
	err = slot->link->can_leave ? keep_address(c, n) : 0;
	if (!err)
		err = nodemap_put(&c->nodes, node, n);
	if (err) {
		n->ops->peer_del(n->link, n->peer);
		free(n->address);
		return err;
	}
	longread_note(c, n);
	composite_reached(c, slot);
	return 0;
}

static int add_peer(struct composite *c, struct composite_slot *slot, uint32_t node,
		    const void *part, size_t len, struct composite_node *n)
{
	int err = slot->ops.peer_add(slot->link, node, part, len, &n->peer);

	if (err != -EINVAL || node != c->self)
		return err;
	composite_explain(c, "%s does not lead to the process itself: add self to the devices",
			  slot->name);
	return -EHOSTUNREACH;
}

/*
 * Finds the first link that reaches the node whose address is in c->resolved. One that has no space
 * left for another peer (a small /dev/shm) leaves it to the next: the two directions need not go
 * the same way.
 */
static int attach(struct composite *c, uint32_t node, struct composite_node **ret_node)
{
	struct composite_node *n = calloc(1, sizeof(*n));
	int err = n ? -EHOSTUNREACH : -ENOMEM;
	char said[COMPOSITE_WHY] = "";
	bool is_full = false;

	c->why[0] = '\0';
	for (unsigned int i = 0; n && i < c->n_slots; i++) {
		struct composite_slot *slot = &c->slots[i];
		const void *part;
		size_t len;

		if (slot == c->takeover || slot == c->stream)
			continue;
		err = find_part(c, slot->name, &part, &len);
		if (!err)
			err = add_peer(c, slot, node, part, len, n);
		if (err == -EHOSTUNREACH || err == -ENOSPC) {
			is_full |= err == -ENOSPC;
			composite_note_refusal(c, node, said);
			c->why[0] = '\0';
			continue;
		}
		if (!err)
			err = take_node(c, n, node, i);
		if (err)
			break;
		*ret_node = n;
		return 0;
	}
	free(n);
	if (err == -EHOSTUNREACH || err == -ENOSPC)
		err = explain_refusals(c, node, said, is_full);
	return err;
}

int composite_node(struct composite *c, uint32_t node, struct composite_node **ret_node)
{
	struct composite_node *n = composite_find(c, node);
	int err;

	if (!n && c->is_parked)
		return -EAGAIN;
	if (!n) {
		err = resolve(c, node);
		if (!err)
			err = attach(c, node, &n);
		if (err)
			return err;
	}
	if (n->is_dead) {
		composite_explain(c, "%s", n->why ? n->why : "the node is dead");
		return -EPIPE;
	}
	*ret_node = n;
	return 0;
}

int composite_add(struct composite *c, uint32_t node, const void *addr, size_t len)
{
	struct composite_node *n;

	if (len > sizeof(c->resolved) || address_check(addr, len, node)) {
		composite_explain(c, "node %u: damaged address", node);
		return -EINVAL;
	}
	if (nodemap_get(&c->nodes, node)) {
		composite_explain(c, "node %u is already in contact: remove it first", node);
		return -EEXIST;
	}
	memcpy(c->resolved, addr, len);
	c->resolved_len = len;
	return attach(c, node, &n);
}

void composite_bury(struct composite *c, struct composite_node *n)
{
	n->is_dead = true;
	longread_forget(c, n);
	n->why = strdup(c->why);
}
