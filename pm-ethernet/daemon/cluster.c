// SPDX-License-Identifier: BSD-3-Clause
/* The file is written by scconf; what doesn't look like that yields a sentence or nothing. */
#include "pm-ethernet/daemon/cluster.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/file.h"
#include "pm-ethernet/daemon/topology.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* The network of that name if it is one of raw Ethernet. */
static const json_t *find_network(const json_t *all, const char *name)
{
	const json_t *network;
	size_t i;

	json_array_foreach(json_object_get(all, "networks"), i, network)
		if (!strcmp(text_of(network, "name"), name) &&
		    !strcmp(text_of(network, "type"), "ethernet"))
			return network;
	return NULL;
}

static const json_t *find_host(const json_t *all, const char *name)
{
	const json_t *host;
	size_t i;

	json_array_foreach(json_object_get(all, "hosts"), i, host)
		if (cluster_file_is_host(host, name))
			return host;
	return NULL;
}

/* Is @device among the @names with commas? */
static bool is_listed(const char *names, const char *device)
{
	size_t n = strlen(device);

	for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && !strncmp(at, device, n))
			return true;
	return false;
}

static void take_network(const json_t *network, struct ethd_cluster *c)
{
	const json_t *type = json_object_get(network, "ethertype");
	const json_t *watch = json_object_get(network, "watch_ms");

	if (json_is_integer(type))
		snprintf(c->type, sizeof(c->type), "0x%04x", (unsigned)json_integer_value(type));
	snprintf(c->mode, sizeof(c->mode), "%s", text_of(network, "mode"));
	snprintf(c->direct, sizeof(c->direct), "%s", text_of(network, "direct"));
	if (json_is_integer(watch))
		snprintf(c->watch, sizeof(c->watch), "%" JSON_INTEGER_FORMAT "ms",
			 json_integer_value(watch));
}

/* The NICs of the host; the name of the first one's network, "" if it has none. */
static const char *take_host(const json_t *all, const json_t *host, struct ethd_cluster *c)
{
	const json_t *rail, *network;
	const char *first = "";
	size_t i, used = 0;

	json_array_foreach(json_object_get(host, "rails"), i, rail) {
		const char *device = text_of(rail, "device");

		network = find_network(all, text_of(rail, "network"));
		if (!network || !device[0] || is_listed(c->nics, device) ||
		    used + strlen(device) + 2 > sizeof(c->nics))
			continue;
		if (!used) {
			take_network(network, c);
			first = text_of(network, "name");
		}
		used += (size_t)snprintf(c->nics + used, sizeof(c->nics) - used, "%s%s",
					 used ? "," : "", device);
	}
	return first;
}

/* Where everybody stands, if the file says so. */
static int take_grid(const json_t *all, const json_t *host, const char *network,
		     struct ethd_cluster *c, char *why, size_t why_size)
{
	int err = ethd_topology_read(all, host, network, &c->grid, &c->points, why, why_size);

	if (err || !c->grid.n_dims)
		return err;
	err = ethd_names_read(json_object_get(all, "hosts"), &c->names);
	if (err) {
		free(c->points);
		snprintf(why, why_size, "%s", strerror(-err));
	}
	c->host_id = ETHD_TOPOLOGY_ID(json_integer_value(json_object_get(host, "id")));
	return err;
}

int ethd_cluster_read(const char *path, const char *host, struct ethd_cluster *ret, char *why,
		      size_t why_size)
{
	struct ethd_cluster c = {.nics = ""};
	char what[512] = "";
	json_t *all = cluster_file_load(path, host, true, what, sizeof(what));
	const json_t *entry = find_host(all, host);
	const char *network = entry ? take_host(all, entry, &c) : "";
	int err = -EINVAL;

	if (!all)
		snprintf(why, why_size, "--config %s", what);
	else if (!entry)
		snprintf(why, why_size, "--config %s: no host %s; name this host in cluster.toml",
			 path, host);
	else if (!c.nics[0])
		snprintf(why, why_size,
			 "--config %s: host %s has no rail of a network of type ethernet; add one "
			 "to "
			 "cluster.toml, or name NICs with --nics",
			 path, host);
	else
		err = take_grid(all, entry, network, &c, what, sizeof(what));
	if (all && what[0])
		snprintf(why, why_size, "--config %s: %s", path, what);
	json_decref(all);
	if (!err)
		*ret = c;
	return err;
}
