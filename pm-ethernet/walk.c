// SPDX-License-Identifier: BSD-3-Clause
/*
 * walk - eth_route over and over, with the eyes of one host after the other. Knows no socket and no
 * board.
 */
#include "pm-ethernet/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The host on the way that chooses the next link. */
struct eth_route_env {
	const struct eth_walk *walk;
	uint32_t host;
};

static uint32_t neighbour(const struct eth_walk *walk, uint32_t host, uint32_t rail, uint32_t to)
{
	struct eth_point point = walk->points[host - 1];

	point.at[walk->grid.dim[rail]] = (uint16_t)to;
	return eth_walk_host_at(walk, &point);
}

static inline int is_open(const struct eth_route_env *env, uint32_t rail, uint32_t to)
{
	const struct eth_walk *walk = env->walk;
	uint32_t other = neighbour(walk, env->host, rail, to);

	return other && (!walk->is_open || walk->is_open(walk->arg, env->host, rail, other));
}

#define eth_route_is_open is_open
#include "pm-ethernet/route.h"

/* ---- hosts by place ---- */

static uint32_t hash(const struct eth_point *point)
{
	uint32_t h = 0;

	for (uint32_t d = 0; d < ETH_DIMS; d++)
		h = (h ^ point->at[d]) * 2654435769u;
	return h ^ h >> 16;
}

static bool is_same(const struct eth_point *a, const struct eth_point *b)
{
	return !memcmp(a->at, b->at, sizeof(a->at));
}

/* The entry of @point in ids, or the unused one where it belongs. */
static uint32_t *entry(const struct eth_walk *walk, const struct eth_point *point)
{
	uint32_t i = hash(point) & (walk->n_ids - 1);

	while (walk->ids[i] && !is_same(&walk->points[walk->ids[i] - 1], point))
		i = (i + 1) & (walk->n_ids - 1);
	return &walk->ids[i];
}

uint32_t eth_walk_host_at(const struct eth_walk *walk, const struct eth_point *point)
{
	return *entry(walk, point);
}

/* ---- setting up ---- */

static bool is_grid(const struct eth_grid *grid)
{
	if (grid->n_dims < 1 || grid->n_dims > ETH_DIMS || grid->n_points > ETH_POINTS_MAX)
		return false;
	for (uint32_t d = 0; d < grid->n_dims; d++) {
		if (grid->dims[d] < 1 || grid->dims[d] > ETH_LINE_MAX || grid->n_lanes[d] < 1 ||
		    grid->n_lanes[d] > ETH_RAILS)
			return false;
		for (uint32_t lane = 0; lane < grid->n_lanes[d]; lane++)
			if (grid->rail[d][lane] >= ETH_RAILS || grid->dim[grid->rail[d][lane]] != d)
				return false;
	}
	return true;
}

int eth_walk_init(struct eth_walk *walk, const struct eth_grid *grid,
		  const struct eth_point *points)
{
	*walk = (struct eth_walk){.grid = *grid, .points = points, .n_ids = 2};
	if (!is_grid(grid))
		return -EINVAL;
	while (walk->n_ids < 2 * grid->n_points)
		walk->n_ids *= 2;
	walk->ids = calloc(walk->n_ids, sizeof(*walk->ids));
	if (!walk->ids)
		return -ENOMEM;
	for (uint32_t id = 1; id <= grid->n_points; id++) {
		uint32_t *place;

		if (!points[id - 1].is_known)
			continue;
		place = entry(walk, &points[id - 1]);
		if (*place) {
			eth_walk_fini(walk);
			return -EEXIST;
		}
		*place = id;
	}
	return 0;
}

void eth_walk_fini(struct eth_walk *walk)
{
	free(walk->ids);
	walk->ids = NULL;
}

/* ---- walking ---- */

static bool is_host(const struct eth_walk *walk, uint32_t id)
{
	return id && id <= walk->grid.n_points && walk->points[id - 1].is_known;
}

int eth_walk(const struct eth_walk *walk, uint32_t src, uint32_t dst, uint32_t lane,
	     struct eth_hop hops[ETH_WALK_MAX + 1], uint32_t *ret_n)
{
	struct eth_route_env env = {.walk = walk, .host = src};
	uint32_t salt = eth_route_salt(src, dst), late = 0, n;

	if (!is_host(walk, src) || !is_host(walk, dst))
		return -ENOENT;
	for (n = 0; n <= ETH_WALK_MAX; n++) {
		struct eth_grid grid = walk->grid;
		struct eth_way way;

		hops[n] = (struct eth_hop){.host = env.host};
		*ret_n = n;
		if (env.host == dst)
			return 0;
		grid.own = walk->points[env.host - 1];
		if (eth_route(&env, &grid, &walk->points[dst - 1], lane, late, salt, &way))
			return -EHOSTUNREACH;
		hops[n] = (struct eth_hop){env.host, way.rail, way.late};
		late = way.late;
		env.host = neighbour(walk, env.host, way.rail, way.to);
	}
	return -ELOOP;
}
