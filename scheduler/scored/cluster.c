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

static bool take_hosts(struct cluster *c, const json_t *hosts)
{
	const json_t *host;
	size_t i;

	c->hosts = calloc(json_array_size(hosts) + 1, sizeof(*c->hosts));
	if (!c->hosts)
		return false;
	json_array_foreach(hosts, i, host)
	{
		const char *state = json_string_value(json_object_get(host, "state"));

		c->hosts[i].name = text_of(host, "name");
		if (!c->hosts[i].name)
			return false;
		c->hosts[i].is_usable = !state || !strcmp(state, "up");
		c->n_hosts = i + 1;
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
	    !take_hosts(c, json_object_get(all, "hosts")) ||
	    !take_groups(c, json_object_get(all, "groups"))) {
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
	section_fini(&c->section);
	free(c->hosts);
	free(c->groups);
	free(c->name);
	free(c);
}

long cluster_host_of(const struct cluster *c, const char *name)
{
	size_t length = strcspn(name, ".");

	for (size_t i = 0; i < c->n_hosts; i++) {
		const char *entry = c->hosts[i].name;

		if (!strcmp(entry, name) ||
		    (strlen(entry) == length && !strncmp(entry, name, length)))
			return (long)i;
	}
	return -1;
}

const struct cluster_group *cluster_group_of(const struct cluster *c, const char *name)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (!strcmp(c->groups[i].name, name))
			return &c->groups[i];
	return NULL;
}
