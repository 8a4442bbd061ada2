// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/composite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "pmcore/device/chanlink.h"
#include "pmcore/device/longread.h"
#include "pmcore/device/parked.h"
#include "pmcore/device/registry.h"
#include "pmcore/device/stubs.h"
#include "pmcore/device/takeover.h"

/* ---- opening ---- */

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
		.address_of = composite_part,
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
		composite_explain(c, "devices=%s: no such device, known are %s", name,
				  registry_names());
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
		composite_explain(c, "%s: the other devices have taken all rails", name);
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

/*
 * A device that can't be opened is left out and remembered, unless none is left or the failure
 * would also hit the others.
 */
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
			composite_explain(c, "%s", strerror(-err));
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
	composite_explain(c, "no device could be opened: %s", c->closed);
	return -ENODEV;
}

static int open_stream(struct composite *c, const struct pmOptions *options)
{
	struct pm_device_env env = env_for(c, options);

	return longread_open(c, &env);
}

void composite_export(struct composite *c, uint64_t rkey, void *addr, uint64_t len)
{
	for (unsigned int i = 0; i < c->n_slots; i++)
		c->slots[i].ops.exported(c->slots[i].link, rkey, addr, len);
}

static void export_again(void *arg, uint64_t rkey, void *addr, uint64_t len)
{
	composite_export(arg, rkey, addr, len);
}

/* With the regions that there are, or a table for those to come. */
static int take_regions(struct composite *c, struct region_table *regions)
{
	uint64_t seed;

	if (!regions && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return -errno;
	c->regions = regions ? regions : region_table_create(seed);
	return c->regions ? 0 : -ENOMEM;
}

static struct composite *new_composite(const struct pmOptions *options)
{
	struct composite *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->self = options->self;
	composite_pace(c, false);
	c->resolver = options->resolver;
	c->resolver_arg = options->resolver_arg;
	return c;
}

int composite_open(const struct pmOptions *options, struct region_table *regions,
		   struct composite **ret_composite, char *why, size_t why_size)
{
	struct composite *c = new_composite(options);
	int err = c ? read_conf(c, options) : -ENOMEM;

	if (!err)
		err = stats_create(options->self, &c->stats);
	if (!err) {
		c->looks = &stats_page(c->stats)->looks;
		err = take_regions(c, regions);
	}
	if (!err)
		err = open_links(c, options);
	if (!err)
		err = open_stream(c, options);
	if (err) {
		snprintf(why, why_size, "%s", c && c->why[0] ? c->why : strerror(-err));
		if (c && regions)
			c->regions = NULL;
		composite_close(c);
		return err;
	}
	region_each(c->regions, export_again, c);
	*ret_composite = c;
	return 0;
}

int composite_open_parked(const struct pmOptions *options, struct region_table *regions,
			  const char *why, struct composite **ret_composite)
{
	struct composite *c = new_composite(options);
	struct composite_slot *slot = c ? &c->slots[0] : NULL;
	int err = c ? stats_create_private(options->self, &c->stats) : -ENOMEM;

	if (!err)
		err = stubs_link(&parked_ops, &slot->ops);
	if (!err)
		err = slot->ops.open(NULL, &slot->link);
	if (err) {
		composite_close(c);
		return err;
	}
	slot->link->ops = &slot->ops;
	slot->stats = &stats_page(c->stats)->links[0];
	slot->device = parked_ops.name;
	strcpy(slot->name, parked_ops.name);
	c->n_slots = 1;
	c->is_parked = true;
	c->looks = &stats_page(c->stats)->looks;
	c->regions = regions;
	snprintf(c->closed, sizeof(c->closed), "%s", why);
	*ret_composite = c;
	return 0;
}

struct region_table *composite_take_regions(struct composite *c)
{
	struct region_table *regions = c->regions;

	c->regions = NULL;
	return regions;
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
