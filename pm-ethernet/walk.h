/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk - the whole way of a frame through a grid, relay by relay, as eth_route chooses each next
 * one. Pure: the caller says which neighbours are open, of every host. For tools and tests; nothing
 * is sent by it.
 */
#ifndef PM_ETHERNET_WALK_H
#define PM_ETHERNET_WALK_H

#include <stdbool.h>

#include "pm-ethernet/grid.h"

/* Links of a way at most, see route.h. */
#define ETH_WALK_MAX (ETH_DIMS + 2)

struct eth_walk {
	struct eth_grid grid;           /* own is not looked at */
	const struct eth_point *points; /* grid.n_points of them, by id - 1; borrowed */
	uint32_t *ids;                  /* ids by place, 0: none; open addressing */
	uint32_t n_ids;                 /* a power of two */
	/*
	 * Whether a frame may go from @host by its @rail to host @to, which the line has. NULL:
	 * yes, always.
	 */
	bool (*is_open)(void *arg, uint32_t host, uint32_t rail, uint32_t to);
	void *arg;
};

/* A host of the way, and the link by which the frame leaves it. */
struct eth_hop {
	uint32_t host;
	uint32_t rail;
	uint32_t late; /* what the frame says on that link */
};

/*
 * Gets ready to walk @grid, whose @points are borrowed; is_open and arg are the caller's to set. 0,
 * -EINVAL (a dimension or lane is out of range), -EEXIST (two hosts at one point) or -ENOMEM.
 */
int eth_walk_init(struct eth_walk *walk, const struct eth_grid *grid,
		  const struct eth_point *points);
void eth_walk_fini(struct eth_walk *walk);

/* The host at a point, 0: none. */
uint32_t eth_walk_host_at(const struct eth_walk *walk, const struct eth_point *point);

/*
 * From host @src to host @dst by the lane that @src chose. hops[0..*ret_n) are the links;
 * hops[*ret_n].host is the last host reached, also on failure. 0, -EHOSTUNREACH (no way is open
 * from there), -ENOENT (no such host), -ELOOP (more than ETH_WALK_MAX links, which is a bug).
 */
int eth_walk(const struct eth_walk *walk, uint32_t src, uint32_t dst, uint32_t lane,
	     struct eth_hop hops[ETH_WALK_MAX + 1], uint32_t *ret_n);

#endif
