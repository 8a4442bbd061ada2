// SPDX-License-Identifier: BSD-3-Clause
/* The file is written by scconf; what does not look like that is refused with a sentence. */
#include "scheduler/scored/cluster.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/file.h"
#include "cluster/space.h"

#define CLUSTER_VERSION 1

static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strdup(text) : NULL;
}

/* The shape of a hypercrossbar, which the scheduler can divide; of a flat cluster nothing. */
static bool take_space(struct cluster *c, const struct cluster_space *space)
{
	uint64_t points = 1;

	for (uint32_t d = 0; d < space->n_dims; d++) {
		c->space.dims[d] = space->dims[d];
		points *= space->dims[d];
	}
	c->space.n_dims = space->n_dims;
	return points <= BOX_POINTS_MAX;
}

/* A point of the box: the last dimension is the fastest. */
static long point_at(const struct box_space *space, const uint16_t at[CLUSTER_DIMS])
{
	long point = 0;

	for (uint32_t d = 0; d < space->n_dims; d++)
		point = point * (long)space->dims[d] + at[d];
	return point;
}

static bool take_hosts(struct cluster *c, const struct cluster_space *space, const json_t *hosts,
		       char *why, size_t why_size)
{
	uint16_t at[CLUSTER_DIMS];
	const json_t *host;
	size_t i;

	c->hosts = calloc(json_array_size(hosts) + 1, sizeof(*c->hosts));
	if (!c->hosts || nameset_init(&c->names))
		return false;
	json_array_foreach(hosts, i, host) {
		const char *state = json_string_value(json_object_get(host, "state"));
		int stands = cluster_space_place(space, host, at, why, why_size);

		c->hosts[i].name = text_of(host, "name");
		c->hosts[i].point = stands > 0 ? point_at(&c->space, at) : -1;
		if (!c->hosts[i].name || stands < 0)
			return false;
		c->hosts[i].is_usable = !state || !strcmp(state, "up");
		c->n_hosts = i + 1;
		/* One that is there twice would move those behind it. */
		if (nameset_add(&c->names, c->hosts[i].name) || c->names.n != c->n_hosts)
			return false;
	}
	return c->n_hosts > 0;
}

static bool take_group(struct cluster *c, struct cluster_group *g, const json_t *group)
{
	const json_t *hosts = json_object_get(group, "hosts"), *host;
	size_t i;

	g->name = text_of(group, "name");
	g->hosts = calloc(json_array_size(hosts) + 1, sizeof(*g->hosts));
	if (!g->name || !g->hosts)
		return false;
	json_array_foreach(hosts, i, host) {
		json_int_t at = json_integer_value(host);

		if (!json_is_integer(host) || at < 0 || (size_t)at >= c->n_hosts)
			return false;
		g->hosts[g->n_hosts++] = (size_t)at;
	}
	return true;
}

static bool take_groups(struct cluster *c, const json_t *groups)
{
	const json_t *group;
	size_t i;

	c->groups = calloc(json_array_size(groups) + 1, sizeof(*c->groups));
	if (!c->groups)
		return false;
	json_array_foreach(groups, i, group) {
		c->n_groups = i + 1;
		if (!take_group(c, &c->groups[i], group))
			return false;
	}
	return true;
}

static bool take_networks(struct cluster *c, const json_t *networks)
{
	const json_t *network;
	size_t i;

	c->networks = calloc(json_array_size(networks) + 1, sizeof(*c->networks));
	if (!c->networks)
		return false;
	json_array_foreach(networks, i, network) {
		c->n_networks = i + 1;
		c->networks[i].name = text_of(network, "name");
		c->networks[i].type = text_of(network, "type");
		if (!c->networks[i].name || !c->networks[i].type)
			return false;
	}
	return true;
}

/* False: with a sentence in @why, or with none where the file is no cluster.json of ours. */
static bool take_all(struct cluster *c, const json_t *all, char *why, size_t why_size)
{
	struct cluster_space space;

	c->name = text_of(all, "name");
	return c->name && json_integer_value(json_object_get(all, "version")) == CLUSTER_VERSION &&
	       !cluster_space_read(all, &space, why, why_size) && take_space(c, &space) &&
	       take_hosts(c, &space, json_object_get(all, "hosts"), why, why_size) &&
	       take_groups(c, json_object_get(all, "groups")) &&
	       take_networks(c, json_object_get(all, "networks")) &&
	       !section_read(&c->section, all, why, why_size);
}

struct cluster *cluster_read(const char *path, bool may_wait, char *why, size_t why_size)
{
	json_t *all = cluster_file_load(path, NULL, may_wait, why, why_size);
	char wrong[512] = "";
	struct cluster *c;

	if (!all)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c || !take_all(c, all, wrong, sizeof(wrong))) {
		if (!wrong[0])
			snprintf(wrong, sizeof(wrong), "no cluster.json of version %d",
				 CLUSTER_VERSION);
		snprintf(why, why_size, "%s: %s; write it with 'scconf compile'", path, wrong);
		cluster_free(c);
		c = NULL;
	}
	json_decref(all);
	return c;
}

void cluster_free(struct cluster *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_hosts; i++)
		free(c->hosts[i].name);
	for (size_t i = 0; i < c->n_groups; i++) {
		free(c->groups[i].name);
		free(c->groups[i].hosts);
	}
	for (size_t i = 0; i < c->n_networks; i++) {
		free(c->networks[i].name);
		free(c->networks[i].type);
	}
	section_fini(&c->section);
	nameset_fini(&c->names);
	free(c->networks);
	free(c->hosts);
	free(c->groups);
	free(c->name);
	free(c);
}

long cluster_host_of(const struct cluster *c, const char *name)
{
	long whole = nameset_place(&c->names, name), first;
	char *label;

	if (!strchr(name, '.'))
		return whole;
	label = strndup(name, strcspn(name, "."));
	first = label ? nameset_place(&c->names, label) : -1;
	free(label);
	/* The file may have both: whichever comes first there. */
	return whole < 0 || (first >= 0 && first < whole) ? first : whole;
}

const struct cluster_group *cluster_group_of(const struct cluster *c, const char *name)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (!strcmp(c->groups[i].name, name))
			return &c->groups[i];
	return NULL;
}
