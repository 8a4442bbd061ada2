// SPDX-License-Identifier: BSD-3-Clause
/*
 * hxbgrid - coordinates, failures and their detection; see hxbgrid.h. A neighbour that died is
 * believed to be open until the time of detection has passed, and one that is back to be closed as
 * long.
 */
#include "tests/sim/hxbgrid.h"

#include <assert.h>
#include <stdlib.h>

struct eth_route_env {
	const struct hxbgrid *grid;
	uint32_t host; /* that asks */
	uint64_t now;
};

struct hxbnet_config hxbnet_defaults(void)
{
	return (struct hxbnet_config){.lanes = 1,
				      .mtu = 9000 - ETH_MTU_OVERHEAD,
				      .tx_buffers = 2048,
				      .rx_buffers = 1024,
				      .rate = 125000000,
				      .nic_rate = 125000000,
				      .latency_ns = 20000,
				      .queue_bytes = 128 * 1024,
				      /* check sequence, preamble and gap */
				      .overhead_bytes = ETH_HEAD + 24,
				      .nic_packets = 256,
				      .ring_ahead = 32,
				      .relay_packets = 1024,
				      .ring_packets = 1024,
				      .relay_ns = 500,
				      .detect_ns = 75000000};
}

uint32_t hxbnet_hosts(const struct hxbnet_config *config)
{
	uint32_t n = 1, d;

	for (d = 0; d < config->n_dims; d++)
		n *= config->dims[d];
	return n;
}

uint32_t hxbnet_n_rails(const struct hxbnet_config *config)
{
	return config->n_dims * config->lanes;
}

/* As somebody sees it who hears of a change after @delay_ns. */
static bool seems_up(const struct hxbgrid_state *state, uint64_t now, uint64_t delay_ns)
{
	bool is_news = state->since && now < state->since + delay_ns;

	return state->is_down == is_news;
}

static const struct hxbgrid_state *cable_of(const struct hxbgrid *grid, uint32_t host,
					    uint32_t rail)
{
	return &grid->cables[(size_t)host * grid->n_rails + rail];
}

static size_t line_of(const struct hxbgrid *grid, uint32_t host, uint32_t rail)
{
	return (size_t)hxbgrid_neighbour(grid, host, rail / grid->lanes, 0) * grid->n_rails + rail;
}

static inline int is_open(const struct eth_route_env *env, uint32_t rail, uint32_t to)
{
	const struct hxbgrid *grid = env->grid;
	uint32_t neighbour;

	if (!grid->was_hurt)
		return 1;
	neighbour = hxbgrid_neighbour(grid, env->host, rail / grid->lanes, to);
	return seems_up(cable_of(grid, env->host, rail), env->now, 0) &&
	       seems_up(cable_of(grid, neighbour, rail), env->now, grid->detect_ns) &&
	       seems_up(&grid->lines[line_of(grid, neighbour, rail)], env->now, grid->detect_ns) &&
	       seems_up(&grid->hosts[neighbour], env->now, grid->detect_ns);
}

#define eth_route_is_open is_open
#include "pm-ethernet/route.h"

uint32_t hxbgrid_neighbour(const struct hxbgrid *grid, uint32_t host, uint32_t dim, uint32_t to)
{
	return host + (to - grid->points[host].at[dim]) * grid->stride[dim];
}

uint32_t hxbgrid_rails(const struct hxbgrid *grid, uint32_t host, uint32_t dst)
{
	uint32_t d = 0;

	assert(host != dst);
	while (grid->points[host].at[d] == grid->points[dst].at[d])
		d++;
	return ((1u << grid->lanes) - 1) << d * grid->lanes;
}

int hxbgrid_route(const struct hxbgrid *grid, uint64_t now, uint32_t at, uint32_t src, uint32_t dst,
		  uint32_t rail, uint32_t *late, uint32_t *ret_rail, uint32_t *ret_to)
{
	const struct eth_route_env env = {.grid = grid, .host = at, .now = now};
	struct eth_grid shape = grid->shape;
	struct eth_way way;

	shape.own = grid->points[at];
	if (eth_route(&env, &shape, &grid->points[dst], rail % grid->lanes, *late,
		      eth_route_salt(src + 1, dst + 1), &way))
		return -1;
	*late = way.late;
	*ret_rail = way.rail;
	*ret_to = hxbgrid_neighbour(grid, at, way.rail / grid->lanes, way.to);
	return 0;
}

bool hxbgrid_lives(const struct hxbgrid *grid, uint32_t host)
{
	return !grid->hosts[host].is_down;
}

bool hxbgrid_is_whole(const struct hxbgrid *grid, uint32_t host, uint32_t rail)
{
	return !grid->was_hurt ||
	       (hxbgrid_lives(grid, host) && !cable_of(grid, host, rail)->is_down &&
		!grid->lines[line_of(grid, host, rail)].is_down);
}

static void change(struct hxbgrid *grid, struct hxbgrid_state *state, uint64_t now, bool is_up)
{
	if (state->is_down == !is_up)
		return;
	*state = (struct hxbgrid_state){.since = now, .is_down = !is_up};
	grid->was_hurt = true;
}

void hxbgrid_host(struct hxbgrid *grid, uint64_t now, uint32_t host, bool is_up)
{
	change(grid, &grid->hosts[host], now, is_up);
}

void hxbgrid_line(struct hxbgrid *grid, uint64_t now, uint32_t host, uint32_t rail, bool is_up)
{
	change(grid, &grid->lines[line_of(grid, host, rail)], now, is_up);
}

void hxbgrid_cable(struct hxbgrid *grid, uint64_t now, uint32_t host, uint32_t rail, bool is_up)
{
	change(grid, &grid->cables[(size_t)host * grid->n_rails + rail], now, is_up);
}

static void init_shape(struct hxbgrid *grid, const struct hxbnet_config *config)
{
	struct eth_grid *shape = &grid->shape;
	uint32_t d, lane, rail = 0;

	*shape = (struct eth_grid){.n_dims = config->n_dims, .n_points = grid->n_hosts};
	for (d = 0; d < config->n_dims; d++) {
		shape->dims[d] = (uint16_t)config->dims[d];
		shape->n_lanes[d] = (uint8_t)config->lanes;
		for (lane = 0; lane < config->lanes; lane++, rail++) {
			shape->rail[d][lane] = (uint8_t)rail;
			shape->dim[rail] = (uint8_t)d;
			shape->lane[rail] = (uint8_t)lane;
		}
	}
}

void hxbgrid_init(struct hxbgrid *grid, const struct hxbnet_config *config)
{
	uint32_t i, d, left;
	size_t ends;

	*grid = (struct hxbgrid){.n_hosts = hxbnet_hosts(config),
				 .n_rails = hxbnet_n_rails(config),
				 .lanes = config->lanes,
				 .detect_ns = config->detect_ns};
	assert(grid->n_hosts <= ETH_POINTS_MAX);
	ends = (size_t)grid->n_hosts * grid->n_rails;
	grid->points = calloc(grid->n_hosts, sizeof(*grid->points));
	grid->hosts = calloc(grid->n_hosts, sizeof(*grid->hosts));
	grid->cables = calloc(ends, sizeof(*grid->cables));
	grid->lines = calloc(ends, sizeof(*grid->lines));
	assert(grid->points && grid->hosts && grid->cables && grid->lines);
	for (i = 0, left = 1; i < config->n_dims; left *= config->dims[i++])
		grid->stride[i] = left;
	for (i = 0; i < grid->n_hosts; i++) {
		grid->points[i].is_known = 1;
		for (d = 0, left = i; d < config->n_dims; left /= config->dims[d++])
			grid->points[i].at[d] = (uint16_t)(left % config->dims[d]);
	}
	init_shape(grid, config);
}

void hxbgrid_fini(struct hxbgrid *grid)
{
	free(grid->points);
	free(grid->hosts);
	free(grid->cables);
	free(grid->lines);
}
