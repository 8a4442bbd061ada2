/* SPDX-License-Identifier: BSD-3-Clause */
/* The file is written by scconf; what does not look like that is refused with a sentence. */
#include "scheduler/scored/cluster.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_VERSION 1

static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strdup(text) : NULL;
}

/* The shape of a hypercrossbar; of any other network nothing. */
static bool take_topology(struct cluster *c, const json_t *topology)
{
	const char *kind = json_string_value(json_object_get(topology, "kind"));
	const json_t *dims = json_object_get(topology, "dims"), *extent;
	uint64_t points = 1;
	size_t d;

	if (!kind || strcmp(kind, "hypercrossbar"))
		return true;
	if (!json_array_size(dims) || json_array_size(dims) > BOX_DIMS)
		return false;
	json_array_foreach(dims, d, extent)
	{
		json_int_t n = json_integer_value(extent);

		if (n < 1 || n > BOX_LINE_MAX)
			return false;
		c->space.dims[d] = (uint32_t)n;
		points *= (uint64_t)n;
	}
	c->space.n_dims = (uint32_t)json_array_size(dims);
	return points <= BOX_POINTS_MAX;
}

/* The point of a host; -1: it has no coordinates, -2: they are outside of the space. */
static long point_of(const struct cluster *c, const json_t *coords)
{
	const json_t *coordinate;
	long point = 0;
	size_t d;

	if (!c->space.n_dims || !coords)
		return -1;
	if (json_array_size(coords) != c->space.n_dims)
		return -2;
	json_array_foreach(coords, d, coordinate)
	{
		json_int_t at = json_integer_value(coordinate);

		if (!json_is_integer(coordinate) || at < 0 || at >= c->space.dims[d])
			return -2;
		point = point * (long)c->space.dims[d] + (long)at;
	}
	return point;
}

static bool take_hosts(struct cluster *c, const json_t *hosts)
{
	const json_t *host;
	size_t i;

	c->hosts = calloc(json_array_size(hosts) + 1, sizeof(*c->hosts));
	if (!c->hosts || nameset_init(&c->names))
		return false;
	json_array_foreach(hosts, i, host)
	{
		const char *state = json_string_value(json_object_get(host, "state"));

		c->hosts[i].name = text_of(host, "name");
		c->hosts[i].point = point_of(c, json_object_get(host, "coords"));
		if (!c->hosts[i].name || c->hosts[i].point < -1)
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
	json_array_foreach(hosts, i, host)
	{
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
	json_array_foreach(groups, i, group)
	{
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
	json_array_foreach(networks, i, network)
	{
		c->n_networks = i + 1;
		c->networks[i].name = text_of(network, "name");
		c->networks[i].type = text_of(network, "type");
		if (!c->networks[i].name || !c->networks[i].type)
			return false;
	}
	return true;
}

struct cluster *cluster_read(const char *path, char *why, size_t why_size)
{
	json_error_t error;
	json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	char wrong[512];
	struct cluster *c;

	if (!all) {
		snprintf(why, why_size, "%s, line %d: %s; write it with 'scconf compile'", path,
			 error.line, error.text);
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->name = text_of(all, "name");
	if (!c || !c->name ||
	    json_integer_value(json_object_get(all, "version")) != CLUSTER_VERSION ||
	    !take_topology(c, json_object_get(all, "topology")) ||
	    !take_hosts(c, json_object_get(all, "hosts")) ||
	    !take_groups(c, json_object_get(all, "groups")) ||
	    !take_networks(c, json_object_get(all, "networks"))) {
		snprintf(why, why_size,
			 "%s: no cluster.json of version %d; write it with 'scconf compile'", path,
			 CLUSTER_VERSION);
		cluster_free(c);
		c = NULL;
	}
	if (c && section_read(&c->section, all, wrong, sizeof(wrong))) {
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
