// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/grids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_open(void *arg, uint32_t host, uint32_t rail, uint32_t to)
{
	const struct grids *g = arg;

	return !((g->closed[host - 1] | g->closed[to - 1]) >> rail & 1);
}

/* 0 or -EINVAL. */
static int lay_rails(struct grids *g, uint32_t n_dims, const uint32_t dims[ETH_DIMS],
		     const uint32_t lanes[ETH_DIMS], struct eth_grid *ret)
{
	*ret = (struct eth_grid){.n_dims = n_dims};
	g->n_hosts = 1;
	g->n_rails = 0;
	if (!n_dims || n_dims > ETH_DIMS)
		return -EINVAL;
	for (uint32_t d = 0; d < n_dims; d++) {
		if (!dims[d] || dims[d] > ETH_LINE_MAX || !lanes[d] ||
		    g->n_rails + lanes[d] > ETH_RAILS)
			return -EINVAL;
		g->n_hosts *= dims[d];
		if (g->n_hosts > ETH_POINTS_MAX)
			return -EINVAL;
		ret->dims[d] = (uint16_t)dims[d];
		ret->n_lanes[d] = (uint8_t)lanes[d];
		for (uint32_t lane = 0; lane < lanes[d]; lane++, g->n_rails++) {
			ret->rail[d][lane] = (uint8_t)g->n_rails;
			ret->dim[g->n_rails] = (uint8_t)d;
			ret->lane[g->n_rails] = (uint8_t)lane;
		}
	}
	ret->n_points = g->n_hosts;
	return 0;
}

static void place_hosts(struct grids *g, const struct eth_grid *grid)
{
	for (uint32_t i = 0; i < g->n_hosts; i++) {
		uint32_t rest = i;

		g->points[i].is_known = 1;
		for (uint32_t d = grid->n_dims; d-- > 0; rest /= grid->dims[d])
			g->points[i].at[d] = (uint16_t)(rest % grid->dims[d]);
	}
}

int grids_open(struct grids *g, uint32_t n_dims, const uint32_t dims[ETH_DIMS],
	       const uint32_t lanes[ETH_DIMS])
{
	struct eth_grid grid;
	int err;

	memset(g, 0, sizeof(*g));
	err = lay_rails(g, n_dims, dims, lanes, &grid);
	if (err)
		return err;
	g->points = calloc(g->n_hosts, sizeof(*g->points));
	g->closed = calloc(g->n_hosts, sizeof(*g->closed));
	if (!g->points || !g->closed) {
		grids_close(g);
		return -ENOMEM;
	}
	place_hosts(g, &grid);
	err = eth_walk_init(&g->walk, &grid, g->points);
	if (err) {
		grids_close(g);
		return err;
	}
	g->walk.is_open = is_open;
	g->walk.arg = g;
	return 0;
}

void grids_close(struct grids *g)
{
	eth_walk_fini(&g->walk);
	free(g->points);
	free(g->closed);
}

void grids_kill_host(struct grids *g, uint32_t id)
{
	g->closed[id - 1] = 0xff;
}

void grids_kill_nic(struct grids *g, uint32_t id, uint32_t rail)
{
	g->closed[id - 1] |= (uint8_t)(1u << rail);
}

void grids_kill_line(struct grids *g, uint32_t rail, uint32_t id)
{
	const struct eth_grid *grid = &g->walk.grid;
	struct eth_point point = g->points[id - 1];
	uint32_t dim = grid->dim[rail];

	for (uint16_t at = 0; at < grid->dims[dim]; at++) {
		point.at[dim] = at;
		grids_kill_nic(g, eth_walk_host_at(&g->walk, &point), rail);
	}
}

void grids_heal(struct grids *g)
{
	memset(g->closed, 0, g->n_hosts * sizeof(*g->closed));
}

bool grids_is_alive(const struct grids *g, uint32_t id)
{
	uint8_t all = (uint8_t)((1u << g->n_rails) - 1);

	return (g->closed[id - 1] & all) != all;
}

uint32_t grids_distance(const struct grids *g, uint32_t a, uint32_t b)
{
	uint32_t n = 0;

	for (uint32_t d = 0; d < ETH_DIMS; d++)
		n += g->points[a - 1].at[d] != g->points[b - 1].at[d];
	return n;
}
