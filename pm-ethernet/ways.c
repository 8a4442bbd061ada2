// SPDX-License-Identifier: BSD-3-Clause
/*
 * ways - peers of a hypercrossbar: which rails lead to a host that may be several links away. A
 * port's frames are routed by the kernel. In direct attachment the first link is ours to choose, as
 * the kernel would (route.h): a rail's frames may leave by another NIC, so each peer has a socket
 * per rail. When neighbours come or go the daemon counts a version up; then all ways are forgotten,
 * and found again when a frame needs them.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pm-ethernet/device.h"
#include "pmcore/util/text.h"

/* We see our own neighbours. */
struct eth_route_env {
	const struct eth_dev *d;
};

static inline int is_open(const struct eth_route_env *env, uint32_t rail, uint32_t to)
{
	uint32_t r = rail < ETH_RAILS ? env->d->rail_of[rail] : PM_RAILS_MAX;

	return r < PM_RAILS_MAX && eth_board_neighbour(env->d->board, rail, to).is_open &&
	       !eth_rail_is_gone(env->d, r);
}

#define eth_route_is_open is_open
#include "pm-ethernet/route.h"

#define explain(d, ...) snprintf((d)->env.why, (d)->env.why_size, "ethernet: " __VA_ARGS__)

void eth_ways_forget(struct eth_dev *d, struct eth_peer *peer)
{
	if (d->is_steering)
		memset(peer->sockets, ETH_NOWHERE, sizeof(peer->sockets));
}

static void forget_all(struct eth_dev *d, uint32_t version)
{
	d->ways_version = version;
	for (uint32_t i = 0; i < d->n_peers; i++)
		eth_ways_forget(d, d->peers[i]);
}

static uint32_t version_of(const struct eth_dev *d)
{
	/* what is read of the neighbours from here on is at least as new */
	return atomic_load_explicit(&d->board->grid.version, memory_order_acquire);
}

void eth_ways_refresh(struct eth_dev *d)
{
	uint32_t version = version_of(d);

	if (version != d->ways_version)
		forget_all(d, version);
}

/* ---- opening ---- */

/* Rails of the host that we were not granted, by name; NULL: none. */
static const char *missing_rail(const struct eth_dev *d)
{
	for (uint32_t h = 0; h < d->board->n_rails && h < ETH_RAILS; h++)
		if (d->rail_of[h] == PM_RAILS_MAX)
			return d->board->rails[h].name;
	return NULL;
}

/* Nothing in it leads outside of a table. */
static bool is_sound(const struct eth_grid *grid, uint32_t n_rails)
{
	if (grid->n_dims > ETH_DIMS || grid->n_points > ETH_POINTS_MAX || n_rails > ETH_RAILS)
		return false;
	for (uint32_t i = 0; i < grid->n_dims; i++) {
		if (!grid->dims[i] || !grid->n_lanes[i] || grid->n_lanes[i] > ETH_RAILS)
			return false;
		for (uint32_t lane = 0; lane < grid->n_lanes[i]; lane++)
			if (grid->rail[i][lane] >= n_rails || grid->dim[grid->rail[i][lane]] != i)
				return false;
	}
	for (uint32_t h = 0; h < n_rails; h++)
		if (grid->dim[h] >= grid->n_dims)
			return false;
	return true;
}

int eth_ways_init(struct eth_dev *d)
{
	const struct eth_granted *g = &d->granted;
	const char *missing = missing_rail(d);

	d->grid = d->board->grid.grid;
	d->is_steering = d->grid.n_dims && !eth_is_port(d);
	if (!d->grid.n_dims)
		return 0;
	if (!is_sound(&d->grid, d->board->n_rails)) {
		explain(d, "pm-ethernetd shows a hypercrossbar that there can't be; start it again "
			   "with the present cluster.json");
		return -EPROTO;
	}
	if (missing) {
		explain(d,
			"this host stands in a hypercrossbar, where frames come by every rail, and "
			"ethernet.rails leaves out %s; name it too, or none",
			missing);
		return -EINVAL;
	}
	for (uint32_t r = 1; r < g->n_rails; r++)
		if (g->rails[r].mtu != g->rails[0].mtu) {
			explain(d,
				"the rails of a hypercrossbar have one MTU, here that of %s is %u "
				"and that of %s is %u; give all the same, as in: ip link set %s "
				"mtu %u",
				g->rails[0].name, g->rails[0].mtu, g->rails[r].name,
				g->rails[r].mtu, g->rails[r].name, g->rails[0].mtu);
			return -EINVAL;
		}
	forget_all(d, version_of(d));
	return 0;
}

uint32_t eth_ways_lanes(const struct eth_dev *d)
{
	uint32_t most = 1;

	if (!d->is_steering)
		return d->n_sockets;
	for (uint32_t i = 0; i < d->grid.n_dims; i++)
		if (d->grid.n_lanes[i] > most)
			most = d->grid.n_lanes[i];
	return most;
}

/* ---- one peer ---- */

/* NULL: the host is not in the grid. */
static const struct eth_point *point_of(const struct eth_dev *d, uint32_t host)
{
	const struct eth_point *points = d->board->grid.points;

	return host && host <= d->grid.n_points && points[host - 1].is_known ? &points[host - 1]
									     : NULL;
}

/* The way of the frames to @host whose sender gave them to our rail @r. */
static int find_way(const struct eth_dev *d, uint32_t host, uint32_t r, struct eth_way *ret)
{
	const struct eth_route_env env = {d};
	const struct eth_point *point = point_of(d, host);
	uint32_t lane = d->grid.lane[d->granted.rails[r].host_rail];

	if (!point)
		return -1;
	return eth_route(&env, &d->grid, point, lane, 0, eth_route_salt(d->granted.host, host),
			 ret);
}

/* Aims the head of a rail to where its frames go now; nowhere, when no way is open. */
static int aim(const struct eth_dev *d, struct eth_peer *peer, uint32_t r)
{
	struct eth_frame *head = &peer->heads[r];
	struct eth_neighbour next;
	struct eth_way way;
	uint32_t by;

	peer->sockets[r] = ETH_NOWHERE;
	if (find_way(d, le32toh(head->dst_host), r, &way))
		return -EHOSTUNREACH;
	next = eth_board_neighbour(d->board, way.rail, way.to);
	by = d->rail_of[way.rail];
	memcpy(head->dst_mac, next.mac, ETH_MAC);
	memcpy(head->src_mac, d->granted.rails[by].mac, ETH_MAC);
	head->flags = (uint8_t)(way.late << ETH_LATE_SHIFT & ETH_F_LATE);
	peer->sockets[r] = (uint8_t)by;
	return 0;
}

static void add_point(struct text *text, const struct eth_grid *grid, const struct eth_point *point)
{
	for (uint32_t i = 0; i < grid->n_dims; i++)
		text_add(text, "%s%u", i ? "," : "", point->at[i]);
}

/* Why our link by a rail of the host to a coordinate is closed. */
static const char *closed_because(const struct eth_dev *d, uint32_t rail, uint32_t to)
{
	static const uint8_t nobody[ETH_MAC];
	struct eth_neighbour next = eth_board_neighbour(d->board, rail, to);

	if (!atomic_load_explicit(&d->board->rails[rail].is_up, memory_order_relaxed))
		return "is down";
	if (!memcmp(next.mac, nobody, ETH_MAC))
		return "has heard nobody";
	return next.is_open ? "is gone" : "gets no answer";
}

/* Names the host, and each rail that should have led to it. */
static void explain_closed(const struct eth_dev *d, uint32_t node, uint32_t host,
			   const struct eth_point *point, uint32_t dim)
{
	const struct eth_grid *grid = &d->grid;
	struct eth_point next = grid->own;
	struct text why = {.buf = d->env.why, .room = d->env.why_size};

	next.at[dim] = point->at[dim];
	text_add(&why, "ethernet: node %u: no way to host %u at ", node, host);
	add_point(&why, grid, point);
	text_add(&why, " is open: towards ");
	add_point(&why, grid, &next);
	for (uint32_t lane = 0; lane < grid->n_lanes[dim]; lane++) {
		uint32_t rail = grid->rail[dim][lane];

		text_add(&why, "%s %s %s", lane ? "," : "", d->board->rails[rail].name,
			 closed_because(d, rail, next.at[dim]));
	}
	text_add(&why, ", and there is no detour; see pm-ethernetctl peers");
}

/* Any rail of the peer finds a way now. */
static bool has_way(const struct eth_dev *d, const struct eth_peer *peer, uint32_t host)
{
	struct eth_way way;

	for (uint32_t r = 0; r < d->dev.n_rails; r++)
		if (peer->rails >> r & 1 && !find_way(d, host, r, &way))
			return true;
	return false;
}

int eth_ways_add(struct eth_dev *d, struct eth_peer *peer, uint32_t host)
{
	const struct eth_grid *grid = &d->grid;
	const struct eth_point *point = point_of(d, host);
	uint32_t dim;

	if (!point) {
		explain(d,
			"node %u: host %u is not in the hypercrossbar of %u points, or marked "
			"defect; give all hosts the same cluster.json",
			peer->node, host, grid->n_points);
		return -ENETUNREACH;
	}
	dim = eth_route_differs(grid, point, 0);
	if (dim >= grid->n_dims) {
		explain(d,
			"node %u: host %u stands where this host stands; give all hosts the same "
			"cluster.json",
			peer->node, host);
		return -ENETUNREACH;
	}
	for (uint32_t lane = 0; lane < grid->n_lanes[dim]; lane++)
		peer->rails |= 1u << d->rail_of[grid->rail[dim][lane]];
	if (!has_way(d, peer, host)) {
		explain_closed(d, peer->node, host, point, dim);
		return -ENETUNREACH;
	}
	return 0;
}

/* ---- while it runs ---- */

/* Kept out of eth_tx_post, which has no registers to spare. */
__attribute__((cold, noinline)) int eth_ways_post(struct eth_dev *d, uint32_t r,
						  struct eth_peer *peer, struct pm_packet *p)
{
	if (!aim(d, peer, r))
		return eth_tx_post(&d->dev, r, (struct pm_dev_peer *)peer, p);
	/* lost as if on the way: the channel repeats, and finds out when it was the last one */
	d->n_astray++;
	return 0;
}

bool eth_ways_lead_around(const struct eth_dev *d, uint32_t r)
{
	const struct eth_grid *grid = &d->grid;
	uint32_t own = d->granted.rails[r].host_rail, dim = grid->dim[own];

	if (grid->n_dims < 2)
		return false;
	for (uint32_t lane = 0; lane < grid->n_lanes[dim]; lane++) {
		uint32_t rail = grid->rail[dim][lane];

		if (rail != own && eth_rail_is_up(d, d->rail_of[rail]))
			return false;
	}
	return true;
}
