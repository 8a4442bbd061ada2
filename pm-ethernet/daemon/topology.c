// SPDX-License-Identifier: BSD-3-Clause
/* scconf has checked the file; this checks what the kernel programs would go astray by. */
#include "pm-ethernet/daemon/topology.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/space.h"

static_assert(CLUSTER_DIMS == ETH_DIMS && CLUSTER_LINE_MAX == ETH_LINE_MAX,
	      "a space of the file is a grid of the wire");
static const char axes[ETH_DIMS + 1] = "xyzuvw";

/* The hosts to be read, the grid to be filled, and room for an error message. */
struct reading {
	const json_t *hosts;
	struct cluster_space *space;
	struct eth_grid *grid;
	struct eth_point *points;
	char *why;
	size_t why_size;
};

static int __attribute__((format(printf, 2, 3)))
refuse(const struct reading *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, r->why_size, format, args);
	va_end(args);
	return -EINVAL;
}

/* A number of @object from @low to @high, or -1. */
static long number_of(const json_t *object, const char *key, long low, long high)
{
	const json_t *value = json_object_get(object, key);
	json_int_t n = json_integer_value(value);

	return json_is_integer(value) && n >= low && n <= high ? (long)n : -1;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static int read_dims(const struct reading *r, const json_t *all)
{
	int err = cluster_space_read(all, r->space, r->why, r->why_size);

	memcpy(r->grid->dims, r->space->dims, sizeof(r->grid->dims));
	r->grid->n_dims = r->space->n_dims;
	return err;
}

/* Where a host stands; one without coordinates, or marked as defect, stays unknown. */
static int read_point(const struct reading *r, const json_t *host)
{
	long id = number_of(host, "id", 0, (long)r->grid->n_points - 1);
	const char *name = text_of(host, "name");
	struct eth_point *point;
	int stands;

	if (id < 0)
		return refuse(r,
			      "host %s: its id is not below %u, the number of hosts; write the "
			      "file anew with 'scconf compile'",
			      name, r->grid->n_points);
	point = &r->points[id];
	if (!json_object_get(host, "coords") || !strcmp(text_of(host, "state"), "defect"))
		return 0;
	if (point->is_known)
		return refuse(r,
			      "host %s has the id %ld of another; write the file anew with "
			      "'scconf compile'",
			      name, id);
	stands = cluster_space_place(r->space, host, point->at, r->why, r->why_size);
	point->is_known = stands == 1;
	return stands < 0 ? stands : 0;
}

static int compare(const void *a, const void *b)
{
	const struct eth_point *const *one = a, *const *other = b;

	return memcmp((*one)->at, (*other)->at, sizeof((*one)->at));
}

/* No two hosts stand at one point. */
static int check_places(const struct reading *r)
{
	const struct eth_point **known = malloc(r->grid->n_points * sizeof(struct eth_point *));
	size_t n = 0;
	int err = 0;

	if (!known)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->grid->n_points; i++)
		if (r->points[i].is_known)
			known[n++] = &r->points[i];
	qsort(known, n, sizeof(*known), compare);
	for (size_t i = 1; i < n && !err; i++)
		if (!compare(&known[i - 1], &known[i]))
			err = refuse(
				r,
				"hosts %s and %s stand at the same point; give each its own "
				"coords in cluster.toml",
				text_of(json_array_get(r->hosts,
						       (size_t)(known[i - 1] - r->points)),
					"name"),
				text_of(json_array_get(r->hosts, (size_t)(known[i] - r->points)),
					"name"));
	free(known);
	return err;
}

static int read_points(const struct reading *r)
{
	const json_t *host;
	int err = 0;
	size_t i;

	json_array_foreach(r->hosts, i, host) {
		err = read_point(r, host);
		if (err)
			return err;
	}
	return check_places(r);
}

/* A rail of this host, at its place in the list of its network. */
static int read_rail(const struct reading *r, const json_t *host, const json_t *rail, uint32_t n)
{
	long dim = number_of(rail, "dim", 0, (long)r->grid->n_dims - 1);
	const char *device = text_of(rail, "device");
	struct eth_grid *grid = r->grid;

	if (n >= ETH_RAILS)
		return refuse(r, "host %s has more than %d rails; remove some from cluster.toml",
			      text_of(host, "name"), ETH_RAILS);
	if (number_of(rail, "rail", 0, ETH_RAILS - 1) != (long)n)
		return refuse(r,
			      "host %s: %s is rail %lld of its network and the %uth that the host "
			      "has; in a hypercrossbar every host has all rails, name them in "
			      "cluster.toml",
			      text_of(host, "name"), device,
			      (long long)json_integer_value(json_object_get(rail, "rail")), n + 1);
	if (dim < 0)
		return refuse(
			r,
			"host %s: rail %s has no dimension of the topology, others have; write "
			"{ device = \"%s\", dim = \"x\" } in cluster.toml",
			text_of(host, "name"), device, device);
	grid->dim[n] = (uint8_t)dim;
	grid->lane[n] = grid->n_lanes[dim];
	grid->rail[dim][grid->n_lanes[dim]++] = (uint8_t)n;
	return 0;
}

/* How many rails of the host the network has; of these with a dimension. */
static uint32_t count_rails(const json_t *host, const char *network, uint32_t *ret_with_dim)
{
	const json_t *rail;
	uint32_t n = 0;
	size_t i;

	*ret_with_dim = 0;
	json_array_foreach(json_object_get(host, "rails"), i, rail) {
		if (strcmp(text_of(rail, "network"), network))
			continue;
		n++;
		*ret_with_dim += json_is_integer(json_object_get(rail, "dim"));
	}
	return n;
}

static int read_rails(const struct reading *r, const json_t *host, const char *network)
{
	const json_t *rail;
	uint32_t n = 0;
	int err = 0;
	size_t i;

	json_array_foreach(json_object_get(host, "rails"), i, rail) {
		if (strcmp(text_of(rail, "network"), network))
			continue;
		err = read_rail(r, host, rail, n++);
		if (err)
			return err;
	}
	for (uint32_t d = 0; d < r->grid->n_dims; d++)
		if (r->grid->dims[d] > 1 && !r->grid->n_lanes[d])
			return refuse(
				r,
				"host %s: no rail of network %s serves dimension %c; add one to "
				"cluster.toml",
				text_of(host, "name"), network, axes[d]);
	return 0;
}

static int read_own(const struct reading *r, const json_t *host)
{
	long id = number_of(host, "id", 0, (long)r->grid->n_points - 1);

	if (id < 0 || !r->points[id].is_known)
		return refuse(
			r,
			"host %s has no place in the topology, or is marked as defect; give it "
			"coords, or remove the ~ from its name, in cluster.toml",
			text_of(host, "name"));
	r->grid->own = r->points[id];
	return 0;
}

static int read_all(const struct reading *r, const json_t *all, const json_t *host,
		    const char *network)
{
	int err = read_dims(r, all);

	if (!err)
		err = read_points(r);
	if (!err)
		err = read_own(r, host);
	return err ? err : read_rails(r, host, network);
}

int ethd_topology_read(const json_t *all, const json_t *host, const char *network,
		       struct eth_grid *ret, struct eth_point **ret_points, char *why,
		       size_t why_size)
{
	struct cluster_space space;
	struct eth_grid grid = {0};
	struct reading r = {.hosts = json_object_get(all, "hosts"),
			    .space = &space,
			    .grid = &grid,
			    .why = why,
			    .why_size = why_size};
	size_t n = json_array_size(r.hosts);
	uint32_t with_dim;
	int err;

	*ret = (struct eth_grid){0};
	*ret_points = NULL;
	count_rails(host, network, &with_dim);
	if (!json_is_object(json_object_get(all, "topology")) || !with_dim)
		return 0;
	if (!n || n > ETH_POINTS_MAX)
		return refuse(&r, "%zu hosts; a hypercrossbar has 1 to %d", n, ETH_POINTS_MAX);
	grid.n_points = (uint32_t)n;
	r.points = calloc(n, sizeof(*r.points));
	err = r.points ? read_all(&r, all, host, network) : -ENOMEM;
	if (err == -ENOMEM)
		snprintf(why, why_size, "%s", strerror(ENOMEM));
	if (err) {
		free(r.points);
		return err;
	}
	*ret = grid;
	*ret_points = r.points;
	return 0;
}
