/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmcore/device/composite.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "pmcore/device/address.h"
#include "pmcore/device/chanlink.h"
#include "pmcore/device/longread.h"
#include "pmcore/device/registry.h"
#include "pmcore/device/stubs.h"
#include "pmcore/device/takeover.h"

/* Sets the sentence of the last failure; cut when too long. */
__attribute__((format(printf, 2, 3))) static void explain(struct composite *c, const char *format,
							  ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->why, sizeof(c->why), format, args);
	va_end(args);
}

/* ---- opening ---- */

static int address_of(void *arg, uint32_t node, const char *name, const void **ret_addr,
		      size_t *ret_len);

static int read_conf(struct composite *c, const struct pmOptions *options)
{
	const char *env = getenv("PM_OPTIONS");
	int err = 0;

	conf_defaults(&c->conf);
	if (env)
		err = conf_parse(&c->conf, env, c->why, sizeof(c->why));
	if (!err && options->config)
		err = conf_parse(&c->conf, options->config, c->why, sizeof(c->why));
	return err;
}

static bool is_open(const struct composite *c, const char *name)
{
	for (unsigned int i = 0; i < c->n_slots; i++)
		if (!strcmp(c->slots[i].name, name))
			return true;
	return false;
}

static void add_note(struct composite *c, const char *before, const char *what)
{
	size_t used = strlen(c->note);

	snprintf(c->note + used, sizeof(c->note) - used, "%s%s%s", used ? "; " : "", before, what);
}

/* Whether one that stands behind device @i in the list can take nodes over. */
static bool has_successor(const struct conf *conf, unsigned int i)
{
	while (++i < conf->n_devices) {
		const struct registry_entry *entry = registry_find(conf->devices[i]);

		if (entry && entry->packet)
			return true;
	}
	return false;
}

/* Environment of the device in the next slot. */
static struct pm_device_env env_for(struct composite *c, const struct pmOptions *options)
{
	struct stats_page *page = stats_page(c->stats);

	return (struct pm_device_env){
		.conf = &c->conf,
		.regions = c->regions,
		.stats = &page->links[c->n_slots],
		.rails = &page->rails[page->n_rails],
		.job_key = options->job_key,
		.self = options->self,
		.nodes = options->nodes,
		.local = options->local,
		.why = c->why,
		.why_size = sizeof(c->why),
		.note = c->without,
		.note_size = sizeof(c->without),
		.address_of = address_of,
		.address_arg = c,
	};
}

static int open_link(struct composite *c, unsigned int i, const struct pmOptions *options)
{
	const char *name = c->conf.devices[i];
	const struct registry_entry *entry = registry_choose(name, &c->conf, options->nodes);
	struct composite_slot *slot = &c->slots[c->n_slots];
	struct stats_page *page = stats_page(c->stats);
	struct pm_device_env env = env_for(c, options);
	int err;

	env.can_leave = has_successor(&c->conf, i);

	if (!entry) {
		explain(c, "devices=%s: no such device, known are %s", name, registry_names());
		return -EINVAL;
	}
	c->why[0] = c->without[0] = '\0';
	/* both ways of a device may be named, and mean the same in this job */
	if (is_open(c, entry->name))
		return 0;
	if (entry->link) {
		err = stubs_link(entry->link, &slot->ops);
		if (!err)
			err = slot->ops.open(&env, &slot->link);
		if (!err)
			slot->link->ops = &slot->ops;
	} else if (page->n_rails > STATS_RAILS - PM_RAILS_MAX) {
		explain(c, "%s: the other devices have taken all rails", name);
		err = -ENOSPC;
	} else {
		err = chanlink_open(entry->packet, &env, &slot->link);
		if (!err) {
			slot->ops = *slot->link->ops;
			env.stats->first_rail = page->n_rails;
			env.stats->n_rails = chanlink_rails(slot->link);
			page->n_rails += env.stats->n_rails;
		}
	}
	if (err) {
		memset(slot, 0, sizeof(*slot));
		return err;
	}
	strcpy(slot->name, entry->name);
	slot->device = entry->name;
	strcpy(env.stats->name, entry->name);
	slot->stats = env.stats;
	c->n_slots++;
	page->n_links = c->n_slots;
	if (c->without[0])
		add_note(c, "", c->without);
	return 0;
}

/* A device that can't be opened is left out and remembered, unless none is left or the failure would also
 * hit the others. */
static int open_links(struct composite *c, const struct pmOptions *options)
{
	bool is_refused = false; /* a device is there, but not for this user */

	for (unsigned int i = 0; i < c->conf.n_devices; i++) {
		const char *name = c->conf.devices[i];
		int err = open_link(c, i, options);
		size_t used = strlen(c->closed);
		bool is_named;

		is_refused |= err == -EPERM;
		if (err == -EINVAL || err == -EEXIST || err == -ENOMEM || err == -EMFILE)
			return err;
		if (!err)
			continue;
		if (!c->why[0])
			explain(c, "%s", strerror(-err));
		/* some sentences begin with the device's name */
		is_named = !strncmp(c->why, name, strlen(name));
		snprintf(c->closed + used, sizeof(c->closed) - used, "%s%s%s%s", used ? "; " : "",
			 is_named ? "" : name, is_named ? "" : ": ", c->why);
	}
	for (unsigned int i = 0; i < c->n_slots; i++)
		if (!c->slots[i].link->is_expensive)
			c->hot = i;
	if (c->n_slots && (c->conf.has_devices || is_refused) && c->closed[0])
		add_note(c, "going on without a device: ", c->closed);
	if (c->n_slots)
		return 0;
	explain(c, "no device could be opened: %s", c->closed);
	return -ENODEV;
}

static int open_stream(struct composite *c, const struct pmOptions *options)
{
	struct pm_device_env env = env_for(c, options);

	return longread_open(c, &env);
}

int composite_open(const struct pmOptions *options, struct composite **ret_composite, char *why,
		   size_t why_size)
{
	struct composite *c = calloc(1, sizeof(*c));
	uint64_t seed;
	int err;

	if (!c)
		return -ENOMEM;
	c->self = options->self;
	composite_pace(c, false);
	c->resolver = options->resolver;
	c->resolver_arg = options->resolver_arg;
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
		err = -errno;
		goto out;
	}
	err = read_conf(c, options);
	if (err)
		goto out;
	err = stats_create(options->self, &c->stats);
	if (err)
		goto out;
	c->looks = &stats_page(c->stats)->looks;
	c->regions = region_table_create(seed);
	err = c->regions ? open_links(c, options) : -ENOMEM;
	if (!err)
		err = open_stream(c, options);
out:
	if (err) {
		snprintf(why, why_size, "%s", c->why[0] ? c->why : strerror(-err));
		composite_close(c);
		return err;
	}
	*ret_composite = c;
	return 0;
}

static void free_node(struct composite *c, struct composite_node *n)
{
	longread_forget(c, n);
	n->ops->peer_del(n->link, n->peer);
	free(n->address);
	free(n->why);
	free(n);
}

void composite_close(struct composite *c)
{
	struct composite_node *n;
	uint32_t cursor = 0;

	if (!c)
		return;
	while ((n = nodemap_next(&c->nodes, &cursor)))
		free_node(c, n);
	nodemap_fini(&c->nodes);
	while (c->n_slots > 0) {
		struct composite_slot *slot = &c->slots[--c->n_slots];

		slot->ops.close(slot->link);
	}
	region_table_destroy(c->regions);
	stats_destroy(c->stats);
	free(c);
}

/* ---- nodes ---- */

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
 * The address that a node in contact was added with, where it is kept. The other end may have lost its way by the link that
 * reaches it from here, and come by another one, which asks for its part.
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
		explain(c, "node %u: no address given: call pmAddNode or set a resolver", node);
		return -EHOSTUNREACH;
	}
	err = c->resolver(c->resolver_arg, node, &addr, &len);
	if (err && err != EAGAIN && recall(c, node))
		return 0;
	if (err) {
		if (err != EAGAIN)
			explain(c, "node %u: no address: %s", node, strerror(err));
		return -err;
	}
	if (len > sizeof(c->resolved) || address_check(addr, len, node)) {
		explain(c, "node %u: damaged address", node);
		return -EINVAL;
	}
	memcpy(c->resolved, addr, len);
	c->resolved_len = len;
	return 0;
}

static int address_of(void *arg, uint32_t node, const char *name, const void **ret_addr,
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
 * Finds the link's part of the address in c->resolved. A node that goes the other way over the same kind of port is told
 * of by name.
 */
static int find_part(struct composite *c, const char *name, const void **ret_part, size_t *ret_len)
{
	const char *other = registry_other_way(name);
	int err = address_find(c->resolved, c->resolved_len, name, ret_part, ret_len);

	if (err == -EHOSTUNREACH && other &&
	    !address_find(c->resolved, c->resolved_len, other, ret_part, ret_len))
		explain(c,
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
		explain(c, "node %u: no space for it is left%s%s", node, colon, said);
		return -ENOSPC;
	}
	explain(c, "node %u: no device reaches it%s%s%s%s%s", node, colon, said,
		c->closed[0] ? " (not open: " : "", c->closed, c->closed[0] ? ")" : "");
	return -EHOSTUNREACH;
}

void composite_reached(struct composite *c, const struct composite_slot *slot)
{
	if (!slot->link->is_expensive)
		return;
	composite_pace(c, true);
	composite_look_everywhere(c);
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

/*
 * Finds the first link that reaches the node whose address is in c->resolved. One that has no space left for
 * another peer (a small /dev/shm) leaves it to the next: the two directions need not go the same way.
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
			err = slot->ops.peer_add(slot->link, node, part, len, &n->peer);
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

	if (!n) {
		err = resolve(c, node);
		if (!err)
			err = attach(c, node, &n);
		if (err)
			return err;
	}
	if (n->is_dead) {
		explain(c, "%s", n->why ? n->why : "the node is dead");
		return -EPIPE;
	}
	*ret_node = n;
	return 0;
}

int composite_add(struct composite *c, uint32_t node, const void *addr, size_t len)
{
	struct composite_node *n;

	if (len > sizeof(c->resolved) || address_check(addr, len, node)) {
		explain(c, "node %u: damaged address", node);
		return -EINVAL;
	}
	if (nodemap_get(&c->nodes, node)) {
		explain(c, "node %u is already in contact: remove it first", node);
		return -EEXIST;
	}
	memcpy(c->resolved, addr, len);
	c->resolved_len = len;
	return attach(c, node, &n);
}

void composite_remove(struct composite *c, uint32_t node)
{
	struct composite_node *n = nodemap_get(&c->nodes, node);

	if (!n)
		return;
	nodemap_remove(&c->nodes, node);
	c->recent = NULL;
	takeover_forget(c, n);
	free_node(c, n);
}

void composite_cork(struct composite *c, bool is_on)
{
	for (unsigned int i = 0; i < c->n_slots; i++)
		c->slots[i].ops.cork(c->slots[i].link, is_on);
}

void composite_mark_dead(struct composite *c, uint32_t node)
{
	struct composite_node *n = nodemap_get(&c->nodes, node);

	if (!n || n->is_dead)
		return;
	if (takeover_has(c, n))
		takeover_died(c, n);
	n->is_dead = true;
	longread_forget(c, n);
	n->why = strdup(c->why);
}
